//! A request in neutral words, and the rules that every provider has for its shape.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A request as rules see it.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The system prompt.
    pub system: String,
    /// The turns, oldest first.
    pub turns: Vec<Turn>,
    /// The tools that are declared.
    pub tools: BTreeSet<String>,
    /// Whether they may be called.
    pub may_call: bool,
}

/// One turn.
#[derive(Clone, Debug)]
pub enum Turn {
    /// Text from the user's side.
    User(String),
    /// A turn of the model, as the request repeats it.
    Assistant {
        /// Its text.
        text: String,
        /// Its tool calls.
        calls: Vec<RequestedCall>,
        /// Its reasoning, as it was sent back.
        reasoning: Option<String>,
    },
    /// The results of the preceding turn's tool calls.
    Results(Vec<ReturnedResult>),
}

/// A tool call of an earlier reply, as the request repeats it.
#[derive(Clone, Debug)]
pub struct RequestedCall {
    /// Its id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Value,
}

/// The result of a tool call, as the request brings it.
#[derive(Clone, Debug)]
pub struct ReturnedResult {
    /// The call that it answers.
    pub id: String,
    /// Its text.
    pub text: String,
}

impl View {
    /// The number of the turn that is asked for, from 1.
    pub fn turn(&self) -> usize {
        1 + self.turns.iter().filter(|turn| matches!(turn, Turn::Assistant { .. })).count()
    }

    /// Everything but the system prompt, in order.
    pub fn text(&self) -> String {
        let mut parts = Vec::new();
        for turn in &self.turns {
            match turn {
                Turn::User(text) => parts.push(text.clone()),
                Turn::Assistant { text, calls, .. } => {
                    parts.push(text.clone());
                    parts.extend(calls.iter().map(|call| format!("{} {}", call.name, call.arguments)));
                }
                Turn::Results(results) => parts.extend(results.iter().map(|result| result.text.clone())),
            }
        }
        parts.join("\n")
    }

    /// The newest result and its call, when the model has not spoken since.
    pub fn last_result(&self) -> Option<(&RequestedCall, &ReturnedResult)> {
        let spoke = self.turns.iter().rposition(|turn| matches!(turn, Turn::Assistant { .. }))?;
        let Turn::Assistant { calls, .. } = &self.turns[spoke] else { return None };
        let results = self.turns[spoke..].iter().rev().find_map(|turn| match turn {
            Turn::Results(results) => results.last(),
            _ => None,
        })?;
        calls.iter().find(|call| call.id == results.id).map(|call| (call, results))
    }

    /// The last thing that was said to the model, shortened, for messages.
    pub fn newest(&self) -> String {
        let text = match self.turns.last() {
            Some(Turn::User(text)) => format!("words: {text}"),
            Some(Turn::Results(results)) => {
                let result = results.last().map(|result| result.text.as_str()).unwrap_or_default();
                format!("result: {result}")
            }
            _ => "nothing".to_owned(),
        };
        text.chars().take(3000).collect()
    }

    /// The rules that all strict providers share.
    pub fn check(&self) -> Result<(), String> {
        if self.system.trim().is_empty() {
            return Err("system prompt is missing".to_owned());
        }
        match self.turns.first() {
            Some(Turn::User(_)) => {}
            _ => return Err("first message must have role user".to_owned()),
        }
        if matches!(self.turns.last(), Some(Turn::Assistant { .. })) {
            return Err("last message must not be the assistant's".to_owned());
        }
        let mut ids = BTreeSet::new();
        for (index, turn) in self.turns.iter().enumerate() {
            let next = self.turns.get(index + 1);
            match turn {
                Turn::User(text) if text.trim().is_empty() => return Err("text must not be empty".to_owned()),
                Turn::User(_) => {}
                Turn::Assistant { text, calls, .. } => {
                    if text.trim().is_empty() && calls.is_empty() {
                        return Err(format!("assistant message {index} is empty"));
                    }
                    if matches!(next, Some(Turn::Assistant { .. })) {
                        return Err("roles must alternate: two assistant messages in a row".to_owned());
                    }
                    for call in calls {
                        check_call(call, &self.tools)?;
                        if !ids.insert(call.id.clone()) {
                            return Err(format!("call id {:?} is used twice", call.id));
                        }
                    }
                    check_results(calls, next)?;
                }
                Turn::Results(results) => {
                    let before = index.checked_sub(1).map(|before| &self.turns[before]);
                    if !matches!(before, Some(Turn::Assistant { calls, .. }) if !calls.is_empty()) {
                        return Err(format!("unexpected tool_use_id found in tool_result blocks: {}", results[0].id));
                    }
                }
            }
        }
        Ok(())
    }
}

fn check_call(call: &RequestedCall, tools: &BTreeSet<String>) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if call.id.is_empty() {
        return Err("a call has an empty id".to_owned());
    }
    if call.name.is_empty() || call.name.len() > 128 || !call.name.chars().all(plain) {
        return Err(format!("call name {:?} does not match ^[a-zA-Z0-9_-]{{1,128}}$", call.name));
    }
    if !call.arguments.is_object() {
        return Err(format!("invalid tool call arguments of {}", call.id));
    }
    let _ = tools; // an unknown name is the model's own fault and is taken back
    Ok(())
}

/// Exactly one result for each call, directly after it.
fn check_results(calls: &[RequestedCall], next: Option<&Turn>) -> Result<(), String> {
    let results: &[ReturnedResult] = match next {
        Some(Turn::Results(results)) => results,
        _ => &[],
    };
    let mut counts: BTreeMap<&str, usize> = calls.iter().map(|call| (call.id.as_str(), 0)).collect();
    for result in results {
        if result.text.trim().is_empty() {
            return Err(format!("result of {} is empty", result.id));
        }
        match counts.get_mut(result.id.as_str()) {
            Some(count) => *count += 1,
            None => return Err(format!("unexpected tool_use_id found in tool_result blocks: {}", result.id)),
        }
    }
    for (id, count) in counts {
        match count {
            0 => return Err(format!("tool_use ids were found without tool_result blocks immediately after: {id}")),
            1 => {}
            _ => return Err(format!("each tool_use must have a single result: {id}")),
        }
    }
    Ok(())
}

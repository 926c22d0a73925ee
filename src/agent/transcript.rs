//! From a plan's Messages and Executions to what the model is sent. Pure.
//!
//! Invariant: everything but the newest entry depends on immutable objects only, so that the provider's cache of the
//! prefix holds; what changes from turn to turn is the [`TurnContext`], at the very end of the newest entry.

use std::{collections::BTreeMap, fmt::Write};

use super::{
    context::TurnContext,
    entry::{CallResult, Entry},
    prompt,
    result::{render_result, render_short},
};
use crate::api::{Execution, Message, MessageKind, Plan, PlanStep, Risk, names::execution_name, text::shortened};

/// Longest declared command that is shown, in bytes.
const LONGEST_DECLARED_COMMAND: usize = 8192;
/// Longest short form of an answer that the controller gave, in bytes.
const LONGEST_SHORT_ANSWER: usize = 400;
/// Results are shortened this many at a time, so that the prefix stays the same for several turns.
const SHORTEN_BY: usize = 8;
/// The newest results that are never shortened.
const KEEP_NEWEST: usize = 2;

/// A call that has no result, so that the model cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "call {call_id} of message {sequence} has no result, since the Execution {execution} that would answer it is \
     missing; cancel this plan and write a new one"
)]
pub struct MissingResult {
    /// The sequence of the Message that holds the call.
    pub sequence: u32,
    /// The call's id.
    pub call_id: String,
    /// The Execution that would answer it.
    pub execution: String,
}

/// The transcript, ending in an entry that the model can answer.
///
/// `executions` holds the plan's Executions by name. A call is answered by the Message's own result, else by its
/// Execution's, else (`ask_operator` only) by the operator's words that carry the Message's sequence.
pub fn entries(
    plan: &Plan,
    messages: &[Message],
    executions: &BTreeMap<String, Execution>,
    context: &TurnContext,
) -> Result<Vec<Entry>, MissingResult> {
    let name = plan.metadata.name.as_deref().unwrap_or_default();
    let mut messages: Vec<&Message> = messages.iter().collect();
    messages.sort_by_key(|message| {
        let made = message.metadata.creation_timestamp.as_ref().map(|time| time.0);
        (message.spec.sequence, message.spec.kind == MessageKind::Answer, made, message.metadata.name.clone())
    });
    let mut drafts = Drafts { list: vec![Draft::User(first_entry(plan))] };
    let mut answered: Vec<Option<&str>> = Vec::new();
    for message in &messages {
        let spec = &message.spec;
        match spec.kind {
            MessageKind::Note => {}
            MessageKind::Answer if answered.contains(&message.metadata.name.as_deref()) => {}
            MessageKind::Answer => drafts.push_user_text(by_whom(message, "says")),
            MessageKind::Turn | MessageKind::ClosingTurn
                if spec.text.trim().is_empty() && spec.tool_calls.is_empty() => {}
            MessageKind::Turn | MessageKind::ClosingTurn => {
                drafts.remind_after_words();
                drafts.list.push(Draft::Assistant(Entry::Assistant {
                    text: spec.text.clone(),
                    calls: spec.tool_calls.clone(),
                    opaque: spec.opaque.clone(),
                }));
                if !spec.tool_calls.is_empty() {
                    drafts.list.push(Draft::Results(results_of(name, message, &messages, executions, &mut answered)?));
                }
            }
        }
    }
    drafts.remind_after_words();
    drafts.shorten(context.budget);
    Ok(with_state(drafts, plan, context))
}

/// What an entry will be, with its short form where it has one.
enum Draft {
    User(String),
    Assistant(Entry),
    Results(Vec<DraftResult>),
}

/// The result of a call, and what stands in its place once room is needed.
struct DraftResult {
    whole: CallResult,
    short: String,
}

struct Drafts {
    list: Vec<Draft>,
}

impl Drafts {
    /// Words that are not the model's; they join the ones before, since many servers want turns to alternate.
    fn push_user_text(&mut self, text: String) {
        match self.list.last_mut() {
            Some(Draft::User(before)) => {
                before.push_str("\n\n");
                before.push_str(&text);
            }
            _ => self.list.push(Draft::User(text)),
        }
    }

    /// A turn of words only is answered by the reminder that a tool is needed.
    fn remind_after_words(&mut self) {
        if let Some(Draft::Assistant(_)) = self.list.last() {
            self.list.push(Draft::User(prompt::NO_TOOL_CALLED.to_owned()));
        }
    }

    /// Shortens the oldest results until the whole has at most `budget` bytes or nothing is left to shorten.
    fn shorten(&mut self, budget: usize) {
        let mut total: usize = self.list.iter().map(Draft::bytes).sum();
        let mut results: Vec<&mut DraftResult> = self
            .list
            .iter_mut()
            .filter_map(|draft| match draft {
                Draft::Results(results) => Some(results),
                _ => None,
            })
            .flatten()
            .collect();
        let most = results.len().saturating_sub(KEEP_NEWEST);
        let mut done = 0;
        while done < most && (total > budget || !done.is_multiple_of(SHORTEN_BY)) {
            let DraftResult { whole, short } = &mut *results[done];
            if short.len() < whole.text.len() {
                total -= whole.text.len() - short.len();
                whole.text = std::mem::take(short);
            }
            done += 1;
        }
    }
}

impl Draft {
    fn bytes(&self) -> usize {
        match self {
            Draft::User(text) => text.len(),
            Draft::Assistant(Entry::Assistant { text, calls, opaque }) => {
                let calls: usize = calls.iter().map(|call| call.arguments.len()).sum();
                text.len() + calls + opaque.as_ref().map_or(0, String::len)
            }
            Draft::Assistant(_) => 0,
            Draft::Results(results) => results.iter().map(|result| result.whole.text.len()).sum(),
        }
    }
}

/// The entries, with the plan's state at the end of the newest.
fn with_state(drafts: Drafts, plan: &Plan, context: &TurnContext) -> Vec<Entry> {
    let first = drafts.list.len() == 1;
    let mut entries: Vec<Entry> = drafts
        .list
        .into_iter()
        .map(|draft| match draft {
            Draft::User(text) => Entry::User(text),
            Draft::Assistant(entry) => entry,
            Draft::Results(results) => Entry::Results(results.into_iter().map(|result| result.whole).collect()),
        })
        .collect();
    let state = context.render((!first).then_some(plan.spec.goal.as_str()));
    match entries.last_mut() {
        Some(Entry::User(text)) => text.push_str(&state),
        Some(Entry::Results(results)) => {
            if let Some(last) = results.last_mut() {
                last.text.push_str(&state);
            }
        }
        _ => {}
    }
    entries
}

/// One result for each call, in order.
fn results_of<'a>(
    plan: &str,
    message: &Message,
    messages: &[&'a Message],
    executions: &BTreeMap<String, Execution>,
    answered: &mut Vec<Option<&'a str>>,
) -> Result<Vec<DraftResult>, MissingResult> {
    let spec = &message.spec;
    let mut results = Vec::new();
    for (index, call) in spec.tool_calls.iter().enumerate() {
        let name = execution_name(plan, spec.sequence, index + 1);
        if let Some(inline) = spec.tool_results.iter().find(|result| result.call_id == call.id) {
            let text = if inline.text.is_empty() { "(nothing)" } else { inline.text.as_str() };
            results.push(stored_answer(CallResult {
                call_id: call.id.clone(),
                text: text.to_owned(),
                is_error: inline.is_error,
            }));
            continue;
        }
        if let Some(execution) = executions.get(&name)
            && execution.has_ended()
        {
            let whole = CallResult { call_id: call.id.clone(), ..render_result(execution) };
            results.push(DraftResult { whole, short: render_short(execution) });
            continue;
        }
        let words: Vec<&&Message> = messages
            .iter()
            .filter(|m| call.name == "ask_operator" && m.spec.kind == MessageKind::Answer)
            .filter(|m| m.spec.sequence == spec.sequence)
            .collect();
        if words.is_empty() {
            return Err(MissingResult { sequence: spec.sequence, call_id: call.id.clone(), execution: name });
        }
        answered.extend(words.iter().map(|message| message.metadata.name.as_deref()));
        let text = words.iter().map(|message| by_whom(message, "answers")).collect::<Vec<_>>().join("\n\n");
        results.push(stored_answer(CallResult { call_id: call.id.clone(), text, is_error: false }));
    }
    Ok(results)
}

/// A person's words, and whose they are.
fn by_whom(message: &Message, does: &str) -> String {
    let name = message.spec.author.as_ref().map_or(String::new(), |author| format!(" {}", author.username));
    format!("The operator{name} {does}:\n{}", message.spec.text)
}

/// A result that a Message holds; its short form is its beginning.
fn stored_answer(whole: CallResult) -> DraftResult {
    let short = format!("{} (shortened to save room)", shortened(&whole.text, LONGEST_SHORT_ANSWER));
    DraftResult { whole, short }
}

/// The first entry: what is to be done, where, and which steps were approved.
fn first_entry(plan: &Plan) -> String {
    let spec = &plan.spec;
    let targets: Vec<String> = spec.targets.iter().map(ToString::to_string).collect();
    let mut text = format!(
        "Plan {}. The goal, in the operator's words:\n{}\n\nTargets that you may change: {}. Others you may only read.",
        plan.metadata.name.as_deref().unwrap_or_default(),
        spec.goal.trim(),
        targets.join(", ")
    );
    if !spec.steps.is_empty() {
        text.push_str("\n\nSteps that are part of the plan, in order. Carry them out, adapt where reality differs:");
    }
    for (index, step) in spec.steps.iter().enumerate() {
        let judged = plan.status.as_ref().and_then(|status| status.steps.iter().find(|risk| risk.name == step.name));
        let _ = write!(text, "\n{}", declared_step(index + 1, step, judged.map(|judged| judged.risk)));
    }
    text
}

fn declared_step(number: usize, step: &PlanStep, risk: Option<Risk>) -> String {
    let mut text = format!("{number}. {} on {}", step.name, step.target);
    if let Some(risk) = risk {
        let _ = write!(text, ", {risk:?}");
    }
    if let Some(purpose) = &step.purpose {
        let _ = write!(text, ": {purpose}");
    }
    if let Some(command) = &step.run {
        let _ = write!(text, "\n   run: {}", shortened(command, LONGEST_DECLARED_COMMAND));
        if command.len() > LONGEST_DECLARED_COMMAND {
            text.push_str(" (cut here)");
        }
    }
    if let Some(container) = &step.create_container {
        let _ = write!(text, "\n   create_container: {}", serde_json::to_string(container).unwrap_or_default());
    }
    text
}

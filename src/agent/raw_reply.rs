//! From a reply as a wire format gave it to a Reply within the bounds of a Message: ids, lengths, kind.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    arguments,
    entry::{Reply, ReplyKind, ToolUse, TurnRequest},
    tools,
};
use crate::api::{
    ToolCall, Usage,
    limits::{
        LONGEST_ARGUMENTS, LONGEST_CALL_ID, LONGEST_MODEL_NAME, LONGEST_OPAQUE, LONGEST_STOP_REASON, LONGEST_TEXT,
        LONGEST_TOOL_NAME, MOST_CALLS,
    },
    text::shortened,
};

/// Most bytes that the arguments of all calls of a turn may have together: a Message has to fit into etcd.
const LONGEST_ARGUMENTS_TOGETHER: usize = 2 * LONGEST_ARGUMENTS;

/// A reply as a wire format gave it.
#[derive(Debug, Default)]
pub(super) struct RawReply {
    pub text: String,
    pub calls: Vec<RawCall>,
    pub opaque: Option<String>,
    /// It holds reasoning.
    pub reasoning: bool,
    pub stop_reason: Option<String>,
    pub model: Option<String>,
    pub usage: Option<Usage>,
    /// The length limit ended it.
    pub cut: bool,
    /// It was declined; what was said about it is in `text`.
    pub refused: bool,
}

/// A call as the model wrote it.
#[derive(Debug)]
pub(super) struct RawCall {
    pub id: String,
    pub name: String,
    pub arguments: String,
    /// May be a fragment, because the answer was cut off here.
    pub cut: bool,
}

impl RawReply {
    pub(super) fn into_reply(mut self, used: &BTreeSet<String>, request: &TurnRequest) -> Reply {
        if request.tools == ToolUse::Offered
            && !self.cut
            && !self.refused
            && self.calls.is_empty()
            && let Some(call) = call_in_text(&self.text)
        {
            self.text = String::new();
            self.calls.push(call);
        }
        let may_call = !self.refused && request.tools == ToolUse::Offered;
        let mut ids = used.clone();
        let mut room = LONGEST_ARGUMENTS_TOGETHER;
        let calls: Vec<ToolCall> = std::mem::take(&mut self.calls)
            .into_iter()
            .filter(|call| may_call && !call.cut && !call.name.is_empty())
            // More are dropped, and the model never sees that it made them.
            .take(MOST_CALLS)
            .enumerate()
            .map(|(index, call)| ToolCall {
                id: unique_id(&call.id, &mut ids, request.entries.len(), index),
                // Without an ellipsis: servers refuse a conversation with a name that holds one.
                name: call.name.chars().take(LONGEST_TOOL_NAME).collect(),
                arguments: stored_within(arguments::text_to_store(&call.arguments), &mut room),
            })
            .collect();
        let text = shortened(&self.text, LONGEST_TEXT);
        let kind = match () {
            () if self.refused => ReplyKind::Refusal,
            () if !calls.is_empty() => ReplyKind::Calls,
            () if self.cut => ReplyKind::Cut,
            () if !text.trim().is_empty() => ReplyKind::Text,
            () if self.reasoning => ReplyKind::ReasoningOnly,
            () => ReplyKind::Empty,
        };
        Reply {
            text,
            calls,
            opaque: self.opaque.filter(|opaque| opaque.chars().count() <= LONGEST_OPAQUE),
            stop_reason: self.stop_reason.map(|reason| shortened(&reason, LONGEST_STOP_REASON)),
            model: self.model.map(|model| shortened(&model, LONGEST_MODEL_NAME)),
            usage: self.usage,
            kind,
        }
    }
}

/// The arguments while there is room for them, else a note of their size in their place.
fn stored_within(stored: String, room: &mut usize) -> String {
    match room.checked_sub(stored.len()) {
        Some(left) => {
            *room = left;
            stored
        }
        None => arguments::size_note(stored.len()),
    }
}

/// The id as it is, or a new one where it is missing, too long or used before.
fn unique_id(id: &str, used: &mut BTreeSet<String>, entries: usize, index: usize) -> String {
    let mut id = id.to_owned();
    if id.is_empty() || id.chars().count() > LONGEST_CALL_ID || used.contains(&id) {
        id = format!("call_{entries}_{index}");
        while used.contains(&id) {
            id.push('_');
        }
    }
    used.insert(id.clone());
    id
}

/// Some small models write a call as text. It counts only when the whole answer is one object (bare, fenced or tagged)
/// that names one of our tools and brings arguments.
fn call_in_text(text: &str) -> Option<RawCall> {
    let mut text = text.trim();
    for (open, close) in [("```json", "```"), ("```", "```"), ("<tool_call>", "</tool_call>")] {
        if let Some(inner) = text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)) {
            text = inner.trim();
        }
    }
    let Ok(Value::Object(object)) = serde_json::from_str(text) else { return None };
    let name = object.get("name")?.as_str()?;
    let arguments = object.get("arguments").or_else(|| object.get("parameters"))?;
    let known = object.len() == 2 && tools::NAMES.contains(&name);
    let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
    known.then(|| RawCall { id: String::new(), name: name.to_owned(), arguments, cut: false })
}

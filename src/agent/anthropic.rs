//! Anthropic Messages: <https://platform.claude.com/docs/en/api/messages>, version 2023-06-01.

use serde::{Deserialize, Serialize};
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};

use super::{
    arguments,
    entry::{CallResult, Entry, ToolUse, TurnRequest},
    error::{ErrorCategory, ModelError},
    raw_reply::{RawCall, RawReply},
    tools,
    wire::{string_of, unreadable, unwritable},
};
use crate::api::{ToolCall, Usage};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    system: Value,
    tools: Vec<Value>,
    tool_choice: Value,
    messages: Vec<Turn>,
}

#[derive(Serialize)]
struct Turn {
    role: &'static str,
    content: Vec<Box<RawValue>>,
}

/// What a Message keeps of an answer that plain text and calls do not hold: its blocks in their order, as they came.
/// A call stands there as its index, since ids and arguments may have been repaired.
#[derive(Serialize, Deserialize)]
struct Opaque {
    anthropic: Vec<Box<RawValue>>,
}

#[derive(Serialize, Deserialize)]
struct CallAt {
    call: usize,
}

/// The request's body. Anchors for the provider's cache stand after the tools, after the system prompt and at the last
/// call, so that only the newest entry is read afresh. The first two outlive a long step.
pub(super) fn render(model: &str, request: &TurnRequest) -> Result<Vec<u8>, ModelError> {
    let lasting = json!({"type": "ephemeral", "ttl": "1h"});
    let mut tools: Vec<Value> = tools::schemas()
        .into_iter()
        .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters}))
        .collect();
    if let Some(last) = tools.last_mut() {
        last["cache_control"] = lasting.clone();
    }
    // A conversation with calls has to declare its tools; in the closing turn they may only not be chosen.
    let tool_choice = match request.tools {
        ToolUse::Offered => json!({"type": "auto", "disable_parallel_tool_use": true}),
        ToolUse::Withheld => json!({"type": "none"}),
    };
    let body = Body {
        model,
        max_tokens: request.max_tokens,
        system: json!([{"type": "text", "text": request.system, "cache_control": lasting}]),
        tools,
        tool_choice,
        messages: turns(&request.entries).map_err(unwritable)?,
    };
    serde_json::to_vec(&body).map_err(unwritable)
}

fn turns(entries: &[Entry]) -> Result<Vec<Turn>, serde_json::Error> {
    let anchor = last_call(entries);
    let mut turns: Vec<Turn> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let (role, content) = match entry {
            Entry::User(text) => ("user", vec![text_block(text)?]),
            Entry::Results(results) => ("user", results.iter().map(result_block).collect::<Result<_, _>>()?),
            Entry::Assistant { text, calls, opaque } => {
                ("assistant", assistant_blocks(text, calls, opaque.as_deref(), anchor == Some(index))?)
            }
        };
        match turns.last_mut() {
            Some(last) if last.role == role => last.content.extend(content),
            _ => turns.push(Turn { role, content }),
        }
    }
    Ok(turns)
}

/// Where the last Assistant entry with calls stands.
fn last_call(entries: &[Entry]) -> Option<usize> {
    entries.iter().rposition(|entry| matches!(entry, Entry::Assistant { calls, .. } if !calls.is_empty()))
}

fn text_block(text: &str) -> Result<Box<RawValue>, serde_json::Error> {
    to_raw_value(&json!({"type": "text", "text": text}))
}

fn result_block(result: &CallResult) -> Result<Box<RawValue>, serde_json::Error> {
    let mut block = json!({"type": "tool_result", "tool_use_id": accepted_id(&result.call_id), "content": result.text});
    if result.is_error {
        block["is_error"] = json!(true);
    }
    to_raw_value(&block)
}

fn assistant_blocks(
    text: &str,
    calls: &[ToolCall],
    opaque: Option<&str>,
    anchored: bool,
) -> Result<Vec<Box<RawValue>>, serde_json::Error> {
    let call_block = |index: usize, call: &ToolCall| {
        #[derive(Serialize)]
        struct Block<'a> {
            #[serde(rename = "type")]
            kind: &'static str,
            id: String,
            name: &'a str,
            input: &'a RawValue,
            #[serde(skip_serializing_if = "Option::is_none")]
            cache_control: Option<Value>,
        }
        let anchored = anchored && index + 1 == calls.len();
        to_raw_value(&Block {
            kind: "tool_use",
            id: accepted_id(&call.id),
            name: &call.name,
            input: serde_json::from_str(arguments::text_to_replay(&call.arguments))?,
            cache_control: anchored.then(|| json!({"type": "ephemeral"})),
        })
    };
    let kept: Option<Opaque> = opaque.and_then(|opaque| serde_json::from_str(opaque).ok());
    let Some(kept) = kept else {
        let said = (!text.trim().is_empty()).then(|| text_block(text));
        return said.into_iter().chain(calls.iter().enumerate().map(|(i, call)| call_block(i, call))).collect();
    };
    let mut blocks = Vec::new();
    for block in kept.anthropic {
        match serde_json::from_str::<CallAt>(block.get()) {
            Ok(at) => blocks.extend(calls.get(at.call).map(|call| call_block(at.call, call)).transpose()?),
            Err(_) => blocks.push(block),
        }
    }
    Ok(blocks)
}

/// Ids of other providers may hold characters that this format does not take.
fn accepted_id(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

#[derive(Deserialize)]
struct Response {
    content: Option<Vec<Box<RawValue>>>,
    stop_reason: Option<String>,
    stop_details: Option<Value>,
    model: Option<Value>,
    usage: Option<Value>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

/// The answer of a body that came with status 200.
pub(super) fn parse(body: &str) -> Result<RawReply, ModelError> {
    let response: Response = serde_json::from_str(body).map_err(unreadable)?;
    if response.error.is_some_and(|error| !error.is_null()) {
        return Err(ModelError::from_error_body(body));
    }
    let Some(content) = response.content else {
        return Err(ModelError::new(ErrorCategory::Malformed, "the model server's answer has no content"));
    };
    let stop = response.stop_reason.as_deref();
    let mut reply = RawReply {
        cut: matches!(stop, Some("max_tokens" | "model_context_window_exceeded" | "length")),
        refused: stop == Some("refusal"),
        model: string_of(response.model.as_ref()),
        usage: response.usage.as_ref().and_then(usage),
        ..RawReply::default()
    };
    read_blocks(content, &mut reply)?;
    if reply.refused && reply.text.is_empty() {
        let details = response.stop_details.as_ref();
        reply.text = details.and_then(|d| string_of(d.get("explanation"))).unwrap_or_default();
    }
    reply.stop_reason = response.stop_reason;
    Ok(reply)
}

fn read_blocks(content: Vec<Box<RawValue>>, reply: &mut RawReply) -> Result<(), ModelError> {
    let last = content.len().saturating_sub(1);
    let (mut kept, mut simple, mut seen_call) = (Vec::new(), true, false);
    let mut texts = 0;
    for (index, raw) in content.into_iter().enumerate() {
        let block: Block = serde_json::from_str(raw.get()).map_err(unreadable)?;
        match block.kind.as_str() {
            "text" => {
                let text = block.text.unwrap_or_default();
                if text.trim().is_empty() {
                    continue;
                }
                simple &= !seen_call && texts == 0;
                texts += 1;
                if !reply.text.is_empty() {
                    reply.text.push('\n');
                }
                reply.text.push_str(&text);
                kept.push(raw);
            }
            "tool_use" => {
                let cut = reply.cut && index == last;
                let name = block.name.unwrap_or_default();
                if cut || name.is_empty() {
                    continue;
                }
                seen_call = true;
                kept.push(to_raw_value(&CallAt { call: reply.calls.len() }).map_err(unreadable)?);
                let arguments = block.input.map_or("{}", RawValue::get).to_owned();
                reply.calls.push(RawCall { id: block.id.unwrap_or_default(), name, arguments, cut });
            }
            _ => {
                reply.reasoning |= block.kind.contains("thinking");
                simple = false;
                kept.push(raw);
            }
        }
    }
    if !simple {
        reply.opaque = Some(serde_json::to_string(&Opaque { anthropic: kept }).map_err(unreadable)?);
    }
    Ok(())
}

fn usage(usage: &Value) -> Option<Usage> {
    let count = |name: &str| usage.get(name).and_then(Value::as_i64);
    let cached = count("cache_read_input_tokens").unwrap_or(0);
    Some(Usage {
        input_tokens: count("input_tokens")? + cached + count("cache_creation_input_tokens").unwrap_or(0),
        output_tokens: count("output_tokens").unwrap_or(0),
        cached_tokens: cached,
    })
}

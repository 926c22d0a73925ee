//! Anthropic Messages, version 2023-06-01.

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::{ScriptedReply, list, positive, signature, text};
use crate::model::view::{RequestedCall, ReturnedResult, Turn, View};

pub fn read(headers: &HeaderMap, body: &Value) -> Result<View, String> {
    if headers.get("anthropic-version").is_none() {
        return Err("anthropic-version: header is required".to_owned());
    }
    text(body, "model")?;
    positive(body, "max_tokens")?;
    check_anchors(body)?;
    let mut view = View { system: system(body.get("system"))?, ..View::default() };
    for tool in body.get("tools").and_then(Value::as_array).into_iter().flatten() {
        if tool["input_schema"]["type"] != "object" {
            return Err("tools: input_schema must be an object".to_owned());
        }
        view.tools.insert(text(tool, "name")?.to_owned());
    }
    view.may_call = !view.tools.is_empty() && body["tool_choice"]["type"] != "none";
    let mut before = "";
    for message in list(body, "messages")? {
        let role = text(message, "role")?;
        match role {
            "user" => user(message, before == "user", &mut view)?,
            "assistant" => assistant(message, &mut view)?,
            other => return Err(format!("messages: unexpected role {other:?}")),
        }
        before = role;
    }
    let uses_tools = view.turns.iter().any(|turn| matches!(turn, Turn::Results(_)));
    if uses_tools && view.tools.is_empty() {
        return Err("requests which include tool_use or tool_result blocks must define tools".to_owned());
    }
    Ok(view)
}

fn system(system: Option<&Value>) -> Result<String, String> {
    match system {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(blocks)) => {
            Ok(blocks.iter().map(|block| text(block, "text")).collect::<Result<Vec<_>, _>>()?.join("\n"))
        }
        _ => Err("system: a string or blocks are required".to_owned()),
    }
}

/// At most four cache anchors, longer ones first, none on reasoning.
fn check_anchors(body: &Value) -> Result<(), String> {
    let tools = body.get("tools").and_then(Value::as_array).into_iter().flatten();
    let system = body.get("system").and_then(Value::as_array).into_iter().flatten();
    let messages = body.get("messages").and_then(Value::as_array).into_iter().flatten();
    let blocks = messages.filter_map(|message| message.get("content")?.as_array()).flatten();
    let anchored: Vec<&Value> =
        tools.chain(system).chain(blocks).filter(|b| b.get("cache_control").is_some()).collect();
    if anchored.len() > 4 {
        return Err(format!("a maximum of 4 blocks with cache_control may be provided, found {}", anchored.len()));
    }
    if anchored.iter().any(|block| block["type"] == "thinking") {
        return Err("thinking blocks cannot have cache_control".to_owned());
    }
    let mut short = false;
    for block in anchored {
        let long = block["cache_control"]["ttl"] == "1h";
        if long && short {
            return Err("a ttl of 1h must not come after a ttl of 5m".to_owned());
        }
        short |= !long;
    }
    Ok(())
}

fn user(message: &Value, joined: bool, view: &mut View) -> Result<(), String> {
    if joined {
        return Err("roles must alternate: two user messages in a row".to_owned());
    }
    if let Some(words) = message.get("content").and_then(Value::as_str) {
        view.turns.push(Turn::User(words.to_owned()));
        return Ok(());
    }
    let (mut results, mut words) = (Vec::new(), Vec::new());
    for block in list(message, "content")? {
        match text(block, "type")? {
            "tool_result" if !words.is_empty() => {
                return Err("tool_result blocks must come before any text".to_owned());
            }
            "tool_result" => results.push(ReturnedResult {
                id: text(block, "tool_use_id")?.to_owned(),
                text: text(block, "content")?.to_owned(),
            }),
            "text" if text(block, "text")?.trim().is_empty() => {
                return Err("messages: text content blocks must be non-empty".to_owned());
            }
            "text" => words.push(text(block, "text")?.to_owned()),
            other => return Err(format!("messages: unexpected block {other:?} in a user message")),
        }
    }
    if !results.is_empty() {
        view.turns.push(Turn::Results(results));
    }
    if !words.is_empty() {
        view.turns.push(Turn::User(words.join("\n")));
    }
    Ok(())
}

fn assistant(message: &Value, view: &mut View) -> Result<(), String> {
    let (mut said, mut calls, mut reasoning) = (Vec::new(), Vec::new(), None);
    for block in list(message, "content")? {
        match text(block, "type")? {
            "text" if text(block, "text")?.trim().is_empty() => {
                return Err("messages: text content blocks must be non-empty".to_owned());
            }
            "text" => said.push(text(block, "text")?.to_owned()),
            "tool_use" => calls.push(RequestedCall {
                id: text(block, "id")?.to_owned(),
                name: text(block, "name")?.to_owned(),
                arguments: block.get("input").cloned().unwrap_or_default(),
            }),
            "thinking" => {
                let thinking = text(block, "thinking")?;
                if text(block, "signature")? != signature(thinking) {
                    return Err("messages: invalid `signature` in `thinking` block".to_owned());
                }
                reasoning = Some(thinking.to_owned());
            }
            other => return Err(format!("messages: unexpected block {other:?} in an assistant message")),
        }
    }
    view.turns.push(Turn::Assistant { text: said.join("\n"), calls, reasoning });
    Ok(())
}

pub fn write(reply: &ScriptedReply) -> Value {
    let mut content = Vec::new();
    if let Some(reasoning) = &reply.reasoning {
        content.push(json!({"type": "thinking", "thinking": reasoning, "signature": signature(reasoning)}));
    }
    if !reply.text.is_empty() {
        content.push(json!({"type": "text", "text": reply.text}));
    }
    for call in &reply.calls {
        let input: Value = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
        content.push(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input}));
    }
    let stop = match reply.stop.as_deref() {
        _ if reply.refusal.is_some() => "refusal",
        Some("length") => "max_tokens",
        Some("content_filter") => "refusal",
        Some("stop") => "end_turn",
        Some("tool_calls") => "tool_use",
        Some(other) => other,
        None if reply.calls.is_empty() => "end_turn",
        None => "tool_use",
    };
    let mut body = json!({
        "id": format!("msg_{:06}", reply.number), "type": "message", "role": "assistant", "model": reply.model,
        "content": content, "stop_reason": stop, "stop_sequence": null,
    });
    if let Some(refusal) = &reply.refusal {
        body["stop_details"] = json!({"type": "refusal", "category": null, "explanation": refusal});
    }
    if let Some(tokens) = reply.input_tokens {
        body["usage"] = json!({"input_tokens": tokens / 10, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": tokens - tokens / 10, "output_tokens": reply.text.len() / 4 + 20});
    }
    body
}

//! OpenAI Chat Completions, with the objections of DeepSeek, Ollama and llama.cpp as well.

use serde_json::{Value, json};

use super::{ScriptedReply, list, positive, text};
use crate::model::view::{RequestedCall, ReturnedResult, Turn, View};

pub fn read(body: &Value) -> Result<View, String> {
    text(body, "model")?;
    let limit = if body.get("max_tokens").is_some() { "max_tokens" } else { "max_completion_tokens" };
    positive(body, limit)?;
    let mut view = View::default();
    for tool in body.get("tools").and_then(Value::as_array).into_iter().flatten() {
        let function = tool.get("function").ok_or("tools: function is required")?;
        if function["parameters"]["type"] != "object" {
            return Err("tools: parameters must be an object".to_owned());
        }
        view.tools.insert(text(function, "name")?.to_owned());
    }
    view.may_call = !view.tools.is_empty() && body["tool_choice"] != "none";
    for (index, message) in list(body, "messages")?.iter().enumerate() {
        match text(message, "role")? {
            "system" if index == 0 => view.system = text(message, "content")?.to_owned(),
            "system" => return Err("messages: system only as the first message".to_owned()),
            "user" => view.turns.push(Turn::User(text(message, "content")?.to_owned())),
            "assistant" => view.turns.push(assistant(message)?),
            "tool" => tool(message, &mut view)?,
            other => return Err(format!("unknown variant `{other}`, expected one of system, user, assistant, tool")),
        }
    }
    Ok(view)
}

fn tool(message: &Value, view: &mut View) -> Result<(), String> {
    let id = text(message, "tool_call_id")?.to_owned();
    let result = ReturnedResult { id, text: text(message, "content")?.to_owned() };
    match view.turns.last_mut() {
        Some(Turn::Results(results)) => results.push(result),
        _ => view.turns.push(Turn::Results(vec![result])),
    }
    Ok(())
}

fn assistant(message: &Value) -> Result<Turn, String> {
    let mut calls = Vec::new();
    for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        if call["type"] != "function" {
            return Err("tool_calls: type must be function".to_owned());
        }
        let function = call.get("function").ok_or("tool_calls: function is required")?;
        let arguments = serde_json::from_str(text(function, "arguments")?)
            .map_err(|error| format!("invalid tool call arguments: {error}"))?;
        calls.push(RequestedCall {
            id: text(call, "id")?.to_owned(),
            name: text(function, "name")?.to_owned(),
            arguments,
        });
    }
    let said = match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None if !calls.is_empty() => String::new(),
        _ => return Err("invalid message content type: <nil>".to_owned()),
    };
    let reasoning = message.get("reasoning_content").and_then(Value::as_str).map(str::to_owned);
    Ok(Turn::Assistant { text: said, calls, reasoning })
}

pub fn write(reply: &ScriptedReply) -> Value {
    let content = if reply.text.is_empty() { Value::Null } else { json!(reply.text) };
    let mut message = json!({"role": "assistant", "content": content});
    if let Some(reasoning) = &reply.reasoning {
        message["reasoning_content"] = json!(reasoning);
    }
    if let Some(refusal) = &reply.refusal {
        message["refusal"] = json!(refusal);
    }
    if !reply.calls.is_empty() {
        let calls = reply.calls.iter().map(|call| {
            json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}})
        });
        message["tool_calls"] = calls.collect();
    }
    let stop = match reply.stop.as_deref() {
        Some(stop) => stop,
        None if reply.calls.is_empty() => "stop",
        None => "tool_calls",
    };
    let mut body = json!({
        "id": format!("chatcmpl-{:06}", reply.number), "object": "chat.completion", "created": 1_780_000_000,
        "model": reply.model, "choices": [{"index": 0, "message": message, "finish_reason": stop}],
    });
    if let Some(tokens) = reply.input_tokens {
        let written = reply.text.len() / 4 + 20;
        body["usage"] = json!({"prompt_tokens": tokens, "completion_tokens": written,
            "total_tokens": tokens + written, "prompt_tokens_details": {"cached_tokens": tokens - tokens / 10}});
    }
    body
}

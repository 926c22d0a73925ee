//! OpenAI Chat Completions, as OpenAI and the many servers that follow it speak it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{
    Map, Value, json,
    value::{RawValue, to_raw_value},
};

use super::{
    arguments,
    entry::{Entry, ToolUse, TurnRequest},
    error::{ErrorCategory, ModelError},
    raw_reply::{RawCall, RawReply},
    tools,
    wire::{string_of, unreadable, unwritable},
};
use crate::api::{ToolCall, Usage};

/// Fields of an assistant message that servers want back as they were: reasoning of DeepSeek and llama.cpp, of Ollama
/// and vLLM, of OpenRouter, of LiteLLM.
const REPLAYED: [&str; 4] = ["reasoning_content", "reasoning", "reasoning_details", "thinking_blocks"];
/// The same inside a call: Gemini's thought signatures.
const REPLAYED_IN_CALL: &str = "extra_content";

/// What differs between servers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dialect {
    /// DeepSeek refuses calls without `reasoning_content`, be it empty, and takes content only as text.
    pub deepseek: bool,
    /// OpenAI's own reasoning models refuse `max_tokens`; other servers may know nothing else.
    pub official: bool,
}

/// A JSON object by field; raw values, so that replayed fields keep their bytes.
type Fields = BTreeMap<String, Box<RawValue>>;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Fields>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// What a Message keeps of an answer: message fields, and fields of its calls by index.
#[derive(Default, Serialize, Deserialize)]
struct Opaque {
    openai: Fields,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    calls: BTreeMap<usize, Box<RawValue>>,
}

/// The request's body. In the closing turn no tools are declared, since many servers ignore `tool_choice`.
pub(super) fn render(model: &str, dialect: Dialect, request: &TurnRequest) -> Result<Vec<u8>, ModelError> {
    let mut rest = Map::new();
    let limit = if dialect.official { "max_completion_tokens" } else { "max_tokens" };
    rest.insert(limit.to_owned(), json!(request.max_tokens));
    if request.tools == ToolUse::Offered {
        let functions = tools::schemas().into_iter().map(|tool| {
            json!({"type": "function", "function":
                {"name": tool.name, "description": tool.description, "parameters": tool.parameters}})
        });
        rest.insert("tools".to_owned(), functions.collect());
        rest.insert("parallel_tool_calls".to_owned(), json!(false));
    }
    let mut messages = vec![message("system", &request.system).map_err(unwritable)?];
    for entry in &request.entries {
        match entry {
            Entry::User(text) => messages.push(message("user", text).map_err(unwritable)?),
            Entry::Results(results) => {
                for result in results {
                    let mut fields = message("tool", &result.text).map_err(unwritable)?;
                    fields.insert("tool_call_id".to_owned(), to_raw_value(&result.call_id).map_err(unwritable)?);
                    messages.push(fields);
                }
            }
            Entry::Assistant { text, calls, opaque } => {
                messages.push(assistant_message(dialect, text, calls, opaque.as_deref()).map_err(unwritable)?);
            }
        }
    }
    serde_json::to_vec(&Body { model, messages, rest }).map_err(unwritable)
}

fn message(role: &str, content: &str) -> Result<Fields, serde_json::Error> {
    Ok(Fields::from([("role".to_owned(), to_raw_value(role)?), ("content".to_owned(), to_raw_value(content)?)]))
}

fn assistant_message(
    dialect: Dialect,
    text: &str,
    calls: &[ToolCall],
    opaque: Option<&str>,
) -> Result<Fields, serde_json::Error> {
    let kept: Opaque = opaque.and_then(|opaque| serde_json::from_str(opaque).ok()).unwrap_or_default();
    let mut turn = kept.openai;
    turn.insert("role".to_owned(), to_raw_value("assistant")?);
    let silent = text.trim().is_empty() && !calls.is_empty() && !dialect.deepseek;
    let content = if silent { to_raw_value(&Value::Null)? } else { to_raw_value(text)? };
    turn.insert("content".to_owned(), content);
    if calls.is_empty() {
        return Ok(turn);
    }
    let rendered = calls.iter().enumerate().map(|(index, call)| {
        let function = json!({"name": call.name, "arguments": arguments::text_to_replay(&call.arguments)});
        let mut fields = Fields::from([
            ("id".to_owned(), to_raw_value(&call.id)?),
            ("type".to_owned(), to_raw_value("function")?),
            ("function".to_owned(), to_raw_value(&function)?),
        ]);
        if let Some(extra) = kept.calls.get(&index) {
            fields.insert(REPLAYED_IN_CALL.to_owned(), extra.clone());
        }
        Ok(fields)
    });
    turn.insert("tool_calls".to_owned(), to_raw_value(&rendered.collect::<Result<Vec<_>, serde_json::Error>>()?)?);
    if dialect.deepseek && !turn.contains_key("reasoning_content") {
        turn.insert("reasoning_content".to_owned(), to_raw_value("")?);
    }
    Ok(turn)
}

#[derive(Deserialize)]
struct Response {
    choices: Option<Vec<Choice>>,
    model: Option<Value>,
    usage: Option<Value>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    message: Option<BTreeMap<String, Box<RawValue>>>,
    finish_reason: Option<Value>,
}

/// The answer of a body that came with status 200.
pub(super) fn parse(body: &str) -> Result<RawReply, ModelError> {
    let response: Response = serde_json::from_str(body).map_err(unreadable)?;
    if response.error.is_some_and(|error| !error.is_null()) {
        return Err(ModelError::from_error_body(body));
    }
    let Some(choices) = response.choices else {
        return Err(ModelError::new(ErrorCategory::Malformed, "the model server's answer has no choices"));
    };
    let (model, usage) = (string_of(response.model.as_ref()), response.usage.as_ref().and_then(usage));
    let mut reply = RawReply { model, usage, ..RawReply::default() };
    let Some(choice) = choices.into_iter().next() else { return Ok(reply) };
    reply.stop_reason = string_of(choice.finish_reason.as_ref());
    let stop = reply.stop_reason.as_deref();
    reply.cut = matches!(stop, Some("length" | "model_length" | "max_tokens"));
    reply.refused = matches!(stop, Some("content_filter" | "refusal"));
    if let Some(message) = choice.message {
        read_message(message, &mut reply)?;
    }
    Ok(reply)
}

fn read_message(mut message: Fields, reply: &mut RawReply) -> Result<(), ModelError> {
    let field = |name: &str| message.get(name).and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    reply.text = field("content").map(|content| content_text(&content)).unwrap_or_default();
    if let Some(refusal) =
        field("refusal").and_then(|refusal| string_of(Some(&refusal))).filter(|text| !text.is_empty())
    {
        reply.refused = true;
        reply.text = refusal;
    }
    let written: Vec<Fields> = message
        .get("tool_calls")
        .map(|raw| serde_json::from_str::<Option<Vec<Fields>>>(raw.get()))
        .transpose()
        .map_err(unreadable)?
        .flatten()
        .unwrap_or_default();
    let mut opaque = Opaque::default();
    for fields in written {
        let Some(call) = raw_call(&fields, reply.cut) else { continue };
        if call.cut {
            continue;
        }
        if let Some(extra) = fields.get(REPLAYED_IN_CALL).filter(|raw| raw.get() != "null") {
            opaque.calls.insert(reply.calls.len(), extra.clone());
        }
        reply.calls.push(call);
    }
    for name in REPLAYED {
        if let Some(raw) = message.remove(name).filter(|raw| raw.get() != "null") {
            reply.reasoning |= !matches!(raw.get(), "\"\"" | "[]");
            opaque.openai.insert(name.to_owned(), raw);
        }
    }
    if !opaque.openai.is_empty() || !opaque.calls.is_empty() {
        reply.opaque = Some(serde_json::to_string(&opaque).map_err(unreadable)?);
    }
    Ok(())
}

/// None for a call without a function's name, as some proxies append them.
fn raw_call(fields: &Fields, cut: bool) -> Option<RawCall> {
    let value = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).ok();
    let function: Fields = serde_json::from_str(fields.get("function")?.get()).ok()?;
    let name = value(function.get("name")?)?.as_str()?.trim().to_owned();
    let arguments = match function.get("arguments") {
        Some(raw) => value(raw)?.as_str().map_or_else(|| raw.get().to_owned(), str::to_owned),
        None => String::new(),
    };
    let id = fields.get("id").and_then(|raw| value(raw)?.as_str().map(str::to_owned)).unwrap_or_default();
    let cut = cut && !arguments::is_whole_object(&arguments);
    (!name.is_empty()).then_some(RawCall { id, name, arguments, cut })
}

/// A content that is text, or a list of parts with text.
fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn usage(usage: &Value) -> Option<Usage> {
    let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_i64);
    Some(Usage {
        input_tokens: count("/prompt_tokens")?,
        output_tokens: count("/completion_tokens").unwrap_or(0),
        cached_tokens: count("/prompt_tokens_details/cached_tokens")
            .or_else(|| count("/prompt_cache_hit_tokens"))
            .unwrap_or(0),
    })
}

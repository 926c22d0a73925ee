//! The two wire formats: requests are read as their strictest providers do, answers are written.

mod anthropic;
mod openai;

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::view::View;

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFormat {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    OpenAI,
}

/// The reply that a scenario asks for, before it is written in a wire format.
#[derive(Debug, Default)]
pub struct ScriptedReply {
    pub number: usize,
    pub model: String,
    pub text: String,
    pub reasoning: Option<String>,
    pub calls: Vec<ReplyCall>,
    pub refusal: Option<String>,
    pub stop: Option<String>,
    pub input_tokens: Option<usize>,
}

/// A tool call within a scripted reply.
#[derive(Clone, Debug)]
pub struct ReplyCall {
    pub id: String,
    pub name: String,
    pub arguments: String,
}

impl WireFormat {
    /// The format of an endpoint.
    pub fn of(path: &str) -> Option<Self> {
        match path {
            _ if path.ends_with("/v1/messages") => Some(Self::Anthropic),
            _ if path.ends_with("/chat/completions") => Some(Self::OpenAI),
            _ => None,
        }
    }

    /// The key that a request shows.
    pub fn key(self, headers: &HeaderMap) -> Option<&str> {
        match self {
            Self::Anthropic => headers.get("x-api-key")?.to_str().ok(),
            Self::OpenAI => headers.get("authorization")?.to_str().ok()?.strip_prefix("Bearer "),
        }
    }

    /// Reads a request; the error says what a strict provider objects to.
    pub fn read(self, headers: &HeaderMap, body: &Value) -> Result<View, String> {
        if headers.get("content-type").and_then(|value| value.to_str().ok()) != Some("application/json") {
            return Err("content-type must be application/json".to_owned());
        }
        let view = match self {
            Self::Anthropic => anthropic::read(headers, body)?,
            Self::OpenAI => openai::read(body)?,
        };
        view.check()?;
        Ok(view)
    }

    /// The body of an answer.
    pub fn write(self, reply: &ScriptedReply) -> Value {
        match self {
            Self::Anthropic => anthropic::write(reply),
            Self::OpenAI => openai::write(reply),
        }
    }

    /// The body of an error.
    pub fn error(self, kind: &str, message: &str) -> Value {
        match self {
            Self::Anthropic => json!({"type": "error", "error": {"type": kind, "message": message}}),
            Self::OpenAI => json!({"error": {"type": kind, "code": kind, "message": message, "param": null}}),
        }
    }
}

/// What proves that reasoning came back unchanged.
fn signature(reasoning: &str) -> String {
    let mut hasher = DefaultHasher::new();
    reasoning.hash(&mut hasher);
    format!("c2ln{:016x}==", hasher.finish())
}

fn text<'a>(value: &'a Value, name: &str) -> Result<&'a str, String> {
    value.get(name).and_then(Value::as_str).ok_or_else(|| format!("{name}: a string is required"))
}

fn list<'a>(value: &'a Value, name: &str) -> Result<&'a Vec<Value>, String> {
    value.get(name).and_then(Value::as_array).ok_or_else(|| format!("{name}: a list is required"))
}

fn positive(body: &Value, name: &str) -> Result<(), String> {
    match body.get(name).and_then(Value::as_u64) {
        Some(1..) => Ok(()),
        _ => Err(format!("{name}: a positive number is required")),
    }
}

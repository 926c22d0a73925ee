//! The argument text of a tool call: repaired where that is safe, bounded, and always valid JSON when it is replayed.

use serde_json::{Map, Value, value::RawValue};

use crate::api::limits::LONGEST_ARGUMENTS;

/// What stands in for longer ones; a JSON string, so that it can never be taken for arguments.
const OVERSIZED: &str = "oversized arguments, bytes: ";

/// Why an argument text cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// It was this many bytes long and is not kept.
    Oversized(String),
    /// It is JSON, but not an object.
    NotAnObject,
    /// It is not JSON; why.
    NotJson(String),
}

/// The text to be stored for what a model wrote: as written where that is a JSON object, else repaired, else as written
/// (cut at the bound), for [`parse_object`] to complain about.
pub(super) fn text_to_store(written: &str) -> String {
    let text = written.trim();
    if text.len() > LONGEST_ARGUMENTS {
        return size_note(text.len());
    }
    if text.is_empty() || text == "null" {
        return "{}".to_owned();
    }
    if is_object(text) {
        return text.to_owned();
    }
    [unquoted(text), Some(with_escaped_controls(text)), first_value(text), first_value(&with_escaped_controls(text))]
        .into_iter()
        .flatten()
        .find(|repaired| repaired.len() <= LONGEST_ARGUMENTS && is_object(repaired))
        .unwrap_or_else(|| text.to_owned())
}

/// What is stored instead of arguments of this many bytes.
pub(super) fn size_note(bytes: usize) -> String {
    Value::String(format!("{OVERSIZED}{bytes}")).to_string()
}

/// Whether the text is a whole JSON object as it stands. Of an answer that was cut off, only such calls count.
pub(super) fn is_whole_object(written: &str) -> bool {
    is_object(written.trim())
}

/// The arguments of a stored text.
pub(super) fn parse_object(stored: &str) -> Result<Map<String, Value>, Unusable> {
    match serde_json::from_str::<Value>(stored) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(Value::String(text)) if text.starts_with(OVERSIZED) => {
            Err(Unusable::Oversized(text[OVERSIZED.len()..].to_owned()))
        }
        Ok(_) => Err(Unusable::NotAnObject),
        Err(error) => Err(Unusable::NotJson(error.to_string())),
    }
}

/// What is sent back to the provider: the stored text where it is an object, else `{}`. Servers reject a whole
/// conversation for one argument text that is not JSON.
pub(super) fn text_to_replay(stored: &str) -> &str {
    if is_object(stored) { stored } else { "{}" }
}

fn is_object(text: &str) -> bool {
    text.starts_with('{') && serde_json::from_str::<&RawValue>(text).is_ok()
}

/// An object that was written as a JSON string.
fn unquoted(text: &str) -> Option<String> {
    serde_json::from_str::<String>(text).ok()
}

/// Raw control characters inside strings, escaped; some models write line breaks as they are.
fn with_escaped_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut inside, mut backslash) = (false, false);
    for c in text.chars() {
        match c {
            c if inside && c.is_ascii_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
        if c == '"' && !backslash {
            inside = !inside;
        }
        backslash = inside && c == '\\' && !backslash;
    }
    out
}

/// The text up to where its first object closes: some models write on after the last brace.
fn first_value(text: &str) -> Option<String> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Box<RawValue>>();
    values.next()?.ok().map(|value| value.get().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_texts_are_repaired_only_where_the_meaning_is_certain() {
        let table = [
            (r#" {"a":1} "#, r#"{"a":1}"#),
            ("", "{}"),
            ("null", "{}"),
            (r#""{\"a\":1}""#, r#"{"a":1}"#),
            ("{\"a\":\"x\ny\"}", "{\"a\":\"x\\u000ay\"}"),
            (r#"{"a":1} and that is all"#, r#"{"a":1}"#),
            ("{\"a\":\"x\ty\"}}", "{\"a\":\"x\\u0009y\"}"),
            (r#"{"command": "rm -r"#, r#"{"command": "rm -r"#),
            ("[1]", "[1]"),
        ];
        for (written, expected) in table {
            assert_eq!(text_to_store(written), expected, "{written:?}");
        }
    }

    #[test]
    fn what_is_replayed_is_always_an_object() {
        for text in [r#"{"a":1}"#, "{", "[1]", "\"x\"", "null"] {
            assert!(is_object(text_to_replay(text)), "{text:?}");
        }
    }

    #[test]
    fn oversized_arguments_are_named_with_their_size_and_not_kept() {
        let kept = text_to_store(&format!("{{\"command\":\"{}\"}}", "x".repeat(LONGEST_ARGUMENTS)));
        assert!(kept.len() < 100);
        assert_eq!(parse_object(&kept), Err(Unusable::Oversized((LONGEST_ARGUMENTS + 14).to_string())));
    }
}

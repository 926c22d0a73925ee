//! What both wire formats need to write a request and to read a reply.

use serde_json::Value;

use super::error::{ErrorCategory, ModelError};

/// A string, where there is one.
pub(super) fn string_of(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

/// A conversation that cannot be written as a request.
pub(super) fn unwritable(error: serde_json::Error) -> ModelError {
    ModelError::new(ErrorCategory::BadRequest, format!("the conversation cannot be written as JSON: {error}"))
}

/// A reply that is not the JSON that it should be.
pub(super) fn unreadable(error: serde_json::Error) -> ModelError {
    ModelError::new(ErrorCategory::Malformed, format!("the model server's answer cannot be read: {error}"))
}

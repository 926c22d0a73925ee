//! Why a model request failed, in categories that a controller can act upon and words that a person can.

use std::time::Duration;

use k8s_openapi::jiff::{Timestamp, fmt::rfc2822};
use reqwest::{StatusCode, header::HeaderMap};
use serde_json::Value;

use crate::api::BlockedReason;

/// Longest text of a provider that is repeated in a message, in characters.
const LONGEST: usize = 500;

/// Why a model request failed. The message never holds the API key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// The kind of failure.
    pub category: ErrorCategory,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// How long the server asks to wait; at most an hour.
    pub retry_after: Option<Duration>,
    /// What happened and what to do about it.
    pub message: String,
}

/// The kind of a failed model request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCategory {
    /// The Agent cannot be used as it stands: URL or key are malformed.
    Misconfigured,
    /// The key is missing, wrong or not allowed to use the model.
    Unauthorized,
    /// The account has no credit left.
    PaymentRequired,
    /// No such model or no such endpoint.
    NotFound,
    /// The server does not accept the request.
    BadRequest,
    /// The conversation is longer than the model can read.
    ContextOverflow,
    /// A content filter refuses the conversation, and will again.
    ContentFiltered,
    /// Too many requests.
    RateLimited,
    /// The server has no capacity at the moment.
    Overloaded,
    /// The server failed.
    ServerError,
    /// No answer in time.
    TimedOut,
    /// No connection, or it broke.
    Unreachable,
    /// The server answers with a redirect, which is never followed.
    Redirected,
    /// The answer is not what the wire format says.
    Malformed,
}

impl ErrorCategory {
    /// The code of a note about a failure of this kind.
    pub fn reason(self) -> BlockedReason {
        match self {
            Self::Misconfigured => BlockedReason::ModelMisconfigured,
            Self::Unauthorized => BlockedReason::ModelUnauthorized,
            Self::PaymentRequired => BlockedReason::ModelPaymentRequired,
            Self::NotFound => BlockedReason::ModelNotFound,
            Self::BadRequest => BlockedReason::ModelBadRequest,
            Self::ContextOverflow => BlockedReason::ModelContextOverflow,
            Self::ContentFiltered => BlockedReason::ModelContentFiltered,
            Self::RateLimited => BlockedReason::ModelRateLimited,
            Self::Overloaded => BlockedReason::ModelOverloaded,
            Self::ServerError => BlockedReason::ModelServerError,
            Self::TimedOut => BlockedReason::ModelTimedOut,
            Self::Unreachable => BlockedReason::ModelUnreachable,
            Self::Redirected => BlockedReason::ModelRedirected,
            Self::Malformed => BlockedReason::ModelMalformed,
        }
    }

    fn retryable(self) -> bool {
        matches!(
            self,
            Self::RateLimited
                | Self::Overloaded
                | Self::ServerError
                | Self::TimedOut
                | Self::Unreachable
                | Self::Malformed
        )
    }

    fn advice(self) -> &'static str {
        match self {
            Self::Misconfigured => "correct the Agent's baseURL or the key in its Secret",
            Self::Unauthorized => "check the key in the Secret that the Agent's apiKeySecretRef names",
            Self::PaymentRequired => "add credit to the account that the key belongs to",
            Self::NotFound => "check the Agent's baseURL and model",
            Self::BadRequest => "check that the Agent's provider and model suit the server",
            Self::ContextOverflow => "use a model or a server setting with a larger context",
            Self::ContentFiltered => {
                "the provider's filter objects to something in the conversation; use another model"
            }
            Self::RateLimited | Self::Overloaded | Self::ServerError => "it is asked again later",
            Self::TimedOut => "it is asked again; raise the Agent's limits.timeoutSeconds if the model is slow",
            Self::Unreachable => "check the Agent's baseURL and the network from the controller",
            Self::Redirected => "set the Agent's baseURL to the final address",
            Self::Malformed => "check that the Agent's provider matches the server's wire format",
        }
    }
}

impl ModelError {
    /// An error of this category; the advice for it is appended to `what`.
    pub(super) fn new(category: ErrorCategory, what: impl AsRef<str>) -> Self {
        let message = format!("{}; {}", what.as_ref(), category.advice());
        Self { category, retryable: category.retryable(), retry_after: None, message }
    }

    /// What reqwest could not do. Its texts name the URL, which may hold a password: it is left out.
    pub(super) fn from_transport(error: reqwest::Error) -> Self {
        let error = error.without_url();
        let category = if error.is_timeout() { ErrorCategory::TimedOut } else { ErrorCategory::Unreachable };
        let mut causes = vec![error.to_string()];
        let mut cause = std::error::Error::source(&error);
        while let Some(inner) = cause {
            causes.push(inner.to_string());
            cause = inner.source();
        }
        causes.dedup();
        Self::new(category, format!("the model server did not answer: {}", one_line(&causes.join(": "))))
    }

    /// An answer with an error status.
    pub(super) fn from_answer(status: StatusCode, headers: &HeaderMap, body: &str) -> Self {
        let error = ErrorBody::read(body);
        let category = categorise(Some(status.as_u16()), &error);
        let said = if error.text.is_empty() { String::new() } else { format!(": {}", one_line(&error.text)) };
        let mut error = Self::new(category, format!("the model server answered {}{said}", status.as_u16()));
        error.retry_after = retry_after(headers);
        if header(headers, "x-should-retry") == Some("false") {
            error.retryable = false;
        }
        error
    }

    /// An error object inside a successful answer.
    pub(super) fn from_error_body(body: &str) -> Self {
        let error = ErrorBody::read(body);
        let category = categorise(error.code.parse().ok(), &error);
        Self::new(category, format!("the model server answered 200 with an error: {}", one_line(&error.text)))
    }

    /// The same with every occurrence of `secret` taken out.
    pub(super) fn without(mut self, secret: Option<&str>) -> Self {
        if let Some(secret) = secret.filter(|secret| !secret.is_empty()) {
            self.message = self.message.replace(secret, "<secret>");
        }
        self
    }
}

/// An error body, in the dialects that servers use.
struct ErrorBody {
    /// Its code or type; empty if there is none.
    code: String,
    /// What it says.
    text: String,
}

impl ErrorBody {
    fn read(body: &str) -> Self {
        let body = body.trim();
        let uncoded = |text: &str| Self { code: String::new(), text: text.to_owned() };
        let Ok(value) = serde_json::from_str::<Value>(body) else { return uncoded(body) };
        let error = value.get("error").unwrap_or(&value);
        if let Value::String(text) = error {
            return uncoded(text);
        }
        let field = |name: &str| match error.get(name) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        Self {
            code: field("code").or_else(|| field("type")).unwrap_or_default(),
            text: field("message").or_else(|| field("detail")).unwrap_or_else(|| body.to_owned()),
        }
    }
}

fn categorise(status: Option<u16>, error: &ErrorBody) -> ErrorCategory {
    let said = format!("{} {}", error.code, error.text).to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if says(&[
        "prompt is too long",
        "exceed_context_size",
        "exceeds the available context size",
        "context length exceeded",
        "context_length_exceeded",
        "maximum context length",
        "please reduce the length of",
        "request_too_large",
    ]) {
        return ErrorCategory::ContextOverflow;
    }
    if says(&["content exists risk"]) {
        return ErrorCategory::ContentFiltered;
    }
    if says(&["enforced_spend_limit_reached", "credit_balance", "insufficient_quota", "billing_error"]) {
        return ErrorCategory::PaymentRequired;
    }
    match status {
        Some(401 | 403) => ErrorCategory::Unauthorized,
        Some(402) => ErrorCategory::PaymentRequired,
        Some(404) => ErrorCategory::NotFound,
        Some(408 | 504) => ErrorCategory::TimedOut,
        Some(413) => ErrorCategory::ContextOverflow,
        Some(429) => ErrorCategory::RateLimited,
        Some(503 | 529) => ErrorCategory::Overloaded,
        Some(300..=399) => ErrorCategory::Redirected,
        Some(409) | Some(500..) => ErrorCategory::ServerError,
        Some(400..=499) => ErrorCategory::BadRequest,
        _ if says(&["authentication_error", "permission_error"]) => ErrorCategory::Unauthorized,
        _ if says(&["rate_limit"]) => ErrorCategory::RateLimited,
        _ if says(&["overloaded"]) => ErrorCategory::Overloaded,
        _ if says(&["invalid_request"]) => ErrorCategory::BadRequest,
        _ if says(&["not_found"]) => ErrorCategory::NotFound,
        _ => ErrorCategory::ServerError,
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// `retry-after-ms`, or `retry-after` in seconds or as a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let millis = header(headers, "retry-after-ms").and_then(|text| text.parse::<f64>().ok()).map(|ms| ms / 1000.0);
    let seconds = millis.or_else(|| {
        let text = header(headers, "retry-after")?;
        text.parse::<f64>().ok().or_else(|| {
            let until = rfc2822::parse(text).ok()?.timestamp();
            Some((until.as_millisecond() - Timestamp::now().as_millisecond()) as f64 / 1000.0)
        })
    })?;
    seconds.is_finite().then(|| Duration::from_secs_f64(seconds.clamp(0.0, 3600.0)))
}

/// At most [`LONGEST`] characters, head and tail, on one line.
fn one_line(text: &str) -> String {
    let line: Vec<char> = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
    if line.len() <= LONGEST {
        return line.into_iter().collect();
    }
    let (head, tail) = (&line[..LONGEST * 2 / 3], &line[line.len() - LONGEST / 3..]);
    format!("{} … {}", head.iter().collect::<String>(), tail.iter().collect::<String>())
}

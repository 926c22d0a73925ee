//! What a decision consists of, whatever it is about.

use k8s_openapi::jiff::{SignedDuration, Timestamp};

use crate::api::ReasonCode;

/// What is to be done: at most one outside action, and the status to record before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision<Effect, Status> {
    /// The one outside action.
    pub effect: Effect,
    /// The status to write first, when it differs from what is stored.
    pub status: Option<Status>,
    /// When to look again even if nothing changes.
    pub again_at: Option<Timestamp>,
    /// The Event to publish once the status is written.
    pub notice: Option<Notice>,
}

impl<Effect: Default, Status> Decision<Effect, Status> {
    /// Carries out this effect and writes nothing.
    pub(super) fn effect(effect: Effect) -> Self {
        Self { effect, ..Self::default() }
    }
}

impl<Effect: Default, Status> Default for Decision<Effect, Status> {
    fn default() -> Self {
        Self { effect: Effect::default(), status: None, again_at: None, notice: None }
    }
}

/// A change of state that is worth an Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Stable code in CamelCase.
    pub reason: &'static str,
    /// One sentence.
    pub note: String,
    /// Whether a person should look.
    pub severity: Severity,
}

/// Whether a person should look at an Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// All is well.
    Normal,
    /// A person should look.
    Warning,
}

impl Notice {
    /// A notice with this code and note.
    pub fn new(severity: Severity, reason: impl ReasonCode, note: impl Into<String>) -> Self {
        Self { reason: reason.as_str(), note: note.into(), severity }
    }
}

/// `seconds` after `time`, or the end of time.
pub(super) fn after(time: Timestamp, seconds: u32) -> Timestamp {
    time.checked_add(SignedDuration::from_secs(i64::from(seconds))).unwrap_or(Timestamp::MAX)
}

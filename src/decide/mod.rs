//! One pure state machine for each kind: what is observed and the time, to one effect and the next status.
//!
//! Invariant: no client, no runtime, no clock, no randomness. Total: an illegal state is a status, not a panic.

mod covered;
mod execution;
#[cfg(test)]
mod execution_tests;
mod judge;
mod object;
mod plan;
#[cfg(test)]
mod plan_tests;
#[cfg(test)]
mod samples;
mod status;
#[cfg(test)]
mod story_tests;
mod turn;
mod window;
#[cfg(test)]
mod window_tests;

pub(in crate::decide) use covered::{LONGEST_REASON, approver};
pub use covered::{approval_command, digest_of, open_windows};
pub use execution::{ExecutionEffect, ObservedExecution, execution};
pub use judge::{Judged, judge, judge_step};
pub use plan::{ObservedPlan, PlanEffect, plan};
pub use turn::{Tally, Turn, TurnEnd};
pub use window::{ObservedWindow, window};

use k8s_openapi::jiff::Timestamp;

/// What is to be done: at most one outside action, and the status to record before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision<E, S> {
    /// The one outside action.
    pub effect: E,
    /// The status to write first, when it differs from what is there.
    pub status: Option<S>,
    /// When to look again even if nothing changes.
    pub again_at: Option<Timestamp>,
    /// What to tell the world, once, when the status is written.
    pub notice: Option<Notice>,
}

/// A state change worth an Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Stable code in CamelCase.
    pub reason: &'static str,
    /// One sentence.
    pub note: String,
    /// Whether a person should look.
    pub warning: bool,
}

impl<E: Default, S> Default for Decision<E, S> {
    fn default() -> Self {
        Self { effect: E::default(), status: None, again_at: None, notice: None }
    }
}

/// `seconds` after `time`, or the end of time.
pub(crate) fn after(time: Timestamp, seconds: u32) -> Timestamp {
    time.checked_add(k8s_openapi::jiff::SignedDuration::from_secs(i64::from(seconds))).unwrap_or(Timestamp::MAX)
}

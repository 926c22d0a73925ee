//! The writes to an Execution's status: entering a phase, the claim, the end.

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

use super::{ExecutionDecision, ExecutionEffect};
use crate::{
    api::{
        Execution, ExecutionPhase, ExecutionReason, ExecutionStatus, Reason, limits::LONGEST_EXECUTION_MESSAGE,
        names::attempt_id, text::shortened,
    },
    decide::{
        decision::{Decision, Notice, Severity},
        object::uid,
    },
};

/// Enters a phase; refuses, and changes nothing, where the table of phases does not allow it. The only place that sets
/// the phase of an Execution.
#[must_use]
pub(super) fn enter(status: &mut ExecutionStatus, next: ExecutionPhase) -> bool {
    let allowed = status.phase.may_become(next);
    if allowed {
        status.phase = next;
    }
    allowed
}

/// Gives a status its reason and message.
pub(super) fn set_reason(status: &mut ExecutionStatus, reason: &Reason<ExecutionReason>) {
    status.reason = Some(reason.code);
    status.message = Some(shortened(&reason.message, LONGEST_EXECUTION_MESSAGE));
}

/// Claims the next attempt and starts it.
pub(super) fn claim(execution: &Execution, mut status: ExecutionStatus, now: Timestamp) -> ExecutionDecision {
    if !enter(&mut status, ExecutionPhase::Starting) {
        return ExecutionDecision::default();
    }
    let attempt = status.attempt.unwrap_or(0).saturating_add(1);
    status.attempt = Some(attempt);
    status.attempt_id = Some(attempt_id(uid(execution), attempt));
    status.start_time = Some(Time(now));
    ExecutionDecision { status: Some(status), ..Decision::effect(ExecutionEffect::Start) }
}

/// Back to Pending after a result that proves that the attempt never started and never will: the next decision
/// asks the gate again.
pub(super) fn release(mut status: ExecutionStatus) -> ExecutionDecision {
    let released = enter(&mut status, ExecutionPhase::Pending);
    ExecutionDecision { status: released.then_some(status), ..Decision::default() }
}

/// Ends an Execution that no task runs.
pub(super) fn end(
    mut status: ExecutionStatus,
    phase: ExecutionPhase,
    reason: Reason<ExecutionReason>,
    now: Timestamp,
) -> ExecutionDecision {
    if !enter(&mut status, phase) {
        return ExecutionDecision::default();
    }
    set_reason(&mut status, &reason);
    status.approval = None;
    status.completion_time = Some(Time(now));
    let severity = match phase {
        ExecutionPhase::Refused | ExecutionPhase::Lost => Severity::Warning,
        _ => Severity::Normal,
    };
    let notice = Notice::new(severity, reason.code, reason.message);
    ExecutionDecision { status: Some(status), notice: Some(notice), ..Decision::default() }
}

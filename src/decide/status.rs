//! The parts of a plan's status that follow from the rest: conditions, and what differs enough to be written.

use k8s_openapi::jiff::Timestamp;

use crate::api::{PlanPhase, PlanStatus, condition};

/// Why the plan is not approved, when it is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ApprovalState {
    pub approved: bool,
    pub reason: &'static str,
    pub message: String,
}

/// Derives every condition from the phase and the approval_state of the approval.
pub(super) fn set_conditions(
    status: &mut PlanStatus,
    approval_state: &ApprovalState,
    generation: Option<i64>,
    now: Timestamp,
) {
    let word = |yes: bool| if yes { "True" } else { "False" };
    let conditions = &mut status.conditions;
    condition::set(
        conditions,
        now,
        generation,
        (condition::APPROVED, word(approval_state.approved), approval_state.reason),
        &approval_state.message,
    );
    let blocked = status.blocked.as_ref().map_or(String::new(), |blocked| blocked.question.clone());
    let summary = status.result.as_ref().map_or(String::new(), |result| result.summary.clone());
    let (value, reason, message) = match status.phase {
        PlanPhase::Succeeded => ("True", "GoalVerified", summary),
        PlanPhase::Failed => ("False", "StepFailed", summary),
        PlanPhase::Denied => ("False", "Denied", "a person denied the plan".to_owned()),
        PlanPhase::Cancelled => ("False", "Cancelled", "a person cancelled the plan".to_owned()),
        PlanPhase::Blocked => ("Unknown", "Blocked", blocked),
        PlanPhase::Planning => ("Unknown", "Planning", String::new()),
        PlanPhase::AwaitingApproval => ("Unknown", "AwaitingApproval", String::new()),
        PlanPhase::AwaitingConfirmation => ("Unknown", "AwaitingConfirmation", String::new()),
        PlanPhase::Running => ("Unknown", "Running", String::new()),
    };
    let message: String = message.chars().take(1024).collect();
    condition::set(conditions, now, generation, (condition::SUCCEEDED, value, reason), &message);
}

/// Says that approvals are not guarded, for as long as they are not; a guarded plan says nothing.
pub(super) fn set_guarded(status: &mut PlanStatus, guarded: bool, generation: Option<i64>, now: Timestamp) {
    let known = status.conditions.iter().any(|condition| condition.type_ == condition::GUARDED);
    if guarded && !known {
        return;
    }
    let (word, reason, message) = if guarded {
        ("True", "PoliciesUp", "")
    } else {
        let message = "the admission policies are missing: anybody who may change the plan can approve it in any name";
        ("False", "PoliciesMissing", message)
    };
    condition::set(&mut status.conditions, now, generation, (condition::GUARDED, word, reason), message);
}

/// Whether the two differ in more than the counters, which are written along with the next change that matters.
pub(super) fn differs(old: Option<&PlanStatus>, new: &PlanStatus) -> bool {
    let Some(old) = old else {
        return true;
    };
    let mut old = old.clone();
    (old.iterations, old.executions, old.failures) = (new.iterations, new.executions, new.failures);
    old != *new
}

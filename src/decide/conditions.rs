//! The parts of a plan's status that follow from the rest: conditions, and what differs enough to be written.

use k8s_openapi::jiff::Timestamp;

use super::admission_guard::AdmissionGuard;
use crate::api::{
    PlanPhase, PlanReason, PlanStatus, Reason,
    condition::{self, ConditionStatus},
    limits::LONGEST_CONDITION_MESSAGE,
    text::shortened,
};

/// Whether the plan is approved as it stands, and if not why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ApprovalState {
    pub approved: bool,
    pub reason: Reason<PlanReason>,
}

impl ApprovalState {
    /// The state of a plan whose approval has not been looked at yet.
    pub(super) fn awaiting() -> Self {
        Self { approved: false, reason: Reason::new(PlanReason::AwaitingApproval, "") }
    }
}

/// Derives every condition from the phase and the state of the approval.
pub(super) fn set_conditions(
    status: &mut PlanStatus,
    approval_state: &ApprovalState,
    generation: Option<i64>,
    now: Timestamp,
) {
    let blocked = status.blocked.as_ref().map_or("", |blocked| blocked.question.as_str());
    let summary = status.result.as_ref().map_or("", |result| result.summary.as_str());
    let (value, code, message) = match status.phase {
        PlanPhase::Succeeded => (ConditionStatus::True, PlanReason::GoalVerified, summary),
        PlanPhase::Failed => (ConditionStatus::False, PlanReason::StepFailed, summary),
        PlanPhase::Denied => (ConditionStatus::False, PlanReason::Denied, "a person denied the plan"),
        PlanPhase::Cancelled => (ConditionStatus::False, PlanReason::Cancelled, "a person cancelled the plan"),
        PlanPhase::Blocked => (ConditionStatus::Unknown, PlanReason::Blocked, blocked),
        PlanPhase::Planning => (ConditionStatus::Unknown, PlanReason::Planning, ""),
        PlanPhase::AwaitingApproval => (ConditionStatus::Unknown, PlanReason::AwaitingApproval, ""),
        PlanPhase::AwaitingConfirmation => (ConditionStatus::Unknown, PlanReason::AwaitingConfirmation, ""),
        PlanPhase::Running => (ConditionStatus::Unknown, PlanReason::Running, ""),
    };
    let succeeded = Reason::new(code, shortened(message, LONGEST_CONDITION_MESSAGE));
    let approved = ConditionStatus::of(approval_state.approved);
    let conditions = &mut status.conditions;
    condition::set(conditions, now, generation, condition::APPROVED, approved, approval_state.reason.clone());
    condition::set(conditions, now, generation, condition::SUCCEEDED, value, succeeded);
}

/// Says that approvals are not guarded, for as long as they are not. A plan that was guarded from the start has no such
/// condition.
pub(super) fn set_guarded(status: &mut PlanStatus, guard: AdmissionGuard, generation: Option<i64>, now: Timestamp) {
    let known = status.conditions.iter().any(|condition| condition.type_ == condition::GUARDED);
    let (value, reason) = match guard {
        AdmissionGuard::Up if !known => return,
        AdmissionGuard::Up => (ConditionStatus::True, Reason::new(PlanReason::PoliciesUp, "")),
        AdmissionGuard::Missing => {
            let message =
                "the admission policies are missing: anybody who may change the plan can approve it in any name";
            (ConditionStatus::False, Reason::new(PlanReason::PoliciesMissing, message))
        }
    };
    condition::set(&mut status.conditions, now, generation, condition::GUARDED, value, reason);
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

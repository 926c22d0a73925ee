//! The Event of a plan that enters a phase.

use crate::{
    api::{PlanPhase, PlanReason, PlanStatus},
    decide::decision::{Notice, Severity},
};

pub(super) fn phase_notice(old: Option<&PlanStatus>, new: &PlanStatus) -> Option<Notice> {
    if old.is_some_and(|old| old.phase == new.phase) {
        return None;
    }
    let command = new.approval.as_ref().map_or("", |approval| approval.command.as_str());
    let summary = new.result.as_ref().map_or("", |result| result.summary.as_str());
    let question = new.blocked.as_ref().map_or("", |blocked| blocked.question.as_str());
    let (severity, reason, note) = match new.phase {
        PlanPhase::Planning => (Severity::Normal, PlanReason::Planning, "the agent looks around"),
        PlanPhase::AwaitingApproval => (Severity::Normal, PlanReason::AwaitingApproval, command),
        PlanPhase::Running => (Severity::Normal, PlanReason::Running, "the plan is being carried out"),
        PlanPhase::AwaitingConfirmation => {
            (Severity::Warning, PlanReason::DestructiveBlocked, "a destructive step waits for its phrase")
        }
        PlanPhase::Blocked => (Severity::Warning, PlanReason::Blocked, question),
        PlanPhase::Succeeded => (Severity::Normal, PlanReason::GoalVerified, summary),
        PlanPhase::Failed => (Severity::Warning, PlanReason::PlanFailed, summary),
        PlanPhase::Denied => (Severity::Normal, PlanReason::Denied, "a person denied the plan"),
        PlanPhase::Cancelled => (Severity::Normal, PlanReason::Cancelled, "a person cancelled the plan"),
    };
    Some(Notice::new(severity, reason, note))
}

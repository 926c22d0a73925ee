//! An Execution that a person has to let run: by an approval of the plan, or by a typed phrase.

use super::{
    ExecutionDecision, ExecutionEffect, ObservedExecution,
    status::{end, enter},
};
use crate::{
    api::{
        APPROVE, CONFIRM, ExecutionApproval, ExecutionPhase, ExecutionReason, ExecutionStatus, Plan, Reason, Target,
        WindowPhase, names::window_name,
    },
    decide::{
        decision::{Decision, Notice, Severity},
        grant::{Approved, confirmation_command, step_approval_command, window_for},
        object::{annotation, uid},
    },
    policy::{Phrase, phrase_code},
};

pub(super) fn await_window(
    observed: &ObservedExecution<'_>,
    plan: &Plan,
    digest: &str,
    status: ExecutionStatus,
) -> ExecutionDecision {
    let approval = plan.status.as_ref().and_then(|status| status.approval.as_ref());
    // The plan was granted once and its controller has taken note that the grant was revoked.
    let started = plan.status.as_ref().is_some_and(|status| status.start_time.is_some());
    if started && approval.is_some_and(|approval| approval.granted.is_none()) {
        return end_as_revoked(observed, status);
    }
    // A token of a plan that changed since is of no use; the plan's controller writes the new one and wakes us.
    let Some(token) = approval
        .filter(|approval| approval.digest == digest && !approval.token.is_empty())
        .map(|approval| approval.token.clone())
    else {
        return ExecutionDecision::default();
    };
    if annotation(observed.execution, APPROVE) == Some(token.as_str()) {
        let window =
            window_for(Approved::PlanByStep(observed.execution), plan, digest, &token, observed.admission_guard);
        return Decision::effect(ExecutionEffect::Grant(Box::new(window)));
    }
    let command = step_approval_command(observed.execution, &token);
    let message = format!("waits for an approval of the plan: {command}");
    let approval = ExecutionApproval { command, token: Some(token), phrase: None };
    await_person(observed, status, approval, Reason::new(ExecutionReason::WindowNeeded, message))
}

pub(super) fn await_phrase(
    observed: &ObservedExecution<'_>,
    plan: &Plan,
    digest: &str,
    target: Target,
    status: ExecutionStatus,
) -> ExecutionDecision {
    let execution = observed.execution;
    let shown = status.approval.as_ref().and_then(|approval| Phrase::parse(approval.phrase.as_deref()?));
    let phrase = shown.unwrap_or_else(|| {
        let approval = plan.status.as_ref().and_then(|status| status.approval.as_ref());
        let nonce = approval.map(|approval| approval.nonce.as_str()).unwrap_or_default();
        let command = execution.spec.run.as_ref().map_or("", |run| run.command.as_str());
        Phrase { target: target.clone(), code: phrase_code(uid(execution), command, nonce) }
    });
    match observed.ended_windows.get(&window_name(&execution.spec.plan_ref.name, &phrase.code)) {
        Some(WindowPhase::Revoked) => return end_as_revoked(observed, status),
        Some(WindowPhase::Expired) => {
            let message = "the window that was confirmed for this step ended before it could start; nothing ran";
            let reason = Reason::new(ExecutionReason::WindowExpired, message);
            return end(status, ExecutionPhase::Expired, reason, observed.now);
        }
        Some(WindowPhase::Active) | None => {}
    }
    let text = phrase.to_string();
    if annotation(execution, CONFIRM) == Some(text.as_str()) && status.approval.is_some() {
        let approved = Approved::Destruction(execution, target);
        let window = window_for(approved, plan, digest, &phrase.code, observed.admission_guard);
        return Decision::effect(ExecutionEffect::Grant(Box::new(window)));
    }
    let command = confirmation_command(execution, &text);
    let message = format!("destructive, and not named in the approved plan; a person has to confirm it: {command}");
    let approval = ExecutionApproval { token: None, command, phrase: Some(text) };
    await_person(observed, status, approval, Reason::new(ExecutionReason::ConfirmationNeeded, message))
}

fn end_as_revoked(observed: &ObservedExecution<'_>, status: ExecutionStatus) -> ExecutionDecision {
    let message = "the operator revoked the grant before this step started; nothing ran";
    end(status, ExecutionPhase::Denied, Reason::new(ExecutionReason::GrantRevoked, message), observed.now)
}

/// Shows what a person has to type, once.
fn await_person(
    observed: &ObservedExecution<'_>,
    mut status: ExecutionStatus,
    approval: ExecutionApproval,
    reason: Reason<ExecutionReason>,
) -> ExecutionDecision {
    if !enter(&mut status, ExecutionPhase::AwaitingApproval) {
        return ExecutionDecision::default();
    }
    status.approval = Some(approval);
    status.reason = Some(reason.code);
    status.message = Some(reason.message.clone());
    if observed.execution.status.as_ref() == Some(&status) {
        return ExecutionDecision::default();
    }
    let notice = Notice::new(Severity::Normal, reason.code, reason.message);
    ExecutionDecision { status: Some(status), notice: Some(notice), ..Decision::default() }
}

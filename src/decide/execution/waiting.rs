//! An Execution that has not been claimed: it ends with its plan, is denied, or asks the gate.

use super::{
    ExecutionDecision, ObservedExecution,
    approval::{await_phrase, await_window},
    status::{claim, end},
};
use crate::{
    api::{
        DENY, ExecutionPhase, ExecutionReason, ExecutionStatus, Plan, PlanPhase, REASON, Reason,
        limits::LONGEST_PERSONS_REASON, text::shortened,
    },
    decide::{
        assessment::assess,
        coverage::{PlanAsItStands, inventory_for},
        object::{annotation, is_cancelled},
        plan_step,
        refusal::refusal_text,
    },
    policy::{GateAnswer, Need, Question, gate},
};

pub(super) fn decide_waiting(
    observed: &ObservedExecution<'_>,
    plan: &Plan,
    status: ExecutionStatus,
) -> ExecutionDecision {
    let phase = plan.status.as_ref().map_or(PlanPhase::AwaitingApproval, |status| status.phase);
    if is_cancelled(plan) || phase == PlanPhase::Cancelled {
        let reason = Reason::new(ExecutionReason::PlanCancelled, "the plan was cancelled");
        return end(status, ExecutionPhase::Cancelled, reason, observed.now);
    }
    if phase == PlanPhase::Denied {
        let message = "the operator denied the plan; do not try this in another way";
        let reason = Reason::new(ExecutionReason::PlanDenied, message);
        return end(status, ExecutionPhase::Denied, reason, observed.now);
    }
    if phase.is_terminal() {
        let reason = Reason::new(ExecutionReason::PlanEnded, "the plan has ended");
        return end(status, ExecutionPhase::Cancelled, reason, observed.now);
    }
    if let Some(reason) = denial(observed, &status) {
        return end(status, ExecutionPhase::Denied, reason, observed.now);
    }
    if plan.spec.paused {
        return ExecutionDecision::default();
    }
    ask_gate(observed, plan, status)
}

/// The reason for which a person denies this step, if the annotation names the token or phrase that is shown.
fn denial(observed: &ObservedExecution<'_>, status: &ExecutionStatus) -> Option<Reason<ExecutionReason>> {
    let denied = annotation(observed.execution, DENY)?;
    let approval = status.approval.as_ref()?;
    let shown = [approval.token.as_deref(), approval.phrase.as_deref()];
    if !shown.contains(&Some(denied)) {
        return None;
    }
    let why = annotation(observed.execution, REASON).unwrap_or("no reason given");
    let message = format!("the operator denied this step: {}", shortened(why, LONGEST_PERSONS_REASON));
    Some(Reason::new(ExecutionReason::DeniedByOperator, message))
}

fn ask_gate(observed: &ObservedExecution<'_>, plan: &Plan, mut status: ExecutionStatus) -> ExecutionDecision {
    let spec = &observed.execution.spec;
    let command = spec.run.as_ref().map(|run| run.command.as_str());
    let inventory = inventory_for(plan, observed.inventory);
    let assessment = assess(&spec.target, command, spec.create_container.as_ref(), spec.declared_risk, &inventory);
    let stands = PlanAsItStands::by_status(plan, &inventory);
    let approval = plan.status.as_ref().and_then(|status| status.approval.as_ref());
    let covered = stands.covered(approval.and_then(|approval| approval.granted.as_ref()));
    let answer = gate(&Question {
        risk: assessment.risk,
        scope: &assessment.scope,
        flags: assessment.flags,
        plan_targets: &plan.spec.targets,
        covered: &covered,
        named_in_plan: plan.spec.steps.iter().any(|step| plan_step::covers(step, spec)),
        windows: observed.windows,
        inventory: &inventory,
        now: observed.now,
    });
    status.risk = Some(assessment.status());
    match answer {
        GateAnswer::Refuse(refusal, about) => {
            let reason = Reason::new(refusal.code(), refusal_text(refusal, &about, &assessment, plan));
            end(status, ExecutionPhase::Refused, reason, observed.now)
        }
        GateAnswer::Await(Need::Window) => await_window(observed, plan, &stands.digest, status),
        GateAnswer::Await(Need::Phrase(target)) => {
            // A grant that still covers the plan is what the phrase adds to.
            let digest = covered.granted.as_ref().unwrap_or(&stands.digest);
            await_phrase(observed, plan, digest, target, status)
        }
        GateAnswer::Allow(authority) => {
            status.authority = Some(authority);
            status.resolved = inventory.resolve(&spec.target);
            status.approval = None;
            status.reason = None;
            status.message = None;
            claim(observed.execution, status, observed.now)
        }
    }
}

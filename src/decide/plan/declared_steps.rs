//! A plan without an agent: its steps in order; the first failure ends it.

use super::{PlanDecider, PlanEffect};
use crate::{
    api::{
        Execution, ExecutionPhase, ExecutionReason, ExecutionStatus, PlanPhase, PlanResult, PlanStep,
        names::execution_name,
    },
    decide::{object, plan_step},
    policy::TokenEvent,
};

/// What the latest Execution of a declared step means for the plan.
enum Outcome<'a> {
    /// The next step may follow.
    Done,
    /// The step has to run, for the first time or again.
    Due,
    /// A person denied it after the latest grant.
    Denied,
    /// The plan has failed with this status.
    Failed(Option<&'a ExecutionStatus>),
}

impl<'a> PlanDecider<'a> {
    pub(super) fn decide_declared_step(&mut self) -> PlanEffect {
        let plan = self.observed.plan;
        self.status.phase = PlanPhase::Running;
        self.status.blocked = None;
        for (index, step) in plan.spec.steps.iter().enumerate() {
            let turn = u32::try_from(index + 1).unwrap_or(u32::MAX);
            let (tries, latest) = self.latest_try(turn);
            match self.outcome(step, turn, tries, latest) {
                Outcome::Done => continue,
                Outcome::Failed(status) => return self.fail(&step.name, status),
                Outcome::Denied => {
                    self.rotate_nonce(TokenEvent::Denied);
                    self.status.phase = PlanPhase::Denied;
                    self.approval_mut().granted = None;
                    return PlanEffect::None;
                }
                Outcome::Due => {
                    let name = execution_name(object::name(plan), turn, tries + 1);
                    return self.execute(&name, plan_step::step_spec(plan, step));
                }
            }
        }
        self.status.result = Some(PlanResult {
            summary: format!("all {} steps succeeded", plan.spec.steps.len()),
            evidence: self.observed.executions.keys().rev().take(1).cloned().collect(),
        });
        self.end(PlanPhase::Succeeded);
        PlanEffect::None
    }

    fn outcome(&self, step: &PlanStep, turn: u32, tries: usize, latest: Option<&'a Execution>) -> Outcome<'a> {
        let latest = latest.filter(|execution| plan_step::carries_out(&execution.spec, step));
        let Some(status) = latest.and_then(|execution| execution.status.as_ref()) else {
            return Outcome::Due;
        };
        match status.phase {
            ExecutionPhase::Succeeded => Outcome::Done,
            ExecutionPhase::Expired if self.came_too_late_too_often(turn, tries) => Outcome::Failed(Some(status)),
            ExecutionPhase::Expired => Outcome::Due,
            // Times have whole seconds. Where denial and grant have the same, the denial counts and a person is asked
            // again.
            ExecutionPhase::Denied if !lost_its_grant(status) && status.completion_time >= self.latest_grant() => {
                Outcome::Denied
            }
            ExecutionPhase::Denied => Outcome::Due,
            _ => Outcome::Failed(Some(status)),
        }
    }

    fn latest_grant(&self) -> Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time> {
        self.observed.windows.iter().filter_map(|window| window.status.as_ref()?.opened_at.clone()).max()
    }

    /// How many Executions the step of this number had, and the latest of them.
    fn latest_try(&self, turn: u32) -> (usize, Option<&'a Execution>) {
        let tries = (1..).take_while(|number| self.try_of(turn, *number).is_some()).count();
        (tries, self.try_of(turn, tries))
    }

    fn try_of(&self, turn: u32, number: usize) -> Option<&'a Execution> {
        self.observed.executions.get(&execution_name(object::name(self.observed.plan), turn, number))
    }

    /// Whether the latest Executions of this step all came too late to start. That happens once at the end of a window,
    /// and every time with a target that is too slow.
    fn came_too_late_too_often(&self, turn: u32, tries: usize) -> bool {
        let late = |number: &usize| {
            let status = self.try_of(turn, *number).and_then(|execution| execution.status.as_ref());
            status.is_some_and(|status| status.phase == ExecutionPhase::Expired)
        };
        let in_a_row = (1..=tries).rev().take_while(late).count();
        u32::try_from(in_a_row).unwrap_or(u32::MAX) >= self.observed.plan.spec.limits.consecutive_failures
    }
}

/// Whether a step was denied only because the plan had no grant any more; only a later grant leads back to it.
fn lost_its_grant(status: &ExecutionStatus) -> bool {
    matches!(status.reason, Some(ExecutionReason::PlanDenied | ExecutionReason::GrantRevoked))
}

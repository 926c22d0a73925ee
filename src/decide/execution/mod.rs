//! Execution: assessed, gated, claimed once, and ended by the result of the task that ran it.
//!
//! Every change of an Execution's phase is made here, by `status::enter`, within the table of
//! [`ExecutionPhase::may_become`].

mod approval;
mod result;
mod status;
mod waiting;

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;

pub use result::{StepEnd, StepResult, execution_result, show_running};

use super::{admission_guard::AdmissionGuard, decision::Decision, object::is_cancelled};
use crate::{
    api::{
        AutonomyWindow, Execution, ExecutionPhase, ExecutionReason, ExecutionStatus, Plan, PlanPhase, Reason, Risk,
        WindowPhase, limits::READ_ATTEMPTS,
    },
    policy::{Inventory, OpenWindow},
};
use result::may_be_released;
use status::{claim, end, release};

/// What is known of an Execution.
#[derive(Clone, Copy, Debug)]
pub struct ObservedExecution<'a> {
    /// The Execution as the API server has it, not as the store remembers it.
    pub execution: &'a Execution,
    /// Its plan as the API server has it.
    pub plan: Option<&'a Plan>,
    /// The plan's open windows.
    pub windows: &'a [OpenWindow],
    /// The names of the plan's windows that have ended, and how.
    pub ended_windows: &'a BTreeMap<String, WindowPhase>,
    /// The Hosts and Guests of the namespace.
    pub inventory: &'a Inventory,
    /// Whether a task of this process runs it now.
    pub running: bool,
    /// Whether the admission policies check the name of the person who decides.
    pub admission_guard: AdmissionGuard,
    /// The controller's clock.
    pub now: Timestamp,
}

/// What may be done about an Execution.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ExecutionEffect {
    /// Nothing.
    #[default]
    None,
    /// Start it; the status written before is the claim.
    Start,
    /// Find out what became of an attempt that an earlier process may have started.
    Adopt(Adoption),
    /// Stop the task that runs it.
    Stop,
    /// Create this window: a person approved or confirmed the step.
    Grant(Box<AutonomyWindow>),
}

/// What is done with an adopted attempt that still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adoption {
    /// It is followed to its end.
    Follow,
    /// It is stopped.
    Stop,
}

/// A decision about an Execution.
type ExecutionDecision = Decision<ExecutionEffect, ExecutionStatus>;

/// Decides what follows for an Execution that a task of this process may or may not be running.
pub fn decide_execution(observed: &ObservedExecution<'_>) -> ExecutionDecision {
    let status = observed.execution.status.clone().unwrap_or_default();
    let uid = &observed.execution.spec.plan_ref.uid;
    let plan = observed.plan.filter(|plan| plan.metadata.uid.as_ref() == Some(uid));
    match status.phase {
        // The task that put it back to Pending has not left yet, and wakes us when it has. A claim made now could not
        // be carried out, since the registry holds one task for each Execution.
        ExecutionPhase::Pending | ExecutionPhase::AwaitingApproval if observed.running => ExecutionDecision::default(),
        ExecutionPhase::Pending | ExecutionPhase::AwaitingApproval => match plan {
            Some(plan) => waiting::decide_waiting(observed, plan, status),
            None => {
                let reason = Reason::new(ExecutionReason::PlanGone, "the plan no longer exists");
                end(status, ExecutionPhase::Cancelled, reason, observed.now)
            }
        },
        ExecutionPhase::Starting | ExecutionPhase::Running | ExecutionPhase::Cancelling if observed.running => {
            decide_running(plan, status)
        }
        ExecutionPhase::Starting | ExecutionPhase::Running | ExecutionPhase::Cancelling => {
            decide_unattended(observed, plan, status)
        }
        _ => ExecutionDecision::default(),
    }
}

fn is_to_stop(plan: Option<&Plan>) -> bool {
    plan.is_none_or(|plan| {
        is_cancelled(plan) || plan.status.as_ref().is_some_and(|status| status.phase == PlanPhase::Cancelled)
    })
}

/// A task of this process runs it: it is left alone, or stopped.
fn decide_running(plan: Option<&Plan>, mut status: ExecutionStatus) -> ExecutionDecision {
    if !is_to_stop(plan) {
        return ExecutionDecision::default();
    }
    // The effect is repeated even when Cancelling is written already: the process may have died, or the answer to the
    // write may have been lost, before the task was stopped.
    let written = status.phase != ExecutionPhase::Cancelling && status::enter(&mut status, ExecutionPhase::Cancelling);
    ExecutionDecision { status: written.then_some(status), ..Decision::effect(ExecutionEffect::Stop) }
}

/// It was claimed, and no task of this process runs it: an earlier process died, or the task could not learn its end.
fn decide_unattended(
    observed: &ObservedExecution<'_>,
    plan: Option<&Plan>,
    status: ExecutionStatus,
) -> ExecutionDecision {
    if may_be_released(&status) {
        return release(status);
    }
    let stop = is_to_stop(plan) || status.phase == ExecutionPhase::Cancelling;
    let read_only = status.risk.as_ref().is_some_and(|risk| risk.class == Risk::ReadOnly);
    if !read_only {
        return Decision::effect(ExecutionEffect::Adopt(if stop { Adoption::Stop } else { Adoption::Follow }));
    }
    if stop {
        let reason = Reason::new(ExecutionReason::PlanCancelled, "the plan was cancelled");
        return end(status, ExecutionPhase::Cancelled, reason, observed.now);
    }
    if plan.is_some_and(|plan| plan.spec.paused) {
        // A further attempt is a start; the change of the plan wakes it.
        return ExecutionDecision::default();
    }
    if status.attempt.unwrap_or(1) >= READ_ATTEMPTS {
        let message = "the connection was lost three times; whether the command ended is unknown, it changes nothing";
        let reason = Reason::new(ExecutionReason::ConnectionLost, message);
        return end(status, ExecutionPhase::Lost, reason, observed.now);
    }
    claim(observed.execution, status, observed.now)
}

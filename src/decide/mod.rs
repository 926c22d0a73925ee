//! One pure state machine for each kind: from what is observed and the time to one effect and the next status.
//!
//! Invariant: no client, no runtime, no clock, no randomness. Total: an illegal state is a status, not a panic.

mod admission_guard;
mod assessment;
mod conditions;
mod coverage;
mod decision;
mod execution;
mod foresight;
mod grant;
mod object;
mod plan;
mod plan_step;
mod refusal;
mod turn;
mod window;

#[cfg(test)]
mod tests;

pub use admission_guard::AdmissionGuard;
pub use coverage::open_windows;
pub use decision::{Decision, Notice, Severity};
pub use execution::{
    Adoption, ExecutionEffect, ObservedExecution, StepEnd, StepResult, decide_execution, execution_result, show_running,
};
pub use plan::{ObservedPlan, PlanEffect, decide_plan};
pub use turn::{Tally, Turn, TurnEnd};
pub use window::{ObservedWindow, decide_window};

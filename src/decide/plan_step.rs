//! Declared steps of a plan and the Executions that carry them out.

use crate::api::{ExecutionSpec, ObjectRef, Plan, PlanStep, Risk, RunSpec, limits::DEFAULT_TIMEOUT_SECONDS};

/// Whether an Execution carries out the declared step as it stands: same target and action, byte for byte.
pub(super) fn carries_out(spec: &ExecutionSpec, step: &PlanStep) -> bool {
    step.target == spec.target && step.run.as_deref() == command(spec) && step.create_container == spec.create_container
}

/// Whether an approval of the declared step covers what an Execution does: the same, white space around the command
/// aside.
pub(super) fn covers(step: &PlanStep, spec: &ExecutionSpec) -> bool {
    step.target == spec.target
        && step.run.as_deref().map(str::trim) == command(spec).map(str::trim)
        && step.create_container == spec.create_container
}

fn command(spec: &ExecutionSpec) -> Option<&str> {
    spec.run.as_ref().map(|run| run.command.as_str())
}

/// The Execution that carries a declared step out.
pub(super) fn step_spec(plan: &Plan, step: &PlanStep) -> ExecutionSpec {
    ExecutionSpec {
        plan_ref: ObjectRef::of(plan),
        message_ref: None,
        call_id: None,
        step_name: Some(step.name.clone()),
        target: step.target.clone(),
        run: step.run.clone().map(|command| RunSpec { command }),
        create_container: step.create_container.clone(),
        purpose: step.purpose.clone(),
        declared_risk: Risk::ReadOnly,
        timeout_seconds: step.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS),
    }
}

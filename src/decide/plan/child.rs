//! The Executions that a plan makes.

use std::collections::BTreeMap;

use kube::Resource;

use crate::{
    api::{Execution, ExecutionSpec, ObjectRef, PLAN_LABEL, Plan, PlanStep, Risk, RunSpec},
    decide::object::names,
};

pub(super) fn same(step: &PlanStep, spec: &ExecutionSpec) -> bool {
    step.target == spec.target
        && step.run.as_deref() == spec.run.as_ref().map(|run| run.command.as_str())
        && step.create_container == spec.create_container
}

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
        timeout_seconds: step.timeout_seconds.unwrap_or(600),
    }
}

/// An Execution of this name, owned by the plan.
pub(super) fn child(plan: &Plan, name: &str, spec: ExecutionSpec) -> Execution {
    let mut execution = Execution::new(name, spec);
    let owner = plan.controller_owner_ref(&());
    execution.metadata.namespace = plan.metadata.namespace.clone();
    execution.metadata.owner_references = owner.map(|owner| vec![owner]);
    execution.metadata.labels = Some(BTreeMap::from([(PLAN_LABEL.to_owned(), names(plan).1.to_owned())]));
    execution
}

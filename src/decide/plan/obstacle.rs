//! What makes a plan impossible as it stands.

use super::PlanDecider;
use crate::api::{BlockedReason, Reason, StepAnswer, TargetKind};

impl PlanDecider<'_> {
    /// What is missing, a target, the agent or its Secret, or which step could never run.
    pub(super) fn obstacle(&self) -> Option<Reason<BlockedReason>> {
        let missing: Vec<_> = self
            .observed
            .plan
            .spec
            .targets
            .iter()
            .filter(|target| !self.observed.inventory.knows(target))
            .filter(|target| !(target.kind() == TargetKind::Lxc && self.may_create(target.name())))
            .map(ToString::to_string)
            .collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            let text = format!("this namespace has no Host or Guest for {missing}; create it, or change spec.targets");
            return Some(Reason::new(BlockedReason::UnknownTarget, text));
        }
        self.refused_steps().or_else(|| self.observed.agent_obstacle.cloned())
    }

    /// The declared steps that would be refused, whatever is approved.
    fn refused_steps(&self) -> Option<Reason<BlockedReason>> {
        if self.is_granted() {
            return None;
        }
        let refused = self.status.steps.iter().filter(|step| step.answer == StepAnswer::Refused);
        let refused: Vec<_> = refused
            .map(|step| format!("step {}: {}", step.name, step.refusal.as_deref().unwrap_or_default()))
            .collect();
        (!refused.is_empty()).then(|| {
            let text = format!("change the plan, it cannot run as it stands: {}", refused.join("\n"));
            Reason::new(BlockedReason::StepRefused, text)
        })
    }

    /// Whether carrying the plan out may create the container of this name: a declared step does, or an agent could.
    fn may_create(&self, name: &str) -> bool {
        let spec = &self.observed.plan.spec;
        let mut containers = spec.steps.iter().filter_map(|step| step.create_container.as_ref());
        spec.agent_ref.is_some() || containers.any(|container| container.hostname == name)
    }
}

//! What makes a plan impossible as it stands.

use super::PlanDecider;
use crate::api::{BlockedReason, Reason, TargetKind};

impl PlanDecider<'_> {
    /// What is missing: a target, the agent, or its Secret.
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
        if missing.is_empty() {
            return self.observed.agent_obstacle.cloned();
        }
        let missing = missing.join(", ");
        let text = format!("this namespace has no Host or Guest for {missing}; create it, or change spec.targets");
        Some(Reason::new(BlockedReason::UnknownTarget, text))
    }

    /// Whether carrying the plan out may create the container of this name: a declared step does, or an agent could.
    fn may_create(&self, name: &str) -> bool {
        let spec = &self.observed.plan.spec;
        let mut containers = spec.steps.iter().filter_map(|step| step.create_container.as_ref());
        spec.agent_ref.is_some() || containers.any(|container| container.hostname == name)
    }
}

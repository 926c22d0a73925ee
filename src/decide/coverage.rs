//! What an approval covers: the plan as it stands, and the windows that are open for it.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::jiff::Timestamp;

use super::{
    assessment::{Assessment, assess_step},
    object::uid,
};
use crate::{
    api::{
        AutonomyWindow, CreatedGuest, GrantedPlan, Plan, PlanStep, Target, WindowPhase, limits::DEFAULT_TIMEOUT_SECONDS,
    },
    policy::{Covered, EffectiveStep, Facts, Inventory, OpenWindow, differences, digest_of_facts, plan_facts},
};

/// A plan as it stands now: what an approval of it covers.
pub(super) struct PlanAsItStands {
    /// Everything that an approval covers.
    pub facts: Facts,
    /// Their digest.
    pub digest: String,
}

impl PlanAsItStands {
    /// `created` are the guests that the plan has created so far.
    pub fn of(plan: &Plan, created: &[CreatedGuest], inventory: &Inventory) -> Self {
        let assessed: Vec<(&PlanStep, Assessment)> =
            plan.spec.steps.iter().map(|step| (step, assess_step(step, inventory))).collect();
        let effective: Vec<_> = assessed
            .iter()
            .map(|(step, assessment)| EffectiveStep {
                target: &step.target,
                run: step.run.as_deref(),
                create_container: step.create_container.as_ref(),
                risk: assessment.risk,
                timeout_seconds: step.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS),
            })
            .collect();
        let facts = plan_facts(&plan.spec, &effective, inventory, &still_there(created, inventory));
        let digest = digest_of_facts(uid(plan), &facts);
        Self { facts, digest }
    }

    /// The same for a plan whose status holds all that is known of it.
    pub fn by_status(plan: &Plan, inventory: &Inventory) -> Self {
        Self::of(plan, plan.status.as_ref().map_or(&[], |status| &status.created), inventory)
    }

    /// What is different from what was granted, in words.
    pub fn differences(&self, granted: &GrantedPlan) -> Vec<String> {
        if granted.digest == self.digest { Vec::new() } else { differences(&granted.facts, &self.facts) }
    }

    /// The digests that cover it.
    pub fn covered(&self, granted: Option<&GrantedPlan>) -> Covered {
        let still = granted.filter(|granted| self.differences(granted).is_empty());
        Covered { current: self.digest.clone(), granted: still.map(|granted| granted.digest.clone()) }
    }
}

/// The created guests that are what the plan created, or are not registered at the moment.
fn still_there(created: &[CreatedGuest], inventory: &Inventory) -> BTreeSet<Target> {
    created
        .iter()
        .filter(|made| {
            inventory.guests.get(&made.target).is_none_or(|guest| guest.uid == made.uid && guest.vmid == made.vmid)
        })
        .map(|made| made.target.clone())
        .collect()
}

/// The inventory as the plan's steps see it: what was protected at any time since the grant stays so while it lasts.
pub(super) fn inventory_for(plan: &Plan, inventory: &Inventory) -> Inventory {
    let approval = plan.status.as_ref().and_then(|status| status.approval.as_ref());
    let none = BTreeMap::new();
    let protected = approval.and_then(|approval| approval.granted.as_ref()).map_or(&none, |granted| &granted.protected);
    inventory.clone().protecting(protected)
}

/// The guests that are protected on the hosts of the plan's targets, by Host.
pub(super) fn protected_guests(plan: &Plan, inventory: &Inventory) -> BTreeMap<String, BTreeSet<u32>> {
    let hosts = plan.spec.targets.iter().filter_map(|target| inventory.host_of(target));
    hosts
        .filter_map(|name| Some((name.to_owned(), inventory.hosts.get(name)?.protected.clone())))
        .filter(|(_, protected)| !protected.is_empty())
        .collect()
}

/// The plan's windows that are open at `now`: Active by their status, not revoked, not over, for this very plan.
pub fn open_windows<'a>(
    plan: &Plan,
    windows: impl IntoIterator<Item = &'a AutonomyWindow>,
    now: Timestamp,
) -> Vec<OpenWindow> {
    windows
        .into_iter()
        .filter(|window| window.spec.plan_ref.uid == uid(plan) && !window.spec.revoked)
        .filter_map(|window| {
            let status = window.status.as_ref().filter(|status| status.phase == WindowPhase::Active)?;
            let expires = status.expiry_time.as_ref()?.0;
            (now < expires).then(|| OpenWindow {
                name: window.metadata.name.clone().unwrap_or_default(),
                digest: window.spec.plan_digest.clone(),
                class: window.spec.class,
                targets: window.spec.targets.iter().cloned().collect::<BTreeSet<_>>(),
                expires,
                approver: window.spec.granted_by.username.clone(),
            })
        })
        .collect()
}

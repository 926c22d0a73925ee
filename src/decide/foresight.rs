//! What the gate will answer to the declared steps of a plan once it is approved, so that it is seen before.

use k8s_openapi::jiff::Timestamp;

use super::{assessment::assess_step, refusal::refusal_text};
use crate::{
    api::{
        AuthorityKind, Plan, PlanStep, StepAnswer, StepRisk, Target, TargetKind, WindowClass,
        limits::LONGEST_RISK_REASON, text::shortened,
    },
    policy::{Covered, GateAnswer, Inventory, KnownGuest, OpenWindow, Question, gate},
};

/// The risk of each declared step, and what the gate will answer to it.
pub(super) fn foreseen(plan: &Plan, inventory: &Inventory) -> Vec<StepRisk> {
    let inventory = with_guests_to_come(plan, inventory);
    let window = OpenWindow {
        name: String::new(),
        digest: String::new(),
        class: WindowClass::Assent,
        targets: plan.spec.targets.iter().cloned().collect(),
        expires: Timestamp::MAX,
        approver: String::new(),
    };
    plan.spec.steps.iter().map(|step| foresee(plan, step, &inventory, std::slice::from_ref(&window))).collect()
}

fn foresee(plan: &Plan, step: &PlanStep, inventory: &Inventory, windows: &[OpenWindow]) -> StepRisk {
    let assessment = assess_step(step, inventory);
    let answer = gate(&Question {
        risk: assessment.risk,
        scope: &assessment.scope,
        flags: assessment.flags,
        plan_targets: &plan.spec.targets,
        covered: &Covered::default(),
        named_in_plan: true,
        windows,
        inventory,
        now: Timestamp::MIN,
    });
    let (answer, refusal) = match answer {
        GateAnswer::Refuse(refusal, about) => {
            (StepAnswer::Refused, Some(refusal_text(refusal, &about, &assessment, plan)))
        }
        GateAnswer::Await(_) => (StepAnswer::NeedsConfirmation, None),
        GateAnswer::Allow(authority) if authority.kind == AuthorityKind::PlanStep => (StepAnswer::AllowedByName, None),
        GateAnswer::Allow(_) => (StepAnswer::Allowed, None),
    };
    StepRisk {
        name: step.name.clone(),
        risk: assessment.risk,
        reason: shortened(&assessment.reasons.join("; "), LONGEST_RISK_REASON),
        answer,
        refusal: refusal.map(|text| shortened(&text, LONGEST_RISK_REASON)),
        affected_targets: assessment.status().affected_targets,
    }
}

/// The inventory as it will be once the plan has created the containers among its targets.
fn with_guests_to_come(plan: &Plan, inventory: &Inventory) -> Inventory {
    let mut inventory = inventory.clone();
    let unknown: Vec<_> = plan
        .spec
        .targets
        .iter()
        .filter(|target| target.kind() == TargetKind::Lxc && !inventory.guests.contains_key(target))
        .cloned()
        .collect();
    for target in unknown {
        if let Some(guest) = guest_to_come(plan, &target) {
            inventory.guests.insert(target, guest);
        }
    }
    inventory
}

/// The guest that a declared step creates, or that the agent may create on the plan's first host.
fn guest_to_come(plan: &Plan, target: &Target) -> Option<KnownGuest> {
    let creates = plan.spec.steps.iter().find_map(|step| {
        let container = step.create_container.as_ref().filter(|container| container.hostname == target.name())?;
        Some((step.target.name(), container.vmid))
    });
    let by_agent = || {
        let host = plan.spec.targets.iter().find(|target| target.kind() == TargetKind::Host)?;
        plan.spec.agent_ref.as_ref().map(|_| (host.name(), None))
    };
    let (host, vmid) = creates.or_else(by_agent)?;
    Some(KnownGuest { uid: String::new(), host: host.to_owned(), vmid: vmid.unwrap_or_default() })
}

//! What an approval covers: the digest of a plan as it stands, and the windows that are open for it.

use std::collections::BTreeSet;

use k8s_openapi::jiff::Timestamp;

use super::{assessment::assess_step, object::uid};
use crate::{
    api::{AutonomyWindow, Plan, StepRisk, WindowPhase, limits::LONGEST_RISK_REASON, text::shortened},
    policy::{EffectiveStep, Inventory, OpenWindow, plan_digest},
};

/// The digest of the plan as it stands, and the risk of its steps.
pub fn digest_of(plan: &Plan, inventory: &Inventory) -> (String, Vec<StepRisk>) {
    let assessed: Vec<_> = plan.spec.steps.iter().map(|step| (step, assess_step(step, inventory))).collect();
    let effective: Vec<_> = assessed
        .iter()
        .map(|(step, assessment)| EffectiveStep {
            target: &step.target,
            run: step.run.as_deref(),
            create_container: step.create_container.as_ref(),
            risk: assessment.risk,
        })
        .collect();
    let digest = plan_digest(uid(plan), &plan.spec, &effective);
    let risks = assessed
        .iter()
        .map(|(step, assessment)| StepRisk {
            name: step.name.clone(),
            risk: assessment.risk,
            reason: shortened(&assessment.reasons.join("; "), LONGEST_RISK_REASON),
        })
        .collect();
    (digest, risks)
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

//! What an approval covers: the digest of a plan as it stands, and the windows that are open for it.

use std::collections::BTreeSet;

use k8s_openapi::jiff::Timestamp;
use kube::Resource;

use super::judge_step;
use crate::{
    api::{APPROVE, AutonomyWindow, AutonomyWindowSpec, PLAN_LABEL, Plan, StepRisk, WindowPhase},
    decide::judge::limited,
    policy::{EffectiveStep, Inventory, OpenWindow, plan_digest},
};

/// The digest of the plan as it stands, and the risk of its steps.
pub fn digest_of(plan: &Plan, inventory: &Inventory) -> (String, Vec<StepRisk>) {
    let judged: Vec<_> = plan.spec.steps.iter().map(|step| (step, judge_step(step, inventory))).collect();
    let effective: Vec<_> = judged
        .iter()
        .map(|(step, judged)| EffectiveStep {
            target: &step.target,
            run: step.run.as_deref(),
            create_container: step.create_container.as_ref(),
            risk: judged.risk,
        })
        .collect();
    let digest = plan_digest(plan.metadata.uid.as_deref().unwrap_or_default(), &plan.spec, &effective);
    let risks = judged
        .iter()
        .map(|(step, judged)| StepRisk {
            name: step.name.clone(),
            risk: judged.risk,
            reason: limited(&judged.reasons.join("; "), 1000),
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
    let uid = plan.metadata.uid.as_deref().unwrap_or_default();
    windows
        .into_iter()
        .filter(|window| window.spec.plan_ref.uid == uid && !window.spec.revoked)
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

/// Most bytes of a person's reason; a window's schema allows 1024 characters.
pub(in crate::decide) const LONGEST_REASON: usize = 1000;

/// The name under `oikos.dev/approved-by`, such that a window can hold it.
pub(in crate::decide) fn approver(name: Option<&str>) -> String {
    limited(name.filter(|name| !name.is_empty()).unwrap_or("unknown"), 250)
}

/// A window of this name, owned by the plan: it goes when the plan is deleted.
pub(super) fn window_of(plan: &Plan, name: &str, spec: AutonomyWindowSpec) -> AutonomyWindow {
    let mut window = AutonomyWindow::new(name, spec);
    window.metadata.owner_references = plan.controller_owner_ref(&()).map(|owner| vec![owner]);
    window.metadata.labels = plan.metadata.name.clone().map(|plan| [(PLAN_LABEL.to_owned(), plan)].into());
    window
}

/// The line that approves `kind/name` with `token`.
pub fn approval_command(namespace: &str, kind: &str, name: &str, token: &str) -> String {
    format!("kubectl -n {namespace} annotate {kind} {name} --overwrite {APPROVE}={token}")
}

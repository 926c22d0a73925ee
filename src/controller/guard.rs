//! Proves that the admission policies that guard approvals are up: they must refuse a forbidden write, which is tried
//! as a dry run.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use kube::{Api, Client, api::PostParams};
use serde_json::json;

use super::error::{ControllerError, call};
use crate::api::{APPROVE, Plan};

/// What the messages of the chart's policies begin with.
const REFUSAL_PREFIX: &str = "oikos-guard";
/// How often the guard is tried again.
const TRY_EVERY: Duration = Duration::from_secs(60);

/// Keeps `guarded` true for as long as the guard is up.
pub async fn watch(client: Client, namespace: String, guarded: Arc<AtomicBool>) {
    loop {
        let up = match is_up(&client, &namespace).await {
            Ok(up) => up,
            Err(error) => {
                tracing::warn!(%error, "whether the approval guard is up is not known; it counts as missing");
                false
            }
        };
        let was_up = guarded.swap(up, Ordering::Relaxed);
        if !up {
            tracing::warn!(
                "the admission policies that guard approvals are missing; grants will say verified: false. Install the \
                 chart with admissionPolicies.enabled"
            );
        } else if !was_up {
            tracing::info!("the admission policies guard approvals");
        }
        tokio::time::sleep(TRY_EVERY).await;
    }
}

/// Whether a Plan that approves itself is refused by the policies and not merely by a missing permission.
pub async fn is_up(client: &Client, namespace: &str) -> Result<bool, ControllerError> {
    let probe: Result<Plan, _> = serde_json::from_value(json!({
        "apiVersion": "oikos.dev/v1alpha1",
        "kind": "Plan",
        "metadata": {"name": "oikos-guard-probe", "annotations": {APPROVE: "true"}},
        "spec": {
            "goal": "proves that nobody can approve by creating",
            "targets": ["host:none"],
            "steps": [{"name": "none", "target": "host:none", "run": "true"}],
        },
    }));
    let Ok(probe) = probe else { return Ok(false) };
    let plans: Api<Plan> = Api::namespaced(client.clone(), namespace);
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    match call("trying the approval guard", plans.create(&dry_run, &probe)).await {
        Ok(_) => Ok(false),
        Err(ControllerError::Api { source, .. }) => match *source {
            kube::Error::Api(status) => Ok(status.message.contains(REFUSAL_PREFIX)),
            other => Err(ControllerError::Api { what: "trying the approval guard", source: Box::new(other) }),
        },
        Err(error) => Err(error),
    }
}

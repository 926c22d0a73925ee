//! Proves that the admission policies that guard approvals are up: each must refuse a forbidden write, which is tried as
//! a dry run.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, PostParams, TypeMeta},
    core::GroupVersionKind,
};
use serde_json::{Value, json};

use super::error::{ControllerError, call};
use crate::api::{ANSWER, APPROVE, GROUP};

/// What the messages of the chart's policies begin with.
const REFUSAL_PREFIX: &str = "oikos-guard: ";
/// How often the guard is tried again.
const TRY_EVERY: Duration = Duration::from_secs(60);
/// The name by which two of the policies know their probe; all other objects of these kinds they let the controller write.
const PROBE: &str = "oikos-guard-probe";

/// A write that one of the chart's policies refuses also to the controller, and nothing else does.
struct Probe {
    /// What the policy's name ends with, after the release's name.
    policy: &'static str,
    kind: &'static str,
    plural: &'static str,
    object: Value,
}

fn probes() -> [Probe; 6] {
    let plan = |name: &str, annotations: Value| {
        let step = json!({"name": "none", "target": "host:none", "run": "true"});
        json!({
            "metadata": {"name": name, "annotations": annotations},
            "spec": {"goal": "proves that a policy is up", "targets": ["host:none"], "steps": [step]},
        })
    };
    let plan_ref = json!({"name": "none", "uid": "none"});
    let probe = |policy, kind, plural, object| Probe { policy, kind, plural, object };
    [
        // Nobody approves or answers by creating.
        probe("decisions", "Plan", "plans", plan(PROBE, json!({APPROVE: "true"}))),
        probe("answers", "Plan", "plans", plan(PROBE, json!({ANSWER: "true"}))),
        probe("changes", "Plan", "plans", plan(&format!("{PROBE}-changes"), json!({}))),
        // The controller makes windows of annotations and no others.
        probe(
            "grants",
            "AutonomyWindow",
            "autonomywindows",
            json!({
                "metadata": {"name": PROBE},
                "spec": {
                    "planRef": plan_ref, "planDigest": "0".repeat(64), "class": "Assent", "targets": ["host:none"],
                    "durationSeconds": 1, "grantedBy": {"username": "nobody", "via": "Manual"},
                },
            }),
        ),
        // The controller answers only in the name of somebody.
        probe(
            "messages",
            "Message",
            "messages",
            json!({
                "metadata": {"name": PROBE},
                "spec": {"planRef": plan_ref, "sequence": 1, "kind": "Answer", "text": "proves that a policy is up"},
            }),
        ),
        probe(
            "ownership",
            "Execution",
            "executions",
            json!({
                "metadata": {"name": PROBE},
                "spec": {"planRef": plan_ref, "target": "host:none", "run": {"command": "true"}},
            }),
        ),
    ]
}

/// Keeps `guarded` true for as long as the guard is up.
pub async fn watch(client: Client, namespace: String, guarded: Arc<AtomicBool>) {
    loop {
        let up = match missing(&client, &namespace).await {
            Ok(missing) if missing.is_empty() => true,
            Ok(missing) => {
                tracing::warn!(
                    policies = missing.join(", "),
                    "admission policies that guard approvals are missing; grants will say verified: false. Install the \
                     chart with admissionPolicies.enabled"
                );
                false
            }
            Err(error) => {
                tracing::warn!(%error, "whether the approval guard is up is not known; grants will say verified: false");
                false
            }
        };
        if !guarded.swap(up, Ordering::Relaxed) && up {
            tracing::info!("the admission policies guard approvals");
        }
        tokio::time::sleep(TRY_EVERY).await;
    }
}

/// Whether every policy refuses its probe. An error means that it is not known.
pub async fn is_up(client: &Client, namespace: &str) -> Result<bool, ControllerError> {
    Ok(missing(client, namespace).await?.is_empty())
}

/// The policies that do not refuse their probe.
async fn missing(client: &Client, namespace: &str) -> Result<Vec<&'static str>, ControllerError> {
    let mut missing = Vec::new();
    for probe in probes() {
        if !is_refused(client, namespace, &probe).await? {
            missing.push(probe.policy);
        }
    }
    Ok(missing)
}

/// Whether the probe's policy refuses it. Any other refusal, as for want of a right or of the CRD, proves nothing.
async fn is_refused(client: &Client, namespace: &str, probe: &Probe) -> Result<bool, ControllerError> {
    const TRYING: &str = "trying the approval guard";
    let kind = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, "v1alpha1", probe.kind), probe.plural);
    let Ok(mut object) = serde_json::from_value::<DynamicObject>(probe.object.clone()) else { return Ok(false) };
    object.types = Some(TypeMeta { api_version: kind.api_version.clone(), kind: kind.kind.clone() });
    let objects: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind);
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    match call(TRYING, objects.create(&dry_run, &object)).await {
        Ok(_) => Ok(false),
        Err(error) => match refusing_policy(&error) {
            Some(policy) if policy.ends_with(&format!("-{}", probe.policy)) => Ok(true),
            _ => Err(error),
        },
    }
}

/// The name of the policy by which the API server refused, when it did in the words of the chart's.
fn refusing_policy(error: &ControllerError) -> Option<&str> {
    let ControllerError::Api { source, .. } = error else { return None };
    let kube::Error::Api(status) = source.as_ref() else { return None };
    let (_, refusal) = status.message.split_once("ValidatingAdmissionPolicy '")?;
    let (policy, words) = refusal.split_once('\'')?;
    words.contains(REFUSAL_PREFIX).then_some(policy)
}

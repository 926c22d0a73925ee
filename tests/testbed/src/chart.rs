//! The project's chart, installed into a control plane as a cluster's administrator would.
//!
//! Knows the chart's path, its roles and what its policies refuse with; nothing of oikos's code.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use kube::{
    Client,
    api::{Api, DynamicObject, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::control_plane::ControlPlane;

/// The namespace of the release.
pub const SYSTEM: &str = "oikos-system";
/// The ServiceAccount of the controller in it.
pub const ACCOUNT: &str = "oikos";
/// How long new policies may take to come into force.
const LIMIT: Duration = Duration::from_secs(60);
/// What every refusal by the policies begins with.
const MARK: &str = "oikos-guard: ";

/// The chart's directory.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/oikos")
}

/// The Kubernetes version that the chart is rendered for, that of the control plane.
pub const VERSION: &str = "1.37.2";

/// Applies the chart with these values (`key=value`) and waits until all of it is in force. Afterwards `operator` may
/// approve, edit and describe the fleet everywhere, `viewer` may edit everywhere and approve nowhere.
///
/// # Errors
/// When helm or kubectl fails, or something is not in force after a minute.
pub async fn install(plane: &ControlPlane, values: &[&str]) -> Result<()> {
    install_for(plane, VERSION, values).await?;
    if values.contains(&"admissionPolicies.enabled=false") {
        return Ok(());
    }
    wait_for_policies(plane).await
}

/// The same for another version of Kubernetes, without waiting for the policies.
///
/// # Errors
/// As [`install`].
pub async fn install_for(plane: &ControlPlane, version: &str, values: &[&str]) -> Result<()> {
    let admin = plane.admin();
    admin.kubectl(&["create", "namespace", SYSTEM]).await?.ok()?;
    apply(plane, version, values).await?;
    let established = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"];
    admin.kubectl(&established).await?.ok()?;
    wait_for_watches(plane).await?;
    for (binding, role, user) in [
        ("operator-approves", "oikos-approver", "operator"),
        ("operator-edits", "oikos-edit", "operator"),
        ("operator-describes", "oikos-fleet", "operator"),
        ("operator-views", "oikos-view", "operator"),
        ("viewer-edits", "oikos-edit", "viewer"),
        ("viewer-views", "oikos-view", "viewer"),
    ] {
        let (role, user) = (format!("--clusterrole={role}"), format!("--user={user}"));
        admin.kubectl(&["create", "clusterrolebinding", binding, &role, &user]).await?.ok()?;
    }
    plane.operator().wait_until_allowed("approve", "plans.oikos.dev", "default").await?;
    for person in [plane.operator(), plane.viewer()] {
        person.wait_until_allowed("patch", "plans.oikos.dev", "default").await?;
    }
    Ok(())
}

/// Renders the chart with these values (`key=value`) and applies all of it, over what is there.
///
/// # Errors
/// When helm or kubectl fails.
pub async fn apply(plane: &ControlPlane, version: &str, values: &[&str]) -> Result<()> {
    let (admin, chart) = (plane.admin(), directory());
    let chart = chart.to_str().context("the chart's path is not text")?;
    let mut render = vec!["template", "oikos", chart, "--namespace", SYSTEM, "--kube-version", version];
    for value in values {
        render.extend(["--set", value]);
    }
    let manifests = admin.helm(&render).await?.ok()?;
    admin.kubectl_with_input(&["apply", "--server-side", "-f", "-"], &manifests).await?.ok()?;
    Ok(())
}

/// Lets the controller read the Secrets of a namespace, as the chart does for those in `rbac.secretNamespaces`.
///
/// # Errors
/// When kubectl fails, or the right is not in force after a while.
pub async fn let_read_secrets(plane: &ControlPlane, namespace: &str) -> Result<()> {
    let account = format!("--serviceaccount={SYSTEM}:{ACCOUNT}");
    let bind = ["create", "rolebinding", "oikos-secrets", "--clusterrole=oikos-secrets", &account, "-n", namespace];
    plane.admin().kubectl(&bind).await?.ok()?;
    plane.service_account(SYSTEM, ACCOUNT).await?.wait_until_allowed("get", "secrets", namespace).await
}

/// A new kind can be listed at once; watching it is refused until its cache has filled.
async fn wait_for_watches(plane: &ControlPlane) -> Result<()> {
    let client = plane.admin().client().await?;
    for kind in ["plans", "executions", "autonomywindows", "messages", "agents", "hosts", "guests"] {
        let url = format!("/apis/oikos.dev/v1alpha1/{kind}?watch=1&timeoutSeconds=1");
        until(&format!("watching {kind}"), async || match http::Request::get(&url).body(Vec::new()) {
            Ok(request) => client.request_stream(request).await.is_ok(),
            Err(_) => false,
        })
        .await?;
    }
    Ok(())
}

/// The token of the plan on which the policies are tried.
const TOKEN: &str = "0123456789ab";

/// Waits for the policies: new ones take effect a moment after they are stored, each by itself.
///
/// # Errors
/// When one is not in force after a minute.
pub async fn wait_for_policies(plane: &ControlPlane) -> Result<()> {
    let namespace = plane.namespace("policies").await?;
    let admin = plane.admin().client().await?;
    let account = plane.service_account(SYSTEM, ACCOUNT).await?.client().await?;
    let reference = asking_plan(&admin, &account, &namespace).await?;
    wait_for_ownership_and_grants(&admin, &account, &namespace, &reference).await?;
    wait_for_messages(&admin, &account, &namespace, &reference).await?;
    let plans = kind(&admin, &namespace, "Plan", "plans");
    let annotated = async |key: &str, value: &str| {
        plans.patch("web", &dry_patch(), &Patch::Merge(json!({"metadata": {"annotations": {key: value}}}))).await
    };
    for (key, right, beside) in
        [("oikos.dev/approve", TOKEN, "oikos.dev/approved-by"), ("oikos.dev/answer", "blue", "oikos.dev/answered-by")]
    {
        until(&format!("the stamp and the policy of {key}"), async || {
            let stamped = annotated(key, right).await;
            stamped.is_ok_and(|it| it.metadata.annotations.unwrap_or_default().contains_key(beside))
                && is_refusal(&annotated(key, "").await)
        })
        .await?;
    }
    Ok(())
}

/// A plan that asks its first question; the reference to it.
async fn asking_plan(admin: &Client, account: &Client, namespace: &str) -> Result<Value> {
    let plans = kind(admin, namespace, "Plan", "plans");
    let plan = object(json!({
        "apiVersion": "oikos.dev/v1alpha1", "kind": "Plan", "metadata": {"name": "web"},
        "spec": {"goal": "wait", "targets": ["lxc:web"], "agentRef": {"name": "none"}},
    }))?;
    let mut plan = plans.create(&PostParams::default(), &plan).await?;
    plan.data["status"] = json!({
        "phase": "Blocked",
        "blocked": {"reason": "OperatorNeeded", "question": "which?", "sequence": 1},
        "approval": {"token": TOKEN, "command": "kubectl annotate", "digest": "d", "nonce": "n"},
    });
    let written = kind(account, namespace, "Plan", "plans");
    let plan = written.replace_status("web", &PostParams::default(), &plan).await?;
    Ok(json!({"name": "web", "uid": plan.metadata.uid}))
}

async fn wait_for_ownership_and_grants(
    admin: &Client,
    account: &Client,
    namespace: &str,
    reference: &Value,
) -> Result<()> {
    let execution = object(json!({
        "apiVersion": "oikos.dev/v1alpha1", "kind": "Execution", "metadata": {"name": "probe"},
        "spec": {"planRef": reference, "target": "lxc:web", "run": {"command": "true"}},
    }))?;
    let window = object(json!({
        "apiVersion": "oikos.dev/v1alpha1", "kind": "AutonomyWindow", "metadata": {"name": format!("web-{TOKEN}")},
        "spec": {
            "planRef": reference, "planDigest": "d".repeat(64), "class": "Assent", "targets": ["lxc:web"],
            "durationSeconds": 1800, "grantedBy": {"username": "somebody", "via": "Manual"},
        },
    }))?;
    let executions = kind(admin, namespace, "Execution", "executions");
    let windows = kind(admin, namespace, "AutonomyWindow", "autonomywindows");
    let made = kind(account, namespace, "AutonomyWindow", "autonomywindows");
    let mut granted = window.clone();
    granted.data["spec"]["grantedBy"]["via"] = json!("Annotation");
    made.create(&PostParams::default(), &granted).await?;
    until("the ownership policy", async || is_refusal(&executions.create(&dry_run(), &execution).await)).await?;
    let mut window = window;
    window.metadata.name = Some("another".into());
    until("the grants policy", async || is_refusal(&windows.create(&dry_run(), &window).await)).await?;
    let label = Patch::Merge(json!({"metadata": {"labels": {"probe": "true"}}}));
    until("the changes policy", async || is_refusal(&made.patch(&format!("web-{TOKEN}"), &dry_patch(), &label).await))
        .await?;
    Ok(())
}

async fn wait_for_messages(admin: &Client, account: &Client, namespace: &str, reference: &Value) -> Result<()> {
    let messages = kind(admin, namespace, "Message", "messages");
    // To the controller, which is not stamped, a nameless answer is refused.
    let nameless = kind(account, namespace, "Message", "messages");
    let message = object(json!({
        "apiVersion": "oikos.dev/v1alpha1", "kind": "Message", "metadata": {"name": "probe"},
        "spec": {"planRef": reference, "sequence": 1, "kind": "Answer", "text": "go on"},
    }))?;
    until("the stamp and the messages policy", async || {
        let stamped = messages.create(&dry_run(), &message).await;
        stamped.is_ok_and(|it| it.data["spec"]["author"].is_object())
            && is_refusal(&nameless.create(&dry_run(), &message).await)
    })
    .await
}

fn dry_run() -> PostParams {
    PostParams { dry_run: true, ..PostParams::default() }
}

fn dry_patch() -> PatchParams {
    PatchParams { dry_run: true, ..PatchParams::default() }
}

fn kind(client: &Client, namespace: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("oikos.dev", "v1alpha1", kind);
    Api::namespaced_with(client.clone(), namespace, &ApiResource::from_gvk_with_plural(&kind, plural))
}

fn object(value: Value) -> Result<DynamicObject> {
    serde_json::from_value(value).context("not an object")
}

fn is_refusal<T>(answer: &Result<T, kube::Error>) -> bool {
    matches!(answer, Err(kube::Error::Api(status)) if status.message.contains(MARK))
}

async fn until(what: &str, condition: impl AsyncFn() -> bool) -> Result<()> {
    let deadline = Instant::now() + LIMIT;
    while !condition().await {
        if Instant::now() > deadline {
            bail!("{what} is not in force after {LIMIT:?}");
        }
        sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

//! How the controller proves that the policies are up: each refuses a dry run of its own, and a missing one is named.

use std::time::Duration;

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, PostParams},
    core::GroupVersionKind,
};
use oikos::api::{ANSWER, APPROVE};
use serde_json::{Value, json};
use testbed::control_plane::{Access, ControlPlane};
use tokio::time::timeout;

use crate::{
    cluster::{SYSTEM, api_error, apply_chart, cluster, controller, plan_object, until, wait_for_policies},
    controller::start,
};

/// The writes that the controller tries: the policy that refuses it, and the object.
fn probes() -> [(&'static str, &'static str, Value); 6] {
    let plan = |name: &str, key: &str| {
        let mut plan = plan_object(name);
        plan["metadata"]["annotations"] = json!({key: "true"});
        plan
    };
    let plan_ref = json!({"name": "none", "uid": "none"});
    let object = |kind: &str, spec: Value| {
        json!({
            "apiVersion": "oikos.dev/v1alpha1", "kind": kind, "metadata": {"name": "oikos-guard-probe"}, "spec": spec,
        })
    };
    let window = json!({
        "planRef": plan_ref, "planDigest": "0".repeat(64), "class": "Assent", "targets": ["host:none"],
        "durationSeconds": 1, "grantedBy": {"username": "nobody", "via": "Manual"},
    });
    let message = json!({"planRef": plan_ref, "sequence": 1, "kind": "Answer", "text": "words"});
    let execution = json!({"planRef": plan_ref, "target": "host:none", "run": {"command": "true"}});
    [
        ("decisions", "plans", plan("oikos-guard-probe", APPROVE)),
        ("answers", "plans", plan("oikos-guard-probe", ANSWER)),
        ("changes", "plans", plan("oikos-guard-probe-changes", "team")),
        ("grants", "autonomywindows", object("AutonomyWindow", window)),
        ("messages", "messages", object("Message", message)),
        ("ownership", "executions", object("Execution", execution)),
    ]
}

/// Tries one as the controller does.
async fn tried(client: &Client, plural: &str, object: &Value) -> Result<DynamicObject, kube::Error> {
    let kind = GroupVersionKind::gvk("oikos.dev", "v1alpha1", object["kind"].as_str().unwrap());
    let kind = ApiResource::from_gvk_with_plural(&kind, plural);
    let objects: Api<DynamicObject> = Api::namespaced_with(client.clone(), SYSTEM, &kind);
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    objects.create(&dry_run, &serde_json::from_value(object.clone()).unwrap()).await
}

#[tokio::test]
async fn each_policy_refuses_the_controllers_own_probe_of_it() {
    cluster().await;
    let client = controller().await.client().await.unwrap();
    for (policy, plural, object) in probes() {
        let message = api_error(tried(&client, plural, &object).await);
        assert!(message.contains(&format!("ValidatingAdmissionPolicy 'oikos-{policy}' with binding")), "{message}");
        assert!(message.contains("denied request: oikos-guard: "), "{message}");
    }
}

/// The first warning about the guard in the log of a controller that starts now.
async fn warning(account: &Access) -> String {
    let mut controller = start(account).await;
    let mut lines = std::mem::take(&mut controller.first);
    loop {
        while let Some(line) = lines.pop() {
            if line.contains("guard approvals are missing") || line.contains("approval guard is up is not known") {
                return line;
            }
        }
        let next = timeout(Duration::from_secs(60), controller.log.next_line()).await;
        lines.push(next.expect("a line about the guard").unwrap().unwrap());
    }
}

#[tokio::test]
async fn the_controller_names_a_missing_policy_and_does_not_call_missing_what_it_may_not_try() {
    let plane = ControlPlane::start().await.unwrap();
    apply_chart(&plane, "1.37.2").await;
    wait_for_policies(&plane).await;
    let account = plane.service_account(SYSTEM, "oikos").await.unwrap();
    let client = account.client().await.unwrap();
    for (policy, plural, object) in probes() {
        let binding = format!("validatingadmissionpolicybinding/oikos-{policy}");
        let kept = plane.admin().kubectl(&["get", &binding, "-o", "json"]).await.unwrap().ok().unwrap();
        plane.admin().kubectl(&["delete", &binding]).await.unwrap().ok().unwrap();
        until("the end of the policy", async || tried(&client, plural, &object).await.is_ok()).await;
        let line = warning(&account).await;
        assert!(line.contains(&format!(r#""policies":"{policy}""#)), "{line}");
        let mut kept: Value = serde_json::from_str(&kept).unwrap();
        kept["metadata"] = json!({"name": kept["metadata"]["name"]});
        plane.admin().kubectl_with_input(&["create", "-f", "-"], &kept.to_string()).await.unwrap().ok().unwrap();
        until("the policy", async || tried(&client, plural, &object).await.is_err()).await;
    }
    let nothing = ["delete", "rolebinding", "oikos-controller", "-n", SYSTEM];
    plane.admin().kubectl(&nothing).await.unwrap().ok().unwrap();
    let (_, plural, plan) = &probes()[0];
    until("the loss of the right", async || {
        let refused = tried(&client, plural, plan).await;
        refused.is_err_and(|error| !error.to_string().contains("oikos-guard: "))
    })
    .await;
    let line = warning(&account).await;
    assert!(line.contains("is not known") && !line.contains("missing"), "{line}");
    plane.stop().await.unwrap();
}

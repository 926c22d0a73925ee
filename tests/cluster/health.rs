//! What the controller says when something around it is missing or broken. Each test has a control plane of its own.

use std::time::Duration;

use oikos::api::{ExecutionPhase, Plan, PlanPhase};
use serde_json::{Value, json};
use testbed::control_plane::{ControlPlane, Options};
use tokio::time::{sleep, timeout};

use crate::harness::{HELD, Lab, QUICK, step};

/// A control plane with the chart, for one test. It ends with the process.
async fn own_plane(values: &[&str]) -> &'static ControlPlane {
    let options = Options { controller_manager: true, ..Options::default() };
    let plane = Box::leak(Box::new(ControlPlane::start_with(options).await.unwrap()));
    testbed::chart::install(plane, values).await.unwrap();
    plane
}

#[tokio::test]
async fn readiness_names_the_crd_that_is_missing_and_comes_with_it() {
    let plane = own_plane(&[]).await;
    plane.admin().kubectl(&["delete", "crd", "messages.oikos.dev"]).await.unwrap().ok().unwrap();
    let mut lab = Lab::on(plane, "crds").await;
    lab.controller = Some(lab.another_controller().await);
    let only = "not ready:\nmessages.oikos.dev: the CustomResourceDefinition is missing; apply crds/ or install the \
                chart\n";
    lab.controller().answers("/readyz", 503, only).await;
    assert_eq!(lab.controller().get("/livez").await.0, 200);
    testbed::chart::apply(plane, testbed::chart::VERSION, &[]).await.unwrap();
    lab.controller().answers("/readyz", 200, "ok").await;
    lab.plan("web", json!({"steps": [step("change", QUICK)]})).await;
    lab.approve("web").await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
}

#[tokio::test]
async fn a_step_that_ends_while_the_api_server_is_away_is_not_lost_and_readiness_comes_back() {
    let plane = own_plane(&[]).await;
    let mut lab = Lab::on(plane, "outage").await;
    lab.start_controller().await;
    lab.plan("web", json!({"steps": [step("hold", HELD), step("change", QUICK)]})).await;
    lab.approve("web").await;
    lab.execution_until("web-1-1", ExecutionPhase::Running).await;
    // The step ends, and the server goes away before or after that was written.
    lab.release();
    plane.restart_apiserver().await.unwrap();
    lab.plan_until("web", PlanPhase::Succeeded).await;
    assert_eq!(lab.effects(), ["start", "end", "quick"]);
    assert_eq!(lab.executions().await, ["web-1-1", "web-2-1"]);
    lab.controller().answers("/readyz", 200, "ok").await;
}

#[tokio::test]
async fn without_the_policies_a_grant_says_that_nobody_vouches_for_its_maker() {
    let mut lab = Lab::on(own_plane(&["admissionPolicies.enabled=false"]).await, "unguarded").await;
    lab.start_controller().await;
    lab.controller().answers("/metrics", 200, "oikos_admission_guard_up 0").await;
    lab.plan("web", json!({"steps": [step("change", QUICK)]})).await;
    // Nothing refuses a wrong value now; the controller does not act on it and says which line is right.
    lab.plan_until("web", PlanPhase::AwaitingApproval).await;
    lab.kubectl(&["annotate", "plan", "web", "oikos.dev/approve=true"]).await.ok().unwrap();
    let mismatch_is_shown = |plan: &Plan| {
        let conditions = plan.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        conditions.iter().any(|it| it.reason == "TokenMismatch" && it.message.contains("annotate plan web"))
    };
    lab.until("web", "TokenMismatch", mismatch_is_shown).await;
    assert!(lab.windows().await.is_empty());
    lab.approve("web").await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
    assert!(!lab.windows().await[0].spec.granted_by.verified);
}

#[tokio::test]
async fn an_object_that_cannot_be_decoded_does_not_stop_the_rest() {
    let plane = own_plane(&[]).await;
    let mut lab = Lab::on(plane, "undecodable").await;
    // As after a downgrade: the stored object has values that this controller does not know.
    let open = json!([{
        "op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema",
        "value": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }]);
    let patch = ["patch", "crd", "plans.oikos.dev", "--type=json", "-p", &open.to_string()];
    plane.admin().kubectl(&patch).await.unwrap().ok().unwrap();
    let odd = json!({
        "apiVersion": "oikos.dev/v1alpha1", "kind": "Plan", "metadata": {"name": "odd"},
        "spec": {"goal": "from the future", "targets": ["pod:web"], "steps": []},
    });
    store(&lab, &odd).await;
    lab.start_controller().await;
    lab.controller().logged("cannot be decoded and is left alone").await;
    lab.plan("web", json!({"windowSeconds": 600, "limits": {}, "steps": [step("change", QUICK)]})).await;
    lab.approve("web").await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
    lab.controller().answers("/readyz", 200, "ok").await;
    assert_eq!(lab.effects(), ["quick"]);
}

/// Creates an object that the API server takes a moment after its schema was opened.
async fn store(lab: &Lab, object: &Value) {
    let create = ["-n", &lab.namespace, "create", "-f", "-"];
    let stored = async {
        while !lab.operator.kubectl_with_input(&create, &object.to_string()).await.unwrap().success() {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(Duration::from_secs(30), stored).await.expect("the schema is open");
}

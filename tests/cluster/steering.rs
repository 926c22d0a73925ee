//! Pausing, resuming and cancelling while a plan runs.

use oikos::api::{ExecutionPhase, Plan, PlanPhase};
use serde_json::json;

use crate::harness::{HELD, Lab, QUICK, step};

#[tokio::test]
async fn cancelling_stops_the_running_step_on_the_host_and_ends_the_plan() {
    let lab = Lab::new("cancel").await;
    lab.plan("web", json!({"steps": [step("hold", HELD), step("change", QUICK)]})).await;
    lab.approve("web").await;
    lab.execution_until("web-1-1", ExecutionPhase::Running).await;
    assert_eq!(lab.effects(), ["start"]);
    let cancel = ["patch", "plan", "web", "--type=merge", "-p", r#"{"spec":{"cancelled":true}}"#];
    lab.kubectl(&cancel).await.ok().unwrap();
    lab.plan_until("web", PlanPhase::Cancelled).await;
    let attempt = lab.execution_until("web-1-1", ExecutionPhase::Cancelled).await.attempt_id.unwrap();
    let left = lab.on_host(&format!("grep -lsF OIKOS_TREE=.{attempt}. /proc/[0-9]*/environ || echo none"));
    assert_eq!(left, "none\n", "the step's processes are gone");
    lab.release();
    assert_eq!(lab.effects(), ["start"]);
    assert_eq!(lab.executions().await, ["web-1-1"]);
}

#[tokio::test]
async fn cancelling_a_plan_that_waits_ends_it_at_once() {
    let lab = Lab::new("cancel-early").await;
    lab.plan("web", json!({"steps": [step("change", QUICK)]})).await;
    let waiting = lab.plan_until("web", PlanPhase::AwaitingApproval).await;
    let cancel = ["patch", "plan", "web", "--type=merge", "-p", r#"{"spec":{"cancelled":true}}"#];
    lab.kubectl(&cancel).await.ok().unwrap();
    lab.plan_until("web", PlanPhase::Cancelled).await;
    // It may still be annotated, but nothing follows from it.
    lab.copied(&waiting.approval.unwrap().command).await;
    assert!(lab.windows().await.is_empty() && lab.executions().await.is_empty());
}

#[tokio::test]
async fn a_pause_lets_the_running_step_finish_and_holds_the_next_until_it_is_lifted() {
    let lab = Lab::new("pause").await;
    lab.plan("web", json!({"steps": [step("hold", HELD), step("change", QUICK)]})).await;
    lab.approve("web").await;
    lab.execution_until("web-1-1", ExecutionPhase::Running).await;
    let pause = |paused: bool| format!(r#"{{"spec":{{"paused":{paused}}}}}"#);
    lab.kubectl(&["patch", "plan", "web", "--type=merge", "-p", &pause(true)]).await.ok().unwrap();
    lab.release();
    lab.execution_until("web-1-1", ExecutionPhase::Succeeded).await;
    let says_so = |plan: &Plan| {
        let conditions = plan.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        conditions.iter().any(|it| it.message.contains("paused: set spec.paused to false to go on"))
    };
    lab.until("web", "a condition that says it is paused", says_so).await;
    assert_eq!(lab.executions().await, ["web-1-1"]);
    lab.kubectl(&["patch", "plan", "web", "--type=merge", "-p", &pause(false)]).await.ok().unwrap();
    lab.plan_until("web", PlanPhase::Succeeded).await;
    assert_eq!(lab.effects(), ["start", "end", "quick"]);
}

//! What a run costs the API server, counted in its audit log; and that one decision has one effect, however often it
//! is made.

use oikos::api::{ExecutionPhase, Plan, PlanPhase};
use serde_json::json;
use testbed::control_plane::AuditEntry;

use crate::harness::{HELD, Lab, QUICK, step};

/// The controller's requests in the lab's namespace, all of them and in order.
async fn requests(lab: &Lab) -> Vec<AuditEntry> {
    let controller = format!("system:serviceaccount:{}:{}", testbed::chart::SYSTEM, testbed::chart::ACCOUNT);
    let mut entries = lab.plane.audit().await.unwrap();
    entries.retain(|entry| entry.user == controller && entry.namespace == lab.namespace);
    entries
}

/// What a plan with this many quick steps costs: writes of Executions (without the one that shows that a step of more
/// than two seconds runs), Plans, and Events.
async fn cost(lab: &Lab, plan: &str, steps: usize) -> (usize, usize, usize) {
    let before = requests(lab).await.len();
    let steps: Vec<_> = (1..=steps).map(|number| step(&format!("step-{number}"), QUICK)).collect();
    lab.plan(plan, json!({"steps": steps})).await;
    lab.approve(plan).await;
    lab.plan_until(plan, PlanPhase::Succeeded).await;
    let made = requests(lab).await.split_off(before);
    let lists: Vec<_> = made.iter().filter(|entry| entry.verb == "list").collect();
    assert!(lists.is_empty(), "nothing is listed in steady state: {lists:?}");
    // Rarely the store lags behind a write of our own; then the decision is repeated, and the API server refuses it.
    let refused: Vec<_> = made.iter().filter(|it| it.is_write() && it.code >= 400).collect();
    assert!(refused.len() <= steps.len(), "{refused:#?}");
    let landed = |it: &&AuditEntry| it.is_write() && it.code < 400;
    let writes = |resource: &str| made.iter().filter(landed).filter(|it| it.resource == resource).count();
    let mut running = 0;
    for number in 1..=steps.len() {
        let name = format!("{plan}-{number}-1");
        let of_step: Vec<_> = made.iter().filter(landed).filter(|it| it.name == name).collect();
        // A step of more than two seconds is also shown as Running.
        let shown = usize::from(lab.lasted(&name).await >= 2);
        running += shown;
        assert!(of_step.len() <= 3 + shown, "{name} took more than creation, claim and end: {of_step:#?}");
    }
    (writes("executions") - running, writes("plans"), writes("events"))
}

#[tokio::test]
async fn a_step_costs_three_writes_of_its_execution_one_of_its_plan_and_one_event() {
    let lab = Lab::new("budget").await;
    let small = cost(&lab, "small", 2).await;
    let large = cost(&lab, "large", 8).await;
    assert!(large.0 - small.0 <= 3 * 6, "Executions: {small:?} {large:?}");
    assert!(large.1 - small.1 <= 6, "Plans: {small:?} {large:?}");
    assert!(large.2 - small.2 <= 6, "Events: {small:?} {large:?}");
}

#[tokio::test]
async fn a_plans_status_does_not_grow_with_its_run() {
    let lab = Lab::new("size").await;
    let late = HELD.replace("/root/go", "/root/go-late");
    let mut steps = vec![step("first", HELD)];
    steps.extend((1..=6).map(|number| step(&format!("quick-{number}"), QUICK)));
    steps.push(step("last", &late));
    lab.plan("web", json!({"steps": steps})).await;
    lab.approve("web").await;
    let size = async |step: &str| {
        lab.execution_until(step, ExecutionPhase::Running).await;
        let plan = lab.api::<Plan>().get("web").await.unwrap();
        serde_json::to_string(&plan.status.unwrap()).unwrap().len()
    };
    let early = size("web-1-1").await;
    lab.release();
    assert_eq!(early, size("web-8-1").await);
    lab.on_host("touch /root/go-late");
    lab.plan_until("web", PlanPhase::Succeeded).await;
}

#[tokio::test]
async fn two_controllers_at_once_make_one_window_one_execution_and_one_effect_of_each_decision() {
    let lab = Lab::new("two").await;
    let other = lab.another_controller().await;
    other.ready().await;
    let names = ["one", "two", "three", "four", "five", "six"];
    let steps: Vec<_> = names.iter().map(|name| step(name, &format!("echo {name} >> /root/effects"))).collect();
    lab.plan("web", json!({"steps": steps})).await;
    lab.approve("web").await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
    assert_eq!(lab.effects(), names);
    assert_eq!(lab.executions().await.len(), names.len());
    assert_eq!(lab.windows().await.len(), 1);
}

//! Windows that end while a plan runs, that a person creates, and that open too late.

use oikos::api::{AutonomyWindow, ExecutionPhase, ExecutionReason, GrantVia, Plan, PlanPhase, PlanStatus, WindowPhase};
use serde_json::{Value, json};

use crate::harness::{HELD, Lab, QUICK, step};

fn held_then_quick() -> Value {
    json!({"windowSeconds": 10, "steps": [step("hold", HELD), step("change", QUICK)]})
}

/// Runs the first step until its window is over, then lets it finish; the name of that window.
async fn outlive_the_window(lab: &Lab) -> String {
    lab.plan("web", held_then_quick()).await;
    lab.approve("web").await;
    lab.execution_until("web-1-1", ExecutionPhase::Running).await;
    let window = lab.windows().await[0].metadata.name.clone().unwrap();
    let over = |it: &AutonomyWindow| it.status.as_ref().is_some_and(|status| status.phase == WindowPhase::Expired);
    lab.until(&window, "its end", over).await;
    lab.release();
    lab.execution_until("web-1-1", ExecutionPhase::Succeeded).await;
    lab.execution_until("web-2-1", ExecutionPhase::AwaitingApproval).await;
    assert_eq!(lab.effects(), ["start", "end"], "the running step finished, the next one did not start");
    window
}

#[tokio::test]
async fn a_window_that_ends_mid_run_stops_the_next_change_and_a_new_approval_resumes() {
    let lab = Lab::new("expiry").await;
    let first = outlive_the_window(&lab).await;
    lab.approve("web").await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
    assert_eq!(lab.effects(), ["start", "end", "quick"]);
    let change = lab.execution_until("web-2-1", ExecutionPhase::Succeeded).await;
    assert_ne!(change.authority.unwrap().name, Some(first), "it ran under the new grant");
}

#[tokio::test]
async fn approving_a_waiting_step_by_its_own_line_opens_the_window_for_the_plan() {
    let lab = Lab::new("own-line").await;
    outlive_the_window(&lab).await;
    let waiting = lab.execution_until("web-2-1", ExecutionPhase::AwaitingApproval).await.approval.unwrap();
    assert!(waiting.command.contains(" annotate execution web-2-1 "), "{}", waiting.command);
    let wrong = ["annotate", "execution", "web-2-1", "oikos.dev/approve=true"];
    let refused = lab.kubectl(&wrong).await;
    assert!(!refused.success() && refused.stderr.contains(&waiting.command), "{}", refused.stderr);
    lab.copied(&waiting.command).await.ok().unwrap();
    lab.plan_until("web", PlanPhase::Succeeded).await;
    let change = lab.execution_until("web-2-1", ExecutionPhase::Succeeded).await.authority.unwrap();
    assert_eq!(change.approver.as_deref(), Some("operator"));
    assert_eq!(lab.effects(), ["start", "end", "quick"]);
}

#[tokio::test]
async fn a_denial_settles_the_step_that_waits_and_a_later_approval_runs_it_anew() {
    let lab = Lab::new("settle").await;
    outlive_the_window(&lab).await;
    let waiting = lab.plan_until("web", PlanPhase::AwaitingApproval).await.approval.unwrap();
    let deny = format!("oikos.dev/deny={}", waiting.token);
    lab.kubectl(&["annotate", "plan", "web", &deny]).await.ok().unwrap();
    let denied = lab.plan_until("web", PlanPhase::Denied).await.approval.unwrap();
    let step = lab.execution_until("web-2-1", ExecutionPhase::Denied).await;
    assert_eq!(step.reason, Some(ExecutionReason::PlanDenied));
    lab.copied(&denied.command).await.ok().unwrap();
    lab.plan_until("web", PlanPhase::Succeeded).await;
    assert_eq!(lab.executions().await, ["web-1-1", "web-2-1", "web-2-2"]);
    assert_eq!(lab.effects(), ["start", "end", "quick"]);
}

#[tokio::test]
async fn a_revoked_window_lets_the_running_step_finish_and_starts_no_other() {
    let lab = Lab::new("revoke").await;
    lab.plan("web", json!({"steps": [step("hold", HELD), step("change", QUICK)]})).await;
    lab.approve("web").await;
    lab.execution_until("web-1-1", ExecutionPhase::Running).await;
    let window = lab.windows().await[0].metadata.name.clone().unwrap();
    let revoke = ["patch", "autonomywindow", &window, "--type=merge", "-p", r#"{"spec":{"revoked":true}}"#];
    lab.kubectl(&revoke).await.ok().unwrap();
    lab.release();
    lab.execution_until("web-1-1", ExecutionPhase::Succeeded).await;
    lab.plan_until("web", PlanPhase::AwaitingApproval).await;
    assert_eq!(lab.effects(), ["start", "end"]);
    lab.approve("web").await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
    assert_eq!(lab.effects(), ["start", "end", "quick"]);
}

/// A grant as a person writes it, from what the plan's status shows.
async fn grant(lab: &Lab, token: &str) -> Value {
    let plan = lab.api::<Plan>().get("web").await.unwrap();
    let digest = plan.status.unwrap().approval.unwrap().digest;
    json!({
        "apiVersion": "oikos.dev/v1alpha1", "kind": "AutonomyWindow", "metadata": {"name": format!("web-{token}")},
        "spec": {
            "planRef": {"name": "web", "uid": plan.metadata.uid}, "planDigest": digest, "class": "Assent",
            "targets": ["host:pve"], "durationSeconds": 600,
            "grantedBy": {"username": "operator", "via": "Manual"},
        },
    })
}

#[tokio::test]
async fn a_window_that_the_operator_makes_by_hand_opens() {
    let lab = Lab::new("by-hand").await;
    lab.plan("web", json!({"steps": [step("change", QUICK)]})).await;
    let token = lab.plan_until("web", PlanPhase::AwaitingApproval).await.approval.unwrap().token;
    lab.apply(&grant(&lab, &token).await).await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
    let windows = lab.windows().await;
    assert_eq!(windows.len(), 1);
    assert_eq!(windows[0].spec.granted_by.via, GrantVia::Manual);
    assert_eq!(lab.effects(), ["quick"]);
}

#[tokio::test]
async fn a_window_with_a_token_of_the_past_is_revoked_and_starts_nothing() {
    let lab = Lab::new("replay").await;
    lab.plan("web", json!({"steps": [step("change", QUICK)]})).await;
    let old = lab.plan_until("web", PlanPhase::AwaitingApproval).await.approval.unwrap().token;
    let deny = format!("oikos.dev/deny={old}");
    lab.kubectl(&["annotate", "plan", "web", &deny]).await.ok().unwrap();
    lab.plan_until("web", PlanPhase::Denied).await;
    lab.apply(&grant(&lab, &old).await).await;
    let has_status = |window: &AutonomyWindow| window.status.is_some();
    let window = lab.until(&format!("web-{old}"), "a status", has_status).await.status.unwrap();
    assert_eq!(window.phase, WindowPhase::Revoked);
    assert_eq!(window.message.as_deref(), Some("its name does not carry the plan's current token"));
    lab.plan_until("web", PlanPhase::Denied).await;
    assert!(lab.executions().await.is_empty());
}

#[tokio::test]
async fn approving_again_while_a_window_is_open_extends_the_time() {
    let lab = Lab::new("extend").await;
    lab.plan("web", json!({"windowSeconds": 600, "steps": [step("hold", HELD), step("change", QUICK)]})).await;
    lab.approve("web").await;
    lab.execution_until("web-1-1", ExecutionPhase::Running).await;
    let plan = lab.plan_status("web", "an open window", |status| status.window.is_some()).await;
    let (first, approval) = (plan.window.unwrap(), plan.approval.unwrap());
    lab.copied(&approval.command).await.ok().unwrap();
    let longer = |status: &PlanStatus| status.window.as_ref().is_some_and(|it| it.expiry_time > first.expiry_time);
    let second = lab.plan_status("web", "a later end", longer).await;
    assert_eq!(second.window.unwrap().name, format!("web-{}", approval.token));
    assert_ne!(second.approval.unwrap().token, approval.token, "every token is good once");
    lab.release();
    lab.plan_until("web", PlanPhase::Succeeded).await;
    assert_eq!(lab.windows().await.len(), 2);
}

#[tokio::test]
async fn a_step_that_waits_for_another_plans_step_on_its_target_does_not_fail_and_starts_in_its_window_only() {
    let lab = Lab::new("busy").await;
    lab.plan("first", json!({"steps": [step("hold", HELD)]})).await;
    lab.approve("first").await;
    lab.execution_until("first-1-1", ExecutionPhase::Running).await;
    lab.plan("second", json!({"windowSeconds": 10, "steps": [step("change", QUICK)]})).await;
    lab.approve("second").await;
    let begun = |status: &PlanStatus| status.phase == PlanPhase::Running;
    lab.plan_status("second", "begun", begun).await;
    lab.plan_until("second", PlanPhase::AwaitingApproval).await;
    lab.release();
    lab.plan_until("first", PlanPhase::Succeeded).await;
    assert_eq!(lab.effects(), ["start", "end"], "its window was over when the target was free");
    lab.approve("second").await;
    lab.plan_until("second", PlanPhase::Succeeded).await;
    assert_eq!(lab.effects(), ["start", "end", "quick"]);
}

//! Every way in which a step can fail reaches the agent, which goes on. The scripted model's rules fire only when the
//! request says what happened.

use oikos::api::{AuthorityKind, AutonomyWindow, Execution, ExecutionPhase, Plan, PlanPhase, WindowPhase};
use serde_json::json;

use crate::{
    harness::{HELD, Lab, QUICK, step},
    nomos::{VERIFY, run},
};

#[tokio::test]
async fn exit_codes_timeouts_and_refusals_reach_the_agent_which_goes_on_to_the_goal() {
    let lab = Lab::new("reaches").await;
    lab.apply(&Lab::guest("other", 105)).await;
    let (bad, slow) = (run("echo half; echo broken >&2; exit 3", ""), run("sleep 7373", ", timeout_seconds: 1"));
    let (outside, unknown) = (run("pct stop 105", ""), run("pct set 999 --memory 512", ""));
    let unbounded = run("tail -f /var/log/syslog", "");
    let model = lab
        .model(&format!(
            r#"
  - {{ name: first, when: {{ turn: 1 }}, reply: {bad} }}
  - name: read the exit code and both streams
    when: {{ exitCode: 3, lastResultMatches: '(?s)stdout, 5 bytes.*half.*stderr, 7 bytes.*broken' }}
    reply: {slow}
  - {{ name: timed out, when: {{ lastResultContains: ["outcome: TimedOut", "limit of 1 s"] }}, reply: {outside} }}
  - name: out of scope
    when: {{ lastResultContains: ["outcome: Refused (OutOfScope)", "lxc:other", "(host:pve)"] }}
    reply: {unknown}
  - name: unknown
    when: {{ lastResultContains: ["outcome: Refused (UnknownTarget)", "guest 999 of host:pve"] }}
    reply: {unbounded}
  - name: unbounded
    when: {{ lastResultContains: ["outcome: Refused (Unbounded)", "does not end by itself"] }}
    reply: {VERIFY}"#
        ))
        .await;
    lab.agent_plan(json!({})).await;
    lab.approve("web").await;
    let status = lab.plan_until("web", PlanPhase::Succeeded).await;
    assert_eq!((status.executions, status.failures), (6, 5));
    let result = status.result.unwrap();
    assert_eq!((result.summary.as_str(), result.evidence), ("all is well", vec!["web-6-1".to_owned()]));
    lab.one_message_a_turn(&model).await;
}

#[tokio::test]
async fn a_destructive_step_outside_the_plan_waits_for_its_phrase_and_then_runs() {
    let lab = Lab::new("phrase").await;
    lab.on_host("mkdir -p /srv/old");
    let (clear, rules) = (run("rm -rf /srv/old", ""), VERIFY);
    let model = lab
        .model(&format!(
            r#"
  - {{ name: first, when: {{ turn: 1 }}, reply: {clear} }}
  - {{ name: cleared, when: {{ lastCallMatches: "rm -rf", exitCode: 0 }}, reply: {rules} }}"#
        ))
        .await;
    lab.agent_plan(json!({})).await;
    lab.approve("web").await;
    lab.plan_until("web", PlanPhase::AwaitingConfirmation).await;
    let waiting = lab.execution_until("web-1-1", ExecutionPhase::AwaitingApproval).await.approval.unwrap();
    assert!(waiting.phrase.unwrap().starts_with("destroy host:pve "));
    for wrong in ["true", "destroy host:pve", "destroy host:pve 00000000"] {
        let annotation = format!("oikos.dev/confirm={wrong}");
        let refused = lab.kubectl(&["annotate", "execution", "web-1-1", &annotation]).await;
        assert!(!refused.success() && refused.stderr.contains("oikos-guard"), "{wrong}: {}", refused.stderr);
    }
    assert_eq!(lab.on_host("ls -d /srv/old"), "/srv/old\n");
    lab.copied(&waiting.command).await.ok().unwrap();
    lab.plan_until("web", PlanPhase::Succeeded).await;
    let authority = lab.execution_until("web-1-1", ExecutionPhase::Succeeded).await.authority.unwrap();
    assert_eq!((authority.kind, authority.approver.as_deref()), (AuthorityKind::DestructiveWindow, Some("operator")));
    assert_eq!(lab.on_host("ls -d /srv/old 2>/dev/null || echo gone"), "gone\n");
    lab.one_message_a_turn(&model).await;
}

#[tokio::test]
async fn a_destructive_step_that_the_approved_plan_names_runs_unasked_when_the_agent_takes_it() {
    let lab = Lab::new("agent-named").await;
    lab.on_host("mkdir -p /srv/old");
    let clear = run("rm -rf /srv/old", "");
    let model = lab
        .model(&format!(
            r#"
  - {{ name: first, when: {{ turn: 1, requestContains: ["run: rm -rf /srv/old"] }}, reply: {clear} }}
  - {{ name: cleared, when: {{ lastCallMatches: "rm -rf", exitCode: 0 }}, reply: {VERIFY} }}"#
        ))
        .await;
    lab.agent_plan(json!({"steps": [step("clear", "rm -rf /srv/old")]})).await;
    lab.approve("web").await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
    let authority = lab.execution_until("web-1-1", ExecutionPhase::Succeeded).await.authority.unwrap();
    assert_eq!(authority.kind, AuthorityKind::PlanStep);
    assert_eq!(lab.windows().await.len(), 1);
    lab.one_message_a_turn(&model).await;
}

#[tokio::test]
async fn a_denied_step_reaches_the_agent_with_the_operators_reason() {
    let lab = Lab::new("step-denied").await;
    lab.on_host("mkdir -p /srv/old");
    let clear = run("rm -rf /srv/old", "");
    let model = lab
        .model(&format!(
            r#"
  - {{ name: first, when: {{ turn: 1 }}, reply: {clear} }}
  - name: denied
    when: {{ lastResultContains: ["outcome: Denied (DeniedByOperator)", "we still need it"] }}
    reply: {VERIFY}"#
        ))
        .await;
    lab.agent_plan(json!({})).await;
    lab.approve("web").await;
    let waiting = lab.execution_until("web-1-1", ExecutionPhase::AwaitingApproval).await.approval.unwrap();
    let deny = format!("oikos.dev/deny={}", waiting.phrase.unwrap());
    let annotate = ["annotate", "execution", "web-1-1", &deny, "oikos.dev/reason=we still need it"];
    lab.kubectl(&annotate).await.ok().unwrap();
    lab.plan_until("web", PlanPhase::Succeeded).await;
    assert_eq!(lab.on_host("ls -d /srv/old"), "/srv/old\n");
    lab.one_message_a_turn(&model).await;
}

#[tokio::test]
async fn a_step_whose_confirmation_ran_out_reaches_the_agent_as_expired() {
    let lab = Lab::new("step-expired").await;
    let clear = run("rm -rf /srv/old", "");
    let model = lab
        .model(&format!(
            r#"
  - {{ name: first, when: {{ turn: 1 }}, reply: {clear} }}
  - name: expired
    when: {{ lastResultContains: ["outcome: Expired (WindowExpired)", "nothing ran"] }}
    reply: {VERIFY}"#
        ))
        .await;
    lab.agent_plan(json!({})).await;
    lab.approve("web").await;
    let waiting = lab.execution_until("web-1-1", ExecutionPhase::AwaitingApproval).await.approval.unwrap();
    let pause = |paused: bool| format!(r#"{{"spec":{{"paused":{paused}}}}}"#);
    lab.kubectl(&["patch", "plan", "web", "--type=merge", "-p", &pause(true)]).await.ok().unwrap();
    let (plan, execution) = (lab.api::<Plan>().get("web").await.unwrap(), lab.api::<Execution>().get("web-1-1").await);
    let code = waiting.phrase.unwrap().rsplit(' ').next().unwrap().to_owned();
    let name = format!("web-{code}");
    lab.apply(&json!({
        "apiVersion": "oikos.dev/v1alpha1", "kind": "AutonomyWindow", "metadata": {"name": name},
        "spec": {
            "planRef": {"name": "web", "uid": plan.metadata.uid}, "class": "Destructive", "targets": ["host:pve"],
            "planDigest": plan.status.unwrap().approval.unwrap().digest, "durationSeconds": 1,
            "grantedBy": {"username": "operator", "via": "Manual"},
            "executionRef": {"name": "web-1-1", "uid": execution.unwrap().metadata.uid},
        },
    }))
    .await;
    let over = |it: &AutonomyWindow| it.status.as_ref().is_some_and(|status| status.phase == WindowPhase::Expired);
    lab.until(&name, "its end", over).await;
    lab.kubectl(&["patch", "plan", "web", "--type=merge", "-p", &pause(false)]).await.ok().unwrap();
    lab.plan_until("web", PlanPhase::Succeeded).await;
    lab.one_message_a_turn(&model).await;
}

#[tokio::test]
async fn a_step_whose_end_cannot_be_known_reaches_the_agent_as_lost_and_is_not_repeated() {
    let lab = Lab::new("step-lost").await;
    let held = run(HELD, "");
    let model = lab
        .model(&format!(
            r#"
  - {{ name: first, when: {{ turn: 1 }}, reply: {held} }}
  - name: lost
    when: {{ lastResultContains: ["outcome: Lost (SupervisorVanished)", "unknown"] }}
    reply: {VERIFY}"#
        ))
        .await;
    lab.agent_plan(json!({})).await;
    lab.approve("web").await;
    let attempt = lab.execution_until("web-1-1", ExecutionPhase::Running).await.attempt_id.unwrap();
    // The supervisor is the process whose arguments are `oikos-step <attempt> …`.
    lab.on_host(&format!("kill -9 $(pgrep -f 'oikos-step [{}]{}')", &attempt[..1], &attempt[1..]));
    lab.release();
    lab.plan_until("web", PlanPhase::Succeeded).await;
    let lost = lab.execution_until("web-1-1", ExecutionPhase::Lost).await;
    assert_eq!((lost.attempt, lost.exit_code), (Some(1), None));
    assert_eq!(lab.effects(), ["start", "end"]);
    lab.one_message_a_turn(&model).await;
}

#[tokio::test]
async fn a_window_that_ends_makes_the_agents_next_change_wait_and_a_new_approval_resumes_the_same_step() {
    let lab = Lab::new("agent-expiry").await;
    let (held, change) = (run(HELD, ""), run(QUICK, ""));
    let model = lab
        .model(&format!(
            r#"
  - {{ name: first, when: {{ turn: 1 }}, reply: {held} }}
  - {{ name: held, when: {{ turn: 2, exitCode: 0, lastOutputMatches: "done" }}, reply: {change} }}
  - {{ name: changed, when: {{ turn: 3, exitCode: 0 }}, reply: {VERIFY} }}"#
        ))
        .await;
    lab.agent_plan(json!({"windowSeconds": 10})).await;
    lab.approve("web").await;
    lab.execution_until("web-1-1", ExecutionPhase::Running).await;
    let window = lab.windows().await[0].metadata.name.clone().unwrap();
    let over = |it: &AutonomyWindow| it.status.as_ref().is_some_and(|status| status.phase == WindowPhase::Expired);
    lab.until(&window, "its end", over).await;
    lab.release();
    lab.execution_until("web-2-1", ExecutionPhase::AwaitingApproval).await;
    lab.approve("web").await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
    assert_eq!(lab.effects(), ["start", "end", "quick"]);
    lab.one_message_a_turn(&model).await;
}

#[tokio::test]
async fn a_denial_while_the_agents_step_runs_lets_it_finish_and_asks_the_agent_again_after_a_new_approval() {
    let lab = Lab::new("agent-deny").await;
    let held = run(HELD, "");
    let model = lab
        .model(&format!(
            r#"
  - {{ name: first, when: {{ turn: 1 }}, reply: {held} }}
  - {{ name: held, when: {{ turn: 2, exitCode: 0, lastOutputMatches: "done" }}, reply: {VERIFY} }}"#
        ))
        .await;
    lab.agent_plan(json!({})).await;
    lab.approve("web").await;
    lab.execution_until("web-1-1", ExecutionPhase::Running).await;
    let token = lab.api::<Plan>().get("web").await.unwrap().status.unwrap().approval.unwrap().token;
    lab.kubectl(&["annotate", "plan", "web", &format!("oikos.dev/deny={token}")]).await.ok().unwrap();
    let denied = lab.plan_until("web", PlanPhase::Denied).await;
    lab.release();
    lab.execution_until("web-1-1", ExecutionPhase::Succeeded).await;
    assert_eq!(model.requests().len(), 1, "nobody asks the agent of a denied plan");
    lab.copied(&denied.approval.unwrap().command).await.ok().unwrap();
    lab.plan_until("web", PlanPhase::Succeeded).await;
    lab.one_message_a_turn(&model).await;
}

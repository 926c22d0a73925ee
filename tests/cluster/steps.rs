//! How a step ends, and which steps never begin.

use oikos::api::{BlockedReason, ExecutionPhase, ExecutionReason, PlanPhase};
use serde_json::json;

use crate::harness::{Lab, QUICK, step};

#[tokio::test]
async fn the_first_failure_ends_the_plan_as_failed_with_the_exit_code_and_both_streams() {
    let lab = Lab::new("fail").await;
    let steps = [step("fine", QUICK), step("bad", "echo half; echo broken >&2; exit 3"), step("never", QUICK)];
    lab.plan("web", json!({"steps": steps})).await;
    lab.approve("web").await;
    let status = lab.plan_until("web", PlanPhase::Failed).await;
    let summary = status.result.unwrap().summary;
    assert!(summary.contains("step bad") && summary.contains("exit code 3"), "{summary}");
    let bad = lab.execution_until("web-2-1", ExecutionPhase::Failed).await;
    assert_eq!((bad.exit_code, bad.reason), (Some(3), Some(ExecutionReason::NonZeroExit)));
    assert_eq!((bad.stdout.unwrap().text.as_str(), bad.stderr.unwrap().text.as_str()), ("half\n", "broken\n"));
    assert_eq!(lab.executions().await, ["web-1-1", "web-2-1"]);
    assert_eq!(lab.effects(), ["quick"]);
}

#[tokio::test]
async fn the_target_ends_a_step_at_its_time_limit_whether_it_changes_something_or_not() {
    let lab = Lab::new("timeout").await;
    for (plan, run) in [("reads", "sleep 7171"), ("changes", "touch /root/touched; sleep 7171")] {
        lab.plan(plan, json!({"steps": [{"name": "slow", "target": "host:pve", "run": run, "timeoutSeconds": 1}]}))
            .await;
        lab.approve(plan).await;
        lab.plan_until(plan, PlanPhase::Failed).await;
        let slow = lab.execution_until(&format!("{plan}-1-1"), ExecutionPhase::TimedOut).await;
        let message = slow.message.unwrap();
        assert!(message.contains("stopped by the target after 1 s"), "{message}");
        assert_eq!(lab.on_host("pgrep -fx 'sleep 7171' || echo none"), "none\n");
    }
}

#[tokio::test]
async fn a_plan_for_an_unknown_target_says_what_is_missing_and_goes_on_when_it_comes() {
    let lab = Lab::new("blocked").await;
    lab.plan("web", json!({"targets": ["host:pve", "lxc:later"], "steps": [step("look", "hostname")]})).await;
    let blocked = lab.plan_until("web", PlanPhase::Blocked).await.blocked.unwrap();
    assert_eq!(blocked.reason, BlockedReason::UnknownTarget);
    assert!(blocked.question.contains("lxc:later"), "{}", blocked.question);
    lab.apply(&Lab::guest("later", 120)).await;
    lab.approve("web").await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
}

#[tokio::test]
async fn a_step_of_100_kib_or_with_a_nul_byte_is_refused_when_it_is_applied() {
    let lab = Lab::new("oversize").await;
    let apply = ["-n", &lab.namespace, "create", "-f", "-"];
    for (run, words) in
        [(format!("echo {}", "x".repeat(100 * 1024)), "65536"), ("echo a\u{0}b".to_owned(), "spec.steps[0].run")]
    {
        let plan = json!({
            "apiVersion": "oikos.dev/v1alpha1", "kind": "Plan", "metadata": {"name": "web"},
            "spec": {"goal": "too much", "targets": ["host:pve"], "steps": [step("odd", &run)]},
        });
        let refused = lab.operator.kubectl_with_input(&apply, &plan.to_string()).await.unwrap();
        assert!(!refused.success() && refused.stderr.contains(words), "{}", refused.stderr);
    }
}

#[tokio::test]
async fn a_flood_of_output_is_shown_by_head_and_tail_and_counted_whole() {
    let lab = Lab::new("flood").await;
    let flood = "echo first; head -c 5000000 /dev/zero | tr '\\0' x; echo; echo last";
    lab.plan("web", json!({"steps": [step("read", flood), step("change", &format!("{QUICK}; {flood}"))]})).await;
    lab.approve("web").await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
    for name in ["web-1-1", "web-2-1"] {
        let stdout = lab.execution_until(name, ExecutionPhase::Succeeded).await.stdout.unwrap();
        assert_eq!((stdout.bytes, stdout.truncated), (5_000_012, true), "{name}");
        assert!(stdout.text.starts_with("first\nxx") && stdout.text.ends_with("xx\nlast\n"), "{name}");
        assert!(stdout.text.len() < 16_384, "{name}");
    }
}

#[tokio::test]
async fn what_happens_is_told_by_events() {
    let lab = Lab::new("events").await;
    lab.plan("web", json!({"steps": [step("fine", QUICK), step("bad", "exit 3")]})).await;
    lab.approve("web").await;
    lab.plan_until("web", PlanPhase::Failed).await;
    let event = |reason: &str| format!("--field-selector=reason={reason}");
    for (reason, about, kind) in [
        ("AwaitingApproval", "annotate plan web --overwrite oikos.dev/approve=", "Plan"),
        ("WindowOpened", "by operator", "AutonomyWindow"),
        ("StepSucceeded", "host:pve: exit code 0", "Execution"),
        ("StepFailed", "host:pve: exit code 3", "Execution"),
        ("PlanFailed", "step bad ended as Failed with exit code 3", "Plan"),
    ] {
        let wait = ["wait", "--for=create", "events", &event(reason), "--timeout=20s"];
        let get =
            ["get", "events", &event(reason), "-o", "jsonpath={.items[*].involvedObject.kind}: {.items[*].message}"];
        lab.plane.admin().kubectl(&[&["-n", &lab.namespace], &wait[..]].concat()).await.unwrap();
        let text = lab.plane.admin().kubectl(&[&["-n", &lab.namespace], &get[..]].concat()).await.unwrap().stdout;
        assert!(text.starts_with(kind) && text.contains(about), "{reason}: {text:?}");
    }
}

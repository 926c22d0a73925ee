//! An approval covers what the names in a plan stood for, and nobody can put something else behind them.

use kube::api::{DeleteParams, Patch, PatchParams};
use oikos::api::{BlockedReason, Guest, Host, Plan, PlanPhase, PlanStatus, StepAnswer};
use serde_json::{Value, json};

use crate::{
    harness::{HELD, Lab, QUICK, step},
    nomos::{VERIFY, run},
};

/// What the plan's condition Approved says.
fn approved_message(status: &PlanStatus) -> String {
    let approved = status.conditions.iter().find(|condition| condition.type_ == "Approved");
    approved.map_or(String::new(), |condition| condition.message.clone())
}

impl Lab {
    /// Changes the spec of a Host, Guest, Agent or Plan as an administrator.
    async fn change(&self, kind: &str, name: &str, spec: Value) {
        let admin = self.plane.admin();
        let patch = json!({"spec": spec}).to_string();
        let line = ["-n", &self.namespace, "patch", kind, name, "--type", "merge", "-p", &patch];
        admin.kubectl(&line).await.unwrap().ok().unwrap();
    }

    /// Applies and approves a plan of a held step and one that must not follow, and waits until the first runs.
    async fn held_plan(&self, spec: Value) {
        let mut all = json!({"steps": [step("hold", HELD), step("change", QUICK)]});
        all.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        self.plan("web", all).await;
        self.approve("web").await;
        self.execution_until("web-1-1", oikos::api::ExecutionPhase::Running).await;
    }

    /// Lets the first step end and waits until the plan asks anew; what it says is different.
    async fn asks_anew(&self) -> String {
        self.release();
        let status = self.plan_until("web", PlanPhase::AwaitingApproval).await;
        assert_eq!(self.executions().await, ["web-1-1"], "the second step must not exist");
        assert_eq!(self.effects(), ["start", "end"]);
        approved_message(&status)
    }
}

#[tokio::test]
async fn a_host_that_is_changed_after_the_approval_gets_no_further_step_until_a_new_one() {
    let lab = Lab::new("swaphost").await;
    lab.held_plan(json!({})).await;
    lab.change("host", "pve", json!({"port": 1})).await;
    let said = lab.asks_anew().await;
    let port = lab.standin.port();
    assert!(said.contains(&format!("port of host:pve was {port} and is now 1")), "{said}");
    lab.change("host", "pve", json!({"port": port})).await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
    assert_eq!(lab.effects(), ["start", "end", "quick"], "what was approved is there again");
}

#[tokio::test]
async fn a_running_step_is_found_again_where_it_was_sent_whatever_the_host_says_by_then() {
    let mut lab = Lab::new("adoptthere").await;
    lab.held_plan(json!({})).await;
    lab.take_controller().kill();
    lab.change("host", "pve", json!({"address": "127.0.0.254", "port": 1})).await;
    lab.start_controller().await;
    lab.release();
    let ended = lab.execution_until("web-1-1", oikos::api::ExecutionPhase::Succeeded).await;
    assert_eq!(ended.resolved.unwrap().port, lab.standin.port());
}

#[tokio::test]
async fn a_guest_that_is_made_again_under_its_name_is_another_machine() {
    let lab = Lab::new("swapguest").await;
    lab.apply(&Lab::guest("web", 100)).await;
    lab.held_plan(json!({"targets": ["host:pve", "lxc:web"]})).await;
    lab.api::<Guest>().delete("web", &DeleteParams::default()).await.ok();
    lab.plane.admin().kubectl(&["-n", &lab.namespace, "delete", "guest", "web", "--ignore-not-found"]).await.unwrap();
    lab.apply(&Lab::guest("web", 101)).await;
    let said = lab.asks_anew().await;
    assert!(said.contains("VMID of lxc:web was 100 and is now 101"), "{said}");
}

#[tokio::test]
async fn another_model_server_behind_the_agent_is_asked_nothing() {
    let lab = Lab::new("swapagent").await;
    let first = run(HELD, "");
    let rules = format!(
        "\n  - name: begin\n    when: {{ turn: 1 }}\n    reply: {first}\n  - name: verify\n    reply: {VERIFY}\n"
    );
    let _model = lab.model(&rules).await;
    lab.agent_plan(json!({})).await;
    lab.approve("web").await;
    lab.execution_until("web-1-1", oikos::api::ExecutionPhase::Running).await;
    lab.change("agent", "nomos", json!({"baseURL": "http://127.0.0.1:1"})).await;
    let said = lab.asks_anew().await;
    assert!(said.contains("URL of agent nomos was") && said.contains("is now http://127.0.0.1:1"), "{said}");
}

#[tokio::test]
async fn limits_that_get_smaller_need_no_new_approval_and_larger_ones_do() {
    let lab = Lab::new("limits").await;
    lab.held_plan(json!({})).await;
    lab.change("plan", "web", json!({"limits": {"deadlineSeconds": 7200}})).await;
    lab.release();
    lab.plan_until("web", PlanPhase::Succeeded).await;

    let lab = Lab::new("limits").await;
    lab.held_plan(json!({})).await;
    lab.change("plan", "web", json!({"limits": {"deadlineSeconds": 604_800}})).await;
    let said = lab.asks_anew().await;
    assert!(said.contains("most seconds until the deadline was 14400 and is now 604800"), "{said}");
}

/// The namespace's plan, once it is Blocked because of its steps.
async fn refused(lab: &Lab) -> PlanStatus {
    let is_refused = |status: &PlanStatus| {
        status.blocked.as_ref().is_some_and(|blocked| blocked.reason == BlockedReason::StepRefused)
    };
    lab.plan_status("web", "a refused step", is_refused).await
}

#[tokio::test]
async fn a_plan_with_a_step_that_could_never_run_is_not_offered_for_approval() {
    let lab = Lab::new("foreseen").await;
    lab.apply(&Lab::guest("other", 105)).await;
    lab.apply(&Lab::guest("precious", 106)).await;
    lab.change("host", "pve", json!({"protectedGuests": [106]})).await;
    for (run, why) in [
        ("pct stop 105", "lxc:other is outside the approved scope (host:pve)"),
        ("pct set 999 --memory 512", "no Host or Guest for guest 999 of host:pve"),
        ("pct stop 106", "lxc:precious is on its host's protected list"),
        ("tail -f /var/log/syslog", "does not end by itself"),
    ] {
        lab.plan("web", json!({"steps": [step("look", "uptime"), step("wrong", run)]})).await;
        let is_it = |status: &PlanStatus| {
            status.steps.get(1).is_some_and(|step| step.refusal.as_deref().is_some_and(|text| text.contains(why)))
        };
        lab.plan_status("web", why, is_it).await;
        let status = refused(&lab).await;
        let approval = status.approval.unwrap();
        assert_eq!((approval.token.as_str(), approval.command.as_str()), ("", ""), "{run}");
        assert_eq!(
            status.steps.iter().map(|step| step.answer).collect::<Vec<_>>(),
            [StepAnswer::Allowed, StepAnswer::Refused]
        );
        assert!(status.blocked.unwrap().question.contains("step wrong"), "{run}");
    }
    lab.plan("web", json!({"steps": [step("look", "uptime"), step("right", QUICK)]})).await;
    lab.approve("web").await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
}

#[tokio::test]
async fn a_guest_that_any_host_object_of_the_machine_protects_is_protected() {
    let lab = Lab::new("union").await;
    lab.apply(&Lab::guest("precious", 105)).await;
    // Another name and another address, but the same host key.
    let mut second = lab.host("same-machine");
    second["spec"]["address"] = json!("192.0.2.77");
    second["spec"]["protectedGuests"] = json!([105]);
    lab.apply(&second).await;
    lab.plan("web", json!({"targets": ["host:pve", "lxc:precious"], "steps": [step("stop", "pct stop 105")]})).await;
    let status = refused(&lab).await;
    assert!(status.steps[0].refusal.as_ref().unwrap().contains("protected list"), "{status:?}");
}

#[tokio::test]
async fn protection_that_is_taken_away_under_an_open_window_still_holds() {
    let lab = Lab::new("unprotect").await;
    lab.apply(&Lab::guest("precious", 105)).await;
    lab.change("host", "pve", json!({"protectedGuests": [105]})).await;
    let first = run(HELD, "");
    let second = run("pct reboot 105", "");
    let rules = format!(
        "\n  - name: begin\n    when: {{ turn: 1 }}\n    reply: {first}\n  - name: touch\n    when: {{ turn: 2 }}\n    \
         reply: {second}\n  - name: verify\n    reply: {VERIFY}\n"
    );
    let _model = lab.model(&rules).await;
    lab.agent_plan(json!({"targets": ["host:pve", "lxc:precious"]})).await;
    lab.approve("web").await;
    lab.execution_until("web-1-1", oikos::api::ExecutionPhase::Running).await;
    let hosts = lab.plane.admin().client().await.unwrap();
    let hosts: kube::Api<Host> = kube::Api::namespaced(hosts, &lab.namespace);
    let none = Patch::Merge(json!({"spec": {"protectedGuests": null}}));
    hosts.patch("pve", &PatchParams::default(), &none).await.unwrap();
    lab.release();
    let touch = lab.execution_until("web-2-1", oikos::api::ExecutionPhase::Refused).await;
    assert!(touch.message.unwrap().contains("protected list"));
    let _: Plan = lab.api::<Plan>().get("web").await.unwrap();
}

#[tokio::test]
async fn a_secret_that_a_step_prints_stands_in_no_object_and_is_counted() {
    let lab = Lab::new("secret").await;
    // The key by which the host is reached is a Secret that the controller has read.
    let key = lab.standin.private_key_openssh().unwrap();
    let line = key.lines().nth(1).unwrap();
    lab.on_host(&format!("cat > /root/key <<'END'\n{}\nEND", key.trim()));
    let prints = "echo before; cat /root/key; sed -n 2p /root/key >&2; echo after; exit 3";
    lab.plan("web", json!({"steps": [step("prints", &format!("{prints}; touch /root/x"))]})).await;
    lab.approve("web").await;
    lab.plan_until("web", PlanPhase::Failed).await;
    let ended = lab.execution_until("web-1-1", oikos::api::ExecutionPhase::Failed).await;
    let (stdout, stderr) = (ended.stdout.unwrap(), ended.stderr.unwrap());
    assert_eq!(stdout.text, "before\n[redacted]\nafter\n");
    assert_eq!((stderr.text.as_str(), stderr.redactions, stderr.sha256), ("[redacted]\n", 1, None));
    let everything = lab.kubectl(&["get", "oikos,events", "-o", "yaml"]).await.stdout;
    assert!(!everything.contains(line), "a line of the key stands in an object");
}

#[tokio::test]
async fn a_plan_that_asks_is_answered_by_the_printed_line_and_the_agent_is_told_by_whom() {
    let lab = Lab::new("annotated").await;
    let rules = format!(
        r#"
  - {{ name: ask, when: {{ turn: 1 }}, reply: {{ calls: [{{ tool: ask_operator, arguments: {{ question: "Which colour?" }} }}] }} }}
  - {{ name: told, when: {{ turn: 2, lastResultContains: ["The operator operator answers:", "blue"] }}, reply: {VERIFY} }}"#
    );
    let _model = lab.model(&rules).await;
    lab.agent_plan(json!({})).await;
    lab.approve("web").await;
    let asks = |status: &PlanStatus| status.blocked.as_ref().is_some_and(|blocked| blocked.command.is_some());
    let blocked = lab.plan_status("web", "a question", asks).await.blocked.unwrap();
    assert_eq!(blocked.question, "Which colour?");
    let line = blocked.command.unwrap().replace("\"...\"", "\"the blue one\"");
    lab.copied(&line).await.ok().unwrap();
    lab.plan_until("web", PlanPhase::Succeeded).await;
}

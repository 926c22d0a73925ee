//! Agents and models that are missing, wrong or odd: the status says which, nothing runs because of it, and the plan can
//! go on.

use oikos::api::{Blocked, BlockedReason, MessageKind, PlanPhase, PlanStatus};
use serde_json::json;
use testbed::model::{ModelServer, Scenario};

use crate::{
    harness::{Lab, QUICK},
    nomos::{VERIFY, agent, run},
};

async fn blocked(lab: &Lab, reason: &str) -> Blocked {
    let is = |status: &PlanStatus| status.phase == PlanPhase::Blocked;
    let blocked = lab.plan_status("web", &format!("Blocked for {reason}"), is).await.blocked.unwrap();
    assert_eq!(blocked.reason.to_string(), reason, "{}", blocked.question);
    blocked
}

#[tokio::test]
async fn an_unknown_agent_and_a_missing_secret_are_named_before_anything_is_approved() {
    let lab = Lab::new("noagent").await;
    lab.agent_plan(json!({})).await;
    let text = blocked(&lab, "UnknownAgent").await.question;
    assert!(text.contains("no Agent \"nomos\"") && text.contains("spec.agentRef"), "{text}");
    lab.apply(&agent("Anthropic", "http://127.0.0.1:9")).await;
    let secret =
        |status: &PlanStatus| status.blocked.as_ref().is_some_and(|it| it.reason == BlockedReason::MissingSecret);
    let text = lab.plan_status("web", "MissingSecret", secret).await.blocked.unwrap().question;
    assert!(text.contains("no Secret \"model\"") && text.contains("\"apiKey\""), "{text}");
    lab.secret("model", "apiKey", "any").await;
    lab.plan_until("web", PlanPhase::AwaitingApproval).await;
}

#[tokio::test]
async fn a_model_that_answers_401_blocks_the_plan_in_clear_words_and_an_approval_of_the_mended_agent_resumes_it() {
    let lab = Lab::new("unauthorised").await;
    let rules = format!("apiKey: right\nrules:\n  - {{ when: {{ turn: 1 }}, reply: {VERIFY} }}\n");
    let finish = r#"
  - when: { exitCode: 0, lastOutputMatches: "verified" }
    reply: { calls: [{ tool: finish, arguments: { summary: done, evidence: ["web-2-1"] } }] }"#;
    let model = ModelServer::start(Scenario::parse(&format!("{rules}{finish}")).unwrap()).await.unwrap();
    lab.secret("model", "apiKey", "wrong-secret-key").await;
    lab.secret("good", "apiKey", "right").await;
    lab.apply(&agent("Anthropic", &model.anthropic_url())).await;
    lab.agent_plan(json!({})).await;
    lab.approve("web").await;
    let stopped = blocked(&lab, "ModelUnauthorized").await;
    assert!(stopped.question.contains("answered 401: invalid x-api-key"), "{}", stopped.question);
    assert_eq!(model.requests().len(), 1, "it is not tried again and again");
    let mut mended = agent("Anthropic", &model.anthropic_url());
    mended["spec"]["apiKeySecretRef"]["name"] = json!("good");
    lab.apply(&mended).await;
    // Another credential is another agent than the one that was approved; the approval also lets the plan go on.
    lab.approve("web").await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
    let all = lab.kubectl(&["get", "oikos", "-o", "yaml"]).await.stdout;
    assert!(!all.contains("wrong-secret-key"));
}

#[tokio::test]
async fn calls_that_make_no_sense_are_answered_with_how_to_call_and_run_nothing() {
    let lab = Lab::new("malformed").await;
    let long = format!("echo {}", "x".repeat(100 * 1024));
    let (long, nul) = (run(&long, ""), run("echo a\u{0}b", ""));
    let yaml = format!(
        r#"
rules:
  - name: not json
    when: {{ turn: 1 }}
    reply: {{ calls: [{{ tool: run, rawArguments: "{{target host pve" }}] }}
  - {{ name: long, when: {{ lastResultContains: ["not valid JSON", "Nothing was run"] }}, reply: {long} }}
  - {{ name: nul, when: {{ lastResultContains: ["has 102405 bytes; at most 65536"] }}, reply: {nul} }}
  - name: tool
    when: {{ lastResultContains: ["NUL byte", "Nothing was run"] }}
    reply: {{ calls: [{{ tool: reboot_everything, id: odd, arguments: {{}} }}] }}
  - name: target
    when: {{ lastResultContains: ["There is no tool", "reboot_everything"] }}
    reply: {{ calls: [{{ tool: run, arguments: {{ target: "pve", command: "true", purpose: try }} }}] }}
  - name: verify
    when: {{ lastResultContains: ["does not start with host:, lxc: or vm:"] }}
    reply: {VERIFY}
  - name: finish early
    when: {{ exitCode: 0, requestLacks: ["did not succeed"] , requestContains: ["verified"], turn: 7 }}
    reply: {{ calls: [{{ tool: finish, arguments: {{ summary: done, evidence: ["web-1-1"] }} }}] }}
  - name: finish
    when: {{ lastResultContains: ["is not a step of this plan", "Nothing is finished"] }}
    reply: {{ calls: [{{ tool: finish, arguments: {{ summary: done, evidence: ["web-6-1"] }} }}] }}"#
    );
    let model = ModelServer::start(Scenario::parse(&yaml).unwrap()).await.unwrap();
    lab.secret("model", "apiKey", "any").await;
    lab.apply(&agent("OpenAI", &model.openai_url())).await;
    lab.agent_plan(json!({})).await;
    lab.approve("web").await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
    assert_eq!(lab.executions().await, ["web-6-1"]);
    lab.one_message_a_turn(&model).await;
}

#[tokio::test]
async fn an_empty_answer_is_asked_for_once_more_and_then_shown() {
    let lab = Lab::new("empty").await;
    let model = lab
        .model(&format!(
            r#"
  - {{ name: empty, when: {{ turn: 1 }}, times: 2, reply: {{ text: "" }} }}
  - {{ name: awake, when: {{ turn: 1, requestContains: ["wake up"] }}, reply: {VERIFY} }}"#
        ))
        .await;
    lab.agent_plan(json!({})).await;
    lab.approve("web").await;
    let stopped = blocked(&lab, "ReplyEmpty").await;
    assert!(stopped.question.contains("empty answer twice"), "{}", stopped.question);
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    assert_ne!(requests[0].text, requests[1].text, "the second is asked in other words");
    assert_eq!(lab.messages().await.len(), 1);
    lab.say(stopped.sequence.unwrap(), "wake up").await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
}

#[tokio::test]
async fn the_limit_of_iterations_ends_in_a_last_turn_for_a_summary_and_blocks_the_plan() {
    let lab = Lab::new("limit").await;
    let change = run(QUICK, "");
    let model = lab
        .model(&format!(
            r#"
  - {{ name: summary, when: {{ tools: false, requestContains: ["This is the last turn"] }}, reply: {{ text: "Half is done." }} }}
  - {{ name: more, reply: {change} }}"#
        ))
        .await;
    lab.agent_plan(json!({"limits": {"iterations": 2}})).await;
    lab.approve("web").await;
    let stopped = blocked(&lab, "IterationLimit").await;
    assert!(stopped.question.contains("limit of 2 iterations"), "{}", stopped.question);
    assert!(stopped.question.contains("Half is done."), "{}", stopped.question);
    assert_eq!(lab.effects(), ["quick", "quick"]);
    lab.one_message_a_turn(&model).await;
}

#[tokio::test]
async fn a_question_blocks_the_plan_and_the_operators_answer_reaches_the_agent() {
    let lab = Lab::new("question").await;
    let model = lab
        .model(&format!(
            r#"
  - {{ name: ask, when: {{ turn: 1 }}, reply: {{ calls: [{{ tool: ask_operator, arguments: {{ question: "Which colour?" }} }}] }} }}
  - {{ name: told, when: {{ turn: 2, lastResultContains: ["The operator operator answers:", "blue"] }}, reply: {VERIFY} }}"#
        ))
        .await;
    lab.agent_plan(json!({})).await;
    lab.approve("web").await;
    let stopped = blocked(&lab, "OperatorNeeded").await;
    assert_eq!(stopped.question, "Which colour?");
    lab.say(stopped.sequence.unwrap(), "blue").await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
    lab.one_message_a_turn(&model).await;
    let kinds: Vec<MessageKind> = lab.messages().await.into_iter().map(|it| it.spec.kind).collect();
    assert_eq!(kinds, [MessageKind::Turn, MessageKind::Answer, MessageKind::Turn, MessageKind::Turn]);
}

#[tokio::test]
async fn a_controller_that_dies_while_the_model_thinks_asks_again_and_stores_one_message() {
    let mut lab = Lab::new("thinking").await;
    let model = lab
        .model(&format!(
            r#"
  - {{ name: slow, when: {{ turn: 1 }}, times: 1, reply: {{ hold: never, text: lost }} }}
  - {{ name: again, when: {{ turn: 1 }}, reply: {VERIFY} }}"#
        ))
        .await;
    lab.agent_plan(json!({})).await;
    lab.approve("web").await;
    model.wait_for_requests(1).await;
    lab.take_controller().kill();
    lab.start_controller().await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
    let sequences: Vec<u32> = lab.messages().await.iter().map(|it| it.spec.sequence).collect();
    assert_eq!(sequences, [1, 2]);
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test]
async fn a_denial_while_the_model_thinks_ends_the_plan_as_denied_and_stores_no_turn() {
    let lab = Lab::new("deny-thinking").await;
    let model = lab.model("\n  - { name: slow, when: { turn: 1 }, reply: { hold: never, text: lost } }").await;
    lab.agent_plan(json!({})).await;
    lab.approve("web").await;
    model.wait_for_requests(1).await;
    let running = |status: &PlanStatus| status.window.is_some();
    let token = lab.plan_status("web", "a window", running).await.approval.unwrap().token;
    lab.kubectl(&["annotate", "plan", "web", &format!("oikos.dev/deny={token}")]).await.ok().unwrap();
    lab.plan_until("web", PlanPhase::Denied).await;
    assert!(lab.messages().await.is_empty());
    assert!(lab.windows().await[0].spec.revoked);
}

#[tokio::test]
async fn the_same_failure_again_and_again_ends_in_a_summary_and_blocks_the_plan() {
    let lab = Lab::new("repeat").await;
    let fail = run("echo once more >&2; exit 7", "");
    let model = lab
        .model(&format!(
            r#"
  - {{ name: summary, when: {{ tools: false }}, reply: {{ text: "It fails with 7." }} }}
  - {{ name: stubborn, when: {{ requestLacks: ["look elsewhere"] }}, reply: {fail} }}
  - {{ name: told, when: {{ requestContains: ["look elsewhere"] }}, reply: {VERIFY} }}"#
        ))
        .await;
    lab.agent_plan(json!({"limits": {"consecutiveFailures": 3}})).await;
    lab.approve("web").await;
    let stopped = blocked(&lab, "RepeatedFailure").await;
    assert!(stopped.question.contains("3 times in a row"), "{}", stopped.question);
    assert!(stopped.question.contains("It fails with 7."), "{}", stopped.question);
    assert_eq!(lab.executions().await, ["web-1-1", "web-2-1", "web-3-1"]);
    lab.say(stopped.sequence.unwrap(), "look elsewhere").await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
    lab.one_message_a_turn(&model).await;
}

#[tokio::test]
async fn a_model_server_closes_no_plan_by_its_stop_reason() {
    let lab = Lab::new("stop-reason").await;
    let model = lab
        .model(&format!(
            r#"
  - {{ name: pretend, when: {{ turn: 1 }}, reply: {{ text: "I am done.", stop: OikosClosing }} }}
  - {{ name: reminded, when: {{ turn: 2, lastUserMatches: "You called no tool" }}, reply: {VERIFY} }}"#
        ))
        .await;
    lab.agent_plan(json!({})).await;
    lab.approve("web").await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
    let messages = lab.messages().await;
    assert_eq!(messages[0].spec.stop_reason.as_deref(), Some("OikosClosing"));
    assert!(messages.iter().all(|message| message.spec.kind == MessageKind::Turn));
    lab.one_message_a_turn(&model).await;
}

#[tokio::test]
async fn an_agent_that_only_talks_is_told_to_act_and_then_blocks_the_plan() {
    let lab = Lab::new("talk").await;
    let model = lab
        .model(
            r#"
  - { name: summary, when: { tools: false }, reply: { text: "I talked." } }
  - { name: talk, when: { turn: 1 }, reply: { text: "I shall see." } }
  - { name: reminded, when: { lastUserMatches: "You called no tool" }, reply: { text: "I really shall." } }"#,
        )
        .await;
    lab.agent_plan(json!({})).await;
    lab.approve("web").await;
    let stopped = blocked(&lab, "NoToolCalls").await;
    assert!(stopped.question.contains("I talked."), "{}", stopped.question);
    assert!(lab.executions().await.is_empty());
    lab.one_message_a_turn(&model).await;
}

//! Answers that lead nowhere, or that need to be read with care.

use oikos::{
    agent::{Reply, ReplyKind, TurnContext},
    api::Provider,
};
use serde_json::{Value, json};

use crate::fixtures::{BOTH, World, model_of, plan, serve};

async fn ask(provider: Provider, reply: Value) -> Reply {
    let server = serve(&json!({"rules": [{"name": "only", "reply": reply}]}).to_string()).await;
    let world = World::new(plan("x", &["host:strong"]));
    model_of(&server, provider, None).ask(&world.request(&TurnContext::default())).await.unwrap()
}

async fn openai(choice: Value) -> Reply {
    ask(Provider::OpenAI, json!({"raw": json!({"choices": [choice]}).to_string()})).await
}

#[tokio::test]
async fn every_kind_of_answer_is_told_apart() {
    for provider in BOTH {
        let call = json!([{"tool": "list_inventory"}]);
        let table = [
            (json!({"calls": call}), ReplyKind::Calls),
            (json!({"text": "hm"}), ReplyKind::Text),
            (json!({"reasoning": "hm"}), ReplyKind::ReasoningOnly),
            (json!({}), ReplyKind::Empty),
            (json!({"refusal": "I will not."}), ReplyKind::Refusal),
            (json!({"calls": call, "stop": "content_filter"}), ReplyKind::Refusal),
            (json!({"text": "I was just about", "stop": "length"}), ReplyKind::Cut),
            (json!({"stop": "length", "withoutUsage": true}), ReplyKind::Cut),
        ];
        for (reply, kind) in table {
            let got = ask(provider, reply.clone()).await;
            assert_eq!(got.kind, kind, "{provider:?} {reply}");
            assert_eq!(got.calls.is_empty(), kind != ReplyKind::Calls, "{provider:?} {reply}");
        }
        assert_eq!(ask(provider, json!({"refusal": "I will not."})).await.text, "I will not.");
        assert_eq!(ask(provider, json!({"text": "x", "withoutUsage": true})).await.usage, None);
    }
}

#[tokio::test]
async fn a_call_that_was_cut_off_is_never_run() {
    let call = |id: &str, arguments: &str| json!({"id": id, "function": {"name": "run", "arguments": arguments}});
    let whole = r#"{"target":"lxc:a","command":"true"}"#;
    for fragment in ["", r#"{"target":"lxc:a","command":"rm -rf /var/lib/x"#, r#"{"target": "lxc:a"}{"#] {
        let calls = json!([call("a", whole), call("b", fragment)]);
        let reply = openai(json!({"finish_reason": "length", "message": {"content": null, "tool_calls": calls}})).await;
        let ids: Vec<&str> = reply.calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["a"], "{fragment:?}");
        let calls = json!([call("b", fragment)]);
        let reply = openai(json!({"finish_reason": "length", "message": {"tool_calls": calls}})).await;
        assert_eq!(reply.kind, ReplyKind::Cut, "{fragment:?}");
    }
    let body = json!({"stop_reason": "max_tokens", "content": [
        {"type": "tool_use", "id": "a", "name": "list_inventory", "input": {}},
        {"type": "tool_use", "id": "b", "name": "run", "input": {"target": "lxc:a", "command": "rm -rf /var"}},
    ]});
    let reply = ask(Provider::Anthropic, json!({"raw": body.to_string()})).await;
    assert_eq!(reply.calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["a"]);
}

#[tokio::test]
async fn what_servers_leave_out_or_add_does_no_harm() {
    // No finish reason, no usage, ids that are empty or used twice, an object instead of argument text, a call without a
    // function, an old-style reason.
    let reply = openai(json!({"message": {"tool_calls": [
        {"id": "", "function": {"name": "list_inventory"}},
        {"id": "x", "function": {"name": "list_inventory", "arguments": {"a": 1}}},
        {"id": "x", "function": {"name": "list_inventory", "arguments": null}},
        {"id": ""},
        {"function": {"name": "", "arguments": "{}"}},
    ]}}))
    .await;
    assert_eq!(reply.calls.len(), 3);
    let mut ids: Vec<&str> = reply.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids[1], "x");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 3);
    assert_eq!(reply.calls[1].arguments, r#"{"a":1}"#);
    assert_eq!(reply.stop_reason, None);
    // Calls count even when the server says that it stopped.
    let call = json!([{"id": "a", "function": {"name": "list_inventory", "arguments": ""}}]);
    let reply = openai(json!({"finish_reason": "stop", "message": {"content": "", "tool_calls": call}})).await;
    assert_eq!((reply.kind, reply.calls[0].arguments.as_str()), (ReplyKind::Calls, "{}"));
    // Content in parts; nothing at all.
    let reply =
        openai(json!({"message": {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}})).await;
    assert_eq!(reply.text, "a\nb");
    assert_eq!(ask(Provider::OpenAI, json!({"raw": "\n\n{\"choices\": []}"})).await.kind, ReplyKind::Empty);
}

#[tokio::test]
async fn a_call_written_as_text_counts_only_when_it_is_the_whole_answer() {
    let call = r#"{"name": "run", "arguments": {"target": "lxc:a", "command": "true"}}"#;
    for text in [call.to_owned(), format!("```json\n{call}\n```"), format!("<tool_call>{call}</tool_call>")] {
        let reply = openai(json!({"message": {"content": text}})).await;
        assert_eq!((reply.kind, reply.calls[0].name.as_str()), (ReplyKind::Calls, "run"), "{text}");
    }
    let other = r#"{"name": "unknown", "arguments": {}}"#.to_owned();
    for text in [format!("For example: {call}"), format!("{call} and more"), other] {
        assert_eq!(openai(json!({"message": {"content": text}})).await.kind, ReplyKind::Text);
    }
}

#[tokio::test]
async fn an_answer_fits_into_a_message_whatever_its_size() {
    let long = "x".repeat(140_000);
    let calls: Vec<Value> = (0..40)
        .map(|n| json!({"id": format!("c{n}"), "function": {"name": "run", "arguments": format!("{{\"command\":\"{long}\"}}")}}))
        .collect();
    let reply =
        openai(json!({"message": {"content": long, "reasoning": "y".repeat(270_000), "tool_calls": calls}})).await;
    assert_eq!(reply.text.len(), 131_072);
    assert_eq!(reply.calls.len(), 32);
    assert!(reply.calls.iter().all(|call| call.arguments.len() < 131_072));
    let calls: Vec<Value> = (0..32)
        .map(|n| json!({"id": format!("c{n}"), "function": {"name": "run", "arguments": json!({"command": "x".repeat(100_000)}).to_string()}}))
        .collect();
    let held = openai(json!({"message": {"tool_calls": calls}})).await;
    assert!(held.calls[0].arguments.len() > 100_000);
    assert!(held.calls.iter().map(|call| call.arguments.len()).sum::<usize>() < 300_000, "etcd takes 1.5 MiB in all");
    assert_eq!(reply.opaque, None);
}

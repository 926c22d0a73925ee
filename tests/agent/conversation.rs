//! Whole conversations, each request checked by the server the way strict providers do.

use oikos::{
    agent::{ReplyKind, TurnContext, check_finish, tools::ToolRequest},
    api::Provider,
};
use serde_json::Value;

use crate::fixtures::{BOTH, Outcome, World, exited, model_of, plan, serve};

const CONVERSATION: &str = include_str!("../scenarios/conversation.yaml");

fn carry_out(request: &ToolRequest) -> Outcome {
    match request {
        ToolRequest::ListInventory => Outcome::Inline("host:strong\nlxc:web (VMID 101 on host:strong)".into(), false),
        ToolRequest::Run { command, timeout_seconds, .. } if command.contains("install") => {
            assert_eq!(*timeout_seconds, Some(900), "a number written as text is read");
            Outcome::Step(exited("lxc:web", command, 0, "Setting up docker-cli ...\n", ""))
        }
        ToolRequest::Run { command, .. } => {
            Outcome::Step(exited("lxc:web", command, 127, "", "sh: 1: docker: not found\n"))
        }
        other => Outcome::Inline(format!("{} accepted", other.name()), false),
    }
}

#[tokio::test]
async fn one_scenario_runs_to_its_end_in_both_wire_formats() {
    for provider in BOTH {
        let server = serve(CONVERSATION).await;
        let model = model_of(&server, provider, None);
        let mut world = World::new(plan("make it so", &["host:strong", "lxc:web"]));
        let mut kinds = Vec::new();
        for _ in 0..5 {
            let reply = model.ask(&world.request(&TurnContext::default())).await.unwrap();
            kinds.push(reply.kind);
            assert!(reply.usage.as_ref().is_some_and(|usage| usage.input_tokens > 0 && usage.cached_tokens > 0));
            assert_eq!(reply.model.as_deref(), Some("scripted-1"));
            world.store(&reply, carry_out);
        }
        use ReplyKind::{Calls, Text};
        assert_eq!(kinds, [Calls, Calls, Calls, Text, Calls], "{provider:?}");
        assert_eq!(server.refusals(), Vec::<String>::new());
        let last = world.messages.last().unwrap();
        let arguments: Value = serde_json::from_str(&last.spec.tool_calls[0].arguments).unwrap();
        assert_eq!(arguments["evidence"][0], "demo-3-1");
        assert_eq!(check_finish(&["demo-3-1".to_owned()], &world.executions), Ok(()));
    }
}

#[tokio::test]
async fn a_conversation_survives_a_change_of_provider() {
    let server = serve(CONVERSATION).await;
    let mut world = World::new(plan("make it so", &["host:strong", "lxc:web"]));
    // The reasoning of the one means nothing to the other, so it is given up with the change.
    let first = model_of(&server, Provider::OpenAI, None);
    let reply = first.ask(&world.request(&TurnContext::default())).await.unwrap();
    world.store(&reply, carry_out);
    let other = serve(CONVERSATION).await;
    let second = model_of(&other, Provider::Anthropic, None);
    let reply = second.ask(&world.request(&TurnContext::default())).await.unwrap();
    assert_eq!(reply.kind, ReplyKind::Calls);
    assert_eq!(other.refusals(), Vec::<String>::new());
}

#[tokio::test]
async fn reasoning_is_sent_back_byte_for_byte() {
    // Spaces, escapes and the order of fields inside a provider's block have to survive.
    let block = r#"{"signature":"c2ln","type":"thinking", "thinking":"a\u00e9 \/ \"b\"", "zeta":1.0, "alpha": 2}"#;
    let body = format!(
        r#"{{"content":[{block},{{"type":"tool_use","id":"t1","name":"list_inventory","input":{{"b":1,"a": 2}}}}],"stop_reason":"tool_use"}}"#
    );
    let raw = |body: &str| format!("rules: [{{ name: raw, reply: {{ raw: {} }} }}]", Value::from(body));
    let server = serve(&raw(&body)).await;
    let model = model_of(&server, Provider::Anthropic, None);
    let mut world = World::new(plan("x", &["host:strong"]));
    let reply = model.ask(&world.request(&TurnContext::default())).await.unwrap();
    world.store(&reply, |_| Outcome::Inline("fine".into(), false));
    let _ = model.ask(&world.request(&TurnContext::default())).await;
    let sent = server.requests()[1].text.clone();
    assert!(sent.contains(block), "{sent}");
    assert!(sent.contains(r#""input":{"b":1,"a": 2}"#), "{sent}");

    let details = r#"[{"type":"reasoning.encrypted", "data":"x\/y", "index":0}]"#;
    let body = format!(
        r#"{{"choices":[{{"message":{{"content":null,"reasoning_details":{details},"reasoning":"r","tool_calls":[{{"id":"","type":"function","extra_content":{{"google":{{ "thought_signature":"s"}}}},"function":{{"name":"list_inventory","arguments":""}}}}]}}}}]}}"#
    );
    let server = serve(&raw(&body)).await;
    let model = model_of(&server, Provider::OpenAI, None);
    let mut world = World::new(plan("x", &["host:strong"]));
    let reply = model.ask(&world.request(&TurnContext::default())).await.unwrap();
    assert!(!reply.calls[0].id.is_empty(), "a missing id is made up");
    world.store(&reply, |_| Outcome::Inline("fine".into(), false));
    let _ = model.ask(&world.request(&TurnContext::default())).await;
    let sent = server.requests()[1].text.clone();
    assert!(sent.contains(&format!(r#""reasoning_details":{details}"#)), "{sent}");
    assert!(sent.contains(r#""extra_content":{"google":{ "thought_signature":"s"}}"#), "{sent}");
}

#[tokio::test]
async fn deepseek_gets_reasoning_with_every_call_even_an_empty_one() {
    let yaml = r#"{ deepseek: true, rules: [{ name: look, reply: { calls: [{ tool: list_inventory }] } }] }"#;
    let server = serve(yaml).await;
    let mut spec = crate::fixtures::agent(Provider::OpenAI, &server.openai_url());
    spec.model = "deepseek-v4-flash".into();
    let model = oikos::agent::Model::new(&spec, None).unwrap();
    let mut world = World::new(plan("x", &["host:strong"]));
    for _ in 0..2 {
        let reply = model.ask(&world.request(&TurnContext::default())).await.unwrap();
        world.store(&reply, carry_out);
    }
    assert_eq!(server.refusals(), Vec::<String>::new());
}

#[tokio::test]
async fn the_prefix_of_a_request_stays_the_same_from_turn_to_turn() {
    for provider in BOTH {
        let server = serve(CONVERSATION).await;
        let model = model_of(&server, provider, None);
        let mut world = World::new(plan("make it so", &["host:strong", "lxc:web"]));
        for left in 0..3 {
            let context =
                TurnContext { iterations_left: 40 - left, window_seconds: Some(1700), ..TurnContext::default() };
            let reply = model.ask(&world.request(&context)).await.unwrap();
            world.store(&reply, carry_out);
        }
        let sent = server.requests();
        for (earlier, later) in sent.iter().zip(&sent[1..]) {
            for part in ["system", "tools"] {
                assert_eq!(earlier.body[part], later.body[part]);
            }
            let (earlier, later) = (plain(&earlier.body["messages"]), plain(&later.body["messages"]));
            let stable = earlier.len() - 1; // the newest entry carries the state of the plan
            assert_eq!(earlier[..stable], later[..stable]);
        }
    }
}

/// Messages without cache anchors, which move on.
fn plain(messages: &Value) -> Vec<Value> {
    let mut messages = messages.as_array().unwrap().clone();
    for block in messages.iter_mut().filter_map(|message| message["content"].as_array_mut()).flatten() {
        block.as_object_mut().unwrap().remove("cache_control");
    }
    messages
}

#[tokio::test]
async fn the_closing_turn_offers_no_tools_and_asks_for_a_summary() {
    let yaml = r#"
rules:
  - name: close
    when: { tools: false, requestContains: ["the limit of 40 turns is reached"] }
    reply: { text: It is half done. }
  - name: look
    reply: { calls: [{ tool: list_inventory }] }
"#;
    for provider in BOTH {
        let server = serve(yaml).await;
        let model = model_of(&server, provider, None);
        let mut world = World::new(plan("x", &["host:strong"]));
        let reply = model.ask(&world.request(&TurnContext::default())).await.unwrap();
        world.store(&reply, carry_out);
        let context =
            TurnContext { closing: Some("the limit of 40 turns is reached".into()), ..TurnContext::default() };
        let reply = model.ask(&world.request(&context)).await.unwrap();
        assert_eq!((reply.kind, reply.text.as_str()), (ReplyKind::Text, "It is half done."));
    }
}

//! The scripted model as a program of its own, and its objections to requests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/conversation.yaml");

/// Asks once and gives status and body.
fn post(url: &str, path: &str, body: &Value) -> (u16, Value) {
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let body = body.to_string();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         anthropic-version: 2023-06-01\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split("\r\n\r\n").nth(1).unwrap();
    (status, serde_json::from_str(body).unwrap_or_default())
}

fn anthropic(messages: Value) -> Value {
    let tool = json!({"name": "list_inventory", "input_schema": {"type": "object"}});
    json!({"model": "m", "max_tokens": 10, "system": "s", "tools": [tool], "messages": messages})
}

fn openai(messages: Value) -> Value {
    let mut all = vec![json!({"role": "system", "content": "s"})];
    all.extend(messages.as_array().unwrap().clone());
    json!({"model": "m", "max_tokens": 10, "messages": all})
}

#[test]
fn it_serves_prints_its_address_objects_and_ends_with_stdin() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_scripted-model"))
        .args(["--scenario", SCENARIO, "--port", "0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let printed: Value = serde_json::from_str(&line).unwrap();
    let url = printed["url"].as_str().unwrap();

    let (status, body) = post(url, "/v1/messages", &anthropic(json!([{"role": "user", "content": "make it so"}])));
    assert_eq!((status, &body["stop_reason"]), (200, &json!("tool_use")), "{body}");
    let (status, body) = post(url, "/v1/messages", &anthropic(json!([{"role": "user", "content": "hello"}])));
    assert_eq!(status, 500);
    assert!(body["error"]["message"].as_str().unwrap().contains("newest words: hello"), "{body}");
    objects(url);

    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

fn objects(url: &str) {
    let user = json!({"role": "user", "content": "make it so"});
    let called = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "n", "input": {}}]});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "x"});
    let said = |blocks: Value| json!({"role": "user", "content": blocks});
    let table = [
        (json!([called]), "first message must have role user"),
        (json!([user, called]), "last message must not be"),
        (json!([user, called, said(json!([{"type": "text", "text": "x"}]))]), "were found without tool_result blocks"),
        (json!([user, called, said(json!([result("a"), result("a")]))]), "must have a single result"),
        (json!([user, called, said(json!([result("a"), result("b")]))]), "unexpected tool_use_id"),
        (json!([user, called, said(json!([{"type": "text", "text": "x"}, result("a")]))]), "must come before any text"),
        (json!([user, called, said(json!([{"type": "text", "text": " "}]))]), "must be non-empty"),
        (json!([user, user]), "two user messages in a row"),
        (json!([]), "first message"),
    ];
    for (messages, reason) in table {
        let (status, body) = post(url, "/v1/messages", &anthropic(messages));
        let message = body["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(status == 400 && message.contains(reason), "{status} {reason:?} in {message:?}");
    }
    let called = |arguments: &str, content: Value| {
        let call = json!({"id": "a", "type": "function", "function": {"name": "n", "arguments": arguments}});
        json!({"role": "assistant", "content": content, "tool_calls": [call]})
    };
    let result = json!({"role": "tool", "tool_call_id": "a", "content": "x"});
    let table = [
        (json!([user, called("{", json!(null)), result]), "invalid tool call arguments"),
        (json!([user, called("[]", json!(null)), result]), "invalid tool call arguments"),
        (json!([user, {"role": "assistant", "content": null}]), "invalid message content type"),
        (json!([user, {"role": "developer", "content": "x"}]), "unknown variant `developer`"),
        (json!([user, called("{}", json!(null)), user]), "were found without"),
        (json!([user, result]), "unexpected tool_use_id"),
    ];
    for (messages, reason) in table {
        let (status, body) = post(url, "/v1/chat/completions", &openai(messages));
        let message = body["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(status == 400 && message.contains(reason), "{status} {reason:?} in {message:?}");
    }
}

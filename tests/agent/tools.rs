//! Calls as models really write them.

use oikos::{
    agent::tools::{NAMES, Stream, ToolRequest, parse, schemas},
    api::{Risk, ToolCall},
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn call(tool: &str, arguments: &str) -> ToolCall {
    ToolCall { id: "c".into(), name: tool.into(), arguments: arguments.into() }
}

fn read(tool: &str, arguments: Value) -> Result<ToolRequest, String> {
    parse(&call(tool, &arguments.to_string()))
}

fn run(extra: Value) -> Result<ToolRequest, String> {
    let mut arguments = json!({"target": "lxc:web", "command": "true", "purpose": "p"});
    for (name, value) in extra.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    read("run", arguments)
}

#[test]
fn plain_calls_are_read() {
    assert_eq!(
        run(json!({"declared_risk": "Destructive", "timeout_seconds": 30})),
        Ok(ToolRequest::Run {
            target: "lxc:web".parse().unwrap(),
            command: "true".into(),
            purpose: Some("p".into()),
            declared_risk: Risk::Destructive,
            timeout_seconds: Some(30),
        })
    );
    assert_eq!(read("list_inventory", json!({})), Ok(ToolRequest::ListInventory));
    assert_eq!(
        read("read_output", json!({"step": "demo-1-1", "stream": "stderr", "offset": 4096})),
        Ok(ToolRequest::ReadOutput {
            execution: "demo-1-1".into(),
            stream: Stream::Stderr,
            offset: 4096,
            length: 16_384
        })
    );
    let finish = |evidence: Value| read("finish", json!({"summary": "s", "evidence": evidence}));
    let expected = Ok(ToolRequest::Finish { summary: "s".into(), evidence: vec!["a-1-1".into()] });
    for evidence in [json!(["a-1-1"]), json!(" a-1-1 "), json!("[\"a-1-1\"]")] {
        assert_eq!(finish(evidence), expected);
    }
    for evidence in [json!([]), json!(""), json!([1]), json!({}), json!(null), json!(vec!["x"; 17])] {
        assert!(finish(evidence.clone()).is_err(), "{evidence}");
    }
}

#[test]
fn numbers_and_booleans_are_read_by_their_schema() {
    let timeout = |value: Value| match run(json!({"timeout_seconds": value})) {
        Ok(ToolRequest::Run { timeout_seconds, .. }) => Ok(timeout_seconds),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error),
    };
    for value in [json!(60), json!(60.0), json!("60"), json!(" 60 ")] {
        assert_eq!(timeout(value), Ok(Some(60)));
    }
    assert_eq!(timeout(json!(null)), Ok(None));
    for value in [json!(0), json!(7201), json!(-1), json!(1.5), json!("NaN"), json!("1e9"), json!(true), json!([60])] {
        assert!(timeout(value.clone()).unwrap_err().contains("from 1 to 7200"), "{value}");
    }
    let nesting =
        |value: Value| match read("create_container", json!({"host": "host:a", "hostname": "web", "nesting": value})) {
            Ok(ToolRequest::CreateContainer { container, .. }) => Ok(container.nesting),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error),
        };
    for (value, expected) in [
        (json!(true), Some(true)),
        (json!(1), Some(true)),
        (json!("True"), Some(true)),
        (json!("1"), Some(true)),
        (json!(false), Some(false)),
        (json!(0), Some(false)),
        (json!("false"), Some(false)),
        (json!("0"), Some(false)),
        (json!(null), None),
    ] {
        assert_eq!(nesting(value.clone()), Ok(expected), "{value}");
    }
    for value in [json!(2), json!("yes"), json!(""), json!([])] {
        assert!(nesting(value.clone()).is_err(), "{value}");
    }
}

#[test]
fn targets_and_risk_are_never_guessed() {
    for target in [json!("web"), json!("LXC:web"), json!("lxc: web"), json!(" lxc:web"), json!(101), json!(["lxc:web"])]
    {
        assert!(run(json!({"target": target})).is_err(), "{target}");
    }
    for risk in [json!("readonly"), json!("destructive"), json!("Read-Only"), json!(0), json!("")] {
        assert!(run(json!({"declared_risk": risk})).is_err(), "{risk}");
    }
    assert!(read("create_container", json!({"host": "lxc:a", "hostname": "b"})).unwrap_err().contains("is a guest"));
}

#[test]
fn what_is_wrong_is_said_together_with_how_to_call_right() {
    let table = [
        (call("execute", "{}"), vec!["There is no tool \"execute\"", "run, create_container, read_output"]),
        (call("approve", "{}"), vec!["There is no tool"]),
        (call("run", "{"), vec!["not valid JSON", "required: target, command, purpose"]),
        (call("run", "[]"), vec!["not a JSON object"]),
        (call("run", r#"{"command":"true"}"#), vec!["target is missing"]),
        (call("run", r#"{"target":"lxc:a"}"#), vec!["command is missing"]),
        (call("run", r#"{"target":"lxc:a","command":"  "}"#), vec!["command is empty"]),
        (call("run", r#"{"target":"lxc:a","command":["ls"]}"#), vec!["one string"]),
        (call("run", r#"{"target":"lxc:a","command":"a\u0000b"}"#), vec!["NUL"]),
        (call("run", r#"{"target":"lxc:a","command":"ls","cwd":"/opt"}"#), vec!["no argument \"cwd\""]),
        (call("run", r#"{"target":"lxc:a","command":"ls","force":true}"#), vec!["no argument \"force\""]),
        (call("ask_operator", "{}"), vec!["question is missing"]),
        (call("finish", r#"{"summary":"done"}"#), vec!["evidence has to be"]),
        (call("create_container", r#"{"host":"host:a","hostname":"Web_1"}"#), vec!["hostname has to"]),
    ];
    for (call, parts) in table {
        let error = parse(&call).unwrap_err();
        assert!(error.contains("Nothing was run."), "{error}");
        for part in parts {
            assert!(error.contains(part), "{part:?} in {error:?}");
        }
    }
    let long = run(json!({"command": "x".repeat(100 * 1024)})).unwrap_err();
    assert!(long.contains("102400 bytes; at most 65536"), "{long}");
    assert!(run(json!({"command": "x".repeat(65_536)})).is_ok());
}

#[test]
fn no_tool_approves_and_no_argument_sounds_like_it() {
    assert_eq!(schemas().iter().map(|tool| tool.name).collect::<Vec<_>>(), NAMES);
    for tool in schemas() {
        for name in tool.parameters["properties"].as_object().unwrap().keys() {
            for word in ["approve", "force", "confirm", "override", "yes", "skip", "assent"] {
                assert!(!name.contains(word) && !tool.name.contains(word), "{} {name}", tool.name);
            }
        }
        let schema = &tool.parameters;
        assert!(
            schema["required"]
                .as_array()
                .unwrap()
                .iter()
                .all(|n| schema["properties"].get(n.as_str().unwrap()).is_some())
        );
    }
}

proptest! {
    #[test]
    fn whatever_a_model_writes_is_read_or_answered(name in "[a-z_]{0,16}|run|finish", text in ".{0,200}") {
        if let Err(error) = parse(&call(&name, &text)) {
            prop_assert!(!error.is_empty() && error.len() < 2000);
        }
    }
}

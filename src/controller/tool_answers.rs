//! Answers to tool calls that need no Execution: the inventory, the output of earlier steps, and `finish`.

use std::{collections::BTreeMap, fmt::Write};

use super::{access::access_for, context::Context, error::LookupError, stores::decoded};
use crate::{
    agent::{check_finish, tools, tools::ToolRequest, untrusted},
    api::{Execution, Host, ToolCall, ToolResult, condition, text::shortened},
    redact, steps,
};

/// Most bytes of one answer; a Message holds up to 65,536 characters of each.
const LONGEST: usize = 60_000;
/// Most bytes of all answers of a turn: they share one Message, and etcd stores about 1.5 MiB of an object.
const LONGEST_TOGETHER: usize = 200_000;
/// The answer for which there is no room.
const NO_ROOM: &str = "no room for this answer: ask again in a turn of its own";

/// The answers to those of the calls that need no Execution and no operator.
pub async fn answers(
    context: &Context,
    namespace: &str,
    calls: &[ToolCall],
    executions: &BTreeMap<String, Execution>,
) -> Vec<ToolResult> {
    let parsed: Vec<_> = calls.iter().map(|call| (call, tools::parse(call))).collect();
    let has_steps = parsed.iter().any(|(_, request)| request.as_ref().is_ok_and(ToolRequest::is_step));
    let mut results = Vec::new();
    let mut left = LONGEST_TOGETHER;
    for (call, request) in parsed {
        let answer = match request {
            Err(text) => Err(text),
            Ok(ToolRequest::Run { .. } | ToolRequest::CreateContainer { .. } | ToolRequest::AskOperator { .. }) => {
                continue;
            }
            Ok(ToolRequest::ListInventory) => Ok(inventory_text(context, namespace)),
            Ok(ToolRequest::ReadOutput { execution, stream, offset, length }) => match executions.get(&execution) {
                Some(execution) => read_output(context, namespace, execution, stream, offset, length).await,
                None => Err(format!("{execution:?} is not a step of this plan; a result names its step's id")),
            },
            Ok(ToolRequest::Finish { .. }) if has_steps => {
                Err("finish stands alone: wait for the results of the other steps, then finish".to_owned())
            }
            Ok(ToolRequest::Finish { evidence, .. }) => {
                check_finish(&evidence, executions).map(|()| "accepted: the plan has succeeded".to_owned())
            }
        };
        let is_error = answer.is_err();
        let text = shortened(&answer.unwrap_or_else(|text| text), left.min(LONGEST));
        left -= text.len();
        let text = if text.is_empty() { NO_ROOM.to_owned() } else { text };
        results.push(ToolResult { call_id: call.id.clone(), text, is_error });
    }
    results
}

fn inventory_text(context: &Context, namespace: &str) -> String {
    let inventory = context.stores.inventory(namespace);
    let hosts = decoded(&context.stores.hosts, |host| host.metadata.namespace.as_deref() == Some(namespace));
    let mut text = String::from("hosts:\n");
    for host in &hosts {
        let name = host.metadata.name.as_deref().unwrap_or_default();
        let _ = writeln!(text, "- host:{name} {}", readiness(host));
    }
    text.push_str("guests:\n");
    for (target, guest) in &inventory.guests {
        let protected = if inventory.protects(target) { ", protected: never touch it" } else { "" };
        let _ = writeln!(text, "- {target} (VMID {} on host:{}{protected})", guest.vmid, guest.host);
    }
    if inventory.guests.is_empty() {
        text.push_str("- none registered\n");
    }
    text
}

fn readiness(host: &Host) -> String {
    let status = host.status.clone().unwrap_or_default();
    let version = status.version.map_or(String::new(), |version| format!(", {version}"));
    match status.conditions.iter().find(|it| it.type_ == condition::READY) {
        Some(ready) if ready.status == "True" => format!("(answers{version})"),
        Some(ready) => format!("(does not answer: {})", ready.message),
        None => "(not tried yet)".to_owned(),
    }
}

async fn read_output(
    context: &Context,
    namespace: &str,
    execution: &Execution,
    stream: tools::Stream,
    offset: u64,
    length: u32,
) -> Result<String, String> {
    let status = execution.status.clone().unwrap_or_default();
    let (stream, name, shown) = match stream {
        tools::Stream::Stdout => (steps::Stream::Stdout, "stdout", status.stdout),
        tools::Stream::Stderr => (steps::Stream::Stderr, "stderr", status.stderr),
    };
    let step = execution.metadata.name.as_deref().unwrap_or_default();
    let whole = shown.as_ref().is_some_and(|output| !output.truncated);
    let Some(attempt) = status.attempt_id.filter(|_| !whole) else {
        return Ok(shown.map_or("the step wrote nothing".to_owned(), |output| untrusted(step, name, &output.text)));
    };
    let (access, place) = access_for(context, namespace, execution).await.map_err(|error| match error {
        LookupError::Missing(reason) => reason.message,
        LookupError::Call(error) => error.to_string(),
    })?;
    let redactor = context.secrets.redactor(namespace);
    let part = context.runner.read_output(&access, &attempt, place, stream, offset, length).await;
    part.map(|part| {
        let redacted = redactor.redact_part(&steps::sanitise(&part.bytes), redact::Part::Middle);
        let text = untrusted(step, name, &redacted.text);
        format!("{text}\n(bytes {} to {} of {})", part.offset, part.next_offset(), part.total)
    })
    .map_err(|error| format!("{error}; only what the result showed is left of it"))
}

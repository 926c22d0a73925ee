//! From Messages and Executions to what the plan's decision needs of them. Pure.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;

use crate::{
    agent::{
        limits,
        tools::{self, ToolRequest},
    },
    api::{
        BlockedReason, Execution, ExecutionSpec, Message, ObjectRef, Plan, PlanResult, Reason, Risk, Role, RunSpec,
        ToolCall, limits::DEFAULT_TIMEOUT_SECONDS,
    },
    decide::{Tally, Turn, TurnEnd},
};

/// The mark of a closing turn.
pub const CLOSING: &str = "OikosClosing";

/// The latest entry of the transcript: the agent's, or the note that stands in its place. `messages` are sorted.
pub fn latest_turn(plan: &Plan, messages: &[Message]) -> Option<Turn> {
    // The controller's notes stand for turns that failed; each has a sequence of its own.
    let latest = messages.iter().rev().find(|message| message.spec.role != Role::Operator)?;
    let sequence = latest.spec.sequence;
    let answers = |message: &Message| message.spec.role == Role::Operator && message.spec.sequence == sequence;
    Some(Turn {
        sequence,
        time: latest.metadata.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        steps: if latest.spec.role == Role::Agent { steps(plan, latest) } else { Vec::new() },
        end: end(latest),
        answered: messages.iter().any(answers),
    })
}

/// What the limits are held against; the operator's words begin a new row of failures.
pub fn tally(plan: &str, messages: &[Message], executions: &BTreeMap<String, Execution>) -> Tally {
    let spoken = messages
        .iter()
        .filter(|message| message.spec.role == Role::Operator)
        .filter_map(|message| message.metadata.creation_timestamp.as_ref())
        .max();
    let since = |execution: &&Execution| execution.metadata.creation_timestamp.as_ref() >= spoken;
    let mut ordered: Vec<&Execution> =
        executions.values().filter(|execution| execution.has_ended()).filter(since).collect();
    ordered.sort_by_key(|execution| execution.status.as_ref().and_then(|status| status.completion_time.clone()));
    Tally {
        iterations: limits::iterations(plan, messages, executions),
        repeated_failures: limits::identical_failures(&ordered),
        text_only: limits::text_only_streak(messages),
    }
}

fn unanswered(message: &Message) -> impl Iterator<Item = (usize, &ToolCall, ToolRequest)> {
    let inline = |call: &ToolCall| message.spec.tool_results.iter().any(|result| result.call_id == call.id);
    let calls = message.spec.tool_calls.iter().enumerate();
    calls
        .filter(move |(_, call)| !inline(call))
        .filter_map(|(index, call)| Some((index + 1, call, tools::parse(call).ok()?)))
}

fn steps(plan: &Plan, message: &Message) -> Vec<(usize, ExecutionSpec)> {
    unanswered(message)
        .filter_map(|(number, call, request)| Some((number, step(plan, message, call, request)?)))
        .collect()
}

fn step(plan: &Plan, message: &Message, call: &ToolCall, request: ToolRequest) -> Option<ExecutionSpec> {
    let (target, run, create_container, purpose, declared_risk, timeout) = match request {
        ToolRequest::Run { target, command, purpose, declared_risk, timeout_seconds } => {
            (target, Some(RunSpec { command }), None, purpose, declared_risk, timeout_seconds)
        }
        ToolRequest::CreateContainer { host, container, purpose } => {
            (host, None, Some(container), purpose, Risk::ReadOnly, None)
        }
        _ => return None,
    };
    Some(ExecutionSpec {
        plan_ref: ObjectRef::of(plan),
        message_ref: message.metadata.name.clone(),
        call_id: Some(call.id.clone()),
        step_name: None,
        target,
        run,
        create_container,
        purpose,
        declared_risk,
        timeout_seconds: timeout.unwrap_or(DEFAULT_TIMEOUT_SECONDS),
    })
}

fn end(message: &Message) -> TurnEnd {
    let spec = &message.spec;
    if spec.role == Role::System {
        let code = BlockedReason::from(spec.stop_reason.as_deref().unwrap_or_default());
        return TurnEnd::Failed(Reason::new(code, &spec.text));
    }
    if spec.stop_reason.as_deref() == Some(CLOSING) {
        return TurnEnd::Closing(spec.text.clone());
    }
    let accepted =
        |call: &&ToolCall| spec.tool_results.iter().any(|result| result.call_id == call.id && !result.is_error);
    let finished = spec.tool_calls.iter().filter(accepted).find_map(|call| match tools::parse(call).ok()? {
        ToolRequest::Finish { summary, evidence } => Some(PlanResult { summary, evidence }),
        _ => None,
    });
    if let Some(result) = finished {
        return TurnEnd::Finished(result);
    }
    let question = unanswered(message).find_map(|(_, _, request)| match request {
        ToolRequest::AskOperator { question } => Some(question),
        _ => None,
    });
    question.map_or(TurnEnd::GoOn, TurnEnd::Question)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::MessageSpec;

    fn message(sequence: u32, role: Role) -> Message {
        let plan_ref = ObjectRef { name: "p".to_owned(), uid: "u".to_owned() };
        let spec = MessageSpec {
            plan_ref,
            sequence,
            role,
            text: "words".to_owned(),
            author: None,
            tool_calls: Vec::new(),
            tool_results: Vec::new(),
            model: None,
            stop_reason: None,
            usage: None,
            opaque: None,
        };
        Message::new(&format!("p-{sequence}"), spec)
    }

    #[test]
    fn an_operators_message_answers_the_turn_of_its_sequence_and_no_later_one() {
        let plan: Plan = serde_json::from_value(serde_json::json!({
            "apiVersion": "oikos.dev/v1alpha1", "kind": "Plan", "metadata": {"name": "p", "uid": "u"},
            "spec": {"goal": "g", "targets": ["host:a"], "agentRef": {"name": "nomos"}},
        }))
        .unwrap();
        for (sequence, answered) in [(6, false), (7, true), (8, false), (1_000_000, false)] {
            let messages = [message(7, Role::System), message(sequence, Role::Operator)];
            let turn = latest_turn(&plan, &messages).unwrap();
            assert_eq!((turn.sequence, turn.answered), (7, answered), "{sequence}");
        }
    }
}

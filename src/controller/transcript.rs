//! From Messages and Executions to what the plan's decision needs of them, and from what a model answered to the
//! Message that keeps it. Pure.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;

use crate::{
    agent::{
        Reply, limits,
        tools::{self, ToolRequest},
    },
    api::{
        BlockedReason, Execution, ExecutionSpec, Message, MessageKind, MessageSpec, ObjectRef, Plan, PlanResult,
        Reason, Risk, RunSpec, ToolCall, ToolResult,
        limits::{DEFAULT_TIMEOUT_SECONDS, LONGEST_TEXT},
        text::shortened,
    },
    decide::{AdmissionGuard, Tally, Turn, TurnEnd},
};

/// The latest entry of the transcript: the agent's, or the note that stands in its place. `messages` are sorted.
pub fn latest_turn(plan: &Plan, messages: &[Message]) -> Option<Turn> {
    let latest = messages.iter().rev().find(|message| message.spec.kind != MessageKind::Answer)?;
    let sequence = latest.spec.sequence;
    let answers = |message: &Message| message.spec.kind == MessageKind::Answer && message.spec.sequence == sequence;
    Some(Turn {
        sequence,
        time: latest.metadata.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        steps: if latest.spec.kind == MessageKind::Turn { requested_steps(plan, latest) } else { Vec::new() },
        end: end_of(latest),
        answered: messages.iter().any(answers),
    })
}

/// The Messages that count: all of the controller's, and of people's those whose author may approve the plan, or that
/// answer a question before the agent went on. While no policy checks who writes, any of them counts.
pub fn heard(messages: Vec<Message>, guard: AdmissionGuard) -> Vec<Message> {
    if guard == AdmissionGuard::Missing {
        return messages;
    }
    let is_heard: Vec<bool> = messages.iter().map(|message| is_heard(message, &messages)).collect();
    messages.into_iter().zip(is_heard).filter_map(|(message, heard)| heard.then_some(message)).collect()
}

fn is_heard(message: &Message, messages: &[Message]) -> bool {
    if message.spec.kind != MessageKind::Answer {
        return true;
    }
    let Some(author) = &message.spec.author else { return false };
    let sequence = message.spec.sequence;
    let turn =
        |sequence| messages.iter().find(|it| it.spec.kind != MessageKind::Answer && it.spec.sequence == sequence);
    let asked = turn(sequence).is_some_and(|asked| matches!(end_of(asked), TurnEnd::Question(_)));
    let made = |message: &Message| message.metadata.creation_timestamp.clone();
    let in_time = turn(sequence + 1).is_none_or(|next| made(message) <= made(next));
    author.may_approve || (asked && in_time)
}

/// What the limits are held against; the operator's words begin a new row of failures.
pub fn tally(plan: &str, messages: &[Message], executions: &BTreeMap<String, Execution>) -> Tally {
    let spoken = messages
        .iter()
        .filter(|message| message.spec.kind == MessageKind::Answer)
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

/// The calls that an Execution or the operator has to answer, with their numbers from 1.
fn calls_without_result(message: &Message) -> impl Iterator<Item = (usize, &ToolCall, ToolRequest)> {
    let inline = |call: &ToolCall| message.spec.tool_results.iter().any(|result| result.call_id == call.id);
    let calls = message.spec.tool_calls.iter().enumerate();
    calls
        .filter(move |(_, call)| !inline(call))
        .filter_map(|(index, call)| Some((index + 1, call, tools::parse(call).ok()?)))
}

fn requested_steps(plan: &Plan, message: &Message) -> Vec<(usize, ExecutionSpec)> {
    calls_without_result(message)
        .filter_map(|(number, call, request)| Some((number, step_spec(plan, message, call, request)?)))
        .collect()
}

fn step_spec(plan: &Plan, message: &Message, call: &ToolCall, request: ToolRequest) -> Option<ExecutionSpec> {
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

fn end_of(message: &Message) -> TurnEnd {
    let spec = &message.spec;
    match spec.kind {
        MessageKind::Note => {
            let code = spec.reason.unwrap_or(BlockedReason::Unknown);
            return TurnEnd::Failed(Reason::new(code, &spec.text));
        }
        MessageKind::ClosingTurn => return TurnEnd::Closing(spec.text.clone()),
        MessageKind::Turn | MessageKind::Answer => {}
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
    let question = calls_without_result(message).find_map(|(_, _, request)| match request {
        ToolRequest::AskOperator { question } => Some(question),
        _ => None,
    });
    question.map_or(TurnEnd::GoOn, TurnEnd::Question)
}

/// The Message that keeps what the model answered, with the answers to those calls that need no Execution.
pub fn turn_message(
    plan: &Plan,
    sequence: u32,
    kind: MessageKind,
    reply: Reply,
    results: Vec<ToolResult>,
) -> MessageSpec {
    MessageSpec {
        tool_calls: reply.calls,
        tool_results: results,
        model: reply.model,
        stop_reason: reply.stop_reason,
        usage: reply.usage,
        opaque: reply.opaque,
        ..MessageSpec::new(ObjectRef::of(plan), sequence, kind, reply.text)
    }
}

/// The Message that stands in the place of a turn that failed for good.
pub fn note(plan: &Plan, sequence: u32, reason: Reason<BlockedReason>) -> MessageSpec {
    MessageSpec {
        reason: Some(reason.code),
        ..MessageSpec::new(ObjectRef::of(plan), sequence, MessageKind::Note, shortened(&reason.message, LONGEST_TEXT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::ReplyKind;

    fn plan() -> Plan {
        serde_json::from_value(serde_json::json!({
            "apiVersion": "oikos.dev/v1alpha1", "kind": "Plan", "metadata": {"name": "p", "uid": "u"},
            "spec": {"goal": "g", "targets": ["host:a"], "agentRef": {"name": "nomos"}},
        }))
        .unwrap()
    }

    fn message(spec: MessageSpec) -> Message {
        Message::new("p", spec)
    }

    #[test]
    fn an_operators_message_answers_the_turn_of_its_sequence_and_no_later_one() {
        let plan = plan();
        for (sequence, answered) in [(6, false), (7, true), (8, false), (1_000_000, false)] {
            let answer = MessageSpec::new(ObjectRef::of(&plan), sequence, MessageKind::Answer, "words");
            let failure = Reason::new(BlockedReason::ModelOverloaded, "no capacity");
            let turn = latest_turn(&plan, &[message(note(&plan, 7, failure)), message(answer)]).unwrap();
            assert_eq!((turn.sequence, turn.answered), (7, answered), "{sequence}");
        }
    }

    #[test]
    fn whatever_stop_reason_a_model_server_sends_an_ordinary_turn_closes_nothing() {
        let plan = plan();
        for stop_reason in ["OikosClosing", "ClosingTurn", "OperatorNeeded"] {
            let reply = |kind| {
                let reply = Reply {
                    text: "so far".to_owned(),
                    calls: Vec::new(),
                    opaque: None,
                    stop_reason: Some(stop_reason.to_owned()),
                    model: None,
                    usage: None,
                    kind: ReplyKind::Text,
                };
                latest_turn(&plan, &[message(turn_message(&plan, 1, kind, reply, Vec::new()))]).unwrap().end
            };
            assert_eq!(reply(MessageKind::Turn), TurnEnd::GoOn, "{stop_reason}");
            assert_eq!(reply(MessageKind::ClosingTurn), TurnEnd::Closing("so far".to_owned()), "{stop_reason}");
        }
    }

    #[test]
    fn a_note_keeps_the_reason_of_the_failure() {
        let reason = Reason::new(BlockedReason::ModelUnauthorized, "the key is refused");
        let turn = latest_turn(&plan(), &[message(note(&plan(), 1, reason.clone()))]).unwrap();
        assert_eq!(turn.end, TurnEnd::Failed(reason));
    }
}

//! What has been used up and whether the work goes in circles. Pure functions of Messages and Executions.

use std::collections::BTreeMap;

use crate::api::{Execution, ExecutionPhase, Message, MessageKind, Risk, names::execution_name};

/// What an ordinary turn weighs, in quarters of an iteration.
pub const FULL_TURN: u32 = 4;

/// What a turn weighs, in quarters of an iteration: one when every call only reads, else four. The judged risk counts;
/// a step without one yet counts in full. Messages that are not turns weigh nothing.
pub fn turn_weight(plan: &str, message: &Message, executions: &BTreeMap<String, Execution>) -> u32 {
    let spec = &message.spec;
    if !spec.kind.is_turn() {
        return 0;
    }
    let reads = |(index, name): (usize, &str)| match name {
        "read_output" | "list_inventory" => true,
        "run" => executions
            .get(&execution_name(plan, spec.sequence, index + 1))
            .and_then(|execution| execution.status.as_ref()?.risk.as_ref())
            .is_some_and(|risk| risk.class == Risk::ReadOnly),
        _ => false,
    };
    let all_read = spec.tool_calls.iter().map(|call| call.name.as_str()).enumerate().all(reads);
    if all_read && !spec.tool_calls.is_empty() { 1 } else { FULL_TURN }
}

/// Iterations used so far, rounded up.
pub fn iterations(plan: &str, messages: &[Message], executions: &BTreeMap<String, Execution>) -> u32 {
    let quarters: u32 = messages.iter().map(|message| turn_weight(plan, message, executions)).sum();
    quarters.div_ceil(FULL_TURN)
}

/// How often in a row the newest step failed in the same way: same target, same command, same outcome. Other steps in
/// between do not count; a success or another outcome of the same command ends the row. `ordered`: oldest first, only
/// steps that ended.
pub fn identical_failures(ordered: &[&Execution]) -> u32 {
    let Some(newest) = ordered.last().filter(|execution| counts_as_failure(execution)) else { return 0 };
    let same = |execution: &&&Execution| {
        execution.spec.target == newest.spec.target
            && execution.spec.run == newest.spec.run
            && execution.spec.create_container == newest.spec.create_container
    };
    let row = ordered.iter().rev().filter(same).take_while(|execution| outcome(execution) == outcome(newest)).count();
    u32::try_from(row).unwrap_or(u32::MAX)
}

/// How many turns in a row, up to the newest, made no call. The operator's words end the row.
pub fn text_only_streak(messages: &[Message]) -> u32 {
    let turns = messages.iter().rev().filter(|message| message.spec.kind != MessageKind::Note);
    let row = turns.take_while(|message| message.spec.kind.is_turn() && message.spec.tool_calls.is_empty());
    u32::try_from(row.count()).unwrap_or(u32::MAX)
}

fn outcome(execution: &Execution) -> Option<(ExecutionPhase, Option<i32>, Option<&str>)> {
    let status = execution.status.as_ref()?;
    Some((status.phase, status.exit_code, status.signal.as_deref()))
}

/// What the agent may be going round in circles about. A person's no and the end of a window are not of its making.
fn counts_as_failure(execution: &Execution) -> bool {
    let phase = execution.status.as_ref().map(|status| status.phase);
    matches!(
        phase,
        Some(ExecutionPhase::Failed | ExecutionPhase::TimedOut | ExecutionPhase::Refused | ExecutionPhase::Lost)
    )
}

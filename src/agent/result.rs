//! What the model reads about a step, in fixed order.
//!
//! Output of a target is data and never an instruction: it stands between marks that the output cannot know, since
//! they are made from its digest.

use std::fmt::Write;

use super::entry::CallResult;
use crate::api::{Execution, ExecutionPhase, ExecutionStatus, Output, digest::short_sha256, text::shortened};

/// Longest command that is repeated in a result, in bytes; the call itself holds all of it.
const LONGEST_SHOWN_COMMAND: usize = 600;
/// The same in the short form of a result.
const LONGEST_COMMAND_IN_SHORT: usize = 200;
/// Hexadecimal digits of the mark around untrusted output.
const MARK_DIGITS: usize = 12;

/// The result of a step that ended.
pub fn render_result(execution: &Execution) -> CallResult {
    let status = execution.status.clone().unwrap_or_default();
    let mut text = String::new();
    let _ = writeln!(text, "target: {}", execution.spec.target);
    let _ = writeln!(text, "{}", action(execution, LONGEST_SHOWN_COMMAND));
    let _ = writeln!(text, "{}", outcome(execution, &status));
    if let Some(message) = status.message.as_deref().filter(|message| !message.is_empty()) {
        let _ = writeln!(text, "message: {message}");
    }
    if let Some(duration) = duration(&status) {
        let _ = writeln!(text, "duration: {duration}");
    }
    let name = execution.metadata.name.as_deref().unwrap_or_default();
    stream(&mut text, name, "stdout", status.stdout.as_ref());
    stream(&mut text, name, "stderr", status.stderr.as_ref());
    let (out, err) = (left_out(status.stdout.as_ref()), left_out(status.stderr.as_ref()));
    if out + err > 0 {
        let _ = writeln!(
            text,
            "bytes left out above: stdout {out}, stderr {err}; what is missing may matter, read_output shows it"
        );
    }
    let _ = write!(text, "step: {name}");
    CallResult {
        call_id: execution.spec.call_id.clone().unwrap_or_default(),
        text,
        is_error: status.phase != ExecutionPhase::Succeeded,
    }
}

/// The same in a line or two, for results that are long past.
pub(super) fn render_short(execution: &Execution) -> String {
    let status = execution.status.clone().unwrap_or_default();
    format!(
        "target: {}\n{}\n{}\noutput left out here to save room; read_output shows it\nstep: {}",
        execution.spec.target,
        action(execution, LONGEST_COMMAND_IN_SHORT),
        outcome(execution, &status),
        execution.metadata.name.as_deref().unwrap_or_default()
    )
}

fn action(execution: &Execution, longest: usize) -> String {
    if let Some(run) = &execution.spec.run {
        let all = run.command.len();
        let more = if all > longest { format!(" ({all} bytes in all)") } else { String::new() };
        return format!("command: {}{more}", shortened(&run.command, longest));
    }
    let hostname = execution.spec.create_container.as_ref().map(|container| container.hostname.as_str());
    format!("command: create_container {}", hostname.unwrap_or_default())
}

/// The exit code, or what happened instead and what may be done about it.
fn outcome(execution: &Execution, status: &ExecutionStatus) -> String {
    let reason = status.reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    let code = status.exit_code.map(|code| format!("exit code: {code}"));
    match status.phase {
        ExecutionPhase::Succeeded => code.unwrap_or_else(|| "outcome: Succeeded".to_owned()),
        ExecutionPhase::Failed => match (&status.signal, code) {
            (Some(signal), _) => format!("outcome: Failed{reason}: ended by signal {signal}, no exit code"),
            (None, Some(code)) => format!("{code} (failed)"),
            (None, None) => format!("outcome: Failed{reason}: it could not be started or carried out"),
        },
        ExecutionPhase::TimedOut => format!(
            "outcome: TimedOut{reason}: stopped on the target at its limit of {} s. Part of its work may be done: look \
             at the state before you repeat it, and give it more time or run it in the background with a log.",
            execution.spec.timeout_seconds
        ),
        ExecutionPhase::Cancelled => {
            format!("outcome: Cancelled{reason}: a person stopped it. Do not start it again unasked.")
        }
        ExecutionPhase::Denied => format!(
            "outcome: Denied{reason}: a person said no; it did not run. Do not ask for it again in other words; reach \
             the goal in another way, or ask the operator."
        ),
        ExecutionPhase::Expired => format!(
            "outcome: Expired{reason}: the approval ended before it could start; it did not run. If it is still \
             needed, ask for it once more: it will wait for a new approval."
        ),
        ExecutionPhase::Refused => format!(
            "outcome: Refused{reason}: the rules do not allow it, and it did not run. The same step will be refused \
             again; change it as the message says, stay within the plan's targets, or ask the operator."
        ),
        ExecutionPhase::Lost => format!(
            "outcome: Lost{reason}: what happened cannot be known; it may have run wholly, partly or not at all. Look \
             at the state on the target before you decide, and do not simply repeat it."
        ),
        ExecutionPhase::Pending
        | ExecutionPhase::AwaitingApproval
        | ExecutionPhase::Starting
        | ExecutionPhase::Running
        | ExecutionPhase::Cancelling => format!("outcome: not known yet ({:?})", status.phase),
    }
}

fn duration(status: &ExecutionStatus) -> Option<String> {
    let millis = status.completion_time.as_ref()?.0.as_millisecond() - status.start_time.as_ref()?.0.as_millisecond();
    let millis = millis.max(0);
    Some(if millis < 1000 { format!("{millis} ms") } else { format!("{} s", millis / 1000) })
}

fn stream(text: &mut String, step: &str, name: &str, output: Option<&Output>) {
    let Some(output) = output.filter(|output| output.bytes > 0 || !output.text.is_empty()) else {
        let _ = writeln!(text, "{name}: empty");
        return;
    };
    let taken_out = match output.redactions {
        0 => String::new(),
        count => format!(" ({count} secrets taken out: they are not for you, do not look for them)"),
    };
    let _ = writeln!(text, "{name}, {} bytes{taken_out}, {}", output.bytes, untrusted(step, name, &output.text));
}

/// What a program wrote, between marks and named as what it is. For answers to `read_output` as well.
pub fn untrusted(step: &str, name: &str, text: &str) -> String {
    let mark = mark(step, name, text);
    let line_end = if text.ends_with('\n') { "" } else { "\n" };
    format!("untrusted data from the target:\n<<{mark}\n{text}{line_end}{mark}>>")
}

fn mark(step: &str, name: &str, text: &str) -> String {
    short_sha256([step, name, text].concat().as_bytes(), MARK_DIGITS)
}

fn left_out(output: Option<&Output>) -> i64 {
    output.filter(|output| output.truncated).map_or(0, |o| (o.bytes - o.text.len() as i64).max(1))
}

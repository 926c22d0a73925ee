//! From what became of a step to its status. Pure.

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

use crate::{
    api::{ExecutionPhase, ExecutionStatus, Output},
    steps::{Captured, ConnectError, LostReason, NotStarted, Outcome, Report},
};

/// What is to be written after a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// A terminal status.
    Terminal(Box<ExecutionStatus>),
    /// It never started and may be tried anew: a read whose connection was lost, or a start that was fenced off.
    Again(Box<ExecutionStatus>),
}

/// The status of an Execution whose task ended with `report`.
pub fn ending(mut status: ExecutionStatus, report: &Report, timeout_seconds: u32, now: Timestamp) -> Ending {
    let detail =
        |text: &str| if report.detail.is_empty() { text.to_owned() } else { format!("{text}: {}", report.detail) };
    status.stdout = Some(output(&report.stdout));
    status.stderr = Some(output(&report.stderr));
    status.completion_time = Some(Time(now));
    let (phase, reason, message) = match &report.outcome {
        Outcome::Exited { code } => {
            status.exit_code = Some(*code);
            let ok = *code == 0;
            let phase = if ok { ExecutionPhase::Succeeded } else { ExecutionPhase::Failed };
            let reason = if ok { "Completed" } else { "NonZeroExit" };
            (phase, reason, detail(&format!("exit code {code}")))
        }
        Outcome::Signalled { signal } => {
            status.signal = Some(signal.clone());
            (ExecutionPhase::Failed, "Signalled", detail(&format!("ended by signal {signal}")))
        }
        Outcome::TimedOut => {
            let text = format!("stopped by the target after {timeout_seconds} s; it may have done part of its work");
            (ExecutionPhase::TimedOut, "TimedOut", detail(&text))
        }
        Outcome::Cancelled => {
            (ExecutionPhase::Cancelled, "PlanCancelled", detail("stopped because the plan was cancelled"))
        }
        Outcome::NotStarted { reason: NotStarted::TooLate } => {
            (ExecutionPhase::Expired, "TooLate", detail("it could not start before its grant ended; nothing ran"))
        }
        // Nothing started and nothing can under this attempt: the next attempt asks the gate again. A busy target is
        // one where another plan's step runs; waiting for it is no failure.
        Outcome::NotStarted { reason: NotStarted::Fenced | NotStarted::Busy } => {
            return Ending::Again(Box::new(again(status)));
        }
        Outcome::NotStarted { reason } => (ExecutionPhase::Failed, reason.category(), detail("it was not started")),
        Outcome::Lost { reason: LostReason::ConnectionLost } => return Ending::Again(Box::new(still(status))),
        Outcome::Lost { reason } => {
            let text = "what happened is unknown: it may have run wholly, in part or not at all; look before you act";
            (ExecutionPhase::Lost, reason.category(), detail(text))
        }
    };
    finish(&mut status, phase, reason, message);
    Ending::Terminal(Box::new(status))
}

/// The status of an Execution that could not be sent: nothing ran.
pub fn unsent(mut status: ExecutionStatus, reason: &str, message: &str, now: Timestamp) -> ExecutionStatus {
    status.completion_time = Some(Time(now));
    finish(&mut status, ExecutionPhase::Failed, reason, format!("{message}; nothing ran"));
    status
}

/// The stable code and the text of a failed connection.
pub fn trouble(error: &ConnectError) -> (String, String) {
    (error.category().to_owned(), error.to_string())
}

fn finish(status: &mut ExecutionStatus, phase: ExecutionPhase, reason: &str, message: String) {
    status.phase = phase;
    status.reason = Some(reason.to_owned());
    status.message = Some(message.chars().take(8000).collect());
    status.approval = None;
}

/// Back to Pending: its attempt id is used up and proves that no start happened.
fn again(mut status: ExecutionStatus) -> ExecutionStatus {
    status.phase = ExecutionPhase::Pending;
    (status.completion_time, status.stdout, status.stderr) = (None, None, None);
    status
}

/// Stays claimed; the next pass finds nobody running it and makes the next attempt.
fn still(mut status: ExecutionStatus) -> ExecutionStatus {
    status.phase = ExecutionPhase::Starting;
    (status.completion_time, status.stdout, status.stderr) = (None, None, None);
    status
}

fn output(captured: &Captured) -> Output {
    Output {
        text: captured.text.clone(),
        bytes: i64::try_from(captured.bytes).unwrap_or(i64::MAX),
        truncated: captured.truncated,
        sha256: (!captured.sha256.is_empty()).then(|| captured.sha256.clone()),
    }
}

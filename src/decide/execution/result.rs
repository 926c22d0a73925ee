//! From the result of the task that ran a step to the next status.

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

use super::status::{enter, set_reason};
use crate::{
    api::{CreatedGuest, EventReason, Execution, ExecutionPhase, ExecutionReason, ExecutionStatus, Output, Reason},
    decide::decision::{Decision, Notice, Severity},
};

/// What the task that ran an attempt, or looked for what became of it, has found out.
#[derive(Clone, Debug, PartialEq)]
pub struct StepResult {
    /// How it ended.
    pub end: StepEnd,
    /// What there is to say beside that; may be empty.
    pub detail: String,
    /// Standard output, when there is any to show.
    pub stdout: Option<Output>,
    /// Standard error, when there is any to show.
    pub stderr: Option<Output>,
    /// The guest that it created and registered.
    pub created: Option<CreatedGuest>,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepEnd {
    /// The command ended by itself.
    Exited {
        /// Its exit code.
        code: i32,
    },
    /// A signal ended the command.
    Signalled {
        /// Its name without SIG.
        signal: String,
    },
    /// The target stopped the command at its time limit.
    TimedOut {
        /// The limit.
        seconds: u32,
    },
    /// It was stopped, or never started, because that was requested.
    Cancelled,
    /// It reached the target too late; nothing ran.
    TooLate,
    /// It could not be sent; nothing ran.
    NotSent(ExecutionReason),
    /// The target did not start it; nothing ran.
    NotStarted(ExecutionReason),
    /// This attempt never started and never will, and another may: the target was busy, or the attempt was shut out.
    NeverStarted(ExecutionReason),
    /// The connection broke during a read.
    ConnectionLost,
    /// What happened cannot be known.
    Lost(ExecutionReason),
}

/// The status that follows from the result of a claimed attempt, and the Event of a terminal one. No status follows
/// when the object is not claimed any more, is at another attempt than the one that was `claimed`, or says the same
/// already.
pub fn execution_result(
    live: &Execution,
    claimed: &Execution,
    result: &StepResult,
    now: Timestamp,
) -> Decision<(), ExecutionStatus> {
    let current = live.status.clone().unwrap_or_default();
    let is_claimed =
        matches!(current.phase, ExecutionPhase::Starting | ExecutionPhase::Running | ExecutionPhase::Cancelling);
    if !is_claimed || !is_same_attempt(live, claimed) {
        return Decision::default();
    }
    let mut status = current.clone();
    let entered = match (&result.end, current.phase) {
        (StepEnd::ConnectionLost, ExecutionPhase::Cancelling) => false,
        // It stays claimed; the next decision finds that no task runs it, and claims the next attempt.
        (StepEnd::ConnectionLost, _) => enter(&mut status, ExecutionPhase::Starting),
        (StepEnd::NeverStarted(_), ExecutionPhase::Cancelling) => {
            end_with(&mut status, &StepResult { end: StepEnd::Cancelled, ..result.clone() }, now)
        }
        // From Running it goes back in two steps, since what is shown as Running never becomes Pending.
        (StepEnd::NeverStarted(code), phase) => {
            let next =
                if phase == ExecutionPhase::Running { ExecutionPhase::Starting } else { ExecutionPhase::Pending };
            let text = "this attempt never started, and the step is tried again";
            set_reason(&mut status, &Reason::new(*code, with_detail(text, &result.detail)));
            enter(&mut status, next)
        }
        _ => end_with(&mut status, result, now),
    };
    if !entered || status == current {
        return Decision::default();
    }
    let notice = status.phase.is_terminal().then(|| notice(live, &status));
    Decision { status: Some(status), notice, ..Decision::default() }
}

/// The status that shows that a claimed attempt runs; `None` when the object says more than that already.
pub fn show_running(live: &Execution, claimed: &Execution) -> Option<ExecutionStatus> {
    let mut status = live.status.clone().filter(|status| status.phase == ExecutionPhase::Starting)?;
    (is_same_attempt(live, claimed) && enter(&mut status, ExecutionPhase::Running)).then_some(status)
}

/// Whether the written result says that the claimed attempt never started and never will.
pub(super) fn may_be_released(status: &ExecutionStatus) -> bool {
    status.phase == ExecutionPhase::Starting
        && matches!(status.reason, Some(ExecutionReason::TargetBusy | ExecutionReason::NeverStarted))
}

fn is_same_attempt(live: &Execution, claimed: &Execution) -> bool {
    let attempt_id = |execution: &Execution| execution.status.as_ref().and_then(|status| status.attempt_id.clone());
    live.metadata.uid == claimed.metadata.uid && attempt_id(live) == attempt_id(claimed)
}

fn end_with(status: &mut ExecutionStatus, result: &StepResult, now: Timestamp) -> bool {
    let (phase, reason) = terminal(result);
    if !enter(status, phase) {
        return false;
    }
    match &result.end {
        StepEnd::Exited { code } => status.exit_code = Some(*code),
        StepEnd::Signalled { signal } => status.signal = Some(signal.clone()),
        _ => {}
    }
    set_reason(status, &reason);
    status.stdout = result.stdout.clone();
    status.stderr = result.stderr.clone();
    status.created = result.created.clone();
    status.completion_time = Some(Time(now));
    status.approval = None;
    true
}

/// The terminal phase and the reason for a result that ends an Execution.
fn terminal(result: &StepResult) -> (ExecutionPhase, Reason<ExecutionReason>) {
    let (phase, code, text) = match &result.end {
        StepEnd::Exited { code: 0 } => {
            (ExecutionPhase::Succeeded, ExecutionReason::Completed, "exit code 0".to_owned())
        }
        StepEnd::Exited { code } => (ExecutionPhase::Failed, ExecutionReason::NonZeroExit, format!("exit code {code}")),
        StepEnd::Signalled { signal } => {
            (ExecutionPhase::Failed, ExecutionReason::Signalled, format!("ended by signal {signal}"))
        }
        StepEnd::TimedOut { seconds } => {
            let text = format!("stopped by the target after {seconds} s; it may have done part of its work");
            (ExecutionPhase::TimedOut, ExecutionReason::TimedOut, text)
        }
        StepEnd::Cancelled => {
            let text = "stopped because the plan was cancelled".to_owned();
            (ExecutionPhase::Cancelled, ExecutionReason::PlanCancelled, text)
        }
        StepEnd::TooLate => {
            let text = "it could not start before its grant ended; nothing ran".to_owned();
            (ExecutionPhase::Expired, ExecutionReason::TooLate, text)
        }
        StepEnd::NotSent(code) => {
            let message = format!("{}; nothing ran", result.detail);
            return (ExecutionPhase::Failed, Reason::new(*code, message));
        }
        StepEnd::NotStarted(code) | StepEnd::NeverStarted(code) => {
            (ExecutionPhase::Failed, *code, "it was not started".to_owned())
        }
        StepEnd::ConnectionLost => (ExecutionPhase::Lost, ExecutionReason::ConnectionLost, unknown()),
        StepEnd::Lost(code) => (ExecutionPhase::Lost, *code, unknown()),
    };
    (phase, Reason::new(code, with_detail(&text, &result.detail)))
}

fn unknown() -> String {
    "what happened is unknown: it may have run wholly, in part or not at all; look before you act".to_owned()
}

fn with_detail(text: &str, detail: &str) -> String {
    if detail.is_empty() { text.to_owned() } else { format!("{text}: {detail}") }
}

fn notice(execution: &Execution, status: &ExecutionStatus) -> Notice {
    let (severity, reason) = match status.phase {
        ExecutionPhase::Succeeded => (Severity::Normal, EventReason::StepSucceeded),
        _ => (Severity::Warning, EventReason::StepFailed),
    };
    let message = status.message.as_deref().unwrap_or_default();
    Notice::new(severity, reason, format!("{}: {message}", execution.spec.target))
}

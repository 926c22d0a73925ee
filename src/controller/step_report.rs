//! From the reports of the step runner to the results that decisions are made from. Pure.

use super::access::connection_reason;
use crate::{
    api::{ConnectionReason, ExecutionReason, Output, Reason},
    decide::{StepEnd, StepResult},
    redact::{Part, Redacted, Redactor},
    steps::{
        Captured, ConnectError, LostReason, NotStarted, Outcome, Report,
        container::{ContainerOutcome, ContainerRefusal, ContainerReport},
    },
};

/// The result of a step whose task ended with `report`.
pub fn step_result(report: Report, timeout_seconds: u32, redactor: &Redactor) -> StepResult {
    let end = match report.outcome {
        Outcome::Exited { code } => StepEnd::Exited { code },
        Outcome::Signalled { signal } => StepEnd::Signalled { signal },
        Outcome::TimedOut => StepEnd::TimedOut { seconds: timeout_seconds },
        Outcome::Cancelled => StepEnd::Cancelled,
        Outcome::NotStarted { reason } => not_started(reason),
        Outcome::Lost { reason } => lost(reason),
    };
    StepResult {
        end,
        detail: redactor.redact(&report.detail).text,
        stdout: Some(output(&report.stdout, redactor)),
        stderr: Some(output(&report.stderr, redactor)),
        created: None,
    }
}

/// The result of a step that could not be sent: nothing ran.
pub fn not_sent(reason: Reason<ExecutionReason>) -> StepResult {
    StepResult { end: StepEnd::NotSent(reason.code), detail: reason.message, stdout: None, stderr: None, created: None }
}

/// The result of a step that could not be sent because the host could not be connected to.
pub fn not_connected(error: &ConnectError) -> StepResult {
    not_sent(Reason::new(connection_reason(error).into(), error.to_string()))
}

/// The result of a step that may have run, and of which nothing more can be learnt.
pub fn unknown_result(reason: Reason<ExecutionReason>) -> StepResult {
    StepResult { end: StepEnd::Lost(reason.code), detail: reason.message, stdout: None, stderr: None, created: None }
}

/// The result of a container creation. A container that exists but in which no command can be run is a failure with
/// exit code 1, so that its author looks at it.
pub fn container_result(report: ContainerReport, timeout_seconds: u32, redactor: &Redactor) -> StepResult {
    let (stdout, stderr) = (report.stdout, report.stderr);
    let place = report.vmid.map_or(String::new(), |vmid| format!(" as guest {vmid}"));
    let template = report.template.map_or(String::new(), |template| format!(" from {template}"));
    let (outcome, detail) = match report.outcome {
        ContainerOutcome::Created => {
            let detail = format!("lxc:{} was created{place}{template} and runs", report.hostname);
            (Outcome::Exited { code: 0 }, detail)
        }
        ContainerOutcome::NotReady => {
            let detail = format!("lxc:{} was created{place}{template}, but {}", report.hostname, report.detail);
            (Outcome::Exited { code: 1 }, detail)
        }
        ContainerOutcome::Failed { outcome } => (outcome, report.detail),
        ContainerOutcome::Refused { reason } => return not_sent(Reason::new(refusal_reason(reason), report.detail)),
    };
    step_result(Report { outcome, stdout, stderr, detail }, timeout_seconds, redactor)
}

fn not_started(reason: NotStarted) -> StepEnd {
    match reason {
        NotStarted::TooLate => StepEnd::TooLate,
        // A busy target is one where a step of another plan runs; waiting for it is no failure.
        NotStarted::Busy => StepEnd::NeverStarted(ExecutionReason::TargetBusy),
        NotStarted::Fenced => StepEnd::NeverStarted(ExecutionReason::NeverStarted),
        NotStarted::Invalid => StepEnd::NotStarted(ExecutionReason::InvalidStep),
        NotStarted::StaleEpoch => StepEnd::NotStarted(ExecutionReason::StaleEpoch),
        NotStarted::MissingTools => StepEnd::NotStarted(ExecutionReason::MissingTools),
        NotStarted::RunDirectory => StepEnd::NotStarted(ExecutionReason::RunDirectoryUnusable),
    }
}

fn lost(reason: LostReason) -> StepEnd {
    match reason {
        LostReason::ConnectionLost => StepEnd::ConnectionLost,
        LostReason::Rebooted => StepEnd::Lost(ExecutionReason::Rebooted),
        LostReason::SupervisorVanished => StepEnd::Lost(ExecutionReason::SupervisorVanished),
        LostReason::RunDirMissing => StepEnd::Lost(ExecutionReason::RunDirMissing),
        LostReason::HostUnreachable => StepEnd::Lost(ConnectionReason::HostUnreachable.into()),
        LostReason::RecordCorrupt => StepEnd::Lost(ExecutionReason::RecordCorrupt),
        LostReason::NotEnding => StepEnd::Lost(ExecutionReason::NotEnding),
    }
}

fn refusal_reason(refusal: ContainerRefusal) -> ExecutionReason {
    match refusal {
        ContainerRefusal::InvalidRequest => ExecutionReason::InvalidContainer,
        ContainerRefusal::HostnameTaken => ExecutionReason::HostnameTaken,
        ContainerRefusal::VmidTaken => ExecutionReason::VmidTaken,
        ContainerRefusal::TemplateMissing => ExecutionReason::TemplateMissing,
        ContainerRefusal::StorageMissing => ExecutionReason::StorageMissing,
        ContainerRefusal::ListingFailed => ExecutionReason::ListingFailed,
    }
}

/// What is kept of a stream. Nothing else passes on what a target wrote.
fn output(captured: &Captured, redactor: &Redactor) -> Output {
    let redacted = match &captured.cut {
        None => redactor.redact(&captured.text),
        Some(cut) => {
            let head = redactor.redact_part(&captured.text[..cut.start], Part::Head);
            let tail = redactor.redact_part(&captured.text[cut.end..], Part::Tail);
            let text = format!("{}{}{}", head.text, &captured.text[cut.clone()], tail.text);
            Redacted { text, count: head.count + tail.count }
        }
    };
    Output {
        text: redacted.text,
        bytes: i64::try_from(captured.bytes).unwrap_or(i64::MAX),
        truncated: captured.truncated,
        redactions: redacted.count,
        sha256: (!captured.sha256.is_empty() && redacted.count == 0).then(|| captured.sha256.clone()),
    }
}

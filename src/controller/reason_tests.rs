//! The labels of the step runner are the codes that stand in status.

use super::{
    access::connection_reason,
    step_report::{container_result, step_result},
};
use crate::{
    api::{ExecutionReason, ReasonCode},
    decide::StepEnd,
    redact::Redactor,
    steps::{
        ConnectError, LostReason, NotStarted, Outcome, Report,
        container::{ContainerOutcome, ContainerRefusal, ContainerReport},
    },
};

fn connect_errors() -> [ConnectError; 9] {
    let text = String::new;
    [
        ConnectError::Unreachable { host: text(), address: text(), detail: text() },
        ConnectError::HostKeyMismatch { host: text(), address: text(), expected: Vec::new(), offered: text() },
        ConnectError::UnknownHostKey { host: text(), address: text(), offered: text() },
        ConnectError::BadHostKeyEntry { host: text(), entry: text(), detail: text() },
        ConnectError::AuthFailed { host: text(), user: text(), key: text(), methods: text() },
        ConnectError::BadKey { host: text(), detail: text() },
        ConnectError::PctMissing { host: text(), detail: text() },
        ConnectError::GuestUnavailable { host: text(), vmid: 101, detail: text() },
        ConnectError::ShellUnusable { host: text(), detail: text() },
    ]
}

/// The code of a step's end that has one of its own.
fn code(end: &StepEnd) -> ExecutionReason {
    match end {
        StepEnd::NotSent(code) | StepEnd::NotStarted(code) | StepEnd::NeverStarted(code) | StepEnd::Lost(code) => *code,
        StepEnd::TooLate => ExecutionReason::TooLate,
        StepEnd::ConnectionLost => ExecutionReason::ConnectionLost,
        other => panic!("{other:?} has no code of its own"),
    }
}

fn code_of(outcome: Outcome) -> ExecutionReason {
    let report = Report { outcome, stdout: Default::default(), stderr: Default::default(), detail: String::new() };
    code(&step_result(report, 600, &Redactor::default()).end)
}

#[test]
fn a_failed_connection_has_the_runners_code() {
    for error in connect_errors() {
        assert_eq!(connection_reason(&error).as_str(), error.category());
    }
}

#[test]
fn a_step_that_did_not_start_or_was_lost_has_the_runners_code() {
    use NotStarted::{Busy, Fenced, Invalid, MissingTools, RunDirectory, StaleEpoch, TooLate};
    for reason in [Invalid, TooLate, Busy, StaleEpoch, Fenced, MissingTools, RunDirectory] {
        assert_eq!(code_of(Outcome::NotStarted { reason }).as_str(), reason.category());
    }
    use LostReason::{
        ConnectionLost, HostUnreachable, NotEnding, Rebooted, RecordCorrupt, RunDirMissing, SupervisorVanished,
    };
    for reason in
        [Rebooted, SupervisorVanished, RunDirMissing, HostUnreachable, RecordCorrupt, ConnectionLost, NotEnding]
    {
        assert_eq!(code_of(Outcome::Lost { reason }).as_str(), reason.category());
    }
}

#[test]
fn a_refused_container_has_the_runners_code() {
    use ContainerRefusal::{HostnameTaken, InvalidRequest, ListingFailed, StorageMissing, TemplateMissing, VmidTaken};
    for reason in [InvalidRequest, HostnameTaken, VmidTaken, TemplateMissing, StorageMissing, ListingFailed] {
        let outcome = ContainerOutcome::Refused { reason };
        let category = outcome.category();
        let report = ContainerReport {
            outcome,
            vmid: None,
            hostname: "web".to_owned(),
            template: None,
            stdout: Default::default(),
            stderr: Default::default(),
            detail: String::new(),
        };
        assert_eq!(code(&container_result(report, 600, &Redactor::default()).end).as_str(), category);
    }
}

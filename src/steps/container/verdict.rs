//! The words in which a container creation ends.

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::request::ContainerRequest;
use super::{ContainerOutcome, ContainerRefusal, ContainerReport};
use crate::steps::access::HostAccess;
use crate::steps::error::ConnectError;
use crate::steps::report::{LostReason, NotStarted, Outcome, Report};
use crate::steps::runner::Runner;

pub(super) struct Creation<'a> {
    pub runner: &'a Runner,
    pub host: &'a HostAccess,
    pub request: &'a ContainerRequest,
    pub attempt_id: &'a str,
    pub cancel: &'a CancellationToken,
    /// No `pct create` starts after this.
    pub latest: Instant,
}

/// Ends the course early.
pub(super) enum Stop {
    Connect(ConnectError),
    Report(Box<ContainerReport>),
}

impl From<ConnectError> for Stop {
    fn from(error: ConnectError) -> Self {
        Self::Connect(error)
    }
}

/// A container that exists.
pub(super) struct CreatedContainer {
    pub vmid: u32,
    pub template: Option<String>,
    pub report: Report,
}

impl Creation<'_> {
    pub(super) fn created(&self, made: CreatedContainer, detail: &str) -> ContainerReport {
        ContainerReport {
            outcome: ContainerOutcome::Created,
            vmid: Some(made.vmid),
            hostname: self.request.container.hostname.clone(),
            template: made.template,
            stdout: made.report.stdout,
            stderr: made.report.stderr,
            detail: format!("container {} {detail}", made.vmid),
        }
    }

    pub(super) fn refused(&self, reason: ContainerRefusal, detail: String) -> ContainerReport {
        self.bare(ContainerOutcome::Refused { reason }, None, detail)
    }

    pub(super) fn cancelled(&self, vmid: Option<u32>, detail: &str) -> Stop {
        let outcome = ContainerOutcome::Failed { outcome: Outcome::Cancelled };
        self.stop(self.bare(outcome, vmid, detail.to_owned()))
    }

    pub(super) fn failed(&self, vmid: u32, template: Option<&str>, report: Report, note: &str) -> Stop {
        let detail = if report.detail.is_empty() { note.to_owned() } else { format!("{note}: {}", report.detail) };
        self.stop(ContainerReport {
            template: template.map(ToOwned::to_owned),
            stdout: report.stdout,
            stderr: report.stderr,
            ..self.bare(ContainerOutcome::Failed { outcome: report.outcome }, Some(vmid), detail)
        })
    }

    /// After an earlier try a host that cannot be asked is not the same as nothing done.
    pub(super) fn unreachable(&self, error: &ConnectError) -> ContainerReport {
        let outcome = Outcome::Lost { reason: LostReason::HostUnreachable };
        let detail = format!("{error}; an earlier try may have created a container, look at pct list");
        self.bare(ContainerOutcome::Failed { outcome }, None, detail)
    }

    pub(super) fn never_begun(&self) -> ContainerReport {
        let outcome = Outcome::NotStarted { reason: NotStarted::Fenced };
        let detail = "nothing was created, and this attempt cannot begin any more".into();
        self.bare(ContainerOutcome::Failed { outcome }, None, detail)
    }

    pub(super) fn prefix(&self) -> String {
        format!("{}-create", self.attempt_id)
    }

    pub(super) fn bare(&self, outcome: ContainerOutcome, vmid: Option<u32>, detail: String) -> ContainerReport {
        ContainerReport {
            outcome,
            vmid,
            hostname: self.request.container.hostname.clone(),
            template: None,
            stdout: Default::default(),
            stderr: Default::default(),
            detail,
        }
    }

    pub(super) fn stop(&self, report: ContainerReport) -> Stop {
        Stop::Report(Box::new(report))
    }
}

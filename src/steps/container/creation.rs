//! One container creation, and the reports in which it can end.

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::request::ContainerRequest;
use super::{ContainerOutcome, ContainerRefusal, ContainerReport};
use crate::steps::access::HostAccess;
use crate::steps::error::ConnectError;
use crate::steps::report::{LostReason, NotStarted, Outcome, Report};
use crate::steps::runner::Runner;

/// What a creation needs to know on its way.
pub(super) struct Creation<'a> {
    pub runner: &'a Runner,
    pub host: &'a HostAccess,
    pub request: &'a ContainerRequest,
    pub attempt_id: &'a str,
    pub cancel: &'a CancellationToken,
    /// No `pct create` starts after this.
    pub latest: Instant,
}

/// Why a creation goes no further.
pub(super) enum EarlyEnd {
    Connect(ConnectError),
    Report(Box<ContainerReport>),
}

impl From<ConnectError> for EarlyEnd {
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
    pub(super) fn created(&self, container: CreatedContainer, detail: &str) -> ContainerReport {
        ContainerReport {
            outcome: ContainerOutcome::Created,
            vmid: Some(container.vmid),
            hostname: self.request.container.hostname.clone(),
            template: container.template,
            stdout: container.report.stdout,
            stderr: container.report.stderr,
            detail: format!("container {} {detail}", container.vmid),
        }
    }

    pub(super) fn refused(&self, reason: ContainerRefusal, detail: String) -> ContainerReport {
        self.report(ContainerOutcome::Refused { reason }, None, detail)
    }

    pub(super) fn cancelled(&self, vmid: Option<u32>, detail: &str) -> EarlyEnd {
        let outcome = ContainerOutcome::Failed { outcome: Outcome::Cancelled };
        self.end_with(self.report(outcome, vmid, detail.to_owned()))
    }

    pub(super) fn failed(&self, vmid: u32, template: Option<&str>, report: Report, note: &str) -> EarlyEnd {
        let detail = if report.detail.is_empty() { note.to_owned() } else { format!("{note}: {}", report.detail) };
        self.end_with(ContainerReport {
            template: template.map(ToOwned::to_owned),
            stdout: report.stdout,
            stderr: report.stderr,
            ..self.report(ContainerOutcome::Failed { outcome: report.outcome }, Some(vmid), detail)
        })
    }

    /// After an earlier try a host that cannot be asked is not the same as nothing done.
    pub(super) fn unreachable(&self, error: &ConnectError) -> ContainerReport {
        let outcome = Outcome::Lost { reason: LostReason::HostUnreachable };
        let detail = format!("{error}; an earlier try may have created a container, look at pct list");
        self.report(ContainerOutcome::Failed { outcome }, None, detail)
    }

    pub(super) fn never_begun(&self) -> ContainerReport {
        let outcome = Outcome::NotStarted { reason: NotStarted::Fenced };
        let detail = "nothing was created, and this attempt cannot begin any more".into();
        self.report(ContainerOutcome::Failed { outcome }, None, detail)
    }

    /// Beginning of the ids of all tries to create the container.
    pub(super) fn prefix(&self) -> String {
        format!("{}-create", self.attempt_id)
    }

    pub(super) fn report(&self, outcome: ContainerOutcome, vmid: Option<u32>, detail: String) -> ContainerReport {
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

    pub(super) fn end_with(&self, report: ContainerReport) -> EarlyEnd {
        EarlyEnd::Report(Box::new(report))
    }
}

//! The door to running steps: one value, shared by all who run or look at steps.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::access::HostAccess;
use super::direct::{self, RawOutput};
use super::error::{ConnectError, ReadOutputError};
use super::observe::{SupervisedStep, never_sent};
use super::output::{self, OutputPart, Stream};
use super::probe::{self, HostFacts};
use super::report::{NotStarted, Report};
use super::step::{Place, Step};
use super::targets::{Patience, Targets};

/// Runs steps: keeps one warm connection per host with at most 8 channels (6 for steps, 2 for cancelling).
///
/// Dropping a future of this type leaves a mutating step running on its target; [`Runner::adopt`] finds it again.
#[derive(Default)]
pub struct Runner {
    targets: Targets,
}

impl Runner {
    /// With the usual patience.
    pub fn new() -> Self {
        Self::default()
    }

    /// With another patience.
    pub fn with_patience(patience: Patience) -> Self {
        Self { targets: Targets::new(patience) }
    }

    /// Runs a step to its end. A mutating attempt that was started before is not started again: its outcome is found.
    ///
    /// Cancelling ends the command on the target: TERM, 10 s, KILL.
    ///
    /// # Errors
    /// Only when nothing can have been started.
    pub async fn run(
        &self,
        host: &HostAccess,
        step: &Step,
        cancel: &CancellationToken,
    ) -> Result<Report, ConnectError> {
        if let Err(error) = step.check() {
            return Ok(Report::not_started(NotStarted::Invalid, error.to_string()));
        }
        if cancel.is_cancelled() {
            return Ok(never_sent());
        }
        if step.mutating {
            return SupervisedStep::new(&self.targets, host, step, cancel).start().await;
        }
        Ok(direct::run(&self.targets.pool, host, step, cancel).await?.unwrap_or_else(never_sent))
    }

    /// What became of a mutating attempt that an earlier controller may have started, decided by evidence on the
    /// target: its result; or it is still running and is followed; or it never started, and from now on never will; or
    /// it is lost. Keeps trying while the target cannot be reached, until `timeout` and patience are over.
    /// Then it is lost because of [`super::LostReason::HostUnreachable`].
    pub async fn adopt(&self, host: &HostAccess, step: &Step, cancel: &CancellationToken) -> Report {
        if let Err(error) = step.check() {
            return Report::not_started(NotStarted::Invalid, error.to_string());
        }
        SupervisedStep::new(&self.targets, host, step, cancel).recover().await
    }

    /// Connects to a host and asks for its version, boot and tools.
    ///
    /// # Errors
    /// When it cannot be reached, its key is not the pinned one, or the login fails.
    pub async fn probe(&self, host: &HostAccess) -> Result<HostFacts, ConnectError> {
        probe::host_facts(&self.targets.pool, host).await
    }

    /// Reads a part of the output of a mutating attempt, also while it runs: at most 256 KiB from `offset`.
    ///
    /// # Errors
    /// When the target cannot be asked or keeps no output of that attempt.
    pub async fn read_output(
        &self,
        host: &HostAccess,
        attempt_id: &str,
        place: Place,
        stream: Stream,
        offset: u64,
        length: u32,
    ) -> Result<OutputPart, ReadOutputError> {
        output::read(&self.targets.pool, host, attempt_id, place, stream, offset, length).await
    }

    /// Runs a small read-only helper command on the host, for its whole output (1 MiB of each stream).
    ///
    /// # Errors
    /// Only when nothing was started; a lost connection is an outcome.
    pub async fn query(&self, host: &HostAccess, argv: &[&str], timeout: Duration) -> Result<RawOutput, ConnectError> {
        direct::query(&self.targets.pool, host, argv, timeout).await
    }

    /// Run directories on a host whose names begin with `prefix`.
    pub(crate) async fn claims(&self, host: &HostAccess, prefix: &str) -> Result<Vec<String>, ConnectError> {
        probe::claims(&self.targets.pool, host, prefix).await
    }

    pub(crate) fn patience(&self) -> Patience {
        self.targets.patience
    }
}

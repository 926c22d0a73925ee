//! The door to running steps: one value, shared by all who run or look at steps.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::access::HostAccess;
use super::direct::{self, RawOutput};
use super::error::{ConnectError, ReadOutputError};
use super::observe::{SupervisedStep, never_sent};
use super::output::{self, OutputPart, Stream};
use super::pool::Pool;
use super::probe::{self, HostFacts, TargetClock};
use super::report::{NotStarted, Report};
use super::step::{Place, Step};

/// How long to look for a step whose target cannot be reached.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Time after the step's own limit until its outcome is given up as [`super::Outcome::Lost`]; 15 minutes. It
    /// includes what the target takes to end a command (TERM, 10 s, KILL) and to write that down.
    pub after_end: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { after_end: Duration::from_secs(15 * 60) }
    }
}

/// Runs steps: keeps one warm connection per host with at most 8 channels (6 for steps, 2 for cancelling).
///
/// Dropping a future of this type leaves a mutating step running on its target; [`Runner::adopt`] finds it again.
#[derive(Default)]
pub struct Runner {
    pool: Pool,
    patience: Patience,
    clocks: Mutex<HashMap<(HostAccess, Place), TargetClock>>,
}

impl Runner {
    /// With the usual patience.
    pub fn new() -> Self {
        Self::default()
    }

    /// With another patience.
    pub fn with_patience(patience: Patience) -> Self {
        Self { patience, ..Self::default() }
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
            return SupervisedStep::new(self, host, step, cancel).start().await;
        }
        Ok(direct::run(&self.pool, host, step, cancel).await?.unwrap_or_else(never_sent))
    }

    /// What became of a mutating attempt that an earlier controller may have started, decided by evidence on the
    /// target: its result; or it is still running and is followed; or it never started, and from now on never will; or
    /// it is lost. Keeps trying while the target cannot be reached, until `timeout` and patience are over.
    ///
    /// # Errors
    /// None today: an unreachable target ends as [`super::LostReason::HostUnreachable`].
    pub async fn adopt(
        &self,
        host: &HostAccess,
        step: &Step,
        cancel: &CancellationToken,
    ) -> Result<Report, ConnectError> {
        if let Err(error) = step.check() {
            return Ok(Report::not_started(NotStarted::Invalid, error.to_string()));
        }
        Ok(SupervisedStep::new(self, host, step, cancel).recover().await)
    }

    /// Connects to a host and asks for its version, boot and tools.
    ///
    /// # Errors
    /// When it cannot be reached, its key is not the pinned one, or the login fails.
    pub async fn probe(&self, host: &HostAccess) -> Result<HostFacts, ConnectError> {
        probe::host_facts(&self.pool, host).await
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
        output::read(&self.pool, host, attempt_id, place, stream, offset, length).await
    }

    /// Runs a small read-only helper command on the host, for its whole output (1 MiB of each stream).
    ///
    /// # Errors
    /// Only when nothing was started; a lost connection is an outcome.
    pub async fn query(&self, host: &HostAccess, argv: &[&str], timeout: Duration) -> Result<RawOutput, ConnectError> {
        direct::query(&self.pool, host, argv, timeout).await
    }

    /// Run directories on a host whose names begin with `prefix`.
    pub(crate) async fn claims(&self, host: &HostAccess, prefix: &str) -> Result<Vec<String>, ConnectError> {
        probe::claims(&self.pool, host, prefix).await
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(crate) fn patience(&self) -> Patience {
        self.patience
    }

    /// The target's boot and uptime, asked for at most once in a while: a step then needs one channel only.
    pub(crate) async fn clock(&self, host: &HostAccess, place: Place) -> Result<TargetClock, ConnectError> {
        let key = (host.clone(), place);
        let known = self.clocks.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(clock) = known.filter(TargetClock::is_fresh) {
            return Ok(clock);
        }
        let clock = probe::clock(&self.pool, host, place).await?;
        self.clocks.lock().unwrap_or_else(PoisonError::into_inner).insert(key, clock.clone());
        Ok(clock)
    }

    pub(crate) fn forget_clock(&self, host: &HostAccess, place: Place) {
        self.clocks.lock().unwrap_or_else(PoisonError::into_inner).remove(&(host.clone(), place));
    }
}

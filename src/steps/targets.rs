//! What all steps share about their targets: the warm connections, what is known of each clock, and for how long to look
//! for a target that cannot be reached.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::access::HostAccess;
use super::error::ConnectError;
use super::pool::Pool;
use super::probe::{self, TargetClock};
use super::step::Place;

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

#[derive(Default)]
pub(crate) struct Targets {
    pub pool: Pool,
    pub patience: Patience,
    clocks: Mutex<HashMap<(HostAccess, Place), TargetClock>>,
}

impl Targets {
    pub(crate) fn new(patience: Patience) -> Self {
        Self { patience, ..Self::default() }
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

//! A step: what to run, where and within which limits, checked before anything leaves the process.

use std::time::Duration;

use thiserror::Error;

/// Longest command in bytes. One argument of a process is limited to 128 KiB by Linux.
pub const MAX_COMMAND_BYTES: usize = 64 * 1024;
const MAX_ATTEMPT_ID_BYTES: usize = 128;

/// Where the command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// On the host itself, in bash.
    Host,
    /// In a container of the host, in its `sh`, through `pct exec`.
    Guest {
        /// The container's id on its node.
        vmid: u32,
    },
}

/// One command to run once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// `<uid>-<n>`: names the run directory on the target and so the claim; letters, digits and `-` only.
    pub attempt_id: String,
    /// Host or guest.
    pub place: Place,
    /// The shell command, at most 64 KiB, without NUL; it runs byte for byte as given.
    pub command: String,
    /// Enforced by the target: TERM at this time, KILL 10 s later. Whole seconds, rounded up, at least 1.
    pub timeout: Duration,
    /// `true`: under the wrapper, with a run directory, at most one start. `false`: straight on the channel; the
    /// caller may run it again when the connection is lost.
    pub mutating: bool,
    /// The target refuses a start later than this from the call, by its own uptime.
    pub start_within: Duration,
}

/// A step that cannot be sent.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum InvalidStep {
    /// No command at all.
    #[error("the command is empty")]
    Empty,
    /// No argument of a process can carry a NUL byte.
    #[error("the command holds a NUL byte at offset {0}; no shell can be given one")]
    Nul(usize),
    /// Over the limit.
    #[error("the command is {0} bytes long, the limit is {MAX_COMMAND_BYTES}; put the data into a file first")]
    TooLong(usize),
    /// The id names a directory and must stay one path component.
    #[error("the attempt id {0:?} is not made of 1 to {MAX_ATTEMPT_ID_BYTES} letters, digits and '-'")]
    AttemptId(String),
}

impl Step {
    /// Whether the step can be sent.
    ///
    /// # Errors
    /// The first rule it breaks.
    pub fn check(&self) -> Result<(), InvalidStep> {
        check_attempt_id(&self.attempt_id)?;
        check_command(&self.command)
    }

    pub(crate) fn seconds(&self) -> u64 {
        whole_seconds(self.timeout)
    }
}

pub(crate) fn check_command(command: &str) -> Result<(), InvalidStep> {
    if command.trim().is_empty() {
        return Err(InvalidStep::Empty);
    }
    if let Some(offset) = command.bytes().position(|byte| byte == 0) {
        return Err(InvalidStep::Nul(offset));
    }
    if command.len() > MAX_COMMAND_BYTES {
        return Err(InvalidStep::TooLong(command.len()));
    }
    Ok(())
}

pub(crate) fn check_attempt_id(id: &str) -> Result<(), InvalidStep> {
    let fits = (1..=MAX_ATTEMPT_ID_BYTES).contains(&id.len());
    if fits && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Ok(());
    }
    Err(InvalidStep::AttemptId(id.chars().take(MAX_ATTEMPT_ID_BYTES).collect()))
}

/// `timeout` takes whole seconds everywhere; rounding up never shortens what was granted.
pub(crate) fn whole_seconds(time: Duration) -> u64 {
    (time.as_secs() + u64::from(time.subsec_nanos() > 0)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_no_shell_can_be_given_are_refused() {
        assert_eq!(check_command(" \n"), Err(InvalidStep::Empty));
        assert_eq!(check_command("a\0b"), Err(InvalidStep::Nul(1)));
        assert_eq!(check_command(&"x".repeat(MAX_COMMAND_BYTES + 1)), Err(InvalidStep::TooLong(65537)));
        assert_eq!(check_command(&"x".repeat(MAX_COMMAND_BYTES)), Ok(()));
    }

    #[test]
    fn attempt_ids_stay_one_path_component() {
        for bad in ["", "..", "a/b", "a b", "a\n", "ä", &"x".repeat(129)] {
            assert!(check_attempt_id(bad).is_err(), "{bad:?}");
        }
        assert!(check_attempt_id("3f9c01ab-8c1e-4a38-9a57-0d3b5d1f2a61-1").is_ok());
    }

    #[test]
    fn a_timeout_is_rounded_up_to_whole_seconds() {
        assert_eq!(whole_seconds(Duration::from_millis(1)), 1);
        assert_eq!(whole_seconds(Duration::ZERO), 1);
        assert_eq!(whole_seconds(Duration::from_millis(2500)), 3);
    }
}

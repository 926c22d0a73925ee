//! What became of a step.

use super::capture::Captured;

/// How a step ended, or that this is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The command ended by itself. 130 and 141 may also stand for SIGINT and SIGPIPE, and any code above 128 for a
    /// signal that a program inside the command died of.
    Exited {
        /// 0..=255.
        code: i32,
    },
    /// A signal killed the command.
    Signalled {
        /// Name without SIG, such as `KILL`.
        signal: String,
    },
    /// The target ended the command at its time limit.
    TimedOut,
    /// The command was ended on request, or never started because of it.
    Cancelled,
    /// No start happened, and none can under this attempt id or packet.
    NotStarted {
        /// Why.
        reason: NotStarted,
    },
    /// Unknown: it may have run wholly, in part or not at all.
    Lost {
        /// What evidence is missing.
        reason: LostReason,
    },
}

/// Why a step was not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStarted {
    /// The step cannot be sent: empty, NUL byte, over 64 KiB, bad attempt id.
    Invalid,
    /// It reached the target after the time in which it was allowed to start.
    TooLate,
    /// Another mutating step held the target until then.
    Busy,
    /// Sent by a controller that is no longer the leader. Reserved: no epoch is sent yet.
    StaleEpoch,
    /// An observer shut the attempt out before it started; the attempt id is used up.
    Fenced,
    /// The target lacks programs that the wrapper needs.
    MissingTools,
    /// The run directory could not be made: disk full, read-only, or not ours.
    RunDirectory,
}

impl NotStarted {
    /// Stable CamelCase label for status, events and metrics.
    pub fn category(self) -> &'static str {
        match self {
            Self::Invalid => "InvalidStep",
            Self::TooLate => "TooLate",
            Self::Busy => "TargetBusy",
            Self::StaleEpoch => "StaleEpoch",
            Self::Fenced => "NeverStarted",
            Self::MissingTools => "MissingTools",
            Self::RunDirectory => "RunDirectoryUnusable",
        }
    }
}

/// Why the outcome of a step is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostReason {
    /// The target started anew before the step had a result.
    Rebooted,
    /// The supervisor was killed; its command ran on and has ended since.
    SupervisorVanished,
    /// The run directory is gone.
    RunDirMissing,
    /// The host or the guest could not be reached until after the step's time and patience.
    HostUnreachable,
    /// The result record is neither empty nor ours.
    RecordCorrupt,
    /// The connection broke during a read-only step; running it again is safe.
    ConnectionLost,
    /// The command was still there after its time limit, KILL and patience (uninterruptible or frozen).
    NotEnding,
}

impl LostReason {
    /// Stable CamelCase label for status, events and metrics.
    pub fn category(self) -> &'static str {
        match self {
            Self::Rebooted => "Rebooted",
            Self::SupervisorVanished => "SupervisorVanished",
            Self::RunDirMissing => "RunDirMissing",
            Self::HostUnreachable => "HostUnreachable",
            Self::RecordCorrupt => "RecordCorrupt",
            Self::ConnectionLost => "ConnectionLost",
            Self::NotEnding => "NotEnding",
        }
    }
}

/// The outcome with both streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// Standard output: head and tail.
    pub stdout: Captured,
    /// Standard error: head and tail.
    pub stderr: Captured,
    /// One or two sentences for a reader: what happened beside the outcome, empty when there is nothing to add.
    pub detail: String,
}

impl Report {
    pub(crate) fn bare(outcome: Outcome, detail: impl Into<String>) -> Self {
        Self { outcome, stdout: Captured::default(), stderr: Captured::default(), detail: detail.into() }
    }

    pub(crate) fn not_started(reason: NotStarted, detail: impl Into<String>) -> Self {
        Self::bare(Outcome::NotStarted { reason }, detail)
    }

    pub(crate) fn lost(reason: LostReason, detail: impl Into<String>) -> Self {
        Self::bare(Outcome::Lost { reason }, detail)
    }
}

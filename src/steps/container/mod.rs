//! Creating a container as one step: number, template and storage chosen on the host, `pct create` and `pct start` each
//! run once under the wrapper, and a wait until commands can be run in it. Nothing is installed here.
//!
//! Each effect has an attempt id made from the step's (`<id>-create<k>-<vmid>`, `<id>-start<k>`), and the container's
//! description names the step: whoever repeats the call after a crash finds what was done and does the rest.

mod create;
mod creation;
mod listing;
mod request;
mod survey;

pub use create::{adopt_container, create_container};
pub use request::{ContainerRequest, InvalidRequest};

use super::capture::Captured;
use super::report::Outcome;

/// What became of a container creation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerReport {
    /// How it went.
    pub outcome: ContainerOutcome,
    /// Number of the container, once one was chosen. With another outcome than `Created` it may or may not exist.
    pub vmid: Option<u32>,
    /// Name that was asked for.
    pub hostname: String,
    /// Volume id of the template, once chosen.
    pub template: Option<String>,
    /// Standard output of the `pct` command that decided.
    pub stdout: Captured,
    /// Standard error of the `pct` command that decided.
    pub stderr: Captured,
    /// What happened and, after a failure, what can be done, for a reader.
    pub detail: String,
}

/// How a container creation went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContainerOutcome {
    /// It exists, and commands can be run in it.
    Created,
    /// The host cannot carry out the request; nothing was created.
    Refused {
        /// Why.
        reason: ContainerRefusal,
    },
    /// `pct create` or `pct start` did not succeed: its outcome, never exit code 0.
    Failed {
        /// The command's outcome: an exit code, `TimedOut`, `Cancelled`, `Lost` …
        outcome: Outcome,
    },
    /// It was created and started, but no command could be run in it within the time allowed.
    NotReady,
}

/// Why a host cannot carry out a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerRefusal {
    /// A field of the request is out of range.
    InvalidRequest,
    /// Another guest of the node has the name.
    HostnameTaken,
    /// The number asked for is taken.
    VmidTaken,
    /// No template matches.
    TemplateMissing,
    /// No active storage holds container disks, or not the one named.
    StorageMissing,
    /// A listing of the host failed.
    ListingFailed,
}

impl ContainerOutcome {
    /// Stable CamelCase label for status, events and metrics.
    pub fn category(&self) -> &'static str {
        match self {
            Self::Created => "ContainerCreated",
            Self::NotReady => "ContainerNotReady",
            Self::Refused { reason } => match reason {
                ContainerRefusal::InvalidRequest => "InvalidContainer",
                ContainerRefusal::HostnameTaken => "HostnameTaken",
                ContainerRefusal::VmidTaken => "VmidTaken",
                ContainerRefusal::TemplateMissing => "TemplateMissing",
                ContainerRefusal::StorageMissing => "StorageMissing",
                ContainerRefusal::ListingFailed => "ListingFailed",
            },
            Self::Failed { outcome } => match outcome {
                Outcome::TimedOut => "TimedOut",
                Outcome::Cancelled => "Cancelled",
                Outcome::NotStarted { reason } => reason.category(),
                Outcome::Lost { reason } => reason.category(),
                Outcome::Exited { .. } | Outcome::Signalled { .. } => "CreateContainerFailed",
            },
        }
    }
}

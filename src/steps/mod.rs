//! Running one step on a host over SSH: the connection, the wrapper on the target, and what became of the step.
//!
//! Owns everything between "this command, on this host, under this attempt id" and its outcome with both output
//! streams. It must not know Kubernetes: no resource, no client, no policy. It never decides whether a step may run.
//!
//! The promise: at most one start per attempt id, always. An outcome other than [`Outcome::Lost`] is backed by evidence
//! from the target; what cannot be known is `Lost` and is never repeated here.

mod access;
mod answer;
mod capture;
mod channel;
mod connection;
pub mod container;
mod direct;
mod error;
mod frames;
mod host_key;
mod marked;
mod no_answer;
mod observe;
mod output;
mod pool;
mod probe;
mod report;
mod runner;
mod script;
mod step;
mod targets;

pub use access::{HostAccess, SecretText};
pub use capture::{Captured, sanitise};
pub use direct::RawOutput;
pub use error::{ConnectError, ReadOutputError};
pub use output::{OutputPart, Stream};
pub use probe::HostFacts;
pub use report::{LostReason, NotStarted, Outcome, Report};
pub use runner::Runner;
pub use step::{InvalidStep, Place, Step};
pub use targets::Patience;

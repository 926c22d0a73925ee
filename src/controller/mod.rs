//! kube-runtime wiring: observe, decide, carry out one effect, write status.
//!
//! The only module that calls the API server. Every call has a time limit; client retries are off, since a claim that
//! is repeated behind our back is not a claim.

mod access;
mod containers;
mod context;
mod credentials;
mod effects;
mod error;
mod executions;
mod guard;
mod health;
mod hosts;
mod inline;
mod objects;
mod plans;
mod run;
mod step_report;
mod step_task;
mod stores;
mod tasks;
mod transcript;
mod turn_task;
mod windows;
mod wiring;

pub use run::run;
pub use wiring::Settings;

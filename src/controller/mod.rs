//! kube-runtime wiring: observe, decide, carry out one effect, write status.
//!
//! The only module that calls the API server. Every call has a time limit; the client never retries by itself, since a
//! claim counts once.

mod access;
mod attempt;
mod containers;
mod context;
mod controllers;
mod credentials;
mod effects;
mod error;
mod executions;
mod guard;
mod health;
mod hosts;
mod known_secrets;
mod live;
mod objects;
mod plans;
#[cfg(test)]
mod reason_tests;
mod run;
mod step_report;
mod step_task;
mod stores;
mod tasks;
mod tool_answers;
mod transcript;
mod turn_task;
mod watch;
mod windows;
mod wiring;

pub use run::run;
pub use wiring::Settings;

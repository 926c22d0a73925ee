//! A model server that follows a scenario, in both wire formats.
//!
//! Its answers depend on what the request really contains: a result that never reaches it leaves it without a fitting
//! rule, and that is an error. Every request is checked the way the strictest provider would.

mod rules;
mod scenario;
mod server;
mod view;
mod wire;

pub use scenario::{Answer, Call, Capture, Pick, Rule, Scenario, Source, When};
pub use server::{ModelServer, Recorded};

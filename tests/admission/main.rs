//! The chart against a real API server: every admission rule, every role, every rule of the CRDs.
//!
//! No controller runs here; where one would have written a status, the test writes it with the controller's account.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod chart;
mod cluster;
mod decisions;
mod grants;
mod ownership;
mod resources;
mod roles;

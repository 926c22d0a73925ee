//! The chart against a real API server: every admission rule, every role, every rule of the CRDs.
//!
//! In all but one of the tests no controller runs; the test writes the status with the controller's account instead.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod answers;
mod changes;
mod chart;
mod cluster;
mod controller;
mod decisions;
mod grants;
mod guard;
mod messages;
mod ownership;
mod phases;
mod resources;
mod roles;

//! The chart against a real API server: every admission rule, every role, every rule of the CRDs.
//!
//! But for one test no controller runs; where it would write a status, the test does, with the controller's account.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod chart;
mod cluster;
mod controller;
mod decisions;
mod grants;
mod ownership;
mod phases;
mod resources;
mod roles;

//! The controller end to end on real parts: a real API server with the chart in force, a real SSH server on a stand-in
//! Proxmox host, the `oikos` binary as its own process with the chart's ServiceAccount. Everything that a person does
//! here is done with kubectl.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod agents;
mod approval;
mod budgets;
mod controller;
mod crashes;
mod failures;
mod harness;
mod health;
mod identity;
mod nomos;
mod reach;
mod steering;
mod steps;
mod windows;

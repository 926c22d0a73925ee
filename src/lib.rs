//! oikos carries out approved plans on Proxmox VE hosts, one observable step at a time.
//!
//! Imports point one way (`tests/layout` reads these lines and checks them):
//!
//! - `container` may know nothing of these.
//! - `api` may know `oikos_risk`, `container`.
//! - `policy` may know `oikos_risk`, `container`, `api`.
//! - `decide` may know `oikos_risk`, `container`, `api`, `policy`.
//! - `redact` may know nothing of these.
//! - `steps` may know `container`.
//! - `agent` may know `oikos_risk`, `container`, `api`.
//! - `controller` may know `oikos_risk`, `container`, `api`, `policy`, `decide`, `redact`, `steps`, `agent`.
//! - `cli` may know `oikos_risk`, `api`, `controller`.
//! - `main` may know `cli`.
//!
//! `api` hands on `Risk` from `oikos_risk` and the description of a container from `container`, so that whoever knows
//! `api` knows that much of them.

pub mod agent;
pub mod api;
pub mod cli;
pub mod container;
pub mod controller;
pub mod decide;
pub mod policy;
pub mod redact;
pub mod steps;

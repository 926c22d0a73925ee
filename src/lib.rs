//! oikos carries out approved plans on Proxmox VE hosts, one observable step at a time.
//!
//! Imports point one way (`tests/layout` reads these lines and checks them):
//!
//! - `api` may know `oikos_risk`.
//! - `policy` may know `oikos_risk`, `api`.
//! - `decide` may know `oikos_risk`, `api`, `policy`.
//! - `redact` may know nothing of these.
//! - `steps` may know nothing of these.
//! - `agent` may know `oikos_risk`, `api`.
//! - `controller` may know `oikos_risk`, `api`, `policy`, `decide`, `redact`, `steps`, `agent`.
//! - `cli` may know `oikos_risk`, `api`, `controller`.
//! - `main` may know `cli`.
//!
//! `api` hands on `Risk` from `oikos_risk`, so that whoever knows `api` knows that much of the classifier.

pub mod agent;
pub mod api;
pub mod cli;
pub mod controller;
pub mod decide;
pub mod policy;
pub mod redact;
pub mod steps;

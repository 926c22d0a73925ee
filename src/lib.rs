//! oikos carries out approved plans on Proxmox VE hosts, one observable step at a time.
//!
//! Imports point one way, from right to left: `oikos_risk <- api <- policy <- decide <- controller <- cli`. `steps` runs a
//! step on a host and knows none of them; `agent` knows `api`; `controller` brings all of them together.

pub mod agent;
pub mod api;
pub mod cli;
pub mod controller;
pub mod decide;
pub mod policy;
pub mod steps;

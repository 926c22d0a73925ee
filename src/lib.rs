//! oikos carries out approved plans on Proxmox VE hosts, one observable step at a time.
//!
//! Imports point one way: `oikos_risk -> api -> policy -> decide -> {steps, agent, inventory} -> controller -> main`.

pub mod agent;
pub mod api;
pub mod cli;
pub mod controller;
pub mod decide;
pub mod policy;
pub mod steps;

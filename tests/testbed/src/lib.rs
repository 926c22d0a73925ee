//! Real parts for oikos's tests and demo: a control plane, a stand-in Proxmox host and a scripted model.
//!
//! Invariant: nothing here knows oikos's code; the parts are used the way the real ones are.

pub mod chart;
pub mod control_plane;
pub mod demo;
pub mod model;
pub mod standin;

//! The proof of the command classifier, written from its rules and from how people work, not from its source.
//!
//! Owns: a corpus of labelled lines, properties, and oracles that know nothing of the classifier: two real shells,
//! a second parser and a list of every verb of Proxmox's tools.

// Tests may fail by a panic, in their helpers too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod argv_oracle;
mod bounds;
mod corpus;
mod differential;
mod gaps;
mod homelab;
mod hostile;
mod properties;
mod proxmox;
mod random;
mod sandbox;
mod second_parser;
mod spellings;

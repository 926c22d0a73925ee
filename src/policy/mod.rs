//! Who may do what, decided from data alone: the gate, the tokens of approval, the phrases that confirm destruction.
//!
//! Invariant: no client, no runtime, no clock, no randomness. Time comes in as an argument.

mod gate;
#[cfg(test)]
mod gate_tests;
mod identity;
mod scope;
mod token;

pub use gate::{Covered, GateAnswer, Need, OpenWindow, Question, Refusal, gate};
pub use identity::{EffectiveStep, Facts, differences, digest_of_facts, plan_facts};
pub use scope::{Inventory, KnownAgent, KnownGuest, KnownHost, Scope, Unknown, resolve_scope};
pub use token::{Phrase, TokenEvent, first_nonce, next_nonce, phrase_code, token};

//! Who may do what, decided from data alone: the gate, the tokens of approval, the phrases that confirm destruction.
//!
//! Invariant: no client, no runtime, no clock, no randomness. Time comes in as an argument.

mod gate;
#[cfg(test)]
mod gate_tests;
mod scope;
mod token;

pub use gate::{GateAnswer, Need, OpenWindow, Question, Refusal, gate};
pub use scope::{Inventory, KnownGuest, KnownHost, Scope, Unknown, resolve_scope};
pub use token::{EffectiveStep, Phrase, TokenEvent, first_nonce, next_nonce, phrase_code, plan_digest, token};

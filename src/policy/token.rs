//! Tokens, phrases and the nonces that they are made from: what a person copies to approve or confirm.

use std::fmt;

use serde_json::{Value, json};

use crate::api::{Target, digest::short_sha256};

pub(super) fn canonical_bytes(value: &Value) -> Vec<u8> {
    // A Value of objects, arrays, strings, booleans and small integers always has a canonical form (RFC 8785); the
    // fallback keeps the function total and is never equal to another plan's digest by accident.
    serde_json_canonicalizer::to_vec(value).unwrap_or_else(|_| value.to_string().into_bytes())
}

/// The token that approves the plan with this digest, once: 12 hexadecimal digits.
pub fn token(digest: &str, nonce: &str) -> String {
    short_sha256(&canonical_bytes(&json!({"planDigest": digest, "nonce": nonce})), 12)
}

/// The nonce of a new plan.
pub fn first_nonce(uid: &str) -> String {
    short_sha256(&canonical_bytes(&json!({"uid": uid, "nonce": 0})), 16)
}

/// What ends the use of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenEvent {
    /// A window opened under it.
    Granted,
    /// A person denied the plan or a step.
    Denied,
    /// The window that it opened has ended.
    WindowEnded,
    /// A window of its name exists that can never open.
    Used,
}

impl TokenEvent {
    fn as_str(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Denied => "denied",
            Self::WindowEnded => "ended",
            Self::Used => "spent",
        }
    }
}

/// The nonce after `event`: no earlier token fits any more.
pub fn next_nonce(uid: &str, nonce: &str, event: TokenEvent) -> String {
    short_sha256(&canonical_bytes(&json!({"uid": uid, "nonce": nonce, "event": event.as_str()})), 16)
}

/// The 8 hexadecimal digits that make a phrase fit one Execution only, and once.
pub fn phrase_code(execution_uid: &str, command: &str, nonce: &str) -> String {
    short_sha256(&canonical_bytes(&json!({"uid": execution_uid, "command": command, "nonce": nonce})), 8)
}

/// What a person types to confirm a destructive step: `destroy <target> <code>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phrase {
    /// What may be destroyed.
    pub target: Target,
    /// Makes the phrase fit one Execution only, and once; see [`phrase_code`].
    pub code: String,
}

impl Phrase {
    /// The phrase in this text, if it is one.
    pub fn parse(text: &str) -> Option<Self> {
        let (target, code) = text.strip_prefix("destroy ")?.split_once(' ')?;
        Some(Self { target: target.parse().ok()?, code: code.to_owned() })
    }
}

impl fmt::Display for Phrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "destroy {} {}", self.target, self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_is_read_as_it_was_written_and_nothing_else_is_one() {
        let phrase = Phrase { target: "lxc:web".parse().unwrap(), code: "3f9c01ab".to_owned() };
        assert_eq!(phrase.to_string(), "destroy lxc:web 3f9c01ab");
        assert_eq!(Phrase::parse(&phrase.to_string()), Some(phrase));
        for text in ["", "true", "destroy", "destroy lxc:web", "destroy web 3f9c01ab", "keep lxc:web 3f9c01ab"] {
            assert_eq!(Phrase::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_token_fits_one_digest_and_one_nonce() {
        let nonce = first_nonce("uid");
        let next = next_nonce("uid", &nonce, TokenEvent::Granted);
        assert_eq!(token("d", &nonce).len(), 12);
        assert_ne!(token("d", &nonce), token("e", &nonce));
        assert_ne!(token("d", &nonce), token("d", &next));
        assert_ne!(phrase_code("uid", "rm -r /srv", &nonce), phrase_code("uid", "rm -r /srv", &next));
    }
}

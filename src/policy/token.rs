//! Digests and tokens: what an approval names.

use std::fmt;

use serde_json::{Value, json};

use crate::api::{
    ContainerSpec, PlanSpec, Risk, Target,
    digest::{sha256_hex, short_sha256},
};

/// A step as an approval covers it.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectiveStep<'a> {
    /// Where it runs.
    pub target: &'a Target,
    /// Its command, unless it creates a container.
    pub run: Option<&'a str>,
    /// The container that it creates, unless it runs a command.
    pub create_container: Option<&'a ContainerSpec>,
    /// Its effective risk.
    pub risk: Risk,
}

fn canonical_bytes(value: &Value) -> Vec<u8> {
    // A Value of objects, arrays, strings, booleans and small integers always has a canonical form (RFC 8785); the
    // fallback keeps the function total and is never equal to another plan's digest by accident.
    serde_json_canonicalizer::to_vec(value).unwrap_or_else(|_| value.to_string().into_bytes())
}

/// The digest of everything that an approval covers: uid, targets, steps with their risk, window length and, where an
/// agent drives, the agent and the goal that it is given. Names, purposes, labels and limits are not part of it.
pub fn plan_digest(uid: &str, spec: &PlanSpec, steps: &[EffectiveStep<'_>]) -> String {
    let steps: Vec<Value> = steps
        .iter()
        .map(|step| {
            json!({
                "target": step.target,
                "run": step.run,
                "createContainer": step.create_container,
                "risk": step.risk,
            })
        })
        .collect();
    let agent = spec.agent_ref.as_ref().map(|agent| json!({"name": agent.name, "goal": spec.goal}));
    sha256_hex(&canonical_bytes(&json!({
        "version": 1,
        "uid": uid,
        "targets": spec.targets,
        "steps": steps,
        "windowSeconds": spec.window_seconds,
        "agent": agent,
    })))
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

    fn spec() -> PlanSpec {
        serde_json::from_value(json!({
            "goal": "a web service",
            "targets": ["host:strong", "lxc:web"],
            "agentRef": {"name": "nomos"},
            "steps": [{"name": "look", "target": "host:strong", "run": "pct list", "purpose": "see"}],
        }))
        .unwrap()
    }

    fn digest(spec: &PlanSpec) -> String {
        let steps: Vec<_> = spec
            .steps
            .iter()
            .map(|step| EffectiveStep {
                target: &step.target,
                run: step.run.as_deref(),
                create_container: step.create_container.as_ref(),
                risk: Risk::ReadOnly,
            })
            .collect();
        plan_digest("uid", spec, &steps)
    }

    #[test]
    fn what_people_read_but_nothing_runs_is_not_part_of_the_digest() {
        let before = digest(&spec());
        let mut spec = spec();
        spec.steps[0].purpose = Some("another word".into());
        spec.steps[0].name = "renamed".into();
        spec.limits.iterations = 3;
        spec.paused = true;
        assert_eq!(digest(&spec), before);
    }

    #[test]
    fn whatever_changes_what_may_run_changes_the_digest() {
        let before = digest(&spec());
        let changes: [fn(&mut PlanSpec); 6] = [
            |spec| spec.steps[0].run = Some("pct destroy 100".into()),
            |spec| spec.steps[0].target = "lxc:web".parse().unwrap(),
            |spec| spec.targets.truncate(1),
            |spec| spec.window_seconds = 60,
            |spec| spec.goal = "something else".into(),
            |spec| spec.steps.clear(),
        ];
        for change in changes {
            let mut spec = spec();
            change(&mut spec);
            assert_ne!(digest(&spec), before);
        }
        let step = EffectiveStep {
            target: &spec().targets[0],
            run: Some("pct list"),
            create_container: None,
            risk: Risk::Destructive,
        };
        assert_ne!(plan_digest("uid", &spec(), &[step]), before, "the effective risk");
        assert_ne!(plan_digest("other", &spec(), &[]), plan_digest("uid", &spec(), &[]), "the uid");
    }

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

//! Deterministic names, so that a repeated decision finds what the first one made.

use sha2::{Digest, Sha256};

/// Longest plan name that stands in full in its children's names; Kubernetes allows 253 characters in all.
const LONGEST_PLAN: usize = 230;

/// The name of a plan's Message with this sequence: `<plan>-<sequence>`.
pub fn message_name(plan: &str, sequence: u32) -> String {
    format!("{}-{sequence}", stem(plan))
}

/// The name of the Execution of a message's call, counted from 1: `<plan>-<sequence>-<call>`.
pub fn execution_name(plan: &str, sequence: u32, call: usize) -> String {
    format!("{}-{sequence}-{call}", stem(plan))
}

fn stem(plan: &str) -> String {
    if plan.len() <= LONGEST_PLAN {
        return plan.to_owned();
    }
    let digest = Sha256::digest(plan.as_bytes());
    let mark: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let head: String = plan.chars().take(LONGEST_PLAN - 13).collect();
    format!("{head}-{mark}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_readable_and_stay_within_253_characters() {
        assert_eq!(message_name("typetype", 3), "typetype-3");
        assert_eq!(execution_name("typetype", 3, 1), "typetype-3-1");
        let (one, other) = ("a".repeat(253), format!("{}b", "a".repeat(252)));
        assert!(execution_name(&one, 1_000_000, 32).len() <= 253);
        assert_ne!(message_name(&one, 1), message_name(&other, 1));
    }
}

//! The names that the API fixes: group, annotations, label, and the names of children.
//!
//! Names of children are deterministic, so that a repeated decision finds what the first one made.

use super::digest::short_sha256;

/// The API group.
pub const GROUP: &str = "oikos.dev";
/// The annotation that approves: its value is the token shown in status.
pub const APPROVE: &str = "oikos.dev/approve";
/// The annotation that denies: its value is the token shown in status.
pub const DENY: &str = "oikos.dev/deny";
/// The annotation that confirms a destructive Execution: its value is the phrase shown in status.
pub const CONFIRM: &str = "oikos.dev/confirm";
/// Why something was approved or denied, in the person's words.
pub const REASON: &str = "oikos.dev/reason";
/// Who wrote the decision; stamped by admission over whatever the caller wrote.
pub const APPROVED_BY: &str = "oikos.dev/approved-by";
/// The annotation that answers a plan that asks: its value is the answer.
pub const ANSWER: &str = "oikos.dev/answer";
/// Who wrote the answer; stamped by admission over whatever the caller wrote.
pub const ANSWERED_BY: &str = "oikos.dev/answered-by";
/// `status.blocked.sequence` of what the answer answers; stamped by admission unless the caller names it, and checked.
pub const ANSWERED_SEQUENCE: &str = "oikos.dev/answered-sequence";
/// The label on every child of a Plan, with the Plan's name.
pub const PLAN_LABEL: &str = "oikos.dev/plan";

/// An RFC 1123 label, its length left to `maxLength`.
pub const LABEL_PATTERN: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// Text without NUL bytes, which no command can hold.
pub const NO_NUL_PATTERN: &str = r"^[^\x00]*$";

/// Longest plan name that stands in full in its children's names; Kubernetes allows 253 characters in all.
const LONGEST_STEM: usize = 230;

/// The name of a plan's Message with this sequence: `<plan>-<sequence>`.
pub fn message_name(plan: &str, sequence: u32) -> String {
    format!("{}-{sequence}", stem(plan))
}

/// The name of the Message that the controller makes of an answer by annotation.
pub fn answer_name(plan: &str, sequence: u32) -> String {
    format!("{}-{sequence}-answer", stem(plan))
}

/// The name of an Execution: `<plan>-<turn>-<call>`, both counted from 1. The turn is the sequence of the agent's
/// Message or the number of the declared step; the call is that of the Message or the number of the try.
pub fn execution_name(plan: &str, turn: u32, call: usize) -> String {
    format!("{}-{turn}-{call}", stem(plan))
}

/// The name of an AutonomyWindow: `<plan>-<token>`, or `<plan>-<code of the phrase>`. A second approval with the same
/// token finds the window of the first.
pub fn window_name(plan: &str, token: &str) -> String {
    format!("{plan}-{token}")
}

/// The name of the run directory of an Execution's attempt on the target: `<uid>-<attempt>`.
pub fn attempt_id(execution_uid: &str, attempt: u32) -> String {
    format!("{execution_uid}-{attempt}")
}

fn stem(plan: &str) -> String {
    if plan.len() <= LONGEST_STEM {
        return plan.to_owned();
    }
    let digest = short_sha256(plan.as_bytes(), 12);
    let head: String = plan.chars().take(LONGEST_STEM - 13).collect();
    format!("{head}-{digest}")
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

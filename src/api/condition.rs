//! The types of conditions, and the one way to set one.

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};

use super::reason::{Reason, ReasonCode};

/// A grant that covers the plan as it stands was given.
pub const APPROVED: &str = "Approved";
/// The plan reached its goal.
pub const SUCCEEDED: &str = "Succeeded";
/// The admission policies that guard approvals are up.
pub const GUARDED: &str = "ApprovalsGuarded";
/// The host answers over SSH with the pinned key, or the guest runs.
pub const READY: &str = "Ready";

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It is not known yet.
    Unknown,
}

impl ConditionStatus {
    /// `True` or `False`.
    pub fn of(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// Sets the condition of this type; `lastTransitionTime` moves only when the status does.
pub fn set<Code: ReasonCode>(
    conditions: &mut Vec<Condition>,
    now: Timestamp,
    generation: Option<i64>,
    type_: &str,
    status: ConditionStatus,
    reason: Reason<Code>,
) {
    let mut next = Condition {
        type_: type_.to_owned(),
        status: status.as_str().to_owned(),
        reason: reason.code.as_str().to_owned(),
        message: reason.message,
        observed_generation: generation,
        last_transition_time: Time(now),
    };
    match conditions.iter_mut().find(|condition| condition.type_ == type_) {
        Some(old) => {
            if old.status == next.status {
                next.last_transition_time = old.last_transition_time.clone();
            }
            *old = next;
        }
        None => conditions.push(next),
    }
}

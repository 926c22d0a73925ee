//! Condition types and reasons, and the one way to set a condition.

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};

/// A grant that covers the plan as it stands was given.
pub const APPROVED: &str = "Approved";
/// The plan reached its goal.
pub const SUCCEEDED: &str = "Succeeded";
/// The admission policies that guard approvals are up.
pub const GUARDED: &str = "ApprovalsGuarded";
/// The host answers over SSH with the pinned key, or the guest runs.
pub const READY: &str = "Ready";

/// Sets a condition; `lastTransitionTime` moves only when the status does. Says whether anything changed.
pub fn set(
    conditions: &mut Vec<Condition>,
    now: Timestamp,
    generation: Option<i64>,
    (type_, status, reason): (&str, &str, &str),
    message: &str,
) -> bool {
    let new = |since| Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: generation,
        last_transition_time: since,
    };
    let Some(old) = conditions.iter_mut().find(|condition| condition.type_ == type_) else {
        conditions.push(new(Time(now)));
        return true;
    };
    let since = if old.status == status { old.last_transition_time.clone() } else { Time(now) };
    let next = new(since);
    let changed = *old != next;
    *old = next;
    changed
}

//! The phases of an Execution and the one table that says which may follow which.
//!
//! The table is here once: decisions ask [`ExecutionPhase::may_become`], and the rules of the
//! CustomResourceDefinition are written from the same function, so that the API server refuses what it refuses.

use kube::core::{Message, Rule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where an Execution stands. A terminal phase is written once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ExecutionPhase {
    /// Created, and not examined yet; or nothing has started and a further attempt is due.
    #[default]
    Pending,
    /// Waits for a window or a typed phrase.
    AwaitingApproval,
    /// Claimed: it may have started on the target.
    Starting,
    /// Runs on the target.
    Running,
    /// A stop was requested and is not confirmed yet.
    Cancelling,
    /// Ended with exit code 0.
    Succeeded,
    /// Ended with another exit code or by a signal, or could not be started.
    Failed,
    /// Stopped by the target at its time limit.
    TimedOut,
    /// Stopped, or never started, because a person cancelled the plan.
    Cancelled,
    /// A person denied it before it started.
    Denied,
    /// Its grant ended before it could start.
    Expired,
    /// The gate does not allow it: unknown target, out of scope, protected, or it would never end.
    Refused,
    /// What happened cannot be known. Never taken for success or failure, never repeated automatically.
    Lost,
}

impl ExecutionPhase {
    /// Every phase, in the order of an Execution's life.
    pub const ALL: [Self; 13] = [
        Self::Pending,
        Self::AwaitingApproval,
        Self::Starting,
        Self::Running,
        Self::Cancelling,
        Self::Succeeded,
        Self::Failed,
        Self::TimedOut,
        Self::Cancelled,
        Self::Denied,
        Self::Expired,
        Self::Refused,
        Self::Lost,
    ];

    /// Whether no other phase follows.
    pub fn is_terminal(self) -> bool {
        self.successors().is_empty()
    }

    /// Whether a status in this phase may be replaced by one in phase `next`. Staying in a phase is always allowed.
    pub fn may_become(self, next: Self) -> bool {
        self == next || self.successors().contains(&next)
    }

    /// The other phases that may follow.
    ///
    /// - Before the claim nothing can have run, so that only a claim or an end without a start may follow.
    /// - `Starting` goes back to `Pending` only when the host has said that this attempt never started and never will.
    ///   It may stay `Starting` with the next attempt: a read whose connection was lost.
    /// - `Running` goes back to `Starting` at most, for the same two reasons; it never becomes `Pending`.
    /// - `Cancelling` can only end.
    fn successors(self) -> &'static [Self] {
        match self {
            Self::Pending => {
                &[Self::AwaitingApproval, Self::Starting, Self::Cancelled, Self::Denied, Self::Expired, Self::Refused]
            }
            Self::AwaitingApproval => &[Self::Starting, Self::Cancelled, Self::Denied, Self::Expired, Self::Refused],
            Self::Starting => &[
                Self::Pending,
                Self::Running,
                Self::Cancelling,
                Self::Succeeded,
                Self::Failed,
                Self::TimedOut,
                Self::Cancelled,
                Self::Expired,
                Self::Lost,
            ],
            Self::Running => &[
                Self::Starting,
                Self::Cancelling,
                Self::Succeeded,
                Self::Failed,
                Self::TimedOut,
                Self::Cancelled,
                Self::Expired,
                Self::Lost,
            ],
            Self::Cancelling => {
                &[Self::Succeeded, Self::Failed, Self::TimedOut, Self::Cancelled, Self::Expired, Self::Lost]
            }
            Self::Succeeded
            | Self::Failed
            | Self::TimedOut
            | Self::Cancelled
            | Self::Denied
            | Self::Expired
            | Self::Refused
            | Self::Lost => &[],
        }
    }
}

/// The phase of the stored object in CEL; an object without a status is Pending.
const OLD: &str = "(has(oldSelf.status) ? oldSelf.status.phase : 'Pending')";
/// The phase that is being written, in CEL.
const NEW: &str = "(has(self.status) ? self.status.phase : 'Pending')";

fn cel_list(phases: impl Iterator<Item = ExecutionPhase>) -> String {
    format!("[{}]", phases.map(|phase| format!("'{phase:?}'")).collect::<Vec<_>>().join(", "))
}

/// The transition rule of the CRD: a terminal phase never changes.
pub(super) fn terminal_phase_rule() -> Rule {
    let terminal = cel_list(ExecutionPhase::ALL.into_iter().filter(|phase| phase.is_terminal()));
    Rule::new(format!("!({OLD} in {terminal}) || {NEW} == {OLD}")).message("a terminal phase never changes")
}

/// The transition rule of the CRD for the phases that do change.
pub(super) fn phase_transition_rule() -> Rule {
    let open = ExecutionPhase::ALL.into_iter().filter(|phase| !phase.is_terminal());
    let rows = open.map(|from| {
        let next = cel_list(ExecutionPhase::ALL.into_iter().filter(|next| from.may_become(*next)));
        format!("({OLD} != '{from:?}' || {NEW} in {next})")
    });
    let message = format!("'an Execution that is ' + {OLD} + ' may not become ' + {NEW}");
    Rule::new(rows.collect::<Vec<_>>().join(" && ")).message(Message::Expression(message))
}

/// The transition rule of the CRD for attempts: only a further claim changes the attempt id, and it raises the attempt.
pub(super) fn attempt_id_rule() -> Rule {
    let claimed_anew = "(has(self.status) && self.status.phase == 'Starting' && has(self.status.attempt) && \
                        (!has(oldSelf.status.attempt) || self.status.attempt > oldSelf.status.attempt))";
    let unchanged = "(has(self.status) && has(self.status.attemptId) && \
                     self.status.attemptId == oldSelf.status.attemptId)";
    Rule::new(format!("!has(oldSelf.status) || !has(oldSelf.status.attemptId) || {unchanged} || {claimed_anew}"))
        .message("attemptId changes only with a further attempt that is Starting")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_may_have_run_becomes_pending_again_unless_the_host_says_that_it_never_started() {
        use ExecutionPhase::*;
        let before_a_claim: Vec<_> = ExecutionPhase::ALL.into_iter().filter(|from| from.may_become(Pending)).collect();
        assert_eq!(before_a_claim, [Pending, Starting]);
        for from in [Running, Cancelling] {
            for next in [Pending, AwaitingApproval, Denied, Refused] {
                assert!(!from.may_become(next), "{from:?} to {next:?}");
            }
        }
        assert!(!Cancelling.may_become(Starting) && !Cancelling.may_become(Running));
    }

    #[test]
    fn every_phase_can_be_reached_and_every_phase_that_is_not_terminal_can_be_cancelled() {
        for phase in ExecutionPhase::ALL {
            let reached = ExecutionPhase::ALL.into_iter().any(|from| from != phase && from.may_become(phase));
            assert!(reached, "{phase:?}");
            assert!(phase.is_terminal() || phase.may_become(ExecutionPhase::Cancelled), "{phase:?}");
        }
    }
}

//! The latest entry of a plan's transcript, as far as decisions need it.

use k8s_openapi::jiff::Timestamp;

use crate::api::{BlockedReason, ExecutionSpec, PlanResult, Reason};

/// The latest turn of the agent, or the note that stands in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Its Message's sequence.
    pub sequence: u32,
    /// When that Message was written.
    pub time: Timestamp,
    /// The steps that it asks for, with their call numbers from 1.
    pub steps: Vec<(usize, ExecutionSpec)>,
    /// How it ends, once its steps have ended.
    pub end: TurnEnd,
    /// Whether an operator's Message answers it.
    pub answered: bool,
}

/// How a turn ends, once its steps have ended.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnEnd {
    /// The agent is asked again.
    GoOn,
    /// The agent finished and its evidence was accepted.
    Finished(PlanResult),
    /// The agent needs something that only the operator has.
    Question(String),
    /// The request failed for good.
    Failed(Reason<BlockedReason>),
    /// The agent's summary, in its last turn after a limit was reached.
    Closing(String),
}

/// What is compared with the plan's limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Weighted model requests, rounded up.
    pub iterations: u32,
    /// How often the same command has just failed on the same target in a row.
    pub repeated_failures: u32,
    /// Answers without a tool call in a row.
    pub text_only: u32,
}

//! Plan: approved, carried out step by step or turn by turn, and ended only for a stated reason.

mod approval;
mod child;
mod progress;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::jiff::Timestamp;

use super::{
    Decision, Notice, Tally, Turn, digest_of, open_windows,
    status::{ApprovalState, differs, set_conditions, set_guarded},
};
use crate::{
    api::{AutonomyWindow, Execution, ExecutionPhase, Plan, PlanPhase, PlanStatus},
    policy::{Inventory, OpenWindow, first_nonce},
};

/// What is known of a plan.
#[derive(Clone, Copy, Debug)]
pub struct ObservedPlan<'a> {
    /// It, read live.
    pub plan: &'a Plan,
    /// The windows that name it.
    pub windows: &'a [AutonomyWindow],
    /// Its Executions, by name.
    pub executions: &'a BTreeMap<String, Execution>,
    /// Names of Executions that an earlier plan of this name has left.
    pub occupied_names: &'a BTreeSet<String>,
    /// What the namespace knows.
    pub inventory: &'a Inventory,
    /// Why the agent cannot be asked, when it cannot: stable code and text.
    pub agent_trouble: Option<&'a (String, String)>,
    /// The latest entry of the transcript.
    pub turn: Option<&'a Turn>,
    /// What the limits are held against.
    pub tally: Tally,
    /// Whether this process asks the model right now.
    pub asking: bool,
    /// Whether admission vouches for who decided.
    pub guarded: bool,
    /// The controller's clock.
    pub now: Timestamp,
}

/// What may be done about a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PlanEffect {
    /// Nothing.
    #[default]
    None,
    /// Create this window: a person approved the plan.
    Grant(Box<AutonomyWindow>),
    /// Revoke the window of this name.
    Revoke(String),
    /// Create this Execution.
    Execute(Box<Execution>),
    /// Ask the model for the turn of this sequence; the last one, without tools, if `closing`.
    Ask {
        /// The turn's sequence.
        sequence: u32,
        /// Why this is the last turn: stable code and text.
        closing: Option<(&'static str, String)>,
    },
    /// Stop asking the model.
    StopAsking,
}

type Next = Decision<PlanEffect, PlanStatus>;

/// Decides.
pub fn plan(observed: &ObservedPlan<'_>) -> Next {
    let old = observed.plan.status.as_ref();
    if old.is_some_and(|status| status.phase.is_terminal()) {
        return Next::default();
    }
    let mut decider = PlanDecider::new(observed);
    let effect = decider.decide();
    decider.finish(effect)
}

/// Whether a person wants it to end: cancelled, or being deleted while something holds it back.
pub(in crate::decide) fn cancelled(plan: &Plan) -> bool {
    plan.spec.cancelled || plan.metadata.deletion_timestamp.is_some()
}

/// Decides about one plan: the status under construction and what was found on the way.
struct PlanDecider<'a> {
    observed: &'a ObservedPlan<'a>,
    status: PlanStatus,
    approval_state: ApprovalState,
    windows: Vec<OpenWindow>,
    again_at: Option<Timestamp>,
}

impl<'a> PlanDecider<'a> {
    fn new(observed: &'a ObservedPlan<'a>) -> Self {
        let mut status = observed.plan.status.clone().unwrap_or_default();
        let plan = observed.plan;
        let uid = plan.metadata.uid.as_deref().unwrap_or_default();
        let (digest, steps) = digest_of(plan, observed.inventory);
        let mut approval = status.approval.take().unwrap_or_default();
        if approval.nonce.is_empty() {
            approval.nonce = first_nonce(uid);
        }
        approval.digest = digest;
        status.observed_generation = plan.metadata.generation;
        status.steps = steps;
        let failed = |it: &Execution| {
            it.has_ended() && it.status.as_ref().is_some_and(|status| status.phase != ExecutionPhase::Succeeded)
        };
        let count = |test: &dyn Fn(&Execution) -> bool| {
            u32::try_from(observed.executions.values().filter(|it| test(it)).count()).unwrap_or(u32::MAX)
        };
        status.executions = count(&|_| true);
        status.failures = count(&failed);
        status.iterations = observed.tally.iterations;
        status.approval = Some(approval);
        let windows = open_windows(plan, observed.windows, observed.now);
        let approval_state = ApprovalState { approved: false, reason: "AwaitingApproval", message: String::new() };
        let mut decider = Self { observed, status, approval_state, windows, again_at: None };
        decider.name_token();
        decider
    }

    fn decide(&mut self) -> PlanEffect {
        if cancelled(self.observed.plan) {
            return self.cancel();
        }
        if let Some(effect) = self.denial() {
            return effect;
        }
        self.take_grants();
        if let Some(effect) = self.grant() {
            return effect;
        }
        let (digest, granted) = {
            let approval = self.approval();
            (approval.digest.clone(), approval.granted.clone())
        };
        // Denied ends only with a grant, which has set another phase by now.
        if self.status.phase == PlanPhase::Denied {
            return PlanEffect::None;
        }
        if let Some((reason, text)) = self.trouble() {
            return self.block(&reason, text, None);
        }
        if granted.as_ref() != Some(&digest) {
            self.status.phase = PlanPhase::AwaitingApproval;
            self.status.blocked = None;
            return PlanEffect::None;
        }
        self.carry_out()
    }

    fn finish(mut self, effect: PlanEffect) -> Next {
        let old = self.observed.plan.status.as_ref();
        let generation = self.observed.plan.metadata.generation;
        set_conditions(&mut self.status, &self.approval_state, generation, self.observed.now);
        set_guarded(&mut self.status, self.observed.guarded, generation, self.observed.now);
        // A turn or a step of a plan without an agent is the occasion to write the counters: one write for each.
        let counted = match effect {
            PlanEffect::Ask { .. } => true,
            PlanEffect::Execute(_) => self.observed.plan.spec.agent_ref.is_none(),
            _ => false,
        };
        let notice = notice(old, &self.status);
        let write = differs(old, &self.status) || (counted && old != Some(&self.status));
        Decision { effect, status: write.then_some(self.status), again_at: self.again_at, notice }
    }
}

fn notice(old: Option<&PlanStatus>, new: &PlanStatus) -> Option<Notice> {
    if old.is_some_and(|old| old.phase == new.phase) {
        return None;
    }
    let command = new.approval.as_ref().map_or("", |approval| approval.command.as_str());
    let summary = new.result.as_ref().map_or("", |result| result.summary.as_str());
    let question = new.blocked.as_ref().map_or("", |blocked| blocked.question.as_str());
    let (reason, note, warning) = match new.phase {
        PlanPhase::Planning => ("Planning", "the agent looks around", false),
        PlanPhase::AwaitingApproval => ("AwaitingApproval", command, false),
        PlanPhase::Running => ("Running", "the plan is being carried out", false),
        PlanPhase::AwaitingConfirmation => ("DestructiveBlocked", "a destructive step waits for its phrase", true),
        PlanPhase::Blocked => ("Blocked", question, true),
        PlanPhase::Succeeded => ("GoalVerified", summary, false),
        PlanPhase::Failed => ("PlanFailed", summary, true),
        PlanPhase::Denied => ("Denied", "a person denied the plan", false),
        PlanPhase::Cancelled => ("Cancelled", "a person cancelled the plan", false),
    };
    Some(Notice { reason, note: note.to_owned(), warning })
}

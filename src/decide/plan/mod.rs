//! Plan: approved, carried out step by step or turn by turn, and ended only for a stated reason.

mod agent_turns;
mod answer;
mod approval;
mod declared_steps;
mod ending;
mod notice;
mod obstacle;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::jiff::Timestamp;

use super::{
    admission_guard::AdmissionGuard,
    conditions::{ApprovalState, differs, set_conditions, set_guarded},
    coverage::{PlanAsItStands, inventory_for, open_windows, protected_guests},
    decision::{Decision, after},
    foresight::foreseen,
    object::{is_cancelled, uid},
    turn::{Tally, Turn},
};
use crate::{
    api::{
        AutonomyWindow, BlockedReason, CreatedGuest, Execution, ExecutionPhase, ExecutionSpec, Message, Plan,
        PlanPhase, PlanStatus, Reason, child, limits::MOST_TARGETS,
    },
    policy::{Inventory, OpenWindow, first_nonce},
};

/// What is known of a plan.
#[derive(Clone, Copy, Debug)]
pub struct ObservedPlan<'a> {
    /// The plan as the API server has it, not as the store remembers it.
    pub plan: &'a Plan,
    /// The windows that name it.
    pub windows: &'a [AutonomyWindow],
    /// Its Executions, by name.
    pub executions: &'a BTreeMap<String, Execution>,
    /// Names of Executions that an earlier plan of this name has left.
    pub occupied_names: &'a BTreeSet<String>,
    /// The Hosts and Guests of the namespace.
    pub inventory: &'a Inventory,
    /// Why the agent cannot be asked, when it cannot.
    pub agent_obstacle: Option<&'a Reason<BlockedReason>>,
    /// The latest entry of the transcript.
    pub turn: Option<&'a Turn>,
    /// What is compared with the limits.
    pub tally: Tally,
    /// Whether a task of this process asks the model now.
    pub asking: bool,
    /// Whether the admission policies check the name of the person who decides.
    pub admission_guard: AdmissionGuard,
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
    /// Create this Message: a person answered by annotation.
    Answer(Box<Message>),
    /// Create this Execution.
    Execute(Box<Execution>),
    /// Ask the model for the turn of this sequence.
    Ask {
        /// The turn's sequence.
        sequence: u32,
        /// Why this is the last turn, which has no tools; `None` for an ordinary turn.
        closing: Option<Reason<BlockedReason>>,
    },
    /// Stop the task that asks the model.
    StopAsking,
}

/// A decision about a plan.
type PlanDecision = Decision<PlanEffect, PlanStatus>;

/// Decides what follows for a plan.
pub fn decide_plan(observed: &ObservedPlan<'_>) -> PlanDecision {
    let old = observed.plan.status.as_ref();
    if old.is_some_and(|status| status.phase.is_terminal()) {
        return PlanDecision::default();
    }
    let mut decider = PlanDecider::new(observed);
    let effect = decider.next_effect();
    decider.into_decision(effect)
}

/// One decision about one plan: the status under construction and what was found on the way.
struct PlanDecider<'a> {
    observed: &'a ObservedPlan<'a>,
    status: PlanStatus,
    stands: PlanAsItStands,
    approval_state: ApprovalState,
    open_windows: Vec<OpenWindow>,
    again_at: Option<Timestamp>,
}

impl<'a> PlanDecider<'a> {
    fn new(observed: &'a ObservedPlan<'a>) -> Self {
        let plan = observed.plan;
        let mut status = plan.status.clone().unwrap_or_default();
        note_created(&mut status.created, observed.executions.values());
        let stands = PlanAsItStands::of(plan, &status.created, observed.inventory);
        let mut approval = status.approval.take().unwrap_or_default();
        if approval.nonce.is_empty() {
            approval.nonce = first_nonce(uid(plan));
        }
        approval.digest = stands.digest.clone();
        if let Some(granted) = &mut approval.granted {
            for (host, vmids) in protected_guests(plan, observed.inventory) {
                granted.protected.entry(host).or_default().extend(vmids);
            }
        }
        status.approval = Some(approval);
        status.observed_generation = plan.metadata.generation;
        status.executions = counted(observed.executions.values());
        status.failures = counted(observed.executions.values().filter(|execution| has_failed(execution)));
        status.iterations = observed.tally.iterations;
        let open_windows = open_windows(plan, observed.windows, observed.now);
        let mut decider =
            Self { observed, status, stands, approval_state: ApprovalState::awaiting(), open_windows, again_at: None };
        // What was approved was seen; later it is the gate that answers, to each step as it comes.
        if !decider.is_granted() {
            decider.status.steps = foreseen(plan, &inventory_for(plan, observed.inventory));
        }
        decider.show_token();
        decider
    }

    /// The one effect; on the way the status becomes what is to be written before it.
    fn next_effect(&mut self) -> PlanEffect {
        if is_cancelled(self.observed.plan) {
            return self.cancel();
        }
        if let Some(effect) = self.deny() {
            return effect;
        }
        self.note_windows();
        if let Some(effect) = self.grant() {
            return effect;
        }
        if let Some(answer) = self.answer() {
            return PlanEffect::Answer(Box::new(answer));
        }
        // Denied ends only with a grant, which has set another phase by now.
        if self.status.phase == PlanPhase::Denied {
            return PlanEffect::None;
        }
        if let Some(reason) = self.obstacle() {
            // What is missing may be a Secret, and Secrets are not watched.
            self.again_at = Some(after(self.observed.now, 15));
            return self.block(reason, None);
        }
        if !self.is_granted() {
            self.status.phase = PlanPhase::AwaitingApproval;
            self.status.blocked = None;
            return PlanEffect::None;
        }
        self.carry_out()
    }

    fn into_decision(mut self, effect: PlanEffect) -> PlanDecision {
        let plan = self.observed.plan;
        let old = plan.status.as_ref();
        let generation = plan.metadata.generation;
        set_conditions(&mut self.status, &self.approval_state, generation, self.observed.now);
        set_guarded(&mut self.status, self.observed.admission_guard, generation, self.observed.now);
        // The counters are written once for each turn, or for each step of a plan without an agent.
        let counters_are_due = match effect {
            PlanEffect::Ask { .. } => true,
            PlanEffect::Execute(_) => plan.spec.agent_ref.is_none(),
            _ => false,
        };
        let notice = notice::phase_notice(old, &self.status);
        let write = differs(old, &self.status) || (counters_are_due && old != Some(&self.status));
        Decision { effect, status: write.then_some(self.status), again_at: self.again_at, notice }
    }

    /// An approved plan: the open step is waited for, else the next one or the next turn begins.
    fn carry_out(&mut self) -> PlanEffect {
        let plan = self.observed.plan;
        if let Some((name, execution)) = self.open_execution() {
            self.wait_for(name, execution);
            return PlanEffect::None;
        }
        if plan.spec.paused {
            self.status.phase = PlanPhase::Running;
            self.approval_state.reason.message = "paused: set spec.paused to false to go on".to_owned();
            return PlanEffect::None;
        }
        if plan.spec.agent_ref.is_some() { self.decide_agent_turn() } else { self.decide_declared_step() }
    }

    fn open_execution(&self) -> Option<(&'a String, &'a Execution)> {
        self.observed.executions.iter().find(|(_, execution)| !execution.has_ended())
    }

    /// The plan's phase while a step is open follows from what the step waits for.
    fn wait_for(&mut self, name: &str, execution: &Execution) {
        let waiting = execution.status.as_ref().filter(|status| status.phase == ExecutionPhase::AwaitingApproval);
        let approval = waiting.and_then(|status| status.approval.as_ref());
        self.status.phase = match approval {
            Some(approval) if approval.phrase.is_some() => PlanPhase::AwaitingConfirmation,
            Some(_) => PlanPhase::AwaitingApproval,
            None => PlanPhase::Running,
        };
        if let Some(approval) = approval {
            self.approval_state.reason.message = format!("step {name} waits: {}", approval.command);
        }
        self.status.blocked = None;
    }

    /// Creates the Execution of this name, unless that of an earlier plan has it: then its removal is waited for.
    fn execute(&mut self, name: &str, spec: ExecutionSpec) -> PlanEffect {
        if self.observed.occupied_names.contains(name) {
            // The removal of an object wakes nobody.
            self.again_at = Some(after(self.observed.now, 3));
            let text = format!(
                "Execution {name} of an earlier plan of this name is still there; it goes with that plan, or delete it"
            );
            return self.block(Reason::new(BlockedReason::NameTaken, text), None);
        }
        self.status.phase = PlanPhase::Running;
        self.status.blocked = None;
        let mut execution = Execution::new(name, spec);
        child::own(self.observed.plan, &mut execution);
        PlanEffect::Execute(Box::new(execution))
    }
}

/// Notes the guests that the plan's steps have created; of two of one name the latest counts.
fn note_created<'a>(created: &mut Vec<CreatedGuest>, executions: impl Iterator<Item = &'a Execution>) {
    let ended = executions.filter_map(|execution| execution.status.as_ref());
    let mut made: Vec<_> =
        ended.filter_map(|status| Some((&status.completion_time, status.created.as_ref()?))).collect();
    made.sort_by(|one, other| one.0.cmp(other.0));
    for (_, guest) in made {
        created.retain(|known| known.target != guest.target);
        created.push(guest.clone());
    }
    created.sort_by(|one, other| one.target.cmp(&other.target));
    created.truncate(MOST_TARGETS);
}

fn has_failed(execution: &Execution) -> bool {
    let phase = execution.status.as_ref().map(|status| status.phase).unwrap_or_default();
    phase.is_terminal() && phase != ExecutionPhase::Succeeded
}

fn counted<'a>(executions: impl Iterator<Item = &'a Execution>) -> u32 {
    u32::try_from(executions.count()).unwrap_or(u32::MAX)
}

//! Plan: approved, carried out step by step or turn by turn, and ended only for a stated reason.

use std::collections::BTreeMap;

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{OwnerReference, Time},
    jiff::Timestamp,
};
use kube::Resource;

use super::{
    execution::PLAN_DENIED,
    Notice, Step, Tally, Turn, TurnEnd, after, approval_command, digest_of, open_windows,
    status::{Standing, differs, set_conditions},
};
use crate::{
    api::{
        APPROVE, APPROVED_BY, Approval, AutonomyWindow, AutonomyWindowSpec, Blocked, DENY, Execution, ExecutionPhase,
        ExecutionSpec, ExecutionStatus, Grant, GrantVia, ObjectRef, PLAN_LABEL, Plan, PlanPhase, PlanResult,
        PlanStatus, PlanStep, REASON, Risk, RunSpec, TargetKind, WindowClass, WindowSummary,
    },
    policy::{Inventory, OpenWindow, first_nonce, next_nonce, token},
};

/// How many answers in a row may come without a tool call.
const TEXT_ONLY_LIMIT: u32 = 3;

/// What is known of a plan.
#[derive(Clone, Copy, Debug)]
pub struct ObservedPlan<'a> {
    /// It, read live.
    pub plan: &'a Plan,
    /// The windows that name it.
    pub windows: &'a [AutonomyWindow],
    /// Its Executions, by name.
    pub executions: &'a BTreeMap<String, Execution>,
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

type Next = Step<PlanEffect, PlanStatus>;

/// Decides.
pub fn plan(observed: &ObservedPlan<'_>) -> Next {
    let old = observed.plan.status.as_ref();
    if old.is_some_and(|status| status.phase.is_terminal()) {
        return Next::default();
    }
    let mut pass = Pass::new(observed);
    let effect = pass.decide();
    pass.finish(effect)
}

/// One pass over one plan: the status under construction and what was found on the way.
struct Pass<'a> {
    observed: &'a ObservedPlan<'a>,
    status: PlanStatus,
    standing: Standing,
    windows: Vec<OpenWindow>,
    again_at: Option<Timestamp>,
}

impl<'a> Pass<'a> {
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
        let ended = |it: &Execution| it.status.as_ref().is_some_and(|status| status.phase.is_terminal());
        let failed = |it: &Execution| {
            ended(it) && it.status.as_ref().is_some_and(|status| status.phase != ExecutionPhase::Succeeded)
        };
        let count = |test: &dyn Fn(&Execution) -> bool| {
            u32::try_from(observed.executions.values().filter(|it| test(it)).count()).unwrap_or(u32::MAX)
        };
        status.executions = count(&|_| true);
        status.failures = count(&failed);
        status.iterations = observed.tally.iterations;
        status.approval = Some(approval);
        let windows = open_windows(plan, observed.windows, observed.now);
        let standing = Standing { approved: false, reason: "AwaitingApproval", message: String::new() };
        let mut pass = Self { observed, status, standing, windows, again_at: None };
        pass.name_token();
        pass
    }

    fn approval(&mut self) -> &mut Approval {
        self.status.approval.get_or_insert_default()
    }

    /// Writes the token and the line to copy that fit the digest and the nonce.
    fn name_token(&mut self) {
        let (namespace, name) = names(self.observed.plan);
        let approval = self.approval();
        approval.token = token(&approval.digest, &approval.nonce);
        approval.command = approval_command(namespace, "plan", name, &approval.token);
    }

    /// After this no token that was ever shown fits any more.
    fn rotate(&mut self, event: &str) {
        let uid = self.observed.plan.metadata.uid.clone().unwrap_or_default();
        let approval = self.approval();
        approval.last_handled = Some(approval.token.clone());
        approval.nonce = next_nonce(&uid, &approval.nonce, event);
        self.name_token();
    }

    fn decide(&mut self) -> PlanEffect {
        if self.observed.plan.spec.cancelled {
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
        if let Some((reason, text)) = self.trouble() {
            return self.block(&reason, text, None);
        }
        if granted.as_ref() != Some(&digest) {
            if self.status.phase != PlanPhase::Denied {
                self.status.phase = PlanPhase::AwaitingApproval;
                self.status.blocked = None;
            }
            return PlanEffect::None;
        }
        self.carry_out()
    }

    fn cancel(&mut self) -> PlanEffect {
        if self.observed.asking {
            return PlanEffect::StopAsking;
        }
        // The Executions see the switch themselves; the plan ends when the last of them has.
        if self.open_execution().is_none() {
            self.end(PlanPhase::Cancelled);
        }
        PlanEffect::None
    }

    fn denial(&mut self) -> Option<PlanEffect> {
        let said = annotation(self.observed.plan, DENY)?;
        if said != self.approval().token {
            return None;
        }
        if self.observed.asking {
            return Some(PlanEffect::StopAsking);
        }
        if let Some(window) = self.windows.first() {
            return Some(PlanEffect::Revoke(window.name.clone()));
        }
        self.rotate("denied");
        self.approval().granted = None;
        self.status.window = None;
        self.status.blocked = None;
        self.status.phase = PlanPhase::Denied;
        Some(PlanEffect::None)
    }

    /// Takes note of windows that opened or ended since the last pass.
    fn take_grants(&mut self) {
        let name = |token: &str| format!("{}-{token}", names(self.observed.plan).1);
        let (digest, current) = {
            let approval = self.approval();
            (approval.digest.clone(), name(&approval.token))
        };
        let covering = |window: &&OpenWindow| window.class == WindowClass::Assent && window.digest == digest;
        let fresh = self.windows.iter().any(|window| covering(&window) && window.name == current);
        let last = self.windows.iter().filter(covering).max_by_key(|window| window.expires).cloned();
        if fresh {
            self.rotate("granted");
            self.approval().granted = Some(digest);
            self.status.start_time.get_or_insert(Time(self.observed.now));
            if matches!(self.status.phase, PlanPhase::Denied | PlanPhase::AwaitingApproval) {
                self.status.phase = PlanPhase::Running;
            }
        }
        match last {
            Some(window) => {
                self.again_at = Some(window.expires);
                let expiry_time = Time(window.expires);
                self.status.window = Some(WindowSummary { name: window.name, expiry_time });
            }
            None => self.window_ended(),
        }
    }

    fn window_ended(&mut self) {
        let Some(window) = self.status.window.take() else {
            return;
        };
        self.rotate("ended");
        let revoked =
            self.observed.windows.iter().any(|it| it.metadata.name.as_deref() == Some(&window.name) && it.spec.revoked);
        if revoked {
            self.approval().granted = None;
        }
    }

    /// Turns the approve annotation into a window, once; says so when the annotation does not fit.
    fn grant(&mut self) -> Option<PlanEffect> {
        let plan = self.observed.plan;
        let approval = self.approval().clone();
        let granted = approval.granted.as_ref() == Some(&approval.digest);
        let window_open = self.status.window.is_some();
        let denied = self.status.phase == PlanPhase::Denied;
        self.standing = Standing {
            approved: granted,
            reason: match (granted, window_open) {
                (true, true) => "Granted",
                (true, false) => "WindowEnded",
                (false, _) if denied => "Denied",
                (false, _) => "AwaitingApproval",
            },
            message: if granted && window_open { String::new() } else { format!("approve with: {}", approval.command) },
        };
        let said = annotation(plan, APPROVE)?;
        if Some(said) == approval.last_handled.as_deref() {
            return None;
        }
        if said != approval.token {
            if !granted {
                self.standing.reason = "TokenMismatch";
                self.standing.message =
                    format!("{said:?} is not this plan's current token; approve with: {}", approval.command);
            }
            return None;
        }
        let name = format!("{}-{}", names(plan).1, approval.token);
        if self.observed.windows.iter().any(|window| window.metadata.name.as_ref() == Some(&name)) {
            // It is there and not open: its own status says why, or it is about to open.
            return None;
        }
        let spec = AutonomyWindowSpec {
            plan_ref: plan_ref(plan),
            plan_digest: approval.digest,
            class: WindowClass::Assent,
            targets: plan.spec.targets.clone(),
            duration_seconds: plan.spec.window_seconds,
            granted_by: Grant {
                username: annotation(plan, APPROVED_BY).unwrap_or("unknown").to_owned(),
                verified: self.observed.guarded,
                via: GrantVia::Annotation,
            },
            reason: annotation(plan, REASON).map(str::to_owned),
            execution_ref: None,
            revoked: false,
        };
        Some(PlanEffect::Grant(Box::new(AutonomyWindow::new(&name, spec))))
    }

    /// What makes the plan impossible as it stands: it is looked at again until it is mended.
    fn trouble(&mut self) -> Option<(String, String)> {
        let plan = self.observed.plan;
        let inventory = self.observed.inventory;
        let created = |name: &str| {
            plan.spec.agent_ref.is_some()
                || plan
                    .spec
                    .steps
                    .iter()
                    .any(|step| step.create_container.as_ref().is_some_and(|container| container.hostname == name))
        };
        let missing: Vec<_> = plan
            .spec
            .targets
            .iter()
            .filter(|target| !inventory.knows(target))
            .filter(|target| !(target.kind() == TargetKind::Lxc && created(target.name())))
            .map(ToString::to_string)
            .collect();
        let trouble = if missing.is_empty() {
            self.observed.agent_trouble.cloned()
        } else {
            let missing = missing.join(", ");
            let text = format!("this namespace has no Host or Guest for {missing}; create it, or change spec.targets");
            Some(("UnknownTarget".to_owned(), text))
        };
        if trouble.is_some() {
            self.again_at = Some(after(self.observed.now, 15));
        }
        trouble
    }

    fn carry_out(&mut self) -> PlanEffect {
        if let Some((name, execution)) = self.open_execution() {
            let waits = execution.status.as_ref().filter(|it| it.phase == ExecutionPhase::AwaitingApproval);
            let approval = waits.and_then(|status| status.approval.as_ref());
            self.status.phase = match approval {
                Some(approval) if approval.phrase.is_some() => PlanPhase::AwaitingConfirmation,
                Some(_) => PlanPhase::AwaitingApproval,
                None => PlanPhase::Running,
            };
            if let Some(approval) = approval {
                self.standing.message = format!("step {name} waits: {}", approval.command);
            }
            self.status.blocked = None;
            return PlanEffect::None;
        }
        if self.observed.plan.spec.paused {
            self.status.phase = PlanPhase::Running;
            self.standing.message = "paused: set spec.paused to false to go on".to_owned();
            return PlanEffect::None;
        }
        if self.observed.plan.spec.agent_ref.is_some() { self.drive() } else { self.next_step() }
    }

    fn open_execution(&self) -> Option<(&'a String, &'a Execution)> {
        self.observed
            .executions
            .iter()
            .find(|(_, execution)| !execution.status.as_ref().is_some_and(|status| status.phase.is_terminal()))
    }

    /// A plan without an agent: the steps in order, the first failure ends it.
    fn next_step(&mut self) -> PlanEffect {
        let plan = self.observed.plan;
        self.status.phase = PlanPhase::Running;
        self.status.blocked = None;
        let opened = self.observed.windows.iter().filter_map(|it| it.status.as_ref()?.opened_at.as_ref()).max();
        for (index, step) in plan.spec.steps.iter().enumerate() {
            let turn = u32::try_from(index + 1).unwrap_or(u32::MAX);
            let (calls, latest) = self.latest(turn);
            let latest = latest.filter(|execution| same(step, &execution.spec));
            let ended = latest.and_then(|execution| execution.status.as_ref());
            match ended.map(|status| status.phase) {
                Some(ExecutionPhase::Succeeded) => continue,
                Some(ExecutionPhase::Expired) => {}
                // It ended because the plan was denied, and only a later grant leads here.
                Some(ExecutionPhase::Denied) if ended.is_some_and(|it| it.reason.as_deref() == Some(PLAN_DENIED)) => {}
                Some(ExecutionPhase::Denied) => {
                    let denied_at = ended.and_then(|status| status.completion_time.as_ref());
                    // Within one second the order cannot be told: then the denial counts, and one asks again.
                    if denied_at >= opened {
                        self.status.phase = PlanPhase::Denied;
                        self.approval().granted = None;
                        return PlanEffect::None;
                    }
                }
                Some(_) => return self.fail(&step.name, ended),
                None => {}
            }
            let name = format!("{}-{turn}-{}", names(plan).1, calls + 1);
            return PlanEffect::Execute(Box::new(child(plan, &name, step_spec(plan, step))));
        }
        let count = plan.spec.steps.len();
        self.status.result = Some(PlanResult {
            summary: format!("all {count} steps succeeded"),
            evidence: self.observed.executions.keys().rev().take(1).cloned().collect(),
        });
        self.end(PlanPhase::Succeeded);
        PlanEffect::None
    }

    /// How many Executions the step of this number had, and the latest of them.
    fn latest(&self, turn: u32) -> (usize, Option<&'a Execution>) {
        let name = |call: usize| format!("{}-{turn}-{call}", names(self.observed.plan).1);
        let calls = (1..).take_while(|call| self.observed.executions.contains_key(&name(*call))).count();
        (calls, self.observed.executions.get(&name(calls)))
    }

    fn fail(&mut self, step: &str, ended: Option<&ExecutionStatus>) -> PlanEffect {
        let what = ended.map_or(String::new(), |status| {
            let code = status.exit_code.map_or(String::new(), |code| format!(" with exit code {code}"));
            let said = status.message.as_deref().map_or(String::new(), |message| format!(": {message}"));
            format!("{:?}{code}{said}", status.phase)
        });
        self.status.result = Some(PlanResult { summary: format!("step {step} ended as {what}"), evidence: vec![] });
        self.end(PlanPhase::Failed);
        PlanEffect::None
    }

    /// A plan with an agent: the calls of the latest turn one after the other, then the next turn.
    fn drive(&mut self) -> PlanEffect {
        let Some(turn) = self.observed.turn else {
            return self.ask(1, None);
        };
        let plan = self.observed.plan;
        for (call, spec) in &turn.steps {
            let name = format!("{}-{}-{call}", names(plan).1, turn.sequence);
            if !self.observed.executions.contains_key(&name) {
                self.status.phase = PlanPhase::Running;
                return PlanEffect::Execute(Box::new(child(plan, &name, spec.clone())));
            }
        }
        match &turn.end {
            TurnEnd::Finished(result) => {
                self.status.result = Some(result.clone());
                self.end(PlanPhase::Succeeded);
                PlanEffect::None
            }
            TurnEnd::Question(question) if !turn.answered => {
                self.block("OperatorNeeded", question.clone(), Some(turn.sequence))
            }
            TurnEnd::Failed(reason, text) if !self.answered(turn) => {
                self.block(reason, text.clone(), Some(turn.sequence))
            }
            TurnEnd::Closing(text) if !self.answered(turn) => match self.over_limit() {
                Some((reason, why)) => self.block(reason, format!("{why}\n\n{text}"), Some(turn.sequence)),
                None => self.ask(turn.sequence + 1, None),
            },
            _ => {
                let closing = self.over_limit().filter(|_| !self.answered(turn));
                self.ask(turn.sequence + 1, closing)
            }
        }
    }

    /// An operator's Message answers a blocked plan, and so does a new approval.
    fn answered(&self, turn: &Turn) -> bool {
        let approved_since = self.observed.windows.iter().any(|window| {
            let opened = window.status.as_ref().and_then(|status| status.opened_at.as_ref());
            opened.is_some_and(|opened| opened.0 > turn.time)
        });
        turn.answered || (self.status.blocked.is_some() && approved_since)
    }

    fn over_limit(&self) -> Option<(&'static str, String)> {
        let limits = &self.observed.plan.spec.limits;
        let tally = self.observed.tally;
        let started = self.status.start_time.as_ref().map_or(self.observed.now, |time| time.0);
        if tally.iterations >= limits.iterations {
            let text = format!("the plan's limit of {} iterations is reached", limits.iterations);
            return Some(("IterationLimit", text));
        }
        if tally.repeated_failures >= limits.consecutive_failures {
            let text = format!("the same command failed {} times in a row", tally.repeated_failures);
            return Some(("RepeatedFailure", text));
        }
        if tally.text_only >= TEXT_ONLY_LIMIT {
            let text = format!("the agent answered {} times without calling a tool", tally.text_only);
            return Some(("NoToolCalls", text));
        }
        (self.observed.now > after(started, limits.deadline_seconds))
            .then(|| ("DeadlineExceeded", format!("the plan's deadline of {} s has passed", limits.deadline_seconds)))
    }

    fn ask(&mut self, sequence: u32, closing: Option<(&'static str, String)>) -> PlanEffect {
        self.status.phase = PlanPhase::Running;
        self.status.blocked = None;
        if self.observed.asking { PlanEffect::None } else { PlanEffect::Ask { sequence, closing } }
    }

    fn block(&mut self, reason: &str, question: String, sequence: Option<u32>) -> PlanEffect {
        self.status.phase = PlanPhase::Blocked;
        self.status.blocked = Some(Blocked { reason: reason.to_owned(), question, sequence });
        PlanEffect::None
    }

    fn end(&mut self, phase: PlanPhase) {
        self.status.phase = phase;
        self.status.blocked = None;
        self.status.completion_time = Some(Time(self.observed.now));
    }

    fn finish(mut self, effect: PlanEffect) -> Next {
        let old = self.observed.plan.status.as_ref();
        let generation = self.observed.plan.metadata.generation;
        set_conditions(&mut self.status, &self.standing, generation, self.observed.now);
        // A turn or a step of a plan without an agent is the occasion to write the counters: one write for each.
        let counted = match effect {
            PlanEffect::Ask { .. } => true,
            PlanEffect::Execute(_) => self.observed.plan.spec.agent_ref.is_none(),
            _ => false,
        };
        let notice = notice(old, &self.status);
        let write = differs(old, &self.status) || (counted && old != Some(&self.status));
        Step { effect, status: write.then_some(self.status), again_at: self.again_at, notice }
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

fn names(plan: &Plan) -> (&str, &str) {
    let meta = &plan.metadata;
    (meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default())
}

fn annotation<'a>(plan: &'a Plan, key: &str) -> Option<&'a str> {
    plan.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

fn plan_ref(plan: &Plan) -> ObjectRef {
    ObjectRef { name: names(plan).1.to_owned(), uid: plan.metadata.uid.clone().unwrap_or_default() }
}

fn same(step: &PlanStep, spec: &ExecutionSpec) -> bool {
    step.target == spec.target
        && step.run.as_deref() == spec.run.as_ref().map(|run| run.command.as_str())
        && step.create_container == spec.create_container
}

fn step_spec(plan: &Plan, step: &PlanStep) -> ExecutionSpec {
    ExecutionSpec {
        plan_ref: plan_ref(plan),
        message_ref: None,
        call_id: None,
        step_name: Some(step.name.clone()),
        target: step.target.clone(),
        run: step.run.clone().map(|command| RunSpec { command }),
        create_container: step.create_container.clone(),
        purpose: step.purpose.clone(),
        declared_risk: Risk::ReadOnly,
        timeout_seconds: step.timeout_seconds.unwrap_or(600),
    }
}

/// An Execution of this name, owned by the plan.
fn child(plan: &Plan, name: &str, spec: ExecutionSpec) -> Execution {
    let mut execution = Execution::new(name, spec);
    let owner: Option<OwnerReference> = plan.controller_owner_ref(&());
    execution.metadata.namespace = plan.metadata.namespace.clone();
    execution.metadata.owner_references = owner.map(|owner| vec![owner]);
    execution.metadata.labels = Some(BTreeMap::from([(PLAN_LABEL.to_owned(), names(plan).1.to_owned())]));
    execution
}

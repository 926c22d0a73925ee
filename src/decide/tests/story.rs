//! Whole stories: a plan, its Executions and its windows are decided in any order, on views that lag behind, while
//! people approve, deny, revoke, cancel, pause and edit. Whatever happens, nothing starts without leave and all settles.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use proptest::prelude::*;

use super::samples::*;
use crate::api::{
    APPROVE, AutonomyWindow, BlockedReason, CONFIRM, DENY, Execution, ExecutionReason, ExecutionStatus, Plan,
    PlanPhase, PlanResult, Reason, Risk, WindowPhase,
};
use crate::decide::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The plan is decided, on the present view or on one that lags.
    Plan,
    PlanLags,
    Execution,
    Window,
    /// All that lags catches up.
    Sync,
    /// Everybody is decided once.
    Round,
    Approve,
    ApproveStep,
    Confirm,
    Deny,
    DenyStep,
    Revoke,
    DeleteWindow,
    Cancel,
    Pause,
    Edit,
    Wait,
    WaitLong,
    StepEnds,
    StepFails,
    StepNeverStarted,
    StepLasts,
    ConnectionBreaks,
    Crash,
    Answer(u8),
    Speak,
}

const EVENTS: [Event; 28] = [
    Event::Plan,
    Event::PlanLags,
    Event::Execution,
    Event::Window,
    Event::Sync,
    Event::Approve,
    Event::ApproveStep,
    Event::Confirm,
    Event::Deny,
    Event::DenyStep,
    Event::Revoke,
    Event::DeleteWindow,
    Event::Cancel,
    Event::Pause,
    Event::Edit,
    Event::Wait,
    Event::WaitLong,
    Event::StepEnds,
    Event::StepFails,
    Event::StepNeverStarted,
    Event::StepLasts,
    Event::ConnectionBreaks,
    Event::Crash,
    Event::Answer(0),
    Event::Answer(1),
    Event::Answer(2),
    Event::Answer(3),
    Event::Speak,
];

/// Everything there is, and what this process does.
struct World {
    now: i64,
    plan: Plan,
    executions: BTreeMap<String, Execution>,
    windows: Vec<AutonomyWindow>,
    turn: Option<Turn>,
    asking: Option<u32>,
    running: BTreeSet<String>,
    seen: (BTreeMap<String, Execution>, Vec<AutonomyWindow>),
    /// Windows made before the latest denial or revocation of all: they give no leave any more.
    void: BTreeSet<String>,
    starts: BTreeSet<String>,
    log: BTreeSet<String>,
}

impl World {
    fn new(plan: Plan) -> Self {
        Self {
            now: NOW,
            plan,
            executions: BTreeMap::new(),
            windows: Vec::new(),
            turn: None,
            asking: None,
            running: BTreeSet::new(),
            seen: Default::default(),
            void: BTreeSet::new(),
            starts: BTreeSet::new(),
            log: BTreeSet::new(),
        }
    }

    fn phase(&self) -> PlanPhase {
        self.plan.status.as_ref().map(|status| status.phase).unwrap_or_default()
    }

    /// One pass over the plan; says whether anything came of it.
    fn decide_plan(&mut self) -> bool {
        let inventory = inventory();
        let occupied_names = BTreeSet::new();
        let step = decide_plan(&ObservedPlan {
            plan: &self.plan,
            windows: &self.seen.1,
            executions: &self.seen.0,
            occupied_names: &occupied_names,
            inventory: &inventory,
            agent_obstacle: None,
            turn: self.turn.as_ref(),
            tally: Tally { iterations: self.turn.as_ref().map_or(0, |turn| turn.sequence), ..Tally::default() },
            asking: self.asking.is_some(),
            guarded: true,
            now: at(self.now),
        });
        let before = self.phase();
        if before.is_terminal() {
            assert_eq!(step, Decision::default(), "a finished plan");
        }
        let mut changed = step.status.is_some();
        if let Some(status) = step.status {
            self.plan.status = Some(status);
        }
        if self.phase() == PlanPhase::Denied && before != PlanPhase::Denied {
            self.void_all();
        }
        self.log.insert(format!("{:?}", self.phase()));
        match step.effect {
            PlanEffect::None => {}
            PlanEffect::Grant(made) => changed |= self.make_window(*made),
            PlanEffect::Revoke(name) => {
                for window in self.windows.iter_mut().filter(|it| it.metadata.name.as_ref() == Some(&name)) {
                    changed |= !window.spec.revoked;
                    window.spec.revoked = true;
                }
            }
            PlanEffect::Execute(made) => {
                let name = made.metadata.name.clone().unwrap();
                assert!(!self.plan.spec.cancelled && !self.plan.spec.paused && self.phase() != PlanPhase::Denied);
                if let Entry::Vacant(place) = self.executions.entry(name.clone()) {
                    let mut made = *made;
                    made.metadata.uid = Some(format!("uid-of-{name}"));
                    place.insert(made);
                    changed = true;
                }
            }
            PlanEffect::Ask { sequence, closing } => {
                assert!(self.asking.is_none(), "asked twice at once");
                assert_eq!(sequence, self.turn.as_ref().map_or(1, |turn| turn.sequence + 1));
                self.log.insert(if closing.is_some() { "closing".into() } else { "asks".into() });
                self.asking = Some(sequence);
                changed = true;
            }
            PlanEffect::StopAsking => {
                assert!(self.asking.is_some());
                self.asking = None;
                changed = true;
            }
        }
        changed
    }

    fn make_window(&mut self, window: AutonomyWindow) -> bool {
        let new = self.windows.iter().all(|it| it.metadata.name != window.metadata.name);
        if new {
            self.windows.push(window);
        }
        new
    }

    fn void_all(&mut self) {
        self.void.extend(self.windows.iter().filter_map(|it| it.metadata.name.clone()));
    }

    fn decide_executions(&mut self) -> bool {
        let mut changed = false;
        for name in self.executions.keys().cloned().collect::<Vec<_>>() {
            changed |= self.decide_execution(&name);
        }
        changed
    }

    fn decide_execution(&mut self, name: &str) -> bool {
        let execution = self.executions[name].clone();
        let open = open_windows(&self.plan, &self.seen.1, at(self.now));
        let ended = self.seen.1.iter().filter_map(|it| {
            let phase = it.status.as_ref()?.phase;
            (phase != WindowPhase::Active).then_some((it.metadata.name.clone()?, phase))
        });
        let ended = ended.collect();
        let step = decide_execution(&ObservedExecution {
            execution: &execution,
            plan: Some(&self.plan),
            windows: &open,
            ended_windows: &ended,
            inventory: &inventory(),
            running: self.running.contains(name),
            guarded: true,
            now: at(self.now),
        });
        if step.effect == ExecutionEffect::Start {
            let authority = step.status.as_ref().unwrap().authority.clone().unwrap();
            // The controller reads the window live before the claim.
            if !authority.name.as_ref().is_none_or(|name| self.open_live(name)) {
                return false;
            }
            let status = step.status.as_ref().unwrap();
            if status.risk.as_ref().unwrap().class > Risk::ReadOnly {
                let window = authority.name.unwrap();
                assert!(!self.void.contains(&window), "{name} starts under {window}, which was denied or revoked");
                let live = self.windows.iter().find(|it| it.metadata.name.as_ref() == Some(&window)).unwrap();
                assert_eq!(live.spec.plan_digest, digest(&self.plan), "under a grant for another plan");
                assert!(live.status.as_ref().unwrap().expiry_time.as_ref().unwrap().0 > at(self.now));
                assert!(self.starts.insert(status.attempt_id.clone().unwrap()), "an attempt started twice");
                self.log.insert(format!("{:?}", authority.kind));
            }
            assert!(!self.plan.spec.cancelled && !self.plan.spec.paused);
        }
        let mut changed = step.status.is_some();
        if let Some(status) = step.status {
            self.log.insert(format!("step {}", described(&status)));
            self.write(name, Some(status));
        }
        match step.effect {
            ExecutionEffect::None => {}
            ExecutionEffect::Start | ExecutionEffect::Adopt { .. } => changed |= self.running.insert(name.to_owned()),
            ExecutionEffect::Stop => {
                changed = true;
                self.end(name, StepEnd::Cancelled);
            }
            ExecutionEffect::Grant(made) => changed |= self.make_window(*made),
        }
        changed
    }

    fn open_live(&self, name: &str) -> bool {
        let window = self.windows.iter().find(|it| it.metadata.name.as_deref() == Some(name));
        window
            .is_some_and(|it| !it.spec.revoked && it.status.as_ref().is_some_and(|it| it.phase == WindowPhase::Active))
    }

    fn decide_windows(&mut self) -> bool {
        let mut changed = false;
        for window in &mut self.windows {
            let execution = window.spec.execution_ref.as_ref().and_then(|it| self.executions.get(&it.name));
            let observed = ObservedWindow { window, plan: Some(&self.plan), execution, now: at(self.now) };
            if let Some(status) = decide_window(&observed).status {
                window.status = Some(status);
                changed = true;
            }
        }
        changed
    }

    /// The task of a running step writes its result.
    fn end(&mut self, name: &str, end: StepEnd) {
        if !self.running.remove(name) {
            return;
        }
        let execution = &self.executions[name];
        let result = StepResult { end, detail: String::new(), stdout: None, stderr: None };
        let written = execution_result(execution, execution, &result, at(self.now));
        self.log_result(written.status.as_ref());
        self.write(name, written.status);
    }

    /// Writes a status as the API server would: only along the table of phases.
    fn write(&mut self, name: &str, status: Option<ExecutionStatus>) {
        let Some(status) = status else { return };
        let before = self.executions[name].status.clone().unwrap_or_default();
        assert!(before.phase.may_become(status.phase), "{:?} to {:?}", before.phase, status.phase);
        assert!(status.attempt >= before.attempt);
        self.executions.get_mut(name).unwrap().status = Some(status);
    }

    /// A step that lasts is shown as Running.
    fn show_running(&mut self, name: &str) {
        let execution = &self.executions[name];
        let status = show_running(execution, execution);
        self.log_result(status.as_ref());
        self.write(name, status);
    }

    fn log_result(&mut self, status: Option<&ExecutionStatus>) {
        self.log.extend(status.map(|status| format!("result {}", described(status))));
    }

    /// Only a read ends so; what becomes of a change is found on the target.
    fn break_connection(&mut self, name: &str) {
        let risk = self.executions[name].status.as_ref().and_then(|status| status.risk.as_ref());
        if risk.is_some_and(|risk| risk.class == Risk::ReadOnly) {
            self.end(name, StepEnd::ConnectionLost);
        }
    }

    fn sync(&mut self) {
        self.seen = (self.executions.clone(), self.windows.clone());
    }

    fn happens(&mut self, event: Event) {
        let first_running = self.running.first().cloned();
        let shown = |it: &Execution| it.status.as_ref().and_then(|status| status.approval.clone());
        let waiting = self.executions.iter().find_map(|(name, it)| Some((name.clone(), shown(it)?)));
        match event {
            Event::Plan => {
                self.sync();
                self.decide_plan();
            }
            Event::PlanLags => {
                self.decide_plan();
            }
            Event::Execution => {
                self.decide_executions();
            }
            Event::Window => {
                self.decide_windows();
            }
            Event::Sync => self.sync(),
            Event::Round => {
                self.round();
            }
            Event::Approve | Event::Deny => {
                let token = shown_token(&self.plan);
                let key = if event == Event::Approve { APPROVE } else { DENY };
                annotate(&mut self.plan.metadata.annotations, key, &token);
            }
            Event::ApproveStep | Event::Confirm | Event::DenyStep => {
                if let Some((name, approval)) = waiting {
                    let (key, value) = match event {
                        Event::ApproveStep => (APPROVE, approval.token),
                        Event::Confirm => (CONFIRM, approval.phrase),
                        _ => (DENY, approval.token.or(approval.phrase)),
                    };
                    let annotations = &mut self.executions.get_mut(&name).unwrap().metadata.annotations;
                    annotate(annotations, key, &value.unwrap_or_default());
                }
            }
            Event::Revoke => {
                self.windows.iter_mut().for_each(|window| window.spec.revoked = true);
                self.void_all();
            }
            // One that the plan has not taken note of is as good as not made yet: it is made again.
            Event::DeleteWindow => {
                let current = granted_name(&self.plan);
                self.windows.retain(|it| it.metadata.name.as_deref() == Some(&current));
            }
            Event::Cancel => self.plan.spec.cancelled = true,
            Event::Pause => self.plan.spec.paused = !self.plan.spec.paused,
            Event::Edit if !self.phase().is_terminal() => {
                self.plan.spec.window_seconds = 1000 - self.plan.spec.window_seconds + 200;
            }
            Event::Edit => {}
            Event::Wait => self.now += 1,
            Event::WaitLong => self.now += 700,
            Event::StepEnds => first_running.into_iter().for_each(|it| self.end(&it, StepEnd::Exited { code: 0 })),
            Event::StepFails => first_running.into_iter().for_each(|it| self.end(&it, StepEnd::Exited { code: 1 })),
            Event::StepNeverStarted => {
                first_running
                    .into_iter()
                    .for_each(|it| self.end(&it, StepEnd::NeverStarted(ExecutionReason::TargetBusy)));
            }
            Event::StepLasts => first_running.into_iter().for_each(|it| self.show_running(&it)),
            Event::ConnectionBreaks => first_running.into_iter().for_each(|it| self.break_connection(&it)),
            Event::Crash => {
                self.running.clear();
                self.asking = None;
            }
            Event::Answer(kind) => self.answer(kind),
            Event::Speak => {
                if let Some(turn) = &mut self.turn {
                    turn.answered = true;
                }
            }
        }
    }

    fn answer(&mut self, kind: u8) {
        let Some(sequence) = self.asking.take() else { return };
        let mut steps = Vec::new();
        let end = match kind {
            0 => {
                let commands = [CHANGES, DESTROYS, LOOKS];
                for (index, command) in commands.iter().enumerate().take(1 + (sequence % 3) as usize) {
                    steps.push((index + 1, an_execution("x", "lxc:web", command).spec));
                }
                TurnEnd::GoOn
            }
            1 => TurnEnd::Question("which?".into()),
            2 => TurnEnd::Failed(Reason::new(BlockedReason::ModelUnauthorized, "401")),
            _ if sequence % 4 == 3 => TurnEnd::Finished(PlanResult::default()),
            _ => TurnEnd::Closing("so far".into()),
        };
        self.turn = Some(Turn { sequence, time: at(self.now), steps, end, answered: false });
    }

    fn round(&mut self) -> bool {
        self.sync();
        let plan = self.decide_plan();
        self.sync();
        let windows = self.decide_windows();
        self.sync();
        let executions = self.decide_executions();
        plan || windows || executions
    }

    /// Everybody is woken until nothing changes any more.
    fn settle(&mut self) {
        for _ in 0..60 {
            if !self.round() {
                return;
            }
        }
        panic!("it never settles: {:?}\n{:?}", self.plan.status, self.executions);
    }
}

fn described(status: &ExecutionStatus) -> String {
    let reason = status.reason.map(|reason| reason.to_string()).unwrap_or_default();
    format!("{:?} {reason}", status.phase)
}

fn stories() -> impl Strategy<Value = (bool, Vec<Event>)> {
    let likely = prop_oneof![
        6 => Just(Event::Round),
        2 => Just(Event::Approve),
        1 => Just(Event::Confirm),
        2 => Just(Event::Answer(0)),
        3 => Just(Event::StepEnds),
    ];
    let event = prop_oneof![3 => likely, 1 => prop::sample::select(EVENTS.to_vec())];
    // Cancelling ends all, so it comes seldom.
    let event = event.prop_flat_map(|event| match event {
        Event::Cancel => prop_oneof![3 => Just(Event::Wait), 1 => Just(Event::Cancel)].boxed(),
        other => Just(other).boxed(),
    });
    (any::<bool>(), prop::collection::vec(event, 0..45))
}

fn tell(agent: bool, events: &[Event]) -> World {
    let plan = if agent { a_plan(&[]) } else { a_plan(&[CHANGES, DESTROYS, LOOKS]) };
    let mut world = World::new(plan);
    world.decide_plan();
    for event in events {
        world.happens(*event);
    }
    world.settle();
    world
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn whatever_happens_nothing_starts_without_leave_and_all_settles((agent, events) in stories()) {
        tell(agent, &events);
    }

    #[test]
    fn whatever_happened_a_person_can_approve_and_the_work_goes_on((_, events) in stories()) {
        let mut world = tell(false, &events);
        if world.phase().is_terminal() || world.plan.spec.cancelled {
            return Ok(());
        }
        world.plan.spec.paused = false;
        for _ in 0..30 {
            world.now += 1;
            world.settle();
            if world.phase().is_terminal() {
                break;
            }
            // What a person sees and types, and what a host does.
            world.happens(Event::Approve);
            world.settle();
            world.happens(Event::StepEnds);
        }
        prop_assert_eq!(world.phase(), if world.log.contains("Failed") { PlanPhase::Failed } else { PlanPhase::Succeeded });
    }

    #[test]
    fn whatever_happened_cancelling_ends_the_plan((agent, events) in stories()) {
        let mut world = tell(agent, &events);
        if world.phase().is_terminal() {
            return Ok(());
        }
        world.happens(Event::Cancel);
        world.settle();
        // A mutating step that an earlier process left is found again, and then stopped.
        world.settle();
        prop_assert_eq!(world.phase(), PlanPhase::Cancelled);
        prop_assert!(world.running.is_empty());
    }
}

#[test]
fn the_stories_reach_every_turn() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    for _ in 0..600 {
        let (agent, events) = stories().new_tree(&mut runner).unwrap().current();
        seen.extend(tell(agent, &events).log);
    }
    let all = [
        "AwaitingApproval",
        "AwaitingConfirmation",
        "Blocked",
        "Cancelled",
        "Denied",
        "Failed",
        "PlanStep",
        "Running",
        "Succeeded",
        "Window",
        "asks",
        "step Cancelled PlanCancelled",
        "step Cancelling ",
        "step Denied DeniedByOperator",
        "step Denied GrantRevoked",
        "step Starting ",
        "step AwaitingApproval WindowNeeded",
        "step AwaitingApproval ConfirmationNeeded",
        "result Running ",
        "result Pending TargetBusy",
        "result Cancelled PlanCancelled",
        "result Succeeded Completed",
    ];
    for turn in all {
        assert!(seen.contains(turn), "{turn} is never reached: {seen:?}");
    }
}

//! The world of a story: every object, what each party last saw of it, and what this process does.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use super::super::samples::*;
use crate::{
    api::{AutonomyWindow, Execution, ExecutionStatus, Plan, PlanPhase, Risk, WindowPhase},
    decide::*,
};

/// Everything there is, and what this process does.
pub struct World {
    pub now: i64,
    pub plan: Plan,
    pub executions: BTreeMap<String, Execution>,
    pub windows: Vec<AutonomyWindow>,
    pub turn: Option<Turn>,
    pub asking: Option<u32>,
    pub running: BTreeSet<String>,
    pub seen: (BTreeMap<String, Execution>, Vec<AutonomyWindow>),
    /// Windows made before the latest denial or revocation of all: they allow nothing any more.
    pub void: BTreeSet<String>,
    pub starts: BTreeSet<String>,
    pub log: BTreeSet<String>,
}

impl World {
    pub fn new(plan: Plan) -> Self {
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

    pub fn phase(&self) -> PlanPhase {
        self.plan.status.as_ref().map(|status| status.phase).unwrap_or_default()
    }

    /// One pass over the plan; says whether anything came of it.
    pub fn decide_plan(&mut self) -> bool {
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
            admission_guard: AdmissionGuard::Up,
            now: at(self.now),
        });
        let before = self.phase();
        if before.is_terminal() {
            assert_eq!(step, Decision::default(), "a finished plan");
        }
        let changed = step.status.is_some();
        if let Some(status) = step.status {
            self.plan.status = Some(status);
        }
        if self.phase() == PlanPhase::Denied && before != PlanPhase::Denied {
            self.void_all();
        }
        self.log.insert(format!("{:?}", self.phase()));
        self.carry_out(step.effect) || changed
    }

    /// Carries out a plan's effect; says whether anything came of it.
    fn carry_out(&mut self, effect: PlanEffect) -> bool {
        let mut changed = false;
        match effect {
            PlanEffect::None => {}
            PlanEffect::Grant(made) => changed |= self.make_window(*made),
            PlanEffect::Revoke(name) => {
                for window in self.windows.iter_mut().filter(|it| it.metadata.name.as_ref() == Some(&name)) {
                    changed |= !window.spec.revoked;
                    window.spec.revoked = true;
                }
            }
            PlanEffect::Answer(_) => {
                let turn = self.turn.as_mut().unwrap();
                changed |= !turn.answered;
                turn.answered = true;
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

    pub fn make_window(&mut self, window: AutonomyWindow) -> bool {
        let new = self.windows.iter().all(|it| it.metadata.name != window.metadata.name);
        if new {
            self.windows.push(window);
        }
        new
    }

    pub fn void_all(&mut self) {
        self.void.extend(self.windows.iter().filter_map(|it| it.metadata.name.clone()));
    }

    pub fn decide_executions(&mut self) -> bool {
        let mut changed = false;
        for name in self.executions.keys().cloned().collect::<Vec<_>>() {
            changed |= self.decide_execution(&name);
        }
        changed
    }

    pub fn decide_execution(&mut self, name: &str) -> bool {
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
            admission_guard: AdmissionGuard::Up,
            now: at(self.now),
        });
        if step.effect == ExecutionEffect::Start && !self.check_start(name, step.status.as_ref().unwrap()) {
            return false;
        }
        let mut changed = step.status.is_some();
        if let Some(status) = step.status {
            self.log.insert(format!("step {}", described(&status)));
            self.write(name, Some(status));
        }
        match step.effect {
            ExecutionEffect::None => {}
            ExecutionEffect::Start | ExecutionEffect::Adopt(_) => changed |= self.running.insert(name.to_owned()),
            ExecutionEffect::Stop => {
                changed = true;
                self.end(name, StepEnd::Cancelled);
            }
            ExecutionEffect::Grant(made) => changed |= self.make_window(*made),
        }
        changed
    }

    /// Fails if the step must not start. `false`: its window is not open any more, which the controller sees before
    /// the claim, since it reads the window from the API server.
    fn check_start(&mut self, name: &str, status: &ExecutionStatus) -> bool {
        let authority = status.authority.clone().unwrap();
        if !authority.name.as_ref().is_none_or(|name| self.is_open(name)) {
            return false;
        }
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
        true
    }

    fn is_open(&self, name: &str) -> bool {
        let window = self.windows.iter().find(|it| it.metadata.name.as_deref() == Some(name));
        window
            .is_some_and(|it| !it.spec.revoked && it.status.as_ref().is_some_and(|it| it.phase == WindowPhase::Active))
    }

    pub fn decide_windows(&mut self) -> bool {
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

    pub fn round(&mut self) -> bool {
        self.sync();
        let plan = self.decide_plan();
        self.sync();
        let windows = self.decide_windows();
        self.sync();
        let executions = self.decide_executions();
        plan || windows || executions
    }

    /// Everybody is woken until nothing changes any more.
    pub fn settle(&mut self) {
        for _ in 0..60 {
            if !self.round() {
                return;
            }
        }
        panic!("it never settles: {:?}\n{:?}", self.plan.status, self.executions);
    }
}

pub fn described(status: &ExecutionStatus) -> String {
    let reason = status.reason.map(|reason| reason.to_string()).unwrap_or_default();
    format!("{:?} {reason}", status.phase)
}

//! Carrying an approved plan out: the next step, the next turn, or the end.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{
    PlanDecider, PlanEffect,
    child::{child, same, step_spec},
};
use crate::{
    api::{Blocked, Execution, ExecutionPhase, ExecutionSpec, ExecutionStatus, PlanPhase, PlanResult, TargetKind},
    decide::{
        Turn, TurnEnd, after,
        execution::{GRANT_REVOKED, PLAN_DENIED},
        judge::limited,
        object::names,
    },
};

/// How many answers in a row may come without a tool call.
const TEXT_ONLY_LIMIT: u32 = 3;

/// Most bytes of a question or summary; their schema allows 16,384 characters. A status that is not accepted would be
/// tried again for ever.
const LONGEST_TEXT: usize = 16_000;
/// Most pieces of evidence that the schema allows.
const MOST_EVIDENCE: usize = 16;

/// Whether a step was denied only because the plan had no grant any more.
fn settled(status: &ExecutionStatus) -> bool {
    status.reason.as_deref().is_some_and(|reason| [PLAN_DENIED, GRANT_REVOKED].contains(&reason))
}

impl<'a> PlanDecider<'a> {
    pub(super) fn cancel(&mut self) -> PlanEffect {
        if self.observed.asking {
            return PlanEffect::StopAsking;
        }
        // The Executions see the switch themselves; the plan ends when the last of them has.
        if self.open_execution().is_none() {
            self.end(PlanPhase::Cancelled);
        }
        PlanEffect::None
    }

    /// What makes the plan impossible as it stands: it is looked at again until it is mended.
    pub(super) fn trouble(&mut self) -> Option<(String, String)> {
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

    pub(super) fn carry_out(&mut self) -> PlanEffect {
        if let Some((name, execution)) = self.open_execution() {
            let waits = execution.status.as_ref().filter(|it| it.phase == ExecutionPhase::AwaitingApproval);
            let approval = waits.and_then(|status| status.approval.as_ref());
            self.status.phase = match approval {
                Some(approval) if approval.phrase.is_some() => PlanPhase::AwaitingConfirmation,
                Some(_) => PlanPhase::AwaitingApproval,
                None => PlanPhase::Running,
            };
            if let Some(approval) = approval {
                self.approval_state.message = format!("step {name} waits: {}", approval.command);
            }
            self.status.blocked = None;
            return PlanEffect::None;
        }
        if self.observed.plan.spec.paused {
            self.status.phase = PlanPhase::Running;
            self.approval_state.message = "paused: set spec.paused to false to go on".to_owned();
            return PlanEffect::None;
        }
        if self.observed.plan.spec.agent_ref.is_some() { self.drive() } else { self.next_step() }
    }

    pub(super) fn open_execution(&self) -> Option<(&'a String, &'a Execution)> {
        self.observed.executions.iter().find(|(_, execution)| !execution.has_ended())
    }

    /// Creates the Execution of this name, unless that of an earlier plan has it: then it is waited for.
    fn execute(&mut self, name: &str, spec: ExecutionSpec) -> PlanEffect {
        if self.observed.occupied_names.contains(name) {
            // Nobody is woken when an object goes.
            self.again_at = Some(after(self.observed.now, 3));
            let text = format!(
                "Execution {name} of an earlier plan of this name is still there; it goes with that plan, or delete it"
            );
            return self.block("NameTaken", text, None);
        }
        self.status.phase = PlanPhase::Running;
        self.status.blocked = None;
        PlanEffect::Execute(Box::new(child(self.observed.plan, name, spec)))
    }

    /// A plan without an agent: the steps in order, the first failure ends it.
    pub(super) fn next_step(&mut self) -> PlanEffect {
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
                Some(ExecutionPhase::Expired) if self.late_again_and_again(turn, calls) => {
                    return self.fail(&step.name, ended);
                }
                Some(ExecutionPhase::Expired) => {}
                // It ended because the plan's grant was gone, and only a later grant leads here.
                Some(ExecutionPhase::Denied) if ended.is_some_and(settled) => {}
                Some(ExecutionPhase::Denied) => {
                    let denied_at = ended.and_then(|status| status.completion_time.as_ref());
                    // Within one second the order cannot be told: then the denial counts, and one asks again.
                    if denied_at >= opened {
                        self.rotate_nonce("denied");
                        self.status.phase = PlanPhase::Denied;
                        self.approval().granted = None;
                        return PlanEffect::None;
                    }
                }
                Some(_) => return self.fail(&step.name, ended),
                None => {}
            }
            let name = format!("{}-{turn}-{}", names(plan).1, calls + 1);
            return self.execute(&name, step_spec(plan, step));
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
    pub(super) fn latest(&self, turn: u32) -> (usize, Option<&'a Execution>) {
        let name = |call: usize| format!("{}-{turn}-{call}", names(self.observed.plan).1);
        let calls = (1..).take_while(|call| self.observed.executions.contains_key(&name(*call))).count();
        (calls, self.observed.executions.get(&name(calls)))
    }

    /// Whether the latest Executions of this step all came too late to start. That happens once at the end of a window,
    /// and every time with a target that is too slow.
    fn late_again_and_again(&self, turn: u32, calls: usize) -> bool {
        let late = |call: &usize| {
            let name = format!("{}-{turn}-{call}", names(self.observed.plan).1);
            let status = self.observed.executions.get(&name).and_then(|execution| execution.status.as_ref());
            status.is_some_and(|status| status.phase == ExecutionPhase::Expired)
        };
        let row = (1..=calls).rev().take_while(late).count();
        u32::try_from(row).unwrap_or(u32::MAX) >= self.observed.plan.spec.limits.consecutive_failures
    }

    pub(super) fn fail(&mut self, step: &str, ended: Option<&ExecutionStatus>) -> PlanEffect {
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
    pub(super) fn drive(&mut self) -> PlanEffect {
        let Some(turn) = self.observed.turn else {
            return self.ask(1, None);
        };
        let plan = self.observed.plan;
        for (call, spec) in &turn.steps {
            let name = format!("{}-{}-{call}", names(plan).1, turn.sequence);
            if !self.observed.executions.contains_key(&name) {
                return self.execute(&name, spec.clone());
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

    /// An operator's Message answers a turn after which the plan stopped, and so does an approval since then. Told from
    /// what lasts and not from `status.blocked`, which the first pass after the answer takes away.
    pub(super) fn answered(&self, turn: &Turn) -> bool {
        let stopped = matches!(turn.end, TurnEnd::Failed(..) | TurnEnd::Closing(_));
        let approved_since = self.observed.windows.iter().any(|window| {
            let opened = window.status.as_ref().and_then(|status| status.opened_at.as_ref());
            opened.is_some_and(|opened| opened.0 > turn.time)
        });
        turn.answered || (stopped && approved_since)
    }

    pub(super) fn over_limit(&self) -> Option<(&'static str, String)> {
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

    pub(super) fn ask(&mut self, sequence: u32, closing: Option<(&'static str, String)>) -> PlanEffect {
        self.status.phase = PlanPhase::Running;
        self.status.blocked = None;
        if self.observed.asking { PlanEffect::None } else { PlanEffect::Ask { sequence, closing } }
    }

    pub(super) fn block(&mut self, reason: &str, question: String, sequence: Option<u32>) -> PlanEffect {
        self.status.phase = PlanPhase::Blocked;
        let question = limited(&question, LONGEST_TEXT);
        self.status.blocked = Some(Blocked { reason: limited(reason, 250), question, sequence });
        PlanEffect::None
    }

    pub(super) fn end(&mut self, phase: PlanPhase) {
        if let Some(result) = &mut self.status.result {
            result.summary = limited(&result.summary, LONGEST_TEXT);
            result.evidence.truncate(MOST_EVIDENCE);
        }
        self.status.phase = phase;
        self.status.blocked = None;
        self.status.completion_time = Some(Time(self.observed.now));
    }
}

//! What may happen in a story.

use super::{
    super::samples::*,
    world::{World, described},
};
use crate::{
    api::{
        APPROVE, BlockedReason, CONFIRM, DENY, Execution, ExecutionReason, ExecutionStatus, PlanResult, Reason, Risk,
    },
    decide::*,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
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

pub const EVENTS: [Event; 28] = [
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

impl World {
    pub fn happens(&mut self, event: Event) {
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
                self.write_on_a_waiting_step(event);
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
            Event::StepEnds
            | Event::StepFails
            | Event::StepNeverStarted
            | Event::StepLasts
            | Event::ConnectionBreaks => self.happens_to_a_step(event),
            Event::Crash => {
                self.running.clear();
                self.asking = None;
            }
            Event::Answer(kind) => self.answer(kind),
            Event::Speak => self.turn.iter_mut().for_each(|turn| turn.answered = true),
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

    /// A person writes what a waiting step shows into its annotations.
    fn write_on_a_waiting_step(&mut self, event: Event) {
        let shown = |it: &Execution| it.status.as_ref().and_then(|status| status.approval.clone());
        let waiting = self.executions.values_mut().find_map(|it| shown(it).map(|approval| (it, approval)));
        let Some((execution, approval)) = waiting else { return };
        let (key, value) = match event {
            Event::ApproveStep => (APPROVE, approval.token),
            Event::Confirm => (CONFIRM, approval.phrase),
            _ => (DENY, approval.token.or(approval.phrase)),
        };
        annotate(&mut execution.metadata.annotations, key, &value.unwrap_or_default());
    }

    fn happens_to_a_step(&mut self, event: Event) {
        let Some(running) = self.running.first().cloned() else { return };
        match event {
            Event::StepEnds => self.end(&running, StepEnd::Exited { code: 0 }),
            Event::StepFails => self.end(&running, StepEnd::Exited { code: 1 }),
            Event::StepNeverStarted => self.end(&running, StepEnd::NeverStarted(ExecutionReason::TargetBusy)),
            Event::StepLasts => self.show_running(&running),
            _ => self.break_connection(&running),
        }
    }

    /// The task of a running step writes its result.
    pub fn end(&mut self, name: &str, end: StepEnd) {
        if !self.running.remove(name) {
            return;
        }
        let execution = &self.executions[name];
        let result = StepResult { end, detail: String::new(), stdout: None, stderr: None, created: None };
        let written = execution_result(execution, execution, &result, at(self.now));
        self.log_result(written.status.as_ref());
        self.write(name, written.status);
    }

    /// Writes a status as the API server would: only along the table of phases.
    pub fn write(&mut self, name: &str, status: Option<ExecutionStatus>) {
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

    pub fn sync(&mut self) {
        self.seen = (self.executions.clone(), self.windows.clone());
    }
}

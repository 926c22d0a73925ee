//! A plan with an agent: the steps of its latest turn one after the other, then the next turn.

use super::{PlanDecider, PlanEffect};
use crate::{
    api::{BlockedReason, PlanPhase, Reason, limits::MOST_TEXT_ONLY_TURNS, names::execution_name},
    decide::{
        decision::after,
        object,
        turn::{Turn, TurnEnd},
    },
};

impl PlanDecider<'_> {
    pub(super) fn decide_agent_turn(&mut self) -> PlanEffect {
        let Some(turn) = self.observed.turn else {
            return self.ask(1, None);
        };
        let plan_name = object::name(self.observed.plan);
        for (call, spec) in &turn.steps {
            let name = execution_name(plan_name, turn.sequence, *call);
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
                self.block(Reason::new(BlockedReason::OperatorNeeded, question), Some(turn.sequence))
            }
            TurnEnd::Failed(reason) if !self.may_go_on_after(turn) => self.block(reason.clone(), Some(turn.sequence)),
            TurnEnd::Closing(summary) if !self.may_go_on_after(turn) => match self.limit_reached() {
                Some(limit) => {
                    let message = format!("{}\n\n{summary}", limit.message);
                    self.block(Reason::new(limit.code, message), Some(turn.sequence))
                }
                None => self.ask(turn.sequence + 1, None),
            },
            _ => {
                let closing = self.limit_reached().filter(|_| !self.may_go_on_after(turn));
                self.ask(turn.sequence + 1, closing)
            }
        }
    }

    /// Whether a person lets the plan go on after a turn at which it stopped: by a Message that answers the turn, or by
    /// an approval since then. This is derived from objects that remain, and not from `status.blocked`, which the first
    /// decision after the answer removes.
    fn may_go_on_after(&self, turn: &Turn) -> bool {
        let stopped = matches!(turn.end, TurnEnd::Failed(_) | TurnEnd::Closing(_));
        let approved_since = self.observed.windows.iter().any(|window| {
            let opened = window.status.as_ref().and_then(|status| status.opened_at.as_ref());
            opened.is_some_and(|opened| opened.0 > turn.time)
        });
        turn.answered || (stopped && approved_since)
    }

    /// The limit of the plan that is reached, if one is.
    fn limit_reached(&self) -> Option<Reason<BlockedReason>> {
        let limits = &self.observed.plan.spec.limits;
        let tally = self.observed.tally;
        let (code, text) = if tally.iterations >= limits.iterations {
            let text = format!("the plan's limit of {} iterations is reached", limits.iterations);
            (BlockedReason::IterationLimit, text)
        } else if tally.repeated_failures >= limits.consecutive_failures {
            let text = format!("the same command failed {} times in a row", tally.repeated_failures);
            (BlockedReason::RepeatedFailure, text)
        } else if tally.text_only >= MOST_TEXT_ONLY_TURNS {
            let text = format!("the agent answered {} times without calling a tool", tally.text_only);
            (BlockedReason::NoToolCalls, text)
        } else {
            let started = self.status.start_time.as_ref().map_or(self.observed.now, |time| time.0);
            if self.observed.now <= after(started, limits.deadline_seconds) {
                return None;
            }
            let text = format!("the plan's deadline of {} s has passed", limits.deadline_seconds);
            (BlockedReason::DeadlineExceeded, text)
        };
        Some(Reason::new(code, text))
    }

    fn ask(&mut self, sequence: u32, closing: Option<Reason<BlockedReason>>) -> PlanEffect {
        self.status.phase = PlanPhase::Running;
        self.status.blocked = None;
        if self.observed.asking { PlanEffect::None } else { PlanEffect::Ask { sequence, closing } }
    }
}

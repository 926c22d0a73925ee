//! A plan that stops: cancelled, blocked, failed or at its goal.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{PlanDecider, PlanEffect};
use crate::api::{
    ANSWER, Blocked, BlockedReason, ExecutionStatus, Plan, PlanPhase, PlanResult, Reason,
    limits::{LONGEST_PLAN_TEXT, MOST_EVIDENCE},
    text::shortened,
};
use crate::decide::object;

/// The line that answers a plan which stopped at an entry of its transcript.
fn answer_command(plan: &Plan) -> String {
    let (namespace, name) = (object::namespace(plan), object::name(plan));
    format!("kubectl -n {namespace} annotate plan {name} --overwrite {ANSWER}=\"...\"")
}

impl PlanDecider<'_> {
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

    /// The plan waits for the operator. `sequence` is that of the Message after which it stopped.
    pub(super) fn block(&mut self, reason: Reason<BlockedReason>, sequence: Option<u32>) -> PlanEffect {
        self.status.phase = PlanPhase::Blocked;
        let question = shortened(&reason.message, LONGEST_PLAN_TEXT);
        let command = sequence.map(|_| answer_command(self.observed.plan));
        self.status.blocked = Some(Blocked { reason: reason.code, question, sequence, command });
        PlanEffect::None
    }

    pub(super) fn fail(&mut self, step: &str, ended: Option<&ExecutionStatus>) -> PlanEffect {
        let how = ended.map_or(String::new(), |status| {
            let code = status.exit_code.map_or(String::new(), |code| format!(" with exit code {code}"));
            let message = status.message.as_deref().map_or(String::new(), |message| format!(": {message}"));
            format!("{:?}{code}{message}", status.phase)
        });
        self.status.result = Some(PlanResult { summary: format!("step {step} ended as {how}"), evidence: vec![] });
        self.end(PlanPhase::Failed);
        PlanEffect::None
    }

    pub(super) fn end(&mut self, phase: PlanPhase) {
        if let Some(result) = &mut self.status.result {
            result.summary = shortened(&result.summary, LONGEST_PLAN_TEXT);
            result.evidence.truncate(MOST_EVIDENCE);
        }
        self.status.phase = phase;
        self.status.blocked = None;
        self.status.completion_time = Some(Time(self.observed.now));
    }
}

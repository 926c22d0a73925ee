//! A person's answer by annotation, which becomes the Message that the agent reads.

use super::PlanDecider;
use crate::{
    api::{
        ANSWER, ANSWERED_BY, ANSWERED_SEQUENCE, Author, BlockedReason, Message, MessageKind, MessageSpec, ObjectRef,
        PlanPhase, child,
        limits::{LONGEST_NAME, LONGEST_TEXT},
        names::answer_name,
        text::shortened,
    },
    decide::{
        admission_guard::AdmissionGuard,
        object::{self, annotation},
    },
};

impl PlanDecider<'_> {
    /// The Message for the answer in the plan's annotation, if the plan stopped at what it answers.
    pub(super) fn answer(&self) -> Option<Message> {
        let plan = self.observed.plan;
        let blocked = self.status.blocked.as_ref().filter(|_| self.status.phase == PlanPhase::Blocked)?;
        let sequence = blocked.sequence?;
        let said = annotation(plan, ANSWER).filter(|said| !said.is_empty())?;
        let about = annotation(plan, ANSWERED_SEQUENCE).and_then(|about| about.parse::<u32>().ok());
        if about != Some(sequence) || self.observed.turn.is_some_and(|turn| turn.answered) {
            return None;
        }
        let username = shortened(annotation(plan, ANSWERED_BY).unwrap_or("unknown"), LONGEST_NAME);
        let author = Author {
            username,
            // The policies let only an approver answer a plan that stopped without asking.
            may_approve: blocked.reason != BlockedReason::OperatorNeeded,
            verified: self.observed.admission_guard == AdmissionGuard::Up,
        };
        let text = shortened(said, LONGEST_TEXT);
        let spec = MessageSpec {
            author: Some(author),
            ..MessageSpec::new(ObjectRef::of(plan), sequence, MessageKind::Answer, text)
        };
        let mut message = Message::new(&answer_name(object::name(plan), sequence), spec);
        child::own(plan, &mut message);
        Some(message)
    }
}

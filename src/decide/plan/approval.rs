//! Approving, denying, and the windows that come and go.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{PlanDecider, PlanEffect};
use crate::{
    api::{
        APPROVE, Approval, DENY, GrantedPlan, PlanPhase, PlanReason, Reason, StepAnswer, WindowClass, WindowPhase,
        WindowSummary, names::window_name, text::shortened,
    },
    decide::{
        conditions::ApprovalState,
        coverage::protected_guests,
        grant::{Approved, plan_approval_command, window_for},
        object::{annotation, name, uid},
    },
    policy::{OpenWindow, TokenEvent, next_nonce, token},
};

/// Most bytes of a wrong token that are repeated in a condition.
const LONGEST_WRONG_TOKEN: usize = 100;

impl PlanDecider<'_> {
    /// What stands in status about the plan's approval.
    pub(super) fn approval(&self) -> Approval {
        self.status.approval.clone().unwrap_or_default()
    }

    pub(super) fn approval_mut(&mut self) -> &mut Approval {
        self.status.approval.get_or_insert_default()
    }

    /// Writes the token that fits the digest and the nonce, and the line to copy; neither for a plan with a step that
    /// could never run.
    pub(super) fn show_token(&mut self) {
        let plan = self.observed.plan;
        let is_offered = self.status.steps.iter().all(|step| step.answer != StepAnswer::Refused);
        let approval = self.approval_mut();
        if is_offered {
            approval.token = token(&approval.digest, &approval.nonce);
            approval.command = plan_approval_command(plan, &approval.token);
        } else {
            (approval.token, approval.command) = (String::new(), String::new());
        }
    }

    /// After this no token that was ever shown approves anything.
    pub(super) fn rotate_nonce(&mut self, event: TokenEvent) {
        let uid = uid(self.observed.plan);
        let approval = self.approval_mut();
        approval.last_handled = Some(approval.token.clone());
        approval.nonce = next_nonce(uid, &approval.nonce, event);
        self.show_token();
    }

    /// Turns the deny annotation into the end of what was granted, one window in each decision.
    pub(super) fn deny(&mut self) -> Option<PlanEffect> {
        let written = annotation(self.observed.plan, DENY)?;
        if written != self.approval().token {
            return None;
        }
        if self.observed.asking {
            return Some(PlanEffect::StopAsking);
        }
        if let Some(window) = self.open_windows.first() {
            return Some(PlanEffect::Revoke(window.name.clone()));
        }
        self.rotate_nonce(TokenEvent::Denied);
        self.approval_mut().granted = None;
        self.status.window = None;
        self.status.blocked = None;
        self.status.phase = PlanPhase::Denied;
        Some(PlanEffect::None)
    }

    /// Takes note of windows that opened or ended since the last decision.
    pub(super) fn note_windows(&mut self) {
        let Approval { digest, token, granted, .. } = self.approval();
        let current = window_name(name(self.observed.plan), &token);
        let covered = self.stands.covered(granted.as_ref());
        let covers = |window: &&OpenWindow| window.class == WindowClass::Assent && covered.by(&window.digest);
        let is_new = self.open_windows.iter().any(|window| window.digest == digest && window.name == current);
        let last = self.open_windows.iter().filter(covers).max_by_key(|window| window.expires).cloned();
        if is_new {
            self.rotate_nonce(TokenEvent::Granted);
            self.note_grant(digest);
            self.status.start_time.get_or_insert(Time(self.observed.now));
            if matches!(self.status.phase, PlanPhase::Denied | PlanPhase::AwaitingApproval) {
                self.status.phase = PlanPhase::Running;
            }
        } else if self.is_token_used(&current) {
            self.rotate_nonce(TokenEvent::Used);
        }
        match last {
            Some(window) => {
                self.again_at = Some(window.expires);
                let expiry_time = Time(window.expires);
                self.status.window = Some(WindowSummary { name: window.name, expiry_time });
            }
            None => self.note_end_of_window(),
        }
    }

    /// Writes down what the grant covers, so that a later difference can be told.
    fn note_grant(&mut self, digest: String) {
        let protected = protected_guests(self.observed.plan, self.observed.inventory);
        let facts = self.stands.facts.clone();
        self.approval_mut().granted = Some(GrantedPlan { digest, facts, protected });
    }

    /// Whether the latest grant covers the plan as it stands.
    pub(super) fn is_granted(&self) -> bool {
        self.approval().granted.is_some_and(|granted| self.stands.differences(&granted).is_empty())
    }

    /// Whether the window that the current token names has ended without a decision that saw it open: the token could
    /// never open another one.
    fn is_token_used(&self, window_name: &str) -> bool {
        let now = self.observed.now;
        let mut named = self.observed.windows.iter().filter(|it| it.metadata.name.as_deref() == Some(window_name));
        named.any(|window| {
            window.status.as_ref().is_some_and(|status| {
                status.phase != WindowPhase::Active || status.expiry_time.as_ref().is_none_or(|time| time.0 <= now)
            })
        })
    }

    fn note_end_of_window(&mut self) {
        let Some(window) = self.status.window.take() else {
            return;
        };
        self.rotate_nonce(TokenEvent::WindowEnded);
        let revoked =
            self.observed.windows.iter().any(|it| it.metadata.name.as_deref() == Some(&window.name) && it.spec.revoked);
        if revoked {
            self.approval_mut().granted = None;
        }
    }

    /// Turns the approve annotation into a window, once; says so when the annotation does not fit.
    pub(super) fn grant(&mut self) -> Option<PlanEffect> {
        let plan = self.observed.plan;
        let approval = self.approval();
        self.approval_state = self.described_approval(&approval);
        let written = annotation(plan, APPROVE)?;
        if Some(written) == approval.last_handled.as_deref() || approval.token.is_empty() {
            return None;
        }
        if written != approval.token {
            // What is different from the last approval matters more than an annotation that is left from it.
            let is_changed = self.approval_state.reason.code == PlanReason::ChangedSinceApproval;
            if !self.approval_state.approved && !is_changed {
                let written = shortened(written, LONGEST_WRONG_TOKEN);
                let message =
                    format!("{written:?} is not this plan's current token; approve with: {}", approval.command);
                self.approval_state.reason = Reason::new(PlanReason::TokenMismatch, message);
            }
            return None;
        }
        let window = window_for(Approved::Plan, plan, &approval.digest, &approval.token, self.observed.admission_guard);
        if self.observed.windows.iter().any(|it| it.metadata.name == window.metadata.name) {
            // It exists and is not open: its own status says why, or it is about to open.
            return None;
        }
        Some(PlanEffect::Grant(Box::new(window)))
    }

    fn described_approval(&self, approval: &Approval) -> ApprovalState {
        let differences = approval.granted.as_ref().map(|granted| self.stands.differences(granted));
        let approved = differences.as_ref().is_some_and(Vec::is_empty);
        let window_is_open = self.status.window.is_some();
        let code = match (approved, window_is_open) {
            (true, true) => PlanReason::Granted,
            (true, false) => PlanReason::WindowEnded,
            (false, _) if self.status.phase == PlanPhase::Denied => PlanReason::Denied,
            (false, _) if differences.is_some() => PlanReason::ChangedSinceApproval,
            (false, _) => PlanReason::AwaitingApproval,
        };
        let message = match code {
            PlanReason::Granted => String::new(),
            _ if approval.command.is_empty() => "it is not offered for approval as it stands".to_owned(),
            PlanReason::ChangedSinceApproval => {
                let differences = differences.unwrap_or_default().join("; ");
                format!("approve with: {}\nsince the last approval: {differences}", approval.command)
            }
            _ => format!("approve with: {}", approval.command),
        };
        ApprovalState { approved, reason: Reason::new(code, message) }
    }
}

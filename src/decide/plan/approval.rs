//! Approving, denying, and the windows that come and go.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{PlanDecider, PlanEffect};
use crate::{
    api::{
        APPROVE, APPROVED_BY, Approval, AutonomyWindowSpec, DENY, Grant, GrantVia, ObjectRef, PlanPhase, REASON,
        WindowClass, WindowPhase, WindowSummary,
    },
    decide::{
        LONGEST_REASON, approval_command, approver,
        covered::window_of,
        judge::limited,
        object::{annotation, names},
        status::ApprovalState,
    },
    policy::{OpenWindow, next_nonce, token},
};

impl PlanDecider<'_> {
    pub(super) fn approval(&mut self) -> &mut Approval {
        self.status.approval.get_or_insert_default()
    }

    /// Writes the token and the line to copy that fit the digest and the nonce.
    pub(super) fn name_token(&mut self) {
        let (namespace, name) = names(self.observed.plan);
        let approval = self.approval();
        approval.token = token(&approval.digest, &approval.nonce);
        approval.command = approval_command(namespace, "plan", name, &approval.token);
    }

    /// After this no token that was ever shown fits any more.
    pub(super) fn rotate_nonce(&mut self, event: &str) {
        let uid = self.observed.plan.metadata.uid.clone().unwrap_or_default();
        let approval = self.approval();
        approval.last_handled = Some(approval.token.clone());
        approval.nonce = next_nonce(&uid, &approval.nonce, event);
        self.name_token();
    }

    pub(super) fn denial(&mut self) -> Option<PlanEffect> {
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
        self.rotate_nonce("denied");
        self.approval().granted = None;
        self.status.window = None;
        self.status.blocked = None;
        self.status.phase = PlanPhase::Denied;
        Some(PlanEffect::None)
    }

    /// Takes note of windows that opened or ended since the last pass.
    pub(super) fn take_grants(&mut self) {
        let name = |token: &str| format!("{}-{token}", names(self.observed.plan).1);
        let (digest, current) = {
            let approval = self.approval();
            (approval.digest.clone(), name(&approval.token))
        };
        let covering = |window: &&OpenWindow| window.class == WindowClass::Assent && window.digest == digest;
        let fresh = self.windows.iter().any(|window| covering(&window) && window.name == current);
        let last = self.windows.iter().filter(covering).max_by_key(|window| window.expires).cloned();
        if fresh {
            self.rotate_nonce("granted");
            self.approval().granted = Some(digest);
            self.status.start_time.get_or_insert(Time(self.observed.now));
            if matches!(self.status.phase, PlanPhase::Denied | PlanPhase::AwaitingApproval) {
                self.status.phase = PlanPhase::Running;
            }
        }
        if !fresh && self.token_used(&current) {
            self.rotate_nonce("spent");
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

    /// Whether the window that the current token names has ended without a pass that saw it open: the token could
    /// never open another one.
    fn token_used(&self, current: &str) -> bool {
        let now = self.observed.now;
        self.observed.windows.iter().filter(|it| it.metadata.name.as_deref() == Some(current)).any(|window| {
            window.status.as_ref().is_some_and(|status| {
                status.phase != WindowPhase::Active || status.expiry_time.as_ref().is_none_or(|time| time.0 <= now)
            })
        })
    }

    pub(super) fn window_ended(&mut self) {
        let Some(window) = self.status.window.take() else {
            return;
        };
        self.rotate_nonce("ended");
        let revoked =
            self.observed.windows.iter().any(|it| it.metadata.name.as_deref() == Some(&window.name) && it.spec.revoked);
        if revoked {
            self.approval().granted = None;
        }
    }

    /// Turns the approve annotation into a window, once; says so when the annotation does not fit.
    pub(super) fn grant(&mut self) -> Option<PlanEffect> {
        let plan = self.observed.plan;
        let approval = self.approval().clone();
        let granted = approval.granted.as_ref() == Some(&approval.digest);
        let window_open = self.status.window.is_some();
        let denied = self.status.phase == PlanPhase::Denied;
        self.approval_state = ApprovalState {
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
                self.approval_state.reason = "TokenMismatch";
                let said = limited(said, 100);
                self.approval_state.message =
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
            plan_ref: ObjectRef::of(plan),
            plan_digest: approval.digest,
            class: WindowClass::Assent,
            targets: plan.spec.targets.clone(),
            duration_seconds: plan.spec.window_seconds,
            granted_by: Grant {
                username: approver(annotation(plan, APPROVED_BY)),
                verified: self.observed.guarded,
                via: GrantVia::Annotation,
            },
            reason: annotation(plan, REASON).map(|why| limited(why, LONGEST_REASON)),
            execution_ref: None,
            revoked: false,
        };
        Some(PlanEffect::Grant(Box::new(window_of(plan, &name, spec))))
    }
}

//! AutonomyWindow: opens if it names the plan as it stands, ends by time or revocation.

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

use super::{Decision, Notice, after};
use crate::api::{AutonomyWindow, AutonomyWindowStatus, Execution, ExecutionPhase, Plan, WindowClass, WindowPhase};

/// What is known of a window.
#[derive(Clone, Copy, Debug)]
pub struct ObservedWindow<'a> {
    /// It, read live.
    pub window: &'a AutonomyWindow,
    /// The plan of its planRef's name, read live.
    pub plan: Option<&'a Plan>,
    /// The Execution of its executionRef's name, read live.
    pub execution: Option<&'a Execution>,
    /// The controller's clock.
    pub now: Timestamp,
}

/// Decides. A window has no effect of its own; its status is what the gate reads.
pub fn window(observed: &ObservedWindow<'_>) -> Decision<(), AutonomyWindowStatus> {
    match &observed.window.status {
        None => open_or_reject(observed),
        Some(status) if status.phase == WindowPhase::Active => active(observed, status),
        Some(_) => Decision::default(),
    }
}

fn open_or_reject(observed: &ObservedWindow<'_>) -> Decision<(), AutonomyWindowStatus> {
    let spec = &observed.window.spec;
    match objection(observed) {
        Some(Objection::TooEarly) => Decision { again_at: Some(after(observed.now, 1)), ..Decision::default() },
        Some(Objection::Never(why)) => ended(WindowPhase::Revoked, None, why),
        None => {
            let seconds = match spec.class {
                WindowClass::Assent => spec.duration_seconds.min(1800),
                WindowClass::Destructive => spec.duration_seconds.min(900),
            };
            let expires = after(observed.now, seconds);
            Decision {
                status: Some(AutonomyWindowStatus {
                    phase: WindowPhase::Active,
                    opened_at: Some(Time(observed.now)),
                    expiry_time: Some(Time(expires)),
                    message: None,
                }),
                again_at: Some(expires),
                notice: Some(Notice {
                    reason: "WindowOpened",
                    note: format!("opened until {expires} by {}", spec.granted_by.username),
                    warning: false,
                }),
                ..Decision::default()
            }
        }
    }
}

enum Objection {
    /// The plan has no token yet.
    TooEarly,
    /// It names something else than what stands.
    Never(String),
}

fn objection(observed: &ObservedWindow<'_>) -> Option<Objection> {
    let window = observed.window;
    let spec = &window.spec;
    let never = |why: &str| Some(Objection::Never(why.to_owned()));
    let uid = |plan: &&Plan| plan.metadata.uid.as_deref() == Some(&spec.plan_ref.uid);
    let Some(plan) = observed.plan.filter(uid) else {
        return never("the plan that it names does not exist");
    };
    if spec.revoked {
        return never("it was revoked before it opened");
    }
    let Some(status) = plan.status.as_ref() else {
        return Some(Objection::TooEarly);
    };
    let Some(approval) = status.approval.as_ref() else {
        return Some(Objection::TooEarly);
    };
    if status.phase.is_terminal() {
        return never("the plan has ended");
    }
    if spec.plan_digest != approval.digest {
        return never("the plan is not as it was approved; approve it as it stands");
    }
    let name = window.metadata.name.as_deref().unwrap_or_default();
    match spec.class {
        WindowClass::Assent if name == format!("{}-{}", spec.plan_ref.name, approval.token) => None,
        WindowClass::Assent => never("its name does not carry the plan's current token"),
        WindowClass::Destructive => unconfirmed(observed, name),
    }
}

fn unconfirmed(observed: &ObservedWindow<'_>, name: &str) -> Option<Objection> {
    let spec = &observed.window.spec;
    let waiting = observed.execution.filter(|execution| {
        execution.metadata.uid.as_deref() == spec.execution_ref.as_ref().map(|reference| reference.uid.as_str())
            && execution.spec.plan_ref.uid == spec.plan_ref.uid
    });
    let phrase = waiting
        .and_then(|execution| execution.status.as_ref())
        .filter(|status| status.phase == ExecutionPhase::AwaitingApproval)
        .and_then(|status| status.approval.as_ref()?.phrase.as_deref());
    let mut words = phrase.unwrap_or_default().split(' ').skip(1);
    let fits = match (words.next(), words.next(), spec.targets.first()) {
        (Some(target), Some(code), Some(granted)) => {
            *target == granted.to_string() && name == format!("{}-{code}", spec.plan_ref.name)
        }
        _ => false,
    };
    let why = "no destructive step waits for exactly this grant";
    (!fits).then(|| Objection::Never(why.to_owned()))
}

fn active(observed: &ObservedWindow<'_>, status: &AutonomyWindowStatus) -> Decision<(), AutonomyWindowStatus> {
    let expires = status.expiry_time.as_ref().map_or(Timestamp::MIN, |time| time.0);
    if observed.window.spec.revoked {
        return ended(WindowPhase::Revoked, Some(status), "it was revoked".to_owned());
    }
    if observed.now >= expires {
        return ended(WindowPhase::Expired, Some(status), "its time is over".to_owned());
    }
    Decision { again_at: Some(expires), ..Decision::default() }
}

fn ended(phase: WindowPhase, before: Option<&AutonomyWindowStatus>, why: String) -> Decision<(), AutonomyWindowStatus> {
    let reason = if phase == WindowPhase::Expired { "WindowExpired" } else { "WindowRevoked" };
    Decision {
        notice: Some(Notice { reason, note: why.clone(), warning: before.is_none() }),
        status: Some(AutonomyWindowStatus {
            phase,
            opened_at: before.and_then(|status| status.opened_at.clone()),
            expiry_time: before.and_then(|status| status.expiry_time.clone()),
            message: Some(why),
        }),
        ..Decision::default()
    }
}

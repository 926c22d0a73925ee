//! AutonomyWindow: opens if it names the plan as it stands, ends by time or revocation.

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

use super::{
    decision::{Decision, Notice, Severity, after},
    object::uid,
};
use crate::{
    api::{
        AutonomyWindow, AutonomyWindowStatus, EventReason, Execution, ExecutionPhase, Plan, WindowClass, WindowPhase,
        limits::{MOST_DESTRUCTIVE_WINDOW_SECONDS, MOST_WINDOW_SECONDS},
        names::window_name,
    },
    policy::Phrase,
};

/// What is known of a window.
#[derive(Clone, Copy, Debug)]
pub struct ObservedWindow<'a> {
    /// The window as the API server has it.
    pub window: &'a AutonomyWindow,
    /// The plan of its planRef's name, as the API server has it.
    pub plan: Option<&'a Plan>,
    /// The Execution of its executionRef's name, as the API server has it.
    pub execution: Option<&'a Execution>,
    /// The controller's clock.
    pub now: Timestamp,
}

/// A decision about a window. It has no effect of its own: its status is what the gate reads.
type WindowDecision = Decision<(), AutonomyWindowStatus>;

/// Decides whether a new window opens, and when an open one ends.
pub fn decide_window(observed: &ObservedWindow<'_>) -> WindowDecision {
    match &observed.window.status {
        None => open_or_reject(observed),
        Some(status) if status.phase == WindowPhase::Active => stay_open_or_end(observed, status),
        Some(_) => Decision::default(),
    }
}

fn open_or_reject(observed: &ObservedWindow<'_>) -> WindowDecision {
    let spec = &observed.window.spec;
    match objection(observed) {
        Some(Objection::TooEarly) => Decision { again_at: Some(after(observed.now, 1)), ..Decision::default() },
        Some(Objection::Never(why)) => end(WindowPhase::Revoked, None, why),
        None => {
            let seconds = match spec.class {
                WindowClass::Assent => spec.duration_seconds.min(MOST_WINDOW_SECONDS),
                WindowClass::Destructive => spec.duration_seconds.min(MOST_DESTRUCTIVE_WINDOW_SECONDS),
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
                notice: Some(Notice::new(
                    Severity::Normal,
                    EventReason::WindowOpened,
                    format!("opened until {expires} by {}", spec.granted_by.username),
                )),
                ..Decision::default()
            }
        }
    }
}

/// Why a new window does not open.
enum Objection {
    /// The plan has no token yet.
    TooEarly,
    /// It names something else than the plan as it stands.
    Never(String),
}

fn objection(observed: &ObservedWindow<'_>) -> Option<Objection> {
    let window = observed.window;
    let spec = &window.spec;
    let never = |why: &str| Some(Objection::Never(why.to_owned()));
    let Some(plan) = observed.plan.filter(|plan| uid(*plan) == spec.plan_ref.uid) else {
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
    let granted = approval.granted.as_ref().map(|granted| granted.digest.as_str());
    let covers = spec.plan_digest == approval.digest
        || (spec.class == WindowClass::Destructive && Some(spec.plan_digest.as_str()) == granted);
    if !covers {
        return never("the plan is not as it was approved; approve it as it stands");
    }
    let name = window.metadata.name.as_deref().unwrap_or_default();
    match spec.class {
        WindowClass::Assent if approval.token.is_empty() => {
            never("the plan is not offered for approval; its status says what to change")
        }
        WindowClass::Assent if name == window_name(&spec.plan_ref.name, &approval.token) => None,
        WindowClass::Assent => never("its name does not carry the plan's current token"),
        WindowClass::Destructive => unconfirmed(observed, name),
    }
}

/// The objection to a window for destruction that no waiting step has asked for.
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
    let is_confirmed = phrase.and_then(Phrase::parse).is_some_and(|phrase| {
        spec.targets.first() == Some(&phrase.target) && name == window_name(&spec.plan_ref.name, &phrase.code)
    });
    let why = "no destructive step waits for exactly this grant";
    (!is_confirmed).then(|| Objection::Never(why.to_owned()))
}

fn stay_open_or_end(observed: &ObservedWindow<'_>, status: &AutonomyWindowStatus) -> WindowDecision {
    let expires = status.expiry_time.as_ref().map_or(Timestamp::MIN, |time| time.0);
    if observed.window.spec.revoked {
        return end(WindowPhase::Revoked, Some(status), "it was revoked".to_owned());
    }
    if observed.now >= expires {
        return end(WindowPhase::Expired, Some(status), "its time is over".to_owned());
    }
    Decision { again_at: Some(expires), ..Decision::default() }
}

fn end(phase: WindowPhase, before: Option<&AutonomyWindowStatus>, why: String) -> WindowDecision {
    let reason = if phase == WindowPhase::Expired { EventReason::WindowExpired } else { EventReason::WindowRevoked };
    let severity = if before.is_some() { Severity::Normal } else { Severity::Warning };
    Decision {
        notice: Some(Notice::new(severity, reason, why.clone())),
        status: Some(AutonomyWindowStatus {
            phase,
            opened_at: before.and_then(|status| status.opened_at.clone()),
            expiry_time: before.and_then(|status| status.expiry_time.clone()),
            message: Some(why),
        }),
        ..Decision::default()
    }
}

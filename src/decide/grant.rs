//! The window that a person's approval or confirmation asks for, and the line that asks for it.

use super::{
    admission_guard::AdmissionGuard,
    object::{annotation, name, namespace},
};
use crate::api::{
    APPROVE, APPROVED_BY, AutonomyWindow, AutonomyWindowSpec, CONFIRM, Execution, Grant, GrantVia, ObjectRef, Plan,
    REASON, Target, WindowClass, child,
    limits::{LONGEST_NAME, LONGEST_PERSONS_REASON, MOST_DESTRUCTIVE_WINDOW_SECONDS},
    names::window_name,
    text::shortened,
};

/// What a person approved.
#[derive(Clone, Debug)]
pub(super) enum Approved<'a> {
    /// The plan, by its own annotation.
    Plan,
    /// The plan, by the annotation of one of its waiting steps.
    PlanByStep(&'a Execution),
    /// A destructive step, by its phrase, on this one target.
    Destruction(&'a Execution, Target),
}

/// The window for what was approved, owned by the plan. `token` is the plan's token or the code of the phrase.
/// The person's name counts as verified while the admission policies are up.
pub(super) fn window_for(
    approved: Approved<'_>,
    plan: &Plan,
    digest: &str,
    token: &str,
    guard: AdmissionGuard,
) -> AutonomyWindow {
    let username = annotation_beside(&approved, plan, APPROVED_BY).filter(|name| !name.is_empty());
    let username = shortened(username.as_deref().unwrap_or("unknown"), LONGEST_NAME);
    let reason = annotation_beside(&approved, plan, REASON).map(|why| shortened(&why, LONGEST_PERSONS_REASON));
    let (execution, class, via, target) = match approved {
        Approved::Plan => (None, WindowClass::Assent, GrantVia::Annotation, None),
        Approved::PlanByStep(execution) => (Some(execution), WindowClass::Assent, GrantVia::Annotation, None),
        Approved::Destruction(execution, target) => {
            (Some(execution), WindowClass::Destructive, GrantVia::Confirmation, Some(target))
        }
    };
    let duration_seconds = match class {
        WindowClass::Assent => plan.spec.window_seconds,
        WindowClass::Destructive => plan.spec.window_seconds.min(MOST_DESTRUCTIVE_WINDOW_SECONDS),
    };
    let spec = AutonomyWindowSpec {
        plan_ref: ObjectRef::of(plan),
        plan_digest: digest.to_owned(),
        class,
        targets: target.map_or_else(|| plan.spec.targets.clone(), |target| vec![target]),
        duration_seconds,
        granted_by: Grant { username, verified: guard == AdmissionGuard::Up, via },
        reason,
        execution_ref: execution.map(ObjectRef::of),
        revoked: false,
    };
    let mut window = AutonomyWindow::new(&window_name(name(plan), token), spec);
    child::own(plan, &mut window);
    window
}

/// The annotation of the object on which the person approved.
fn annotation_beside(approved: &Approved<'_>, plan: &Plan, key: &str) -> Option<String> {
    let value = match approved {
        Approved::Plan => annotation(plan, key),
        Approved::PlanByStep(execution) | Approved::Destruction(execution, _) => annotation(*execution, key),
    };
    value.map(str::to_owned)
}

/// The line that approves the plan.
pub(super) fn plan_approval_command(plan: &Plan, token: &str) -> String {
    let (namespace, name) = (namespace(plan), name(plan));
    format!("kubectl -n {namespace} annotate plan {name} --overwrite {APPROVE}={token}")
}

/// The line that approves the plan of a waiting step.
pub(super) fn step_approval_command(execution: &Execution, token: &str) -> String {
    let (namespace, name) = (namespace(execution), name(execution));
    format!("kubectl -n {namespace} annotate execution {name} --overwrite {APPROVE}={token}")
}

/// The line that confirms a destructive step.
pub(super) fn confirmation_command(execution: &Execution, phrase: &str) -> String {
    let (namespace, name) = (namespace(execution), name(execution));
    format!("kubectl -n {namespace} annotate execution {name} --overwrite {CONFIRM}=\"{phrase}\"")
}

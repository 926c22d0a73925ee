//! Execution: judged, gated, claimed once, and ended by the task that ran it.

use std::collections::BTreeMap;

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

use super::{
    Decision, Judged, LONGEST_REASON, Notice, approval_command, approver,
    covered::window_of,
    digest_of, judge,
    judge::limited,
    object::{annotation, names},
    plan::cancelled,
};
use crate::{
    api::{
        APPROVE, APPROVED_BY, AutonomyWindow, AutonomyWindowSpec, CONFIRM, DENY, Execution, ExecutionApproval,
        ExecutionPhase, ExecutionStatus, Grant, GrantVia, ObjectRef, Plan, PlanPhase, REASON, Risk, Target,
        WindowClass, WindowPhase,
    },
    policy::{GateAnswer, Inventory, Need, OpenWindow, Question, Refusal, gate, phrase, phrase_code},
};

/// The reason of an Execution that waited when its plan was denied.
pub(in crate::decide) const PLAN_DENIED: &str = "PlanDenied";
/// The reason of an Execution that waited when its grant was taken back.
pub(in crate::decide) const GRANT_REVOKED: &str = "GrantRevoked";
/// Most bytes of a message in status; its schema allows 8192 characters.
const LONGEST_MESSAGE: usize = 8000;
/// How often a read-only step is tried when its connection drops.
const READ_ATTEMPTS: u32 = 3;

/// What is known of an Execution.
#[derive(Clone, Copy, Debug)]
pub struct ObservedExecution<'a> {
    /// It, read live.
    pub execution: &'a Execution,
    /// Its plan, read live.
    pub plan: Option<&'a Plan>,
    /// The plan's open windows.
    pub windows: &'a [OpenWindow],
    /// The names of the plan's windows that have ended, and how.
    pub ended_windows: &'a BTreeMap<String, WindowPhase>,
    /// What the namespace knows.
    pub inventory: &'a Inventory,
    /// Whether this process runs it now.
    pub running: bool,
    /// Whether admission vouches for who decided.
    pub guarded: bool,
    /// The controller's clock.
    pub now: Timestamp,
}

/// What may be done about an Execution.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ExecutionEffect {
    /// Nothing.
    #[default]
    None,
    /// Start it; the status written before is the claim.
    Start,
    /// Find out what became of it, and stop it if `stop`.
    Adopt {
        /// Whether it is to be stopped.
        stop: bool,
    },
    /// Stop the running task.
    Stop,
    /// Create this window: a person approved or confirmed the step.
    Grant(Box<AutonomyWindow>),
}

type Next = Decision<ExecutionEffect, ExecutionStatus>;

/// Decides.
pub fn execution(observed: &ObservedExecution<'_>) -> Next {
    let status = observed.execution.status.clone().unwrap_or_default();
    let uid = &observed.execution.spec.plan_ref.uid;
    let plan = observed.plan.filter(|plan| plan.metadata.uid.as_ref() == Some(uid));
    match status.phase {
        // The task that put it back to Pending has not left yet, and wakes us when it has: a claim made now would find
        // its place taken, so that nobody would run it.
        ExecutionPhase::Pending | ExecutionPhase::AwaitingApproval if observed.running => Next::default(),
        ExecutionPhase::Pending | ExecutionPhase::AwaitingApproval => match plan {
            Some(plan) => waiting(observed, plan, status),
            None => end(status, ExecutionPhase::Cancelled, "PlanGone", "the plan no longer exists", observed.now),
        },
        ExecutionPhase::Starting | ExecutionPhase::Running | ExecutionPhase::Cancelling => {
            started(observed, plan, status)
        }
        _ => Next::default(),
    }
}

fn started(observed: &ObservedExecution<'_>, plan: Option<&Plan>, mut status: ExecutionStatus) -> Next {
    let stop = plan.is_none_or(|plan| cancelled(plan) || plan.status.as_ref().is_some_and(plan_stopped));
    let cancelling = status.phase == ExecutionPhase::Cancelling;
    if observed.running {
        if !stop {
            return Next::default();
        }
        // Also when that is written already: the answer to the write may have been lost, and the stop with it.
        status.phase = ExecutionPhase::Cancelling;
        let status = (!cancelling).then_some(status);
        return Decision { effect: ExecutionEffect::Stop, status, ..Decision::default() };
    }
    let read_only = status.risk.as_ref().is_some_and(|risk| risk.class == Risk::ReadOnly);
    let attempt = status.attempt.unwrap_or(1);
    if !read_only {
        return Decision { effect: ExecutionEffect::Adopt { stop: stop || cancelling }, ..Decision::default() };
    }
    if stop || cancelling {
        return end(status, ExecutionPhase::Cancelled, "PlanCancelled", "the plan was cancelled", observed.now);
    }
    if plan.is_some_and(|plan| plan.spec.paused) {
        // A further attempt is a start; the change of the plan wakes it.
        return Next::default();
    }
    if attempt >= READ_ATTEMPTS {
        let message = "the connection was lost three times; whether the command ended is unknown, it changes nothing";
        return end(status, ExecutionPhase::Lost, "ConnectionLost", message, observed.now);
    }
    claim(observed, status)
}

fn plan_stopped(status: &crate::api::PlanStatus) -> bool {
    status.phase == PlanPhase::Cancelled
}

fn waiting(observed: &ObservedExecution<'_>, plan: &Plan, status: ExecutionStatus) -> Next {
    let phase = plan.status.as_ref().map_or(PlanPhase::AwaitingApproval, |status| status.phase);
    let now = observed.now;
    if cancelled(plan) || phase == PlanPhase::Cancelled {
        return end(status, ExecutionPhase::Cancelled, "PlanCancelled", "the plan was cancelled", now);
    }
    if phase == PlanPhase::Denied {
        let message = "the operator denied the plan; do not try this in another way";
        return end(status, ExecutionPhase::Denied, PLAN_DENIED, message, now);
    }
    if phase.is_terminal() {
        return end(status, ExecutionPhase::Cancelled, "PlanEnded", "the plan has ended", now);
    }
    if let Some(next) = denied(observed, &status) {
        return next;
    }
    if plan.spec.paused {
        return Next::default();
    }
    asked(observed, plan, status)
}

fn denied(observed: &ObservedExecution<'_>, status: &ExecutionStatus) -> Option<Next> {
    let said = annotation(observed.execution, DENY)?;
    let approval = status.approval.as_ref()?;
    let current = [approval.token.as_deref(), approval.phrase.as_deref()].into_iter().flatten().any(|it| it == said);
    let why = annotation(observed.execution, REASON).unwrap_or("no reason given");
    let message = format!("the operator denied this step: {}", limited(why, LONGEST_REASON));
    current.then(|| end(status.clone(), ExecutionPhase::Denied, "DeniedByOperator", &message, observed.now))
}

fn asked(observed: &ObservedExecution<'_>, plan: &Plan, mut status: ExecutionStatus) -> Next {
    let spec = &observed.execution.spec;
    let command = spec.run.as_ref().map(|run| run.command.as_str());
    let judged = judge(&spec.target, command, spec.create_container.as_ref(), spec.declared_risk, observed.inventory);
    let (digest, _) = digest_of(plan, observed.inventory);
    let named_in_plan = plan.spec.steps.iter().any(|step| {
        step.target == spec.target
            && step.run.as_deref().map(str::trim) == command.map(str::trim)
            && step.create_container == spec.create_container
    });
    let decision = gate(&Question {
        risk: judged.risk,
        scope: &judged.scope,
        flags: judged.flags,
        plan_targets: &plan.spec.targets,
        plan_digest: &digest,
        named_in_plan,
        windows: observed.windows,
        inventory: observed.inventory,
        now: observed.now,
    });
    status.risk = Some(judged.status());
    match decision {
        GateAnswer::Refuse(refusal, about) => {
            let message = refused(refusal, &about, &judged, plan);
            end(status, ExecutionPhase::Refused, refusal.reason(), &message, observed.now)
        }
        GateAnswer::Await(Need::Window) => await_window(observed, plan, &digest, status),
        GateAnswer::Await(Need::Phrase(target)) => await_phrase(observed, plan, &digest, target, status),
        GateAnswer::Allow(authority) => {
            status.authority = Some(authority);
            status.approval = None;
            status.reason = None;
            status.message = None;
            claim(observed, status)
        }
    }
}

fn refused(refusal: Refusal, about: &str, judged: &Judged, plan: &Plan) -> String {
    let targets = plan.spec.targets.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match refusal {
        Refusal::UnknownTarget => {
            format!("refused: this namespace has no Host or Guest for {about}; name a known target, or register it")
        }
        Refusal::Unbounded => format!(
            "refused: the command does not end by itself or wants a terminal; {}",
            judged.hint.as_deref().unwrap_or("use a form that ends, such as `timeout 10 …` or `tail -n 200`")
        ),
        Refusal::Protected => format!("refused: {about} is on its host's protected list; no plan may touch it"),
        Refusal::OutOfScope => {
            format!("refused: {about} is outside the approved scope ({targets}); stay within it or ask the operator")
        }
        Refusal::SeveralTargets => {
            format!("refused: this would destroy on several targets at once ({about}); make it one step for each")
        }
    }
}

fn await_window(observed: &ObservedExecution<'_>, plan: &Plan, digest: &str, status: ExecutionStatus) -> Next {
    let approval = plan.status.as_ref().and_then(|status| status.approval.as_ref());
    // The plan was granted once and its controller has taken note that the grant was taken back.
    let started = plan.status.as_ref().is_some_and(|status| status.start_time.is_some());
    if started && approval.is_some_and(|approval| approval.granted.is_none()) {
        return revoked(status, observed.now);
    }
    // A token of a plan that changed since is of no use; the plan's controller writes the new one and wakes us.
    let Some(token) = approval.filter(|approval| approval.digest == digest).map(|approval| approval.token.clone())
    else {
        return Next::default();
    };
    if annotation(observed.execution, APPROVE) == Some(token.as_str()) {
        let window = grant(observed, plan, digest, WindowClass::Assent, &token);
        return Decision { effect: ExecutionEffect::Grant(Box::new(window)), ..Decision::default() };
    }
    let (namespace, name) = names(observed.execution);
    let approval = ExecutionApproval {
        command: approval_command(namespace, "execution", name, &token),
        token: Some(token),
        phrase: None,
    };
    let message = format!("waits for an approval of the plan: {}", approval.command);
    await_person(observed, status, approval, "WindowNeeded", message)
}

fn await_phrase(
    observed: &ObservedExecution<'_>,
    plan: &Plan,
    digest: &str,
    target: Target,
    status: ExecutionStatus,
) -> Next {
    let spec = &observed.execution.spec;
    let (namespace, name) = names(observed.execution);
    let shown = status.approval.as_ref().and_then(|approval| approval.phrase.clone());
    let wanted = shown.unwrap_or_else(|| {
        let nonce = plan.status.as_ref().and_then(|status| status.approval.as_ref()).map(|it| it.nonce.as_str());
        let command = spec.run.as_ref().map_or("", |run| run.command.as_str());
        let uid = observed.execution.metadata.uid.as_deref().unwrap_or_default();
        phrase(&target, &phrase_code(uid, command, nonce.unwrap_or_default()))
    });
    let code = wanted.rsplit(' ').next().unwrap_or_default();
    match observed.ended_windows.get(&format!("{}-{code}", spec.plan_ref.name)) {
        Some(WindowPhase::Revoked) => return revoked(status, observed.now),
        Some(WindowPhase::Expired) => {
            let message = "the window that was confirmed for this step ended before it could start; nothing ran";
            return end(status, ExecutionPhase::Expired, "WindowExpired", message, observed.now);
        }
        _ => {}
    }
    if annotation(observed.execution, CONFIRM) == Some(wanted.as_str()) && status.approval.is_some() {
        let mut window = grant(observed, plan, digest, WindowClass::Destructive, code);
        window.spec.targets = vec![target];
        window.spec.duration_seconds = window.spec.duration_seconds.min(900);
        return Decision { effect: ExecutionEffect::Grant(Box::new(window)), ..Decision::default() };
    }
    let approval = ExecutionApproval {
        token: None,
        command: format!("kubectl -n {namespace} annotate execution {name} --overwrite {CONFIRM}=\"{wanted}\""),
        phrase: Some(wanted),
    };
    let message =
        format!("destructive, and not named in the approved plan; a person has to confirm it: {}", approval.command);
    await_person(observed, status, approval, "ConfirmationNeeded", message)
}

fn revoked(status: ExecutionStatus, now: Timestamp) -> Next {
    let message = "the operator took the grant back before this step started; nothing ran";
    end(status, ExecutionPhase::Denied, GRANT_REVOKED, message, now)
}

fn await_person(
    observed: &ObservedExecution<'_>,
    mut status: ExecutionStatus,
    approval: ExecutionApproval,
    reason: &'static str,
    message: String,
) -> Next {
    status.phase = ExecutionPhase::AwaitingApproval;
    status.approval = Some(approval);
    status.reason = Some(reason.to_owned());
    status.message = Some(message.clone());
    if observed.execution.status.as_ref() == Some(&status) {
        return Next::default();
    }
    let notice = Notice { reason, note: message, warning: false };
    Decision { status: Some(status), notice: Some(notice), ..Decision::default() }
}

fn grant(
    observed: &ObservedExecution<'_>,
    plan: &Plan,
    digest: &str,
    class: WindowClass,
    suffix: &str,
) -> AutonomyWindow {
    let execution = observed.execution;
    let via = if class == WindowClass::Destructive { GrantVia::Confirmation } else { GrantVia::Annotation };
    let spec = AutonomyWindowSpec {
        plan_ref: execution.spec.plan_ref.clone(),
        plan_digest: digest.to_owned(),
        class,
        targets: plan.spec.targets.clone(),
        duration_seconds: plan.spec.window_seconds,
        granted_by: Grant { username: approver(annotation(execution, APPROVED_BY)), verified: observed.guarded, via },
        reason: annotation(execution, REASON).map(|why| limited(why, LONGEST_REASON)),
        execution_ref: Some(ObjectRef::of(execution)),
        revoked: false,
    };
    window_of(plan, &format!("{}-{suffix}", execution.spec.plan_ref.name), spec)
}

fn claim(observed: &ObservedExecution<'_>, mut status: ExecutionStatus) -> Next {
    let attempt = status.attempt.unwrap_or(0).saturating_add(1);
    let uid = observed.execution.metadata.uid.as_deref().unwrap_or_default();
    status.phase = ExecutionPhase::Starting;
    status.attempt = Some(attempt);
    status.attempt_id = Some(format!("{uid}-{attempt}"));
    status.start_time = Some(Time(observed.now));
    Decision { effect: ExecutionEffect::Start, status: Some(status), ..Decision::default() }
}

fn end(
    mut status: ExecutionStatus,
    phase: ExecutionPhase,
    reason: &'static str,
    message: &str,
    now: Timestamp,
) -> Next {
    status.phase = phase;
    status.reason = Some(reason.to_owned());
    status.message = Some(limited(message, LONGEST_MESSAGE));
    status.approval = None;
    status.completion_time = Some(Time(now));
    let warning = matches!(phase, ExecutionPhase::Refused | ExecutionPhase::Lost);
    Decision {
        status: Some(status),
        notice: Some(Notice { reason, note: message.to_owned(), warning }),
        ..Decision::default()
    }
}

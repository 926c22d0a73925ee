//! What follows for an Execution, case by case.

use super::{super::samples::*, Case};
use crate::{
    api::{APPROVE, CONFIRM, DENY, ExecutionPhase, PlanPhase, REASON, Risk, WindowClass, WindowPhase},
    decide::*,
};

fn execution_in(case: &Case) -> (ExecutionEffect, Option<ExecutionPhase>) {
    let step = case.decide();
    (step.effect, step.status.map(|status| status.phase))
}

#[test]
fn a_step_that_has_not_started_follows_what_the_plan_says() {
    use ExecutionPhase::*;
    type Change = fn(&mut Case);
    let unchanged: Change = |_| {};
    let table: [(&str, Change, &str, Option<ExecutionPhase>); 14] = [
        ("a read needs no approval", unchanged, LOOKS, Some(Starting)),
        ("changing waits for a window", unchanged, CHANGES, Some(AwaitingApproval)),
        ("destroying waits for a phrase", unchanged, DESTROYS, Some(AwaitingApproval)),
        ("what never ends is refused", unchanged, NEVER_ENDS, Some(Refused)),
        ("nothing starts while paused", |case| case.plan().spec.paused = true, LOOKS, None),
        ("nothing starts once cancelled", |case| case.plan().spec.cancelled = true, LOOKS, Some(Cancelled)),
        (
            "nothing starts once denied",
            |case| case.plan().status.as_mut().unwrap().phase = PlanPhase::Denied,
            LOOKS,
            Some(Denied),
        ),
        (
            "nothing starts once the plan has failed",
            |case| case.plan().status.as_mut().unwrap().phase = PlanPhase::Failed,
            LOOKS,
            Some(Cancelled),
        ),
        ("nothing starts without its plan", |case| case.plan = None, LOOKS, Some(Cancelled)),
        (
            "a new plan of the same name is another plan",
            |case| case.plan().metadata.uid = Some("another".into()),
            LOOKS,
            Some(Cancelled),
        ),
        (
            "nothing starts under a plan that is being deleted",
            |case| {
                case.plan().metadata.deletion_timestamp =
                    Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(NOW)))
            },
            LOOKS,
            Some(Cancelled),
        ),
        (
            "a step whose grant was revoked is ended",
            |case| case.plan().status.as_mut().unwrap().approval.as_mut().unwrap().granted = None,
            CHANGES,
            Some(Denied),
        ),
        ("a task that is still registered is waited for", |case| case.running = true, LOOKS, None),
        ("an unknown place is refused", |case| case.execution.spec.target = target("lxc:ghost"), LOOKS, Some(Refused)),
    ];
    for (sentence, change, command, expected) in table {
        let mut case = Case::of(command);
        change(&mut case);
        let (effect, phase) = execution_in(&case);
        assert_eq!(phase, expected, "{sentence}");
        assert_eq!(effect == ExecutionEffect::Start, expected == Some(Starting), "{sentence}");
    }
}

#[test]
fn a_window_counts_until_the_second_in_which_it_ends() {
    for (until, expected) in [(NOW + 1, ExecutionPhase::Starting), (NOW, ExecutionPhase::AwaitingApproval)] {
        let case = Case::of(CHANGES).with_window(WindowClass::Assent, WindowPhase::Active, until);
        assert_eq!(execution_in(&case).1, Some(expected), "{until}");
    }
}

#[test]
fn a_started_step_is_stopped_found_again_or_left_alone() {
    use ExecutionEffect::{Adopt, None as Nothing, Start, Stop};
    use ExecutionPhase::*;
    let table = [
        // phase, only looks, runs here, cancelled; effect, phase that is written
        (Starting, false, true, false, Nothing, None),
        (Running, false, true, false, Nothing, None),
        (Starting, false, true, true, Stop, Some(Cancelling)),
        (Running, true, true, true, Stop, Some(Cancelling)),
        // The answer to the write may have been lost: the stop is sent again, it does no harm.
        (Cancelling, false, true, true, Stop, None),
        (Starting, false, false, false, Adopt(Adoption::Follow), None),
        (Running, false, false, true, Adopt(Adoption::Stop), None),
        (Cancelling, false, false, true, Adopt(Adoption::Stop), None),
        (Starting, true, false, false, Start, Some(Starting)),
        (Running, true, false, true, Nothing, Some(Cancelled)),
        (Cancelling, true, false, true, Nothing, Some(Cancelled)),
    ];
    for (phase, looks, running, cancelled, effect, written) in table {
        let risk = if looks { Risk::ReadOnly } else { Risk::ConfigMutation };
        let mut case = Case::of(CHANGES).in_phase(phase, risk);
        case.running = running;
        case.plan().spec.cancelled = cancelled;
        assert_eq!(execution_in(&case), (effect, written), "{phase:?} {looks} {running} {cancelled}");
    }
}

#[test]
fn a_running_step_is_stopped_when_its_plan_is_gone_or_going() {
    let mut gone = Case::of(CHANGES).in_phase(ExecutionPhase::Running, Risk::ConfigMutation);
    gone.running = true;
    let mut another = gone.clone();
    let mut going = gone.clone();
    gone.plan = None;
    another.plan().metadata.uid = Some("another".into());
    going.plan().metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(NOW)));
    for case in [gone, another, going] {
        assert_eq!(execution_in(&case), (ExecutionEffect::Stop, Some(ExecutionPhase::Cancelling)));
    }
}

#[test]
fn a_read_is_tried_three_times_and_a_change_once() {
    let mut case = Case::of(LOOKS).in_phase(ExecutionPhase::Starting, Risk::ReadOnly);
    for attempt in 2..=3 {
        let step = case.decide();
        assert_eq!(step.effect, ExecutionEffect::Start);
        assert_eq!(step.status.as_ref().unwrap().attempt, Some(attempt));
        assert_eq!(step.status.as_ref().unwrap().attempt_id, Some(format!("uid-of-p-1-1-{attempt}")));
        let mut paused = case.clone();
        paused.plan().spec.paused = true;
        assert_eq!(paused.decide(), Decision::default(), "a further attempt is a start");
        case = case.then(&step);
        case.running = false;
    }
    assert_eq!(execution_in(&case), (ExecutionEffect::None, Some(ExecutionPhase::Lost)));
}

#[test]
fn a_confirmed_phrase_opens_one_window_for_its_one_target_and_nothing_else_does() {
    let mut case = Case::of(DESTROYS);
    case = case.then(&case.decide());
    let phrase = case.status().approval.unwrap().phrase.unwrap();
    for said in ["true", "", "destroy", "destroy lxc:web", &phrase.replace("web", "safe")] {
        annotate(&mut case.execution.metadata.annotations, CONFIRM, said);
        assert_eq!(case.decide().effect, ExecutionEffect::None, "{said:?}");
    }
    annotate(&mut case.execution.metadata.annotations, CONFIRM, &phrase);
    let ExecutionEffect::Grant(window) = case.decide().effect else { panic!("no window") };
    assert_eq!((window.spec.class, window.spec.targets), (WindowClass::Destructive, vec![target("lxc:web")]));
    assert!(window.spec.duration_seconds <= 900);
    assert_eq!(window.metadata.name.unwrap(), format!("p-{}", phrase.rsplit(' ').next().unwrap()));
}

#[test]
fn a_persons_reason_of_any_length_can_be_stored() {
    let long = "ä".repeat(100_000);
    let mut case = Case::of(CHANGES);
    case = case.then(&case.decide());
    let token = case.status().approval.unwrap().token.unwrap();
    annotate(&mut case.execution.metadata.annotations, REASON, &long);
    annotate(&mut case.execution.metadata.annotations, APPROVE, &token);
    let ExecutionEffect::Grant(window) = case.decide().effect else { panic!("no window") };
    assert!(window.spec.reason.unwrap().chars().count() <= 1024);
    annotate(&mut case.execution.metadata.annotations, DENY, &token);
    let status = case.decide().status.unwrap();
    assert_eq!(status.phase, ExecutionPhase::Denied);
    assert!(status.message.unwrap().chars().count() <= 8192);
}

#[test]
fn a_refusal_with_a_very_long_reason_can_be_stored() {
    let mut case = Case::of(&format!("ssh {}", "x".repeat(8180)));
    case.execution.spec.target = target("host:a");
    let status = case.decide().status.unwrap();
    assert_eq!(status.phase, ExecutionPhase::Refused);
    assert!(status.message.unwrap().chars().count() <= 8192);
}

#[test]
fn whoever_approves_has_a_name_that_can_be_stored() {
    for name in ["", &"u".repeat(400)] {
        let mut case = Case::of(CHANGES);
        case = case.then(&case.decide());
        let token = case.status().approval.unwrap().token.unwrap();
        annotate(&mut case.execution.metadata.annotations, APPROVE, &token);
        annotate(&mut case.execution.metadata.annotations, crate::api::APPROVED_BY, name);
        let ExecutionEffect::Grant(window) = case.decide().effect else { panic!("no window") };
        assert!((1..=253).contains(&window.spec.granted_by.username.chars().count()));
    }
}

//! Which windows open, for how long, and how they end.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use proptest::prelude::*;

use super::samples::*;
use crate::{
    api::{
        Approval, AutonomyWindow, Execution, ExecutionApproval, ExecutionPhase, ExecutionStatus, ObjectRef, Plan,
        PlanPhase, PlanStatus, WindowClass, WindowPhase,
    },
    decide::{ObservedWindow, decide_window},
    policy::{first_nonce, token},
};

fn approved_plan() -> Plan {
    let mut plan = a_plan(&[CHANGES]);
    let (digest, nonce) = (digest(&plan), first_nonce(UID));
    let approval = Approval { token: token(&digest, &nonce), digest, nonce, ..Approval::default() };
    plan.status = Some(PlanStatus { approval: Some(approval), ..PlanStatus::default() });
    plan
}

fn waiting(phrase: &str) -> Execution {
    let mut waiting = an_execution("p-1-1", "lxc:web", DESTROYS);
    waiting.status = Some(ExecutionStatus {
        phase: ExecutionPhase::AwaitingApproval,
        approval: Some(ExecutionApproval { token: None, phrase: Some(phrase.to_owned()), command: String::new() }),
        ..ExecutionStatus::default()
    });
    waiting
}

fn confirmed(plan: &Plan) -> AutonomyWindow {
    let mut confirmed = a_window(plan, "p-3f9c01ab", WindowClass::Destructive);
    confirmed.spec.execution_ref = Some(ObjectRef { name: "p-1-1".into(), uid: "uid-of-p-1-1".into() });
    confirmed
}

fn phase(plan: Option<&Plan>, window: &AutonomyWindow, execution: Option<&Execution>) -> Option<WindowPhase> {
    let step = decide_window(&ObservedWindow { window, plan, execution, now: at(NOW) });
    step.status.map(|status| status.phase)
}

#[test]
fn a_window_opens_only_for_the_plan_as_it_stands_and_under_its_current_token() {
    type Change = fn(&mut Plan, &mut AutonomyWindow);
    let table: [(&str, Change, Option<WindowPhase>); 9] = [
        ("as it stands", |_, _| {}, Some(WindowPhase::Active)),
        ("no token yet", |plan, _| plan.status = None, None),
        ("an old token", |_, it| it.metadata.name = Some("p-0123456789ab".into()), Some(WindowPhase::Revoked)),
        ("a changed plan", |_, it| it.spec.plan_digest = "0".repeat(64), Some(WindowPhase::Revoked)),
        ("another plan of that name", |plan, _| plan.metadata.uid = Some("x".into()), Some(WindowPhase::Revoked)),
        ("revoked before it opened", |_, it| it.spec.revoked = true, Some(WindowPhase::Revoked)),
        (
            "a finished plan",
            |plan, _| plan.status.as_mut().unwrap().phase = PlanPhase::Succeeded,
            Some(WindowPhase::Revoked),
        ),
        (
            "a denied plan with its new token",
            |plan, _| plan.status.as_mut().unwrap().phase = PlanPhase::Denied,
            Some(WindowPhase::Active),
        ),
        (
            "destruction without a step that waits for it",
            |_, it| it.spec.class = WindowClass::Destructive,
            Some(WindowPhase::Revoked),
        ),
    ];
    for (sentence, change, expected) in table {
        let mut plan = approved_plan();
        let mut window = a_window(&plan, &granted_name(&plan), WindowClass::Assent);
        change(&mut plan, &mut window);
        assert_eq!(phase(Some(&plan), &window, None), expected, "{sentence}");
    }
    let plan = approved_plan();
    assert_eq!(
        phase(None, &a_window(&plan, &granted_name(&plan), WindowClass::Assent), None),
        Some(WindowPhase::Revoked)
    );
}

#[test]
fn destruction_is_opened_only_for_the_step_that_waits_with_this_very_phrase() {
    let plan = approved_plan();
    let window = confirmed(&plan);
    let fits = waiting("destroy lxc:web 3f9c01ab");
    let mut done = fits.clone();
    done.status.as_mut().unwrap().phase = ExecutionPhase::Starting;
    let mut namesake = fits.clone();
    namesake.metadata.uid = Some("another".into());
    let mut foreign = fits.clone();
    foreign.spec.plan_ref.uid = "another".into();
    let table = [
        (Some(&fits), WindowPhase::Active),
        (None, WindowPhase::Revoked),
        (Some(&waiting("destroy lxc:web 00000000")), WindowPhase::Revoked),
        (Some(&waiting("destroy lxc:db 3f9c01ab")), WindowPhase::Revoked),
        (Some(&done), WindowPhase::Revoked),
        (Some(&namesake), WindowPhase::Revoked),
        (Some(&foreign), WindowPhase::Revoked),
    ];
    for (execution, expected) in table {
        assert_eq!(phase(Some(&plan), &window, execution), Some(expected), "{execution:?}");
    }
}

prop_compose! {
    fn cases()(
        class in prop_oneof![Just(WindowClass::Assent), Just(WindowClass::Destructive)],
        phase in prop_oneof![Just(None), Just(Some(WindowPhase::Active)), Just(Some(WindowPhase::Expired)), Just(Some(WindowPhase::Revoked))],
        left in -3i64..4,
        seconds in prop_oneof![Just(1u32), Just(600), Just(900), Just(1800), Just(u32::MAX)],
        revoked in prop::bool::weighted(0.3),
        known in prop::bool::weighted(0.9),
        edited in prop::bool::weighted(0.2),
        whole in prop::bool::weighted(0.9),
    ) -> (Plan, AutonomyWindow) {
        let mut plan = approved_plan();
        let mut made = match class {
            WindowClass::Assent => a_window(&plan, &granted_name(&plan), class),
            WindowClass::Destructive => confirmed(&plan),
        };
        made.spec.duration_seconds = seconds;
        made.spec.revoked = revoked;
        if let Some(phase) = phase {
            made = opened(made, phase, NOW - 10, NOW + left);
            if !whole {
                made.status.as_mut().unwrap().expiry_time = None;
            }
        }
        if edited {
            plan.status.as_mut().unwrap().approval.as_mut().unwrap().digest = "0".repeat(64);
        }
        if !known {
            plan.status = None;
        }
        (plan, made)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_window_lasts_longer_than_it_says_or_than_its_class_may(case in cases()) {
        let (plan, window) = case;
        let waiting = waiting("destroy lxc:web 3f9c01ab");
        let observed = ObservedWindow { window: &window, plan: Some(&plan), execution: Some(&waiting), now: at(NOW) };
        let step = decide_window(&observed);
        let before = window.status.as_ref().map(|status| status.phase);
        if before.is_some_and(|phase| phase != WindowPhase::Active) {
            prop_assert_eq!(&step.status, &None);
            prop_assert_eq!(step.again_at, None);
        }
        let after = step.status.as_ref().map(|status| status.phase).or(before);
        if window.spec.revoked {
            prop_assert!(after != Some(WindowPhase::Active));
        }
        if after == Some(WindowPhase::Active) {
            let status = step.status.as_ref().or(window.status.as_ref()).unwrap();
            let most = if window.spec.class == WindowClass::Destructive { 900 } else { 1800 };
            let until = status.expiry_time.as_ref().unwrap().0.as_second();
            prop_assert!(until > NOW, "it is over and still open");
            if before.is_none() {
                prop_assert_eq!(status.opened_at.clone(), Some(Time(at(NOW))));
                prop_assert_eq!(until - NOW, i64::from(window.spec.duration_seconds).min(most));
            }
            prop_assert_eq!(step.again_at, Some(at(until)), "nobody wakes it when it is over");
        }
        if let Some(status) = step.status {
            let written = AutonomyWindow { status: Some(status), ..window.clone() };
            let observed = ObservedWindow { window: &written, plan: Some(&plan), execution: Some(&waiting), now: at(NOW) };
            prop_assert_eq!(decide_window(&observed).status, None);
        }
    }
}

#[test]
fn the_cases_reach_every_answer() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..300 {
        let (plan, window) = cases().new_tree(&mut runner).unwrap().current();
        let waiting = waiting("destroy lxc:web 3f9c01ab");
        let observed = ObservedWindow { window: &window, plan: Some(&plan), execution: Some(&waiting), now: at(NOW) };
        let step = decide_window(&observed);
        let before = window.status.as_ref().map(|status| status.phase);
        seen.insert(format!("{before:?} {:?}", step.status.map(|status| status.phase)));
    }
    let all = [
        "None None",
        "None Some(Active)",
        "None Some(Revoked)",
        "Some(Active) None",
        "Some(Active) Some(Expired)",
        "Some(Active) Some(Revoked)",
        "Some(Expired) None",
        "Some(Revoked) None",
    ];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), all);
}

//! What holds for every Execution.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{super::samples::*, Case};
use crate::{
    api::{
        APPROVE, Approval, CONFIRM, DENY, ExecutionApproval, ExecutionPhase, GrantedPlan, Plan, PlanPhase, PlanStatus,
        Risk, RiskStatus, WindowClass, WindowPhase,
    },
    decide::*,
    policy::{first_nonce, token},
};

fn pick<T: Clone + std::fmt::Debug + 'static>(items: &[T]) -> impl Strategy<Value = T> + use<T> {
    prop::sample::select(items.to_vec())
}

fn attempts() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![3 => Just(None), 6 => (0u32..5).prop_map(Some), 1 => Just(Some(u32::MAX))]
}

/// Which of the values that a person may type, by what is shown.
fn said() -> impl Strategy<Value = u8> {
    prop_oneof![6 => Just(0u8), 3 => Just(1u8), 3 => Just(2u8), 1 => Just(3u8)]
}

type Words = (u8, u8, u8);

prop_compose! {
    fn plans()(
        phase in pick(&[
            PlanPhase::Running, PlanPhase::Running, PlanPhase::Running, PlanPhase::AwaitingApproval,
            PlanPhase::Blocked, PlanPhase::Denied, PlanPhase::Cancelled, PlanPhase::Succeeded, PlanPhase::Failed,
        ]),
        named in any::<bool>(),
        cancelled in prop::bool::weighted(0.1),
        paused in prop::bool::weighted(0.1),
        deleted in prop::bool::weighted(0.05),
        other in prop::bool::weighted(0.05),
        known in prop::bool::weighted(0.9),
        granted in prop::bool::weighted(0.7),
        edited in prop::bool::weighted(0.2),
        started in prop::bool::weighted(0.8),
    ) -> Plan {
        let mut plan = if named { a_plan(&[DESTROYS]) } else { a_plan(&[LOOKS]) };
        plan.spec.cancelled = cancelled;
        plan.spec.paused = paused;
        let time = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(NOW - 100));
        plan.metadata.deletion_timestamp = deleted.then(|| time.clone());
        if other {
            plan.metadata.uid = Some("another".to_owned());
        }
        let digest = if edited { "0".repeat(64) } else { digest(&plan) };
        let nonce = first_nonce(UID);
        let approval = Approval {
            token: token(&digest, &nonce),
            granted: granted.then(|| GrantedPlan { digest: digest.clone(), ..GrantedPlan::default() }),
            digest,
            nonce,
            ..Approval::default()
        };
        plan.status = known.then(|| PlanStatus {
            phase,
            approval: Some(approval),
            start_time: started.then_some(time),
            ..PlanStatus::default()
        });
        plan
    }
}

prop_compose! {
    fn window_kinds()(
        class in pick(&[WindowClass::Assent, WindowClass::Destructive]),
        phase in pick(&[None, Some(WindowPhase::Active), Some(WindowPhase::Active), Some(WindowPhase::Active), Some(WindowPhase::Expired), Some(WindowPhase::Expired), Some(WindowPhase::Revoked)]),
        left in -3i64..5,
        revoked in prop::bool::weighted(0.2),
        stale in prop::bool::weighted(0.2),
        shown in any::<bool>(),
    ) -> (WindowClass, Option<WindowPhase>, i64, bool, bool, bool) {
        (class, phase, left, revoked, stale, shown)
    }
}

prop_compose! {
    fn cases()(
        plan in prop::option::weighted(0.95, plans()),
        command in pick(&[LOOKS, CHANGES, CHANGES, DESTROYS, DESTROYS, NEVER_ENDS, "", "cat 'x", "pct destroy 102", "pct reboot 101"]),
        place in pick(&["lxc:web", "lxc:web", "lxc:web", "host:a", "lxc:ghost", "lxc:safe", "vm:none"]),
        phase in prop_oneof![1 => Just(None), 6 => pick(&ExecutionPhase::ALL[..5]).prop_map(Some), 3 => pick(&ExecutionPhase::ALL).prop_map(Some)],
        risk in pick(&[None, Some(Risk::ReadOnly), Some(Risk::ConfigMutation), Some(Risk::Destructive)]),
        declared in pick(&[Risk::ReadOnly, Risk::ReadOnly, Risk::ConfigMutation, Risk::Destructive]),
        attempt in attempts(),
        shown in prop::bool::weighted(0.7),
        words in (said(), said(), said()),
        windows in prop::collection::vec(window_kinds(), 0..4),
        running in prop::bool::weighted(0.3),
        admission_guard in pick(&[AdmissionGuard::Up, AdmissionGuard::Missing]),
    ) -> Case {
        let mut case = Case { execution: an_execution("p-1-1", place, command), plan, windows: Vec::new(), running, admission_guard };
        case.execution.spec.declared_risk = declared;
        if shown {
            // What it shows once it waits.
            case.running = false;
            if let Some(status) = case.decide().status.filter(|it| it.phase == ExecutionPhase::AwaitingApproval) {
                case.execution.status = Some(status);
            }
            case.running = running;
        }
        let shown = case.status().approval;
        if let Some(phase) = phase {
            let mut status = case.status();
            status.phase = phase;
            status.risk = risk.map(|class| RiskStatus { class, reasons: vec![], affected_targets: vec![] }).or(status.risk);
            status.attempt = attempt;
            case.execution.status = Some(status);
        }
        say(&mut case, words, shown.as_ref());
        for (index, kind) in windows.into_iter().enumerate() {
            add_window(&mut case, index, kind, shown.as_ref());
        }
        case
    }
}

fn say(case: &mut Case, (approve, deny, confirm): Words, shown: Option<&ExecutionApproval>) {
    let token = shown.and_then(|it| it.token.clone()).unwrap_or_else(|| "none".to_owned());
    let phrase = shown.and_then(|it| it.phrase.clone()).unwrap_or_else(|| "none".to_owned());
    for (key, word) in [(APPROVE, approve), (DENY, deny), (CONFIRM, confirm)] {
        let value = match word {
            0 => continue,
            1 => token.clone(),
            2 => phrase.clone(),
            _ => "true".to_owned(),
        };
        annotate(&mut case.execution.metadata.annotations, key, &value);
    }
}

fn add_window(
    case: &mut Case,
    index: usize,
    (class, phase, left, revoked, stale, shown): (WindowClass, Option<WindowPhase>, i64, bool, bool, bool),
    approval: Option<&ExecutionApproval>,
) {
    let Some(plan) = case.plan.clone() else { return };
    let code = approval.and_then(|it| it.phrase.as_ref()?.rsplit(' ').next().map(str::to_owned));
    let name = match code.filter(|_| shown) {
        Some(code) => format!("p-{code}"),
        None => format!("p-w{index}"),
    };
    let mut made = a_window(&plan, &name, class);
    made.spec.revoked = revoked;
    if stale {
        made.spec.plan_digest = "f".repeat(64);
    }
    case.windows.push(match phase {
        Some(phase) => opened(made, phase, NOW - 10, NOW + left),
        None => made,
    });
}

/// What allows a step to start now: the windows that are open for the plan as it stands.
fn open_now(case: &Case) -> BTreeMap<String, WindowClass> {
    let Some(plan) = &case.plan else { return BTreeMap::new() };
    let open = case.windows.iter().filter(|it| {
        let status = it.status.as_ref();
        !it.spec.revoked
            && it.spec.plan_digest == digest(plan)
            && it.spec.plan_ref.uid == *plan.metadata.uid.as_ref().unwrap()
            && status.is_some_and(|it| it.phase == WindowPhase::Active && it.expiry_time.as_ref().unwrap().0 > at(NOW))
    });
    open.map(|it| (it.metadata.name.clone().unwrap(), it.spec.class)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn an_end_is_written_once_and_attempts_never_fall(case in cases()) {
        let before = case.status();
        let step = case.decide();
        if before.phase.is_terminal() {
            prop_assert_eq!((&step.effect, &step.status), (&ExecutionEffect::None, &None));
        }
        if let Some(after) = &step.status {
            prop_assert!(before.phase.may_become(after.phase), "{:?} to {:?}", before.phase, after.phase);
            prop_assert!(after.attempt.unwrap_or(0) >= before.attempt.unwrap_or(0));
            let started = matches!(step.effect, ExecutionEffect::Start);
            prop_assert_eq!(started, after.phase == ExecutionPhase::Starting, "{:?}", after);
            if started && before.attempt != Some(u32::MAX) {
                prop_assert_eq!(after.attempt, Some(before.attempt.unwrap_or(0) + 1));
            }
        }
    }

    #[test]
    fn nothing_changes_without_an_open_window_and_nothing_starts_under_a_plan_that_stands_still(case in cases()) {
        let step = case.decide();
        if step.effect == ExecutionEffect::Start {
            let again = !matches!(case.status().phase, ExecutionPhase::Pending | ExecutionPhase::AwaitingApproval);
            let plan = case.plan.as_ref();
            let status = step.status.as_ref().unwrap();
            prop_assert!(!case.running);
            prop_assert!(plan.is_some_and(|it| !it.spec.cancelled && !it.spec.paused && it.metadata.deletion_timestamp.is_none()));
            prop_assert!(plan.is_some_and(|it| it.metadata.uid.as_deref() == Some(UID)));
            if again {
                prop_assert_eq!(status.risk.as_ref().unwrap().class, Risk::ReadOnly);
            } else {
                let phase = plan.unwrap().status.as_ref().map_or(PlanPhase::AwaitingApproval, |it| it.phase);
                prop_assert!(phase != PlanPhase::Denied && !phase.is_terminal() && !plan.unwrap().spec.paused);
                let authority = status.authority.as_ref().unwrap();
                if status.risk.as_ref().unwrap().class > Risk::ReadOnly {
                    prop_assert!(open_now(&case).contains_key(authority.name.as_ref().unwrap()));
                }
            }
        }
        if let ExecutionEffect::Adopt(_) = step.effect {
            prop_assert!(!case.running && case.status().phase != ExecutionPhase::Pending);
        }
    }

    #[test]
    fn a_window_is_made_only_for_the_very_words_that_are_shown_and_always_under_the_same_name(case in cases()) {
        if let ExecutionEffect::Grant(window) = case.decide().effect {
            let said = |key: &str| case.execution.metadata.annotations.as_ref().and_then(|all| all.get(key).cloned());
            let plan = case.plan.as_ref().unwrap();
            let name = window.metadata.name.clone().unwrap();
            match window.spec.class {
                WindowClass::Assent => {
                    prop_assert_eq!(said(APPROVE), Some(shown_token(plan)));
                    prop_assert_eq!(name, granted_name(plan));
                }
                WindowClass::Destructive => {
                    let phrase = case.status().approval.unwrap().phrase;
                    prop_assert_eq!(said(CONFIRM), phrase.clone());
                    let phrase = phrase.unwrap();
                    prop_assert_eq!(name, format!("p-{}", phrase.rsplit(' ').next().unwrap()));
                    prop_assert_eq!(window.spec.targets.len(), 1);
                }
            }
            prop_assert_eq!(ExecutionEffect::Grant(window), case.decide().effect);
        }
    }

    #[test]
    fn a_decision_settles_with_its_own_write(case in cases()) {
        let first = case.decide();
        let mut then = case.then(&first);
        if let ExecutionEffect::Adopt(Adoption::Stop) = first.effect {
            // It is found again in order to be stopped, and then that is shown.
            then = then.then(&then.decide());
        }
        let second = then.decide();
        prop_assert_eq!(&second.status, &None, "after {:?}", first);
        let begins = matches!(second.effect, ExecutionEffect::Start | ExecutionEffect::Adopt(_));
        prop_assert!(!begins, "after {:?}", first);
    }
}

#[test]
fn the_cases_reach_every_answer() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    for _ in 0..4000 {
        let step = cases().new_tree(&mut runner).unwrap().current().decide();
        let effect = match step.effect {
            ExecutionEffect::Grant(window) => format!("grant {:?}", window.spec.class),
            other => format!("{other:?}"),
        };
        let reason = step.status.as_ref().and_then(|it| it.reason).map(|reason| reason.to_string()).unwrap_or_default();
        let authority = step.status.as_ref().and_then(|it| it.authority.as_ref()).map(|it| format!("{:?}", it.kind));
        seen.extend([effect, reason, authority.unwrap_or_default()]);
    }
    let all = [
        "None",
        "Start",
        "Stop",
        "Adopt(Stop)",
        "Adopt(Follow)",
        "grant Assent",
        "grant Destructive",
        "ConfirmationNeeded",
        "ConnectionLost",
        "DeniedByOperator",
        "GrantRevoked",
        "PlanCancelled",
        "PlanDenied",
        "PlanEnded",
        "PlanGone",
        "Protected",
        "Unbounded",
        "UnknownTarget",
        "WindowExpired",
        "WindowNeeded",
        "ReadOnly",
        "Window",
        "PlanStep",
        "DestructiveWindow",
    ];
    for answer in all {
        assert!(seen.contains(answer), "{answer} is never reached: {seen:?}");
    }
}

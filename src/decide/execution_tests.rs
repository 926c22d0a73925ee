//! What may be decided about an Execution, whatever is observed.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{execution::*, open_windows, samples::*};
use crate::{
    api::{
        APPROVE, Approval, AutonomyWindow, CONFIRM, DENY, Execution, ExecutionApproval, ExecutionPhase,
        ExecutionStatus, Plan, PlanPhase, PlanStatus, REASON, Risk, RiskStatus, WindowClass, WindowPhase,
    },
    policy::{first_nonce, token},
};

const PHASES: [ExecutionPhase; 13] = [
    ExecutionPhase::Pending,
    ExecutionPhase::AwaitingApproval,
    ExecutionPhase::Starting,
    ExecutionPhase::Running,
    ExecutionPhase::Cancelling,
    ExecutionPhase::Succeeded,
    ExecutionPhase::Failed,
    ExecutionPhase::TimedOut,
    ExecutionPhase::Cancelled,
    ExecutionPhase::Denied,
    ExecutionPhase::Expired,
    ExecutionPhase::Refused,
    ExecutionPhase::Lost,
];

#[derive(Clone, Debug)]
struct Case {
    execution: Execution,
    plan: Option<Plan>,
    windows: Vec<AutonomyWindow>,
    running: bool,
    guarded: bool,
}

impl Case {
    /// A granted plan and an Execution of this command on lxc:web.
    fn of(command: &str) -> Self {
        let mut plan = a_plan(&["true"]);
        let digest = digest(&plan);
        let nonce = first_nonce(UID);
        let approval = Approval {
            token: token(&digest, &nonce),
            granted: Some(digest.clone()),
            digest,
            nonce,
            ..Approval::default()
        };
        plan.status = Some(PlanStatus {
            phase: PlanPhase::Running,
            approval: Some(approval),
            start_time: Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(NOW - 60))),
            ..PlanStatus::default()
        });
        Self {
            execution: an_execution("p-1-1", "lxc:web", command),
            plan: Some(plan),
            windows: Vec::new(),
            running: false,
            guarded: true,
        }
    }

    fn with_window(mut self, class: WindowClass, phase: WindowPhase, until: i64) -> Self {
        let plan = self.plan.clone().unwrap();
        let name = if class == WindowClass::Assent { "p-earlier" } else { "p-confirmed" };
        self.windows.push(opened(a_window(&plan, name, class), phase, NOW - 10, until));
        self
    }

    fn in_phase(mut self, phase: ExecutionPhase, class: Risk) -> Self {
        let risk = Some(RiskStatus { class, reasons: Vec::new(), affected_targets: Vec::new() });
        let attempt_id = Some("uid-of-p-1-1-1".to_owned());
        self.execution.status =
            Some(ExecutionStatus { phase, risk, attempt: Some(1), attempt_id, ..ExecutionStatus::default() });
        self
    }

    fn plan(&mut self) -> &mut Plan {
        self.plan.as_mut().unwrap()
    }

    fn decide(&self) -> super::Decision<ExecutionEffect, ExecutionStatus> {
        let ended = self
            .windows
            .iter()
            .filter_map(|it| {
                let phase = it.status.as_ref()?.phase;
                (phase != WindowPhase::Active).then_some((it.metadata.name.clone()?, phase))
            })
            .collect();
        let open = self.plan.as_ref().map_or_else(Vec::new, |plan| open_windows(plan, &self.windows, at(NOW)));
        execution(&ObservedExecution {
            execution: &self.execution,
            plan: self.plan.as_ref(),
            windows: &open,
            ended_windows: &ended,
            inventory: &inventory(),
            running: self.running,
            guarded: self.guarded,
            now: at(NOW),
        })
    }

    fn status(&self) -> ExecutionStatus {
        self.execution.status.clone().unwrap_or_default()
    }

    /// What would be observed next: the status was written and the effect carried out.
    fn then(&self, step: &super::Decision<ExecutionEffect, ExecutionStatus>) -> Self {
        let mut next = self.clone();
        if let Some(status) = &step.status {
            next.execution.status = Some(status.clone());
        }
        next.running |= matches!(step.effect, ExecutionEffect::Start | ExecutionEffect::Adopt { .. });
        next
    }
}

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
        ("looking needs nobody's leave", unchanged, LOOKS, Some(Starting)),
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
            "a step whose grant was taken back is settled",
            |case| case.plan().status.as_mut().unwrap().approval.as_mut().unwrap().granted = None,
            CHANGES,
            Some(Denied),
        ),
        ("a task that has not left yet is waited for", |case| case.running = true, LOOKS, None),
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
        (Starting, false, false, false, Adopt { stop: false }, None),
        (Running, false, false, true, Adopt { stop: true }, None),
        (Cancelling, false, false, true, Adopt { stop: true }, None),
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
        assert_eq!(paused.decide(), super::Decision::default(), "a further attempt is a start");
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
            granted: granted.then(|| digest.clone()),
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
        phase in prop_oneof![1 => Just(None), 6 => pick(&PHASES[..5]).prop_map(Some), 3 => pick(&PHASES).prop_map(Some)],
        risk in pick(&[None, Some(Risk::ReadOnly), Some(Risk::ConfigMutation), Some(Risk::Destructive)]),
        declared in pick(&[Risk::ReadOnly, Risk::ReadOnly, Risk::ConfigMutation, Risk::Destructive]),
        attempt in attempts(),
        shown in prop::bool::weighted(0.7),
        words in (said(), said(), said()),
        windows in prop::collection::vec(window_kinds(), 0..4),
        (running, guarded) in (prop::bool::weighted(0.3), any::<bool>()),
    ) -> Case {
        let mut case = Case { execution: an_execution("p-1-1", place, command), plan, windows: Vec::new(), running, guarded };
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

/// The leave under which a step may start now: the windows that are open for the plan as it stands.
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
        if let ExecutionEffect::Adopt { .. } = step.effect {
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
        if let ExecutionEffect::Adopt { stop: true } = first.effect {
            // It is found again in order to be stopped, and then that is shown.
            then = then.then(&then.decide());
        }
        let second = then.decide();
        prop_assert_eq!(&second.status, &None, "after {:?}", first);
        let begins = matches!(second.effect, ExecutionEffect::Start | ExecutionEffect::Adopt { .. });
        prop_assert!(!begins, "after {:?}", first);
    }
}

#[test]
fn the_cases_reach_every_answer() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    for _ in 0..2000 {
        let step = cases().new_tree(&mut runner).unwrap().current().decide();
        let effect = match step.effect {
            ExecutionEffect::Grant(window) => format!("grant {:?}", window.spec.class),
            other => format!("{other:?}"),
        };
        let reason = step.status.as_ref().and_then(|it| it.reason.clone()).unwrap_or_default();
        let authority = step.status.as_ref().and_then(|it| it.authority.as_ref()).map(|it| format!("{:?}", it.kind));
        seen.extend([effect, reason, authority.unwrap_or_default()]);
    }
    let all = [
        "None",
        "Start",
        "Stop",
        "Adopt { stop: true }",
        "Adopt { stop: false }",
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

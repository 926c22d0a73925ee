//! Properties of the gate: whatever is asked, nothing passes outside window, target or plan.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::jiff::Timestamp;
use proptest::prelude::*;

use oikos_risk::{Affected, Flags};

use super::{gate::*, scope::*};
use crate::api::{AuthorityKind, Risk, Target, WindowClass};

const TARGETS: [&str; 5] = ["host:a", "host:b", "lxc:one", "lxc:two", "vm:three"];
const NOW: i64 = 1_000_000;

fn target(index: usize) -> Target {
    TARGETS[index % TARGETS.len()].parse().unwrap()
}

/// Hosts a and b; guests one (101) and two (102, protected) on a, three (103) on b.
fn inventory() -> Inventory {
    let host = |address: &str, protected: &[u32]| KnownHost {
        address: address.to_owned(),
        protected: protected.iter().copied().collect(),
        ..KnownHost::default()
    };
    let guest = |host: &str, vmid| KnownGuest { host: host.to_owned(), vmid, ..KnownGuest::default() };
    Inventory {
        hosts: BTreeMap::from([("a".into(), host("192.0.2.1", &[102, 109])), ("b".into(), host("192.0.2.2", &[]))]),
        guests: BTreeMap::from([
            (target(2), guest("a", 101)),
            (target(3), guest("a", 102)),
            (target(4), guest("b", 103)),
        ]),
        agents: BTreeMap::new(),
    }
}

#[derive(Clone, Debug)]
struct Case {
    risk: Risk,
    place: Target,
    affected: BTreeSet<Affected>,
    flags: Flags,
    plan_targets: Vec<Target>,
    named: bool,
    windows: Vec<OpenWindow>,
}

impl Case {
    fn decide(&self) -> (Scope, GateAnswer) {
        let inventory = inventory();
        let scope = resolve_scope(&self.place, &self.affected, &inventory);
        let decision = gate(&Question {
            risk: self.risk,
            scope: &scope,
            flags: self.flags,
            plan_targets: &self.plan_targets,
            covered: &Covered { current: "digest".to_owned(), granted: None },
            named_in_plan: self.named,
            windows: &self.windows,
            inventory: &inventory,
            now: Timestamp::from_second(NOW).unwrap(),
        });
        (scope, decision)
    }
}

fn risks() -> impl Strategy<Value = Risk> {
    prop_oneof![Just(Risk::ReadOnly), Just(Risk::ConfigMutation), Just(Risk::Destructive)]
}

fn affected() -> impl Strategy<Value = Affected> {
    prop_oneof![
        4 => Just(Affected::Vmid(101)),
        2 => (100u32..110).prop_map(Affected::Vmid),
        4 => prop_oneof![Just("a"), Just("b"), Just("192.0.2.2"), Just("elsewhere")].prop_map(|it| Affected::Host(it.into())),
        1 => Just(Affected::Unknown),
    ]
}

fn windows() -> impl Strategy<Value = OpenWindow> {
    let digest = prop_oneof![3 => Just("digest"), 1 => Just("other")];
    let class = prop_oneof![Just(WindowClass::Assent), Just(WindowClass::Destructive)];
    (digest, class, prop::collection::btree_set(0usize..5, 1..5), -5i64..20).prop_map(
        |(digest, class, targets, left)| OpenWindow {
            name: "w".into(),
            digest: digest.into(),
            class,
            targets: targets.into_iter().map(target).collect(),
            expires: Timestamp::from_second(NOW + left).unwrap(),
            approver: "operator".into(),
        },
    )
}

fn cases() -> impl Strategy<Value = Case> {
    (
        risks(),
        0usize..5,
        prop::collection::btree_set(affected(), 0..4),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.1),
        prop::collection::btree_set(0usize..5, 1..5),
        any::<bool>(),
        prop::collection::vec(windows(), 0..4),
    )
        .prop_map(|(risk, place, affected, unbounded, interactive, plan, named, windows)| Case {
            risk,
            place: target(place),
            affected,
            flags: Flags { sensitive: false, unbounded, interactive },
            plan_targets: plan.into_iter().map(target).collect(),
            named,
            windows,
        })
}

fn allowed(decision: &GateAnswer) -> Option<AuthorityKind> {
    match decision {
        GateAnswer::Allow(authority) => Some(authority.kind),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn nothing_that_touches_an_unknown_or_protected_thing_or_never_ends_is_allowed(case in cases()) {
        let (scope, decision) = case.decide();
        let protected = scope.touches.iter().any(|target| inventory().protects(target));
        if !scope.unknown.is_empty() || protected || case.flags.unbounded || case.flags.interactive {
            prop_assert!(matches!(decision, GateAnswer::Refuse(..)), "{decision:?}");
        }
    }

    #[test]
    fn no_change_is_allowed_outside_the_plans_targets_or_a_window_of_its_digest(case in cases()) {
        let (scope, decision) = case.decide();
        if case.risk > Risk::ReadOnly && allowed(&decision).is_some() {
            prop_assert!(scope.touches.iter().all(|target| case.plan_targets.contains(target)));
            let open = case.windows.iter().any(|window| window.digest == "digest" && window.expires.as_second() > NOW);
            prop_assert!(open);
        }
    }

    #[test]
    fn destruction_is_allowed_only_if_named_in_the_plan_or_confirmed_for_its_one_target(case in cases()) {
        let (scope, decision) = case.decide();
        if case.risk == Risk::Destructive {
            match allowed(&decision) {
                None => {}
                Some(AuthorityKind::PlanStep) => prop_assert!(case.named),
                Some(AuthorityKind::DestructiveWindow) => {
                    prop_assert_eq!(scope.acts_on.len(), 1);
                    let confirmed = case.windows.iter().any(|window| {
                        window.class == WindowClass::Destructive && window.targets == scope.acts_on
                    });
                    prop_assert!(confirmed);
                }
                Some(other) => prop_assert!(false, "{other:?} does not allow destruction"),
            }
        }
    }

    #[test]
    fn a_higher_risk_is_never_allowed_where_a_lower_one_is_not(case in cases()) {
        let (_, decision) = case.decide();
        if case.risk == Risk::ConfigMutation && allowed(&decision).is_some() {
            let (_, lower) = Case { risk: Risk::ReadOnly, ..case.clone() }.decide();
            prop_assert!(allowed(&lower).is_some());
        }
        if case.risk == Risk::Destructive && case.named && allowed(&decision).is_some() {
            let (_, lower) = Case { risk: Risk::ConfigMutation, ..case }.decide();
            prop_assert!(allowed(&lower).is_some());
        }
    }

    #[test]
    fn taking_windows_away_never_allows_more(case in cases()) {
        let (_, with) = case.decide();
        let (_, without) = Case { windows: Vec::new(), ..case.clone() }.decide();
        if allowed(&without).is_some() {
            prop_assert!(allowed(&with).is_some());
            prop_assert_eq!(case.risk, Risk::ReadOnly);
        }
    }
}

#[test]
fn the_cases_reach_every_answer() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    for _ in 0..4000 {
        let (_, decision) = cases().new_tree(&mut runner).unwrap().current().decide();
        seen.insert(match decision {
            GateAnswer::Allow(authority) => format!("{:?}", authority.kind),
            GateAnswer::Await(Need::Window) => "window".into(),
            GateAnswer::Await(Need::Phrase(_)) => "phrase".into(),
            GateAnswer::Refuse(refusal, _) => refusal.code().to_string(),
        });
    }
    let all = [
        "DestructiveWindow",
        "OutOfScope",
        "PlanStep",
        "Protected",
        "ReadOnly",
        "SeveralTargets",
        "Unbounded",
        "UnknownTarget",
        "Window",
        "phrase",
        "window",
    ];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), all);
}

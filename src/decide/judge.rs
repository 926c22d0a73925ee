//! The effective risk of a step: the classifier's verdict, never below what was declared.

use std::collections::BTreeSet;

use oikos_risk::{Flags, Locus, classify};

use crate::{
    api::{ContainerSpec, PlanStep, Risk, RiskStatus, Target, TargetKind},
    policy::{Inventory, Scope, Unknown, scope},
};

/// A judged step.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The higher of the judged and the declared risk.
    pub risk: Risk,
    /// Why, worst first, at most 8.
    pub reasons: Vec<String>,
    /// What may be done instead, when the classifier knows.
    pub hint: Option<String>,
    /// What the classifier noticed besides.
    pub flags: Flags,
    /// What it acts on.
    pub scope: Scope,
}

impl Judged {
    /// As it stands in an Execution's status.
    pub fn status(&self) -> RiskStatus {
        let known = self.scope.touches.iter().map(ToString::to_string);
        let unknown = self.scope.unknown.iter().map(|thing| thing.what.clone());
        RiskStatus {
            class: self.risk,
            reasons: self.reasons.clone(),
            affected_targets: known.chain(unknown).take(32).collect(),
        }
    }
}

/// Judges a command or a container creation on `target`. A step that is neither is Destructive: it is not understood.
pub fn judge(
    target: &Target,
    run: Option<&str>,
    create: Option<&ContainerSpec>,
    declared: Risk,
    inventory: &Inventory,
) -> Judged {
    match (run, create) {
        (Some(command), None) => judge_command(target, command, declared, inventory),
        (None, Some(container)) => judge_creation(target, container, declared, inventory),
        _ => Judged {
            risk: Risk::Destructive,
            reasons: vec!["the step has not exactly one action".to_owned()],
            hint: None,
            flags: Flags::default(),
            scope: scope(target, &BTreeSet::new(), inventory),
        },
    }
}

/// Judges a plan's declared step.
pub fn judge_step(step: &PlanStep, inventory: &Inventory) -> Judged {
    judge(&step.target, step.run.as_deref(), step.create_container.as_ref(), Risk::ReadOnly, inventory)
}

fn judge_command(target: &Target, command: &str, declared: Risk, inventory: &Inventory) -> Judged {
    let locus = match target.kind() {
        TargetKind::Host => Locus::Host,
        TargetKind::Lxc | TargetKind::Vm => Locus::Guest,
    };
    let verdict = classify(command, locus);
    let mut reasons: Vec<String> = Vec::new();
    for reason in &verdict.reasons {
        let reason = limited(&format!("{}: {}", reason.code, reason.message), 300);
        if reasons.len() < 7 && !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    if declared > verdict.risk {
        reasons.insert(0, "declared: its author calls it riskier than its text".to_owned());
    }
    Judged {
        risk: verdict.risk.max(declared),
        reasons,
        hint: verdict.reasons.iter().find_map(|reason| reason.hint.clone()),
        flags: verdict.flags,
        scope: scope(target, &verdict.affected, inventory),
    }
}

fn judge_creation(target: &Target, container: &ContainerSpec, declared: Risk, inventory: &Inventory) -> Judged {
    let mut found = scope(target, &BTreeSet::new(), inventory);
    match Target::new(TargetKind::Lxc, &container.hostname) {
        Ok(guest) => {
            found.acts_on = BTreeSet::from([guest.clone()]);
            found.touches.insert(guest);
        }
        Err(error) => {
            found.unknown.insert(Unknown { what: error.to_string(), protected: false });
        }
    }
    if target.kind() != TargetKind::Host {
        found
            .unknown
            .insert(Unknown { what: format!("{target}, where no container can be created"), protected: false });
    }
    let protected = |vmid: &u32| inventory.hosts.get(target.name()).is_some_and(|host| host.protected.contains(vmid));
    if let Some(vmid) = container.vmid.filter(protected) {
        found.unknown.insert(Unknown { what: format!("guest {vmid} of {target}"), protected: true });
    }
    Judged {
        risk: Risk::ConfigMutation.max(declared),
        reasons: vec![format!("container: creates and starts lxc:{} on {target}", container.hostname)],
        hint: None,
        flags: Flags::default(),
        scope: found,
    }
}

/// At most `max` bytes of `text`, cut at a character.
pub(crate) fn limited(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let end = (0..=max.saturating_sub(3)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_declared_risk_is_never_undercut_and_a_judged_one_never_lowered(
            command in prop_oneof![Just("ls /"), Just("apt-get update"), Just("rm -rf /srv"), Just("cat 'x")],
            declared in prop_oneof![Just(Risk::ReadOnly), Just(Risk::ConfigMutation), Just(Risk::Destructive)],
        ) {
            let target: Target = "lxc:web".parse().unwrap();
            let inventory = Inventory::default();
            let judged = judge(&target, Some(command), None, declared, &inventory).risk;
            let plain = judge(&target, Some(command), None, Risk::ReadOnly, &inventory).risk;
            prop_assert_eq!(judged, plain.max(declared));
        }
    }

    #[test]
    fn a_container_is_created_on_a_host_only_and_touches_its_own_future_name() {
        let container = ContainerSpec { hostname: "web".into(), ..ContainerSpec::default() };
        let inventory = Inventory::default();
        let judged = judge(&"host:a".parse().unwrap(), None, Some(&container), Risk::ReadOnly, &inventory);
        assert!(judged.scope.touches.contains(&"lxc:web".parse().unwrap()));
        let nested = judge(&"lxc:b".parse().unwrap(), None, Some(&container), Risk::ReadOnly, &inventory);
        assert!(nested.scope.unknown.iter().any(|thing| thing.what.contains("no container can be created")));
    }

    #[test]
    fn texts_are_cut_at_a_character() {
        assert_eq!(limited("äöü", 5), "ä…");
        assert_eq!(limited("abc", 3), "abc");
    }
}

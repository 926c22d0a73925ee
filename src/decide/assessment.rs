//! The effective risk of a step: the classifier's verdict, never below what was declared.

use std::collections::BTreeSet;

use oikos_risk::{Flags, Locus, classify};

use crate::{
    api::{
        ContainerSpec, PlanStep, Risk, RiskStatus, Target, TargetKind,
        limits::{LONGEST_SINGLE_RISK_REASON, MOST_AFFECTED_TARGETS, MOST_RISK_REASONS},
        text::shortened,
    },
    policy::{Inventory, Scope, Unknown, resolve_scope},
};

/// The risk of a step and what it acts on.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// The higher of the classifier's and the declared risk.
    pub risk: Risk,
    /// Why, worst first, at most [`MOST_RISK_REASONS`].
    pub reasons: Vec<String>,
    /// What may be done instead, when the classifier knows.
    pub hint: Option<String>,
    /// What else the classifier has found in the command.
    pub flags: Flags,
    /// What it acts on.
    pub scope: Scope,
}

impl Assessment {
    /// What is written into an Execution's status.
    pub fn status(&self) -> RiskStatus {
        let known = self.scope.touches.iter().map(ToString::to_string);
        let unknown = self.scope.unknown.iter().map(|thing| thing.what.clone());
        RiskStatus {
            class: self.risk,
            reasons: self.reasons.clone(),
            affected_targets: known.chain(unknown).take(MOST_AFFECTED_TARGETS).collect(),
        }
    }
}

/// Assesses a command or a container creation on `target`. A step that is neither is not understood, and so
/// Destructive.
pub fn assess(
    target: &Target,
    run: Option<&str>,
    create: Option<&ContainerSpec>,
    declared: Risk,
    inventory: &Inventory,
) -> Assessment {
    match (run, create) {
        (Some(command), None) => assess_command(target, command, declared, inventory),
        (None, Some(container)) => assess_creation(target, container, declared, inventory),
        _ => Assessment {
            risk: Risk::Destructive,
            reasons: vec!["the step has not exactly one action".to_owned()],
            hint: None,
            flags: Flags::default(),
            scope: resolve_scope(target, &BTreeSet::new(), inventory),
        },
    }
}

/// Assesses a plan's declared step.
pub fn assess_step(step: &PlanStep, inventory: &Inventory) -> Assessment {
    assess(&step.target, step.run.as_deref(), step.create_container.as_ref(), Risk::ReadOnly, inventory)
}

fn assess_command(target: &Target, command: &str, declared: Risk, inventory: &Inventory) -> Assessment {
    let locus = match target.kind() {
        TargetKind::Host => Locus::Host,
        TargetKind::Lxc | TargetKind::Vm => Locus::Guest,
    };
    let verdict = classify(command, locus);
    let mut reasons: Vec<String> = Vec::new();
    for reason in &verdict.reasons {
        let reason = shortened(&format!("{}: {}", reason.code, reason.message), LONGEST_SINGLE_RISK_REASON);
        if reasons.len() < MOST_RISK_REASONS - 1 && !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    if declared > verdict.risk {
        reasons.insert(0, "declared: its author calls it riskier than its text".to_owned());
    }
    Assessment {
        risk: verdict.risk.max(declared),
        reasons,
        hint: verdict.reasons.iter().find_map(|reason| reason.hint.clone()),
        flags: verdict.flags,
        scope: resolve_scope(target, &verdict.affected, inventory),
    }
}

fn assess_creation(target: &Target, container: &ContainerSpec, declared: Risk, inventory: &Inventory) -> Assessment {
    let mut found = resolve_scope(target, &BTreeSet::new(), inventory);
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
    Assessment {
        risk: Risk::ConfigMutation.max(declared),
        reasons: vec![format!("container: creates and starts lxc:{} on {target}", container.hostname)],
        hint: None,
        flags: Flags::default(),
        scope: found,
    }
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
            let assessed = assess(&target, Some(command), None, declared, &inventory).risk;
            let plain = assess(&target, Some(command), None, Risk::ReadOnly, &inventory).risk;
            prop_assert_eq!(assessed, plain.max(declared));
        }
    }

    #[test]
    fn a_container_is_created_on_a_host_only_and_touches_its_own_future_name() {
        let container = ContainerSpec { hostname: "web".into(), ..ContainerSpec::default() };
        let inventory = Inventory::default();
        let assessed = assess(&"host:a".parse().unwrap(), None, Some(&container), Risk::ReadOnly, &inventory);
        assert!(assessed.scope.touches.contains(&"lxc:web".parse().unwrap()));
        let nested = assess(&"lxc:b".parse().unwrap(), None, Some(&container), Risk::ReadOnly, &inventory);
        assert!(nested.scope.unknown.iter().any(|thing| thing.what.contains("no container can be created")));
    }
}

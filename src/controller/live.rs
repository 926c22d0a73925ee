//! What the names of a step and its plan stand for, read from the API server right before a start.

use std::collections::BTreeSet;

use kube::Api;

use super::{
    context::Context,
    error::{ControllerError, call},
};
use crate::{
    api::{Agent, AuthorityKind, Guest, GuestKind, Host, Target, TargetKind},
    decide::ObservedExecution,
    policy::{Inventory, KnownAgent, KnownGuest, KnownHost},
};

/// The inventory with the live objects of what allows the step: for one that only reads its own target, else all that
/// its plan names, the targets, their Hosts, and the Agent. What protects a guest is kept: a Host of another name may protect it, and only more can come to it here.
pub async fn live_inventory(
    context: &Context,
    namespace: &str,
    observed: &ObservedExecution<'_>,
    authority: Option<AuthorityKind>,
    mut inventory: Inventory,
) -> Result<Inventory, ControllerError> {
    let Some(plan) = observed.plan else { return Ok(inventory) };
    let own = &observed.execution.spec.target;
    let reads = authority == Some(AuthorityKind::ReadOnly);
    let covered: &[Target] = if reads { &[] } else { &plan.spec.targets };
    let targets: BTreeSet<&Target> = covered.iter().chain([own]).collect();
    let mut hosts = BTreeSet::new();
    for target in targets {
        if target.kind() == TargetKind::Host {
            hosts.insert(target.name().to_owned());
            continue;
        }
        read_guest(context, namespace, target, &mut inventory).await?;
        hosts.extend(inventory.guests.get(target).map(|guest| guest.host.clone()));
    }
    for name in hosts {
        read_host(context, namespace, &name, &mut inventory).await?;
    }
    if let Some(reference) = plan.spec.agent_ref.as_ref().filter(|_| !reads) {
        let agents: Api<Agent> = context.api(namespace);
        match call("reading an agent", agents.get_opt(&reference.name)).await? {
            Some(agent) => inventory.agents.insert(reference.name.clone(), KnownAgent::of(&agent)),
            None => inventory.agents.remove(&reference.name),
        };
    }
    Ok(inventory)
}

async fn read_guest(
    context: &Context,
    namespace: &str,
    target: &Target,
    inventory: &mut Inventory,
) -> Result<(), ControllerError> {
    let kind = match target.kind() {
        TargetKind::Vm => GuestKind::Vm,
        TargetKind::Host | TargetKind::Lxc => GuestKind::Lxc,
    };
    let guests: Api<Guest> = context.api(namespace);
    let live = call("reading a guest", guests.get_opt(target.name())).await?;
    match live.filter(|guest| guest.spec.kind == kind && guest.metadata.deletion_timestamp.is_none()) {
        Some(guest) => inventory.guests.insert(target.clone(), KnownGuest::of(&guest)),
        None => inventory.guests.remove(target),
    };
    Ok(())
}

async fn read_host(
    context: &Context,
    namespace: &str,
    name: &str,
    inventory: &mut Inventory,
) -> Result<(), ControllerError> {
    let hosts: Api<Host> = context.api(namespace);
    let live = call("reading a host", hosts.get_opt(name)).await?;
    let Some(live) = live.filter(|host| host.metadata.deletion_timestamp.is_none()) else {
        inventory.hosts.remove(name);
        return Ok(());
    };
    let mut known = KnownHost::of(&live);
    if let Some(before) = inventory.hosts.get(name) {
        known.protected.extend(&before.protected);
    }
    inventory.hosts.insert(name.to_owned(), known);
    Ok(())
}

//! Creating a container as one step, and registering it as a Guest so that `lxc:<hostname>` is the next step's target.

use std::time::Duration;

use kube::{
    Api,
    api::{DeleteParams, Preconditions},
};
use tokio_util::sync::CancellationToken;

use super::{
    attempt::Mode,
    context::Context,
    effects::create as create_object,
    error::{ControllerError, call},
    step_report::{container_result, not_connected, not_sent},
};
use crate::{
    api::{
        ContainerSpec, Execution, ExecutionReason, Guest, GuestKind, GuestSpec, NameRef, Reason, Target, TargetKind,
        child,
    },
    decide::StepResult,
    steps::{
        HostAccess,
        container::{ContainerOutcome, ContainerRequest, adopt_container, create_container},
    },
};

/// Tells containers that oikos created from others in the web interface of Proxmox VE.
const TAG: &str = "oikos";
/// How long the store may lag behind a Guest that was just registered.
const REGISTRATION_LIMIT: Duration = Duration::from_secs(10);

/// Creates the container, or finds what an earlier try created, and registers it.
pub async fn create(
    context: &Context,
    namespace: &str,
    execution: &Execution,
    container: &ContainerSpec,
    access: &HostAccess,
    cancel: &CancellationToken,
    mode: Mode,
) -> Result<StepResult, ControllerError> {
    let host = execution.spec.target.name();
    let conflict = name_taken_elsewhere(context, namespace, &container.hostname, host);
    if let Some(text) = conflict.filter(|_| mode == Mode::Start) {
        return Ok(not_sent(Reason::new(ExecutionReason::HostnameTaken, text)));
    }
    let attempt = execution.status.as_ref().and_then(|status| status.attempt_id.clone()).unwrap_or_default();
    let request = ContainerRequest {
        start_within: context.start_within(execution),
        timeout: Duration::from_secs(u64::from(execution.spec.timeout_seconds)),
        container: container.clone(),
        tags: vec![TAG.to_owned()],
    };
    let report = match mode {
        Mode::Adopt => adopt_container(&context.runner, access, &request, &attempt, cancel).await,
        Mode::Start => match create_container(&context.runner, access, &request, &attempt, cancel).await {
            Ok(report) => report,
            Err(error) => return Ok(not_connected(&error)),
        },
    };
    if let (Some(vmid), ContainerOutcome::Created | ContainerOutcome::NotReady) = (report.vmid, &report.outcome) {
        register(context, namespace, execution, &container.hostname, vmid).await?;
    }
    Ok(container_result(report, execution.spec.timeout_seconds, &context.secrets.redactor(namespace)))
}

/// A Guest of that name on another host: registering the new one would take its name away.
fn name_taken_elsewhere(context: &Context, namespace: &str, hostname: &str, host: &str) -> Option<String> {
    let target = Target::new(TargetKind::Lxc, hostname).ok()?;
    let inventory = context.stores.inventory(namespace);
    let guest = inventory.guests.get(&target).filter(|guest| guest.host != host)?;
    Some(format!("{target} is guest {} of host:{} already; choose another hostname", guest.vmid, guest.host))
}

/// Registers the Guest, in place of one of the same name that the host does not have any more, and waits until the
/// store knows it: the next step's target must not be unknown.
async fn register(
    context: &Context,
    namespace: &str,
    execution: &Execution,
    hostname: &str,
    vmid: u32,
) -> Result<(), ControllerError> {
    let guests: Api<Guest> = context.api(namespace);
    let host_ref = NameRef { name: execution.spec.target.name().to_owned() };
    let spec = GuestSpec { host_ref, vmid, kind: GuestKind::Lxc };
    if let Some(old) = call("reading a guest", guests.get_opt(hostname)).await? {
        if old.spec == spec {
            return Ok(());
        }
        let only_this = Preconditions { uid: old.metadata.uid, ..Preconditions::default() };
        let delete = DeleteParams { preconditions: Some(only_this), ..DeleteParams::default() };
        call("removing a stale guest", guests.delete(hostname, &delete)).await?;
    }
    let mut guest = Guest::new(hostname, spec.clone());
    guest.metadata.namespace = Some(namespace.to_owned());
    child::label(&execution.spec.plan_ref.name, &mut guest);
    create_object(&guests, "registering a guest", &guest).await?;
    let Ok(target) = Target::new(TargetKind::Lxc, hostname) else { return Ok(()) };
    let until_known = async {
        loop {
            let guests = context.stores.inventory(namespace).guests;
            if guests.get(&target).is_some_and(|guest| guest.vmid == vmid && guest.host == spec.host_ref.name) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    // If the store still lags after that, the next step is refused with the reason, and its author may repeat it.
    let _ = tokio::time::timeout(REGISTRATION_LIMIT, until_known).await;
    Ok(())
}

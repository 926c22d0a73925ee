//! Creating a container as one step, and registering it as a Guest so that `lxc:<hostname>` is the next step's target.

use std::time::Duration;

use kube::Api;
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
        ContainerSpec, CreatedGuest, Execution, ExecutionReason, Guest, GuestKind, GuestSpec, NameRef, Reason, Target,
        TargetKind, child,
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
    let guests: Api<Guest> = context.api(namespace);
    if mode == Mode::Start
        && let Some(guest) = call("reading a guest", guests.get_opt(&container.hostname)).await?
    {
        return Ok(not_sent(Reason::new(ExecutionReason::HostnameTaken, taken_by(&guest))));
    }
    let attempt = execution.status.as_ref().and_then(|status| status.attempt_id.clone()).unwrap_or_default();
    let request = ContainerRequest {
        start_within: context.start_within(execution),
        timeout: Duration::from_secs(u64::from(execution.spec.timeout_seconds)),
        container: container.clone(),
        tags: vec![TAG.to_owned()],
    };
    let mut report = match mode {
        Mode::Adopt => adopt_container(&context.runner, access, &request, &attempt, cancel).await,
        Mode::Start => match create_container(&context.runner, access, &request, &attempt, cancel).await {
            Ok(report) => report,
            Err(error) => return Ok(not_connected(&error)),
        },
    };
    let mut created = None;
    if let (Some(vmid), ContainerOutcome::Created | ContainerOutcome::NotReady) = (report.vmid, &report.outcome) {
        match register(context, namespace, execution, &container.hostname, vmid).await? {
            Registration::Done(guest) => created = Some(guest),
            Registration::NameTaken(other) => {
                report.outcome = ContainerOutcome::NotReady;
                report.detail = format!("it is not registered: {}", taken_by(&other));
            }
        }
    }
    let result = container_result(report, execution.spec.timeout_seconds, &context.secrets.redactor(namespace));
    Ok(StepResult { created, ..result })
}

/// Why a container cannot have the name of a Guest that exists. A Guest is never pointed at another container: other
/// plans may be approved for the one that it names.
fn taken_by(guest: &Guest) -> String {
    let name = guest.metadata.name.as_deref().unwrap_or_default();
    let GuestSpec { vmid, host_ref, .. } = &guest.spec;
    format!(
        "Guest {name} is {vmid} on host:{} already; choose another hostname, or delete the Guest if that container is gone",
        host_ref.name
    )
}

/// What came of registering a Guest.
enum Registration {
    /// It is registered.
    Done(CreatedGuest),
    /// Another Guest has the name.
    NameTaken(Box<Guest>),
}

/// Registers the Guest and waits until the store knows it: the next step's target must not be unknown.
async fn register(
    context: &Context,
    namespace: &str,
    execution: &Execution,
    hostname: &str,
    vmid: u32,
) -> Result<Registration, ControllerError> {
    let guests: Api<Guest> = context.api(namespace);
    let host_ref = NameRef { name: execution.spec.target.name().to_owned() };
    let spec = GuestSpec { host_ref, vmid, kind: GuestKind::Lxc };
    let mut guest = Guest::new(hostname, spec.clone());
    guest.metadata.namespace = Some(namespace.to_owned());
    child::label(&execution.spec.plan_ref.name, &mut guest);
    create_object(&guests, "registering a guest", &guest).await?;
    // An earlier try of this very step may have registered it.
    let live = call("reading a guest", guests.get(hostname)).await?;
    if live.spec != spec {
        return Ok(Registration::NameTaken(Box::new(live)));
    }
    let target = Target::new(TargetKind::Lxc, hostname).map_err(|_| ControllerError::Nameless)?;
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
    Ok(Registration::Done(CreatedGuest { target, uid: live.metadata.uid.unwrap_or_default(), vmid }))
}

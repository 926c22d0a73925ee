//! From a target to the host that is connected to and the place on it.

use super::{context::Context, credentials::secret_text, error::LookupError, stores::decoded};
use crate::{
    api::{ConnectionReason, Execution, ExecutionReason, Host, Reason, Target, TargetKind},
    policy::KnownHost,
    steps::{ConnectError, HostAccess, Place, SecretText},
};

/// How the place is reached that an Execution was claimed for, and where on the Host it is; before a claim, the place
/// that its target stands for now.
pub async fn access_for(
    context: &Context,
    namespace: &str,
    execution: &Execution,
) -> Result<(HostAccess, Place), LookupError<Reason<ExecutionReason>>> {
    let Some(resolved) = execution.status.as_ref().and_then(|status| status.resolved.as_ref()) else {
        return access_of(context, namespace, &execution.spec.target).await;
    };
    if execution.spec.target.kind() == TargetKind::Vm {
        return Err(unsupported(&execution.spec.target));
    }
    let reference = &resolved.credential_secret_ref;
    let key = secret_text(context, namespace, &reference.name, &reference.key).await;
    let key = key.map_err(|error| {
        error.map(|text| Reason::new(ExecutionReason::MissingSecret, format!("host {}: {text}", resolved.host)))
    })?;
    let access = HostAccess {
        name: format!("{namespace}/{}", resolved.host),
        address: resolved.address.clone(),
        port: resolved.port,
        user: resolved.user.clone(),
        known_hosts: resolved.host_keys.clone(),
        private_key: SecretText::new(key),
    };
    Ok((access, resolved.vmid.map_or(Place::Host, |vmid| Place::Guest { vmid })))
}

/// Looks up the Host of a target and its key, and where on the Host the target is.
async fn access_of(
    context: &Context,
    namespace: &str,
    target: &Target,
) -> Result<(HostAccess, Place), LookupError<Reason<ExecutionReason>>> {
    let inventory = context.stores.inventory(namespace);
    let place = match target.kind() {
        TargetKind::Host => Place::Host,
        TargetKind::Lxc => match inventory.guests.get(target) {
            Some(guest) => Place::Guest { vmid: guest.vmid },
            None => return Err(unknown(target)),
        },
        TargetKind::Vm => return Err(unsupported(target)),
    };
    let name = inventory.host_of(target).unwrap_or_default();
    let is_named = |host: &Host| {
        host.metadata.name.as_deref() == Some(name) && host.metadata.namespace.as_deref() == Some(namespace)
    };
    let host = decoded(&context.stores.hosts, is_named).into_iter().next().ok_or_else(|| unknown(target))?;
    let access = host_access(context, namespace, &host).await;
    let access = access.map_err(|error| error.map(|text| Reason::new(ExecutionReason::MissingSecret, text)))?;
    Ok((access, place))
}

/// How a Host is reached. What may be missing is its Secret.
pub async fn host_access(context: &Context, namespace: &str, host: &Host) -> Result<HostAccess, LookupError<String>> {
    let reference = &host.spec.credential_secret_ref;
    let name = host.metadata.name.clone().unwrap_or_default();
    let key = secret_text(context, namespace, &reference.name, &reference.key).await;
    let key = key.map_err(|error| error.map(|text| format!("host {name}: {text}")))?;
    Ok(HostAccess {
        name: format!("{namespace}/{name}"),
        address: host.spec.address.clone(),
        port: host.spec.port,
        user: host.spec.user.clone(),
        // In the form that a claim records, so that both share one connection.
        known_hosts: KnownHost::of(host).keys.into_iter().collect(),
        private_key: SecretText::new(key),
    })
}

fn unsupported(target: &Target) -> LookupError<Reason<ExecutionReason>> {
    let text = format!("{target}: steps inside virtual machines are not supported; run `qm` on its host");
    LookupError::Missing(Reason::new(ExecutionReason::Unsupported, text))
}

fn unknown(target: &Target) -> LookupError<Reason<ExecutionReason>> {
    let text = format!("this namespace has no Host or Guest for {target}; create it, or name another target");
    LookupError::Missing(Reason::new(ExecutionReason::UnknownTarget, text))
}

/// The code of a failed connection.
pub fn connection_reason(error: &ConnectError) -> ConnectionReason {
    match error {
        ConnectError::Unreachable { .. } => ConnectionReason::HostUnreachable,
        ConnectError::HostKeyMismatch { .. } => ConnectionReason::HostKeyMismatch,
        ConnectError::UnknownHostKey { .. } => ConnectionReason::UnknownHostKey,
        ConnectError::BadHostKeyEntry { .. } => ConnectionReason::BadHostKeyEntry,
        ConnectError::AuthFailed { .. } => ConnectionReason::AuthFailed,
        ConnectError::BadKey { .. } => ConnectionReason::BadKey,
        ConnectError::PctMissing { .. } => ConnectionReason::PctMissing,
        ConnectError::GuestUnavailable { .. } => ConnectionReason::GuestUnavailable,
        ConnectError::ShellUnusable { .. } => ConnectionReason::ShellUnusable,
    }
}

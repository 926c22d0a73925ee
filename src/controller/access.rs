//! From a target to the host that is connected to and the place on it.

use super::{context::Context, credentials::secret_text, error::LookupError};
use crate::{
    api::{ConnectionReason, Execution, ExecutionReason, Host, Reason, ResolvedTarget, Target, TargetKind},
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
    let target = &execution.spec.target;
    if target.kind() == TargetKind::Vm {
        return Err(unsupported(target));
    }
    let claimed = execution.status.as_ref().and_then(|status| status.resolved.clone());
    let resolved = claimed.or_else(|| context.stores.inventory(namespace).resolve(target));
    let resolved = resolved.ok_or_else(|| unknown(target))?;
    let access = access_to(context, namespace, &resolved).await;
    let access = access.map_err(|error| error.map(|text| Reason::new(ExecutionReason::MissingSecret, text)))?;
    Ok((access, resolved.vmid.map_or(Place::Host, |vmid| Place::Guest { vmid })))
}

/// How a Host is reached. What may be missing is its Secret.
pub async fn host_access(context: &Context, namespace: &str, host: &Host) -> Result<HostAccess, LookupError<String>> {
    let name = host.metadata.name.as_deref().unwrap_or_default();
    access_to(context, namespace, &KnownHost::of(host).resolved(name, None)).await
}

/// The same for all who connect, so that they share one connection.
async fn access_to(
    context: &Context,
    namespace: &str,
    resolved: &ResolvedTarget,
) -> Result<HostAccess, LookupError<String>> {
    let reference = &resolved.credential_secret_ref;
    let key = secret_text(context, namespace, &reference.name, &reference.key).await;
    let key = key.map_err(|error| error.map(|text| format!("host {}: {text}", resolved.host)))?;
    Ok(HostAccess {
        name: format!("{namespace}/{}", resolved.host),
        address: resolved.address.clone(),
        port: resolved.port,
        user: resolved.user.clone(),
        known_hosts: resolved.host_keys.clone(),
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

//! Host: whether it answers with a pinned key, and which version it runs.

use std::{sync::Arc, time::Duration};

use kube::{Api, runtime::controller::Action};

use super::{
    access::{connection_reason, host_access},
    context::{Context, now},
    effects::replace_status,
    error::{ControllerError, LookupError, call},
    objects::NamespacedName,
    stores::MaybeInvalid,
};
use crate::api::{
    Host, HostReason, Reason,
    condition::{self, ConditionStatus},
};

/// How often a host that answers is asked again.
const PROBE_EVERY: Duration = Duration::from_secs(300);
/// How soon a host that did not answer is asked again. Not at once: sshd delays and drops clients that fail repeatedly.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// Reconciles one Host: connects to it, and writes its Ready condition.
pub async fn reconcile(seen: Arc<MaybeInvalid<Host>>, context: Arc<Context>) -> Result<Action, ControllerError> {
    let NamespacedName { namespace, name } = NamespacedName::of(seen.as_ref())?;
    let hosts: Api<Host> = context.api(&namespace);
    let Some(mut host) = call("reading a host", hosts.get_opt(&name)).await? else {
        return Ok(Action::await_change());
    };
    let mut status = host.status.clone().unwrap_or_default();
    let reason = match host_access(&context, &namespace, &host).await {
        Err(LookupError::Call(error)) => return Err(error),
        Err(LookupError::Missing(text)) => Reason::new(HostReason::MissingSecret, text),
        Ok(access) => match context.runner.probe(&access).await {
            Ok(facts) => {
                status.version = facts.pve_version;
                Reason::new(HostReason::Answers, "answers with a pinned key")
            }
            Err(error) => Reason::new(connection_reason(&error).into(), error.to_string()),
        },
    };
    let generation = host.metadata.generation;
    let ready = reason.code == HostReason::Answers;
    let conditions = &mut status.conditions;
    condition::set(conditions, now(), generation, condition::READY, ConditionStatus::of(ready), reason);
    status.observed_generation = generation;
    if host.status.as_ref() != Some(&status) {
        host.status = Some(status);
        replace_status(&hosts, "writing a host's status", &host).await?;
    }
    Ok(Action::requeue(if ready { PROBE_EVERY } else { RETRY_AFTER }))
}

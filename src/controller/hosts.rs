//! Host: whether it answers with a pinned key, and which version it runs.

use std::{sync::Arc, time::Duration};

use kube::{Api, runtime::controller::Action};

use super::{
    access::host_access,
    context::{Context, now},
    effects::replace_status,
    error::{ControllerError, call},
    objects::key,
    stores::MaybeInvalid,
};
use crate::api::{Host, condition};

/// How often a host is asked again.
const EVERY: Duration = Duration::from_secs(300);
/// How soon one that did not answer is asked again; sshd punishes those who come back at once.
const AGAIN: Duration = Duration::from_secs(30);

/// One pass over one Host.
pub async fn reconcile(seen: Arc<MaybeInvalid<Host>>, context: Arc<Context>) -> Result<Action, ControllerError> {
    let (namespace, name) = key(seen.as_ref())?;
    let hosts: Api<Host> = context.api(&namespace);
    let Some(mut host) = call("reading a host", hosts.get_opt(&name)).await? else {
        return Ok(Action::await_change());
    };
    let mut status = host.status.clone().unwrap_or_default();
    let found = match host_access(&context, &namespace, &host).await? {
        Err((reason, text)) => Err((reason, text)),
        Ok(access) => {
            context.runner.probe(&access).await.map_err(|error| (error.category().to_owned(), error.to_string()))
        }
    };
    let generation = host.metadata.generation;
    let ready = found.is_ok();
    let (word, reason, text) = match found {
        Ok(facts) => {
            status.version = facts.pve_version;
            ("True", "Answers".to_owned(), "answers with a pinned key".to_owned())
        }
        Err((reason, text)) => ("False", reason, text),
    };
    condition::set(&mut status.conditions, now(), generation, (condition::READY, word, &reason), &text);
    status.observed_generation = generation;
    if host.status.as_ref() != Some(&status) {
        host.status = Some(status);
        replace_status(&hosts, "writing a host's status", &host).await?;
    }
    Ok(Action::requeue(if ready { EVERY } else { AGAIN }))
}

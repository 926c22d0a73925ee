//! Agents, and the Secrets that hosts and agents name.

use k8s_openapi::api::core::v1::Secret;
use kube::Api;

use super::{
    context::Context,
    error::{ControllerError, call},
    stores::decoded,
};
use crate::api::Agent;

/// The Agent of this name.
pub fn agent_of(context: &Context, namespace: &str, name: &str) -> Option<Agent> {
    let named = |agent: &Agent| {
        agent.metadata.name.as_deref() == Some(name) && agent.metadata.namespace.as_deref() == Some(namespace)
    };
    decoded(&context.stores.agents, named).into_iter().next()
}

/// The agent's API key: `None` when it needs none, the inner error when it cannot be had.
pub async fn api_key(
    context: &Context,
    namespace: &str,
    agent: &Agent,
) -> Result<Result<Option<String>, String>, ControllerError> {
    match &agent.spec.api_key_secret_ref {
        None => Ok(Ok(None)),
        Some(reference) => Ok(secret_text(context, namespace, &reference.name, &reference.key).await?.map(Some)),
    }
}

/// One key of a Secret as text; the inner error says what is missing.
pub async fn secret_text(
    context: &Context,
    namespace: &str,
    name: &str,
    key: &str,
) -> Result<Result<String, String>, ControllerError> {
    let secrets: Api<Secret> = context.api(namespace);
    let Some(secret) = call("reading a secret", secrets.get_opt(name)).await? else {
        return Ok(Err(format!(
            "there is no Secret {name:?} in namespace {namespace}; create it with the key {key:?}"
        )));
    };
    let value = secret.data.unwrap_or_default().remove(key);
    Ok(match value.map(|bytes| String::from_utf8(bytes.0)) {
        Some(Ok(text)) => Ok(text),
        Some(Err(_)) => Err(format!("key {key:?} of Secret {name:?} is not text")),
        None => Err(format!("Secret {name:?} has no key {key:?}; add it")),
    })
}

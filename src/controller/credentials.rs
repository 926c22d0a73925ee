//! Agents, and the Secrets that Hosts and Agents name.

use k8s_openapi::api::core::v1::Secret;
use kube::Api;

use super::{
    context::Context,
    error::{LookupError, call},
    stores::decoded,
};
use crate::api::{Agent, BlockedReason, Plan, Reason};

/// The Agent that the plan names and its API key, `None` when the agent needs none.
pub async fn agent_of(
    context: &Context,
    namespace: &str,
    plan: &Plan,
) -> Result<(Agent, Option<String>), LookupError<Reason<BlockedReason>>> {
    let name = plan.spec.agent_ref.as_ref().map_or("", |reference| reference.name.as_str());
    let is_named = |agent: &Agent| {
        agent.metadata.name.as_deref() == Some(name) && agent.metadata.namespace.as_deref() == Some(namespace)
    };
    let Some(agent) = decoded(&context.stores.agents, is_named).into_iter().next() else {
        let text = format!("there is no Agent {name:?} in namespace {namespace}; create it, or change spec.agentRef");
        return Err(LookupError::Missing(Reason::new(BlockedReason::UnknownAgent, text)));
    };
    let key = match &agent.spec.api_key_secret_ref {
        None => None,
        Some(reference) => {
            let text = secret_text(context, namespace, &reference.name, &reference.key).await;
            Some(text.map_err(|error| error.map(|text| Reason::new(BlockedReason::MissingSecret, text)))?)
        }
    };
    Ok((agent, key))
}

/// One key of a Secret as text.
pub async fn secret_text(
    context: &Context,
    namespace: &str,
    name: &str,
    key: &str,
) -> Result<String, LookupError<String>> {
    let secrets: Api<Secret> = context.api(namespace);
    let secret = call("reading a secret", secrets.get_opt(name)).await?;
    let text = text_of(secret, namespace, name, key).map_err(LookupError::Missing)?;
    context.secrets.remember(namespace, name, key, &text);
    Ok(text)
}

fn text_of(secret: Option<Secret>, namespace: &str, name: &str, key: &str) -> Result<String, String> {
    let Some(secret) = secret else {
        return Err(format!("there is no Secret {name:?} in namespace {namespace}; create it with the key {key:?}"));
    };
    let Some(value) = secret.data.unwrap_or_default().remove(key) else {
        return Err(format!("Secret {name:?} has no key {key:?}; add it"));
    };
    String::from_utf8(value.0).map_err(|_| format!("key {key:?} of Secret {name:?} is not text"))
}

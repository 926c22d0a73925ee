//! Plan: observe, decide, carry out one effect.

use std::{sync::Arc, time::Duration};

use k8s_openapi::{api::core::v1::Secret, jiff::Timestamp};
use kube::{
    Api, Resource,
    core::DeserializeGuard,
    runtime::{controller::Action, reflector::ObjectRef},
};

use super::{
    context::{Context, now},
    effects::{create, replace_status, revoke},
    error::{ControllerError, call},
    stores::{Guarded, decoded},
    transcript::{latest_turn, tally},
    turn_task,
};
use crate::{
    api::{Agent, AutonomyWindow, Execution, Message, Plan},
    decide::{self, ObservedPlan, PlanEffect},
};

/// Namespace and name of an object.
pub fn key<K: Resource<DynamicType = ()>>(object: &K) -> Result<(String, String), ControllerError> {
    let meta = object.meta();
    match (&meta.namespace, &meta.name) {
        (Some(namespace), Some(name)) => Ok((namespace.clone(), name.clone())),
        _ => Err(ControllerError::Nameless),
    }
}

/// When to look again: at the stated time, and not at all without one.
pub fn requeue(again_at: Option<Timestamp>, now: Timestamp) -> Action {
    match again_at {
        None => Action::await_change(),
        Some(time) => {
            let wait = Duration::try_from(time.duration_since(now)).unwrap_or_default();
            Action::requeue(wait.max(Duration::from_millis(500)))
        }
    }
}

/// One pass over one plan.
pub async fn reconcile(seen: Arc<Guarded<Plan>>, context: Arc<Context>) -> Result<Action, ControllerError> {
    let (namespace, name) = key(seen.as_ref())?;
    let plans: Api<Plan> = context.api(&namespace);
    let Some(mut plan) = call("reading a plan", plans.get_opt(&name)).await? else {
        return Ok(Action::await_change());
    };
    if plan.status.as_ref().is_some_and(|status| status.phase.is_terminal()) {
        return Ok(Action::await_change());
    }
    let uid = plan.metadata.uid.clone().unwrap_or_default();
    let now = now();
    let messages = context.stores.messages_of(&uid);
    let executions = context.stores.executions_of(&uid);
    let windows = context.stores.windows_of(&uid);
    let inventory = context.stores.inventory(&namespace);
    let asking = context.turns.has(&uid);
    let trouble = if asking { None } else { agent_trouble(&context, &namespace, &plan).await? };
    let step = decide::plan(&ObservedPlan {
        plan: &plan,
        windows: &windows,
        executions: &executions,
        inventory: &inventory,
        agent_trouble: trouble.as_ref(),
        turn: latest_turn(&plan, &messages).as_ref(),
        tally: tally(&name, &messages, &executions),
        asking,
        guarded: context.guarded(),
        now,
    });
    if let Some(status) = step.status {
        plan.status = Some(status);
        plan = replace_status(&plans, "writing a plan's status", &plan).await?;
        if let Some(notice) = &step.notice {
            context.announce(&plan, notice).await;
        }
    }
    carry_out(&context, &namespace, plan, step.effect).await?;
    Ok(requeue(step.again_at, now))
}

async fn carry_out(
    context: &Arc<Context>,
    namespace: &str,
    plan: Plan,
    effect: PlanEffect,
) -> Result<(), ControllerError> {
    let uid = plan.metadata.uid.clone().unwrap_or_default();
    match effect {
        PlanEffect::None => {}
        PlanEffect::StopAsking => context.turns.stop(&uid),
        PlanEffect::Revoke(name) => revoke(&context.api::<AutonomyWindow>(namespace), &name).await?,
        PlanEffect::Grant(mut window) => {
            window.metadata.namespace = Some(namespace.to_owned());
            create(&context.api::<AutonomyWindow>(namespace), "creating a window", &window).await?;
        }
        PlanEffect::Execute(execution) => {
            create(&context.api::<Execution>(namespace), "creating an execution", &execution).await?;
        }
        PlanEffect::Ask { sequence, closing } => {
            let reference = ObjectRef::from_obj(&DeserializeGuard(Ok(plan.clone())));
            let (wake, work) = (context.wake_plan.clone(), context.clone());
            context.turns.start(
                &uid,
                move |cancel| turn_task::run(work, plan, sequence, closing, cancel),
                move || {
                    // The receiver lives as long as the process; when it is gone, nobody is to be woken.
                    let _ = wake.send(reference);
                },
            );
        }
    }
    Ok(())
}

/// Why the plan's agent cannot be asked: it or its Secret is missing.
async fn agent_trouble(
    context: &Context,
    namespace: &str,
    plan: &Plan,
) -> Result<Option<(String, String)>, ControllerError> {
    let Some(reference) = &plan.spec.agent_ref else {
        return Ok(None);
    };
    let Some(agent) = agent_of(context, namespace, &reference.name) else {
        let text = format!(
            "there is no Agent {:?} in namespace {namespace}; create it, or change spec.agentRef",
            reference.name
        );
        return Ok(Some(("UnknownAgent".to_owned(), text)));
    };
    Ok(api_key(context, namespace, &agent).await?.err().map(|text| ("MissingSecret".to_owned(), text)))
}

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

/// A Message of the plan, owned by it.
pub fn message_of(plan: &Plan, name: &str, spec: crate::api::MessageSpec) -> Message {
    let mut message = Message::new(name, spec);
    message.metadata.namespace = plan.metadata.namespace.clone();
    message.metadata.owner_references = plan.controller_owner_ref(&()).map(|owner| vec![owner]);
    let plan_name = plan.metadata.name.clone().unwrap_or_default();
    message.metadata.labels = Some([(crate::api::PLAN_LABEL.to_owned(), plan_name)].into());
    message
}

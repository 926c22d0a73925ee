//! The controllers: each with the watches that wake it.

use std::{sync::Arc, time::Duration};

use futures::{
    StreamExt,
    future::{BoxFuture, Shared},
    stream,
};
use kube::{
    Resource,
    runtime::{
        controller::{Action, Controller},
        reflector::ObjectRef,
    },
};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use super::{
    context::Context,
    error::ControllerError,
    executions, hosts, plans,
    stores::{MaybeInvalid, Stores, decoded},
    watch::Watches,
    windows,
};
use crate::api::{self, AutonomyWindow, Execution, Host, Message, Plan};

/// A long-lived task: it ends with its name, or with why it cannot go on.
pub type Part = BoxFuture<'static, anyhow::Result<&'static str>>;

/// Objects that a task of this process asks to be looked at again.
pub struct Wakes {
    pub plans: UnboundedReceiver<ObjectRef<MaybeInvalid<Plan>>>,
    pub executions: UnboundedReceiver<ObjectRef<MaybeInvalid<Execution>>>,
}

/// Ends when the controllers may begin.
pub type Start = Shared<BoxFuture<'static, ()>>;

/// How soon an object is reconciled again after somebody else wrote first.
const AFTER_CONFLICT: Duration = Duration::from_millis(50);
/// How soon an object is reconciled again after another error.
const AFTER_ERROR: Duration = Duration::from_secs(3);

/// All controllers, subscribed to what wakes them.
pub fn all(
    context: &Arc<Context>,
    watches: &Watches,
    wakes: Wakes,
    start: &Start,
    stop: &CancellationToken,
) -> anyhow::Result<Vec<Part>> {
    let stores = &context.stores;
    let plans = plan_controller(watches, stores, wakes.plans)?;
    let executions = execution_controller(watches, stores, wakes.executions)?;
    let windows = window_controller(watches, stores)?;
    let hosts = Controller::for_shared_stream(watches.hosts.changes()?, watches.hosts.store());
    Ok(vec![
        running("the plan controller", plans, plans::reconcile, context, start, stop),
        running("the execution controller", executions, executions::reconcile, context, start, stop),
        running("the window controller", windows, windows::reconcile, context, start, stop),
        running("the host controller", hosts, hosts::reconcile, context, start, stop),
    ])
}

/// A plan is woken by its children, and by what its names stand for.
fn plan_controller(
    watches: &Watches,
    stores: &Stores,
    wakes: UnboundedReceiver<ObjectRef<MaybeInvalid<Plan>>>,
) -> anyhow::Result<Controller<MaybeInvalid<Plan>>> {
    let (by_host, by_guest, by_agent) = (stores.clone(), stores.clone(), stores.clone());
    Ok(Controller::for_shared_stream(watches.plans.changes()?, watches.plans.store())
        .watches_shared_stream(watches.executions.changes()?, |execution: Arc<MaybeInvalid<Execution>>| {
            plan_of(&execution, |execution| &execution.spec.plan_ref)
        })
        .watches_shared_stream(watches.windows.changes()?, |window: Arc<MaybeInvalid<AutonomyWindow>>| {
            plan_of(&window, |window| &window.spec.plan_ref)
        })
        .watches_shared_stream(watches.messages.changes()?, |message: Arc<MaybeInvalid<Message>>| {
            plan_of(&message, |message| &message.spec.plan_ref)
        })
        .watches_shared_stream(watches.hosts.changes()?, move |host: Arc<MaybeInvalid<Host>>| {
            unfinished_plans(&by_host, host.meta().namespace.as_deref())
        })
        .watches_shared_stream(watches.guests.changes()?, move |guest: Arc<MaybeInvalid<api::Guest>>| {
            unfinished_plans(&by_guest, guest.meta().namespace.as_deref())
        })
        .watches_shared_stream(watches.agents.changes()?, move |agent: Arc<MaybeInvalid<api::Agent>>| {
            unfinished_plans(&by_agent, agent.meta().namespace.as_deref())
        })
        .reconcile_on(received(wakes)))
}

/// An Execution that has not ended is woken by its plan and by the plan's windows.
fn execution_controller(
    watches: &Watches,
    stores: &Stores,
    wakes: UnboundedReceiver<ObjectRef<MaybeInvalid<Execution>>>,
) -> anyhow::Result<Controller<MaybeInvalid<Execution>>> {
    let (by_plan, by_window) = (stores.clone(), stores.clone());
    Ok(Controller::for_shared_stream(watches.executions.changes()?, watches.executions.store())
        .watches_shared_stream(watches.plans.changes()?, move |plan: Arc<MaybeInvalid<Plan>>| {
            open_executions(&by_plan, plan.meta().uid.as_deref().unwrap_or_default())
        })
        .watches_shared_stream(watches.windows.changes()?, move |window: Arc<MaybeInvalid<AutonomyWindow>>| {
            let plan_uid = window.0.as_ref().map(|window| window.spec.plan_ref.uid.as_str());
            open_executions(&by_window, plan_uid.unwrap_or_default())
        })
        .reconcile_on(received(wakes)))
}

/// A window that has not been looked at is woken by its plan, which may have lacked a token until then.
fn window_controller(watches: &Watches, stores: &Stores) -> anyhow::Result<Controller<MaybeInvalid<AutonomyWindow>>> {
    let by_plan = stores.clone();
    Ok(Controller::for_shared_stream(watches.windows.changes()?, watches.windows.store()).watches_shared_stream(
        watches.plans.changes()?,
        move |plan: Arc<MaybeInvalid<Plan>>| {
            let uid = plan.meta().uid.as_deref().unwrap_or_default();
            references(&decoded(&by_plan.windows, |window: &AutonomyWindow| {
                window.spec.plan_ref.uid == uid && window.status.is_none()
            }))
        },
    ))
}

/// The plan that a child names.
fn plan_of<K: Resource<DynamicType = ()>>(
    child: &MaybeInvalid<K>,
    plan_ref: fn(&K) -> &api::ObjectRef,
) -> Option<ObjectRef<MaybeInvalid<Plan>>> {
    let child = child.0.as_ref().ok()?;
    Some(reference(&plan_ref(child).name, child.meta().namespace.as_deref()))
}

/// The plans of a namespace that have not ended: what their names stand for may have changed, or be there at last.
fn unfinished_plans(stores: &Stores, namespace: Option<&str>) -> Vec<ObjectRef<MaybeInvalid<Plan>>> {
    references(&decoded(&stores.plans, |plan: &Plan| {
        plan.metadata.namespace.as_deref() == namespace
            && plan.status.as_ref().is_none_or(|status| !status.phase.is_terminal())
    }))
}

fn open_executions(stores: &Stores, plan_uid: &str) -> Vec<ObjectRef<MaybeInvalid<Execution>>> {
    references(&decoded(&stores.executions, |execution: &Execution| {
        execution.spec.plan_ref.uid == plan_uid && !execution.has_ended()
    }))
}

fn reference<K: Resource<DynamicType = ()>>(name: &str, namespace: Option<&str>) -> ObjectRef<MaybeInvalid<K>> {
    ObjectRef::new(name).within(namespace.unwrap_or_default())
}

fn references<K: Resource<DynamicType = ()>>(objects: &[K]) -> Vec<ObjectRef<MaybeInvalid<K>>> {
    let name = |object: &K| reference(object.meta().name.as_deref()?, object.meta().namespace.as_deref()).into();
    objects.iter().filter_map(name).collect()
}

fn received<T: Send + 'static>(receiver: UnboundedReceiver<T>) -> impl stream::Stream<Item = T> + Send + 'static {
    stream::unfold(receiver, |mut receiver| async move { receiver.recv().await.map(|item| (item, receiver)) })
}

/// A controller that begins at `start` and ends after `stop`, with a name for when it ends unasked.
fn running<K, F>(
    name: &'static str,
    controller: Controller<MaybeInvalid<K>>,
    reconcile: fn(Arc<MaybeInvalid<K>>, Arc<Context>) -> F,
    context: &Arc<Context>,
    start: &Start,
    stop: &CancellationToken,
) -> Part
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned + Send + Sync + 'static,
    F: Future<Output = Result<Action, ControllerError>> + Send + 'static,
{
    let (context, start) = (context.clone(), start.clone());
    let controller = controller.graceful_shutdown_on(stop.clone().cancelled_owned());
    Box::pin(async move {
        start.await;
        let reconcile_decoded = move |object: Arc<MaybeInvalid<K>>, context| async move {
            match &object.0 {
                Ok(_) => reconcile(object, context).await,
                // The watch has logged it; it is left alone until it changes.
                Err(_) => Ok(Action::await_change()),
            }
        };
        controller.run(reconcile_decoded, after_failure, context).for_each(|_| std::future::ready(())).await;
        Ok(name)
    })
}

/// When an object is reconciled again after a failure.
fn after_failure<K: Resource<DynamicType = ()>>(
    object: Arc<MaybeInvalid<K>>,
    error: &ControllerError,
    _: Arc<Context>,
) -> Action {
    let name = object.meta().name.as_deref().unwrap_or_default();
    let kind = K::kind(&());
    if error.is_conflict() {
        tracing::debug!(%kind, name, "somebody else wrote first; read again");
        return Action::requeue(AFTER_CONFLICT);
    }
    tracing::warn!(%kind, name, category = error.category(), %error, "a reconcile failed and is repeated");
    Action::requeue(AFTER_ERROR)
}

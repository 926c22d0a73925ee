//! Which change wakes which controller.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::Context as _;
use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use kube::{
    Client, Resource,
    core::DeserializeGuard,
    runtime::{
        controller::{Action, Controller},
        events::{Recorder, Reporter},
        reflector::{ObjectRef, ReflectHandle},
    },
};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::{
    context::Context,
    error::ControllerError,
    executions, guard, health, hosts, plans,
    stores::{MaybeInvalid, Stores, WatchHealth, decoded, watched},
    tasks::Tasks,
    windows,
};
use crate::{
    api::{Agent, AutonomyWindow, Execution, Guest, Host, Message, Plan, PlanPhase},
    steps::Runner,
};

/// How the controller runs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The one namespace to work in; all of them without one.
    pub namespace: Option<String>,
    /// The namespace that the controller itself lives in; that of its credentials without one.
    pub own_namespace: Option<String>,
    /// Where the health endpoints listen.
    pub health_address: SocketAddr,
}

/// How many of the parts are controllers, which end when they are told to.
pub const CONTROLLERS: usize = 4;

/// A long-lived task: it ends with its name, or with why it cannot go on.
pub type Part = BoxFuture<'static, anyhow::Result<&'static str>>;

/// Everything that runs for as long as the process.
pub fn parts(settings: &Settings, client: Client, stop: &CancellationToken) -> Vec<Part> {
    let namespace = settings.namespace.as_deref();
    let watch_health = WatchHealth::default();
    let (steps, turns) = (Tasks::default(), Tasks::default());
    // What was deleted is not observed any more, so what works for it here is stopped.
    let stops = |tasks: &Tasks| {
        let tasks = tasks.clone();
        move |uid: &str| tasks.stop(uid)
    };
    let plans = watched::<Plan>(&client, namespace, 3, &watch_health, stops(&turns));
    let executions = watched::<Execution>(&client, namespace, 2, &watch_health, stops(&steps));
    let windows = watched::<AutonomyWindow>(&client, namespace, 3, &watch_health, |_| {});
    let messages = watched::<Message>(&client, namespace, 1, &watch_health, |_| {});
    let agents = watched::<Agent>(&client, namespace, 1, &watch_health, |_| {});
    let hosts = watched::<Host>(&client, namespace, 2, &watch_health, |_| {});
    let guests = watched::<Guest>(&client, namespace, 1, &watch_health, |_| {});
    let stores = Stores {
        plans: plans.store,
        executions: executions.store,
        windows: windows.store,
        messages: messages.store,
        agents: agents.store,
        hosts: hosts.store,
        guests: guests.store,
    };
    let changes = Changes {
        plans: plans.changes,
        executions: executions.changes,
        windows: windows.changes,
        messages: messages.changes,
        agents: agents.changes,
        hosts: hosts.changes,
        guests: guests.changes,
    };
    let watches =
        [plans.watch, executions.watch, windows.watch, messages.watch, agents.watch, hosts.watch, guests.watch];
    let (wake_plan, plan_wakes) = unbounded_channel();
    let (wake_execution, execution_wakes) = unbounded_channel();
    let guarded = Arc::new(AtomicBool::new(false));
    let context = Arc::new(Context {
        client: client.clone(),
        stores,
        runner: Arc::new(Runner::new()),
        steps,
        turns,
        recorder: Recorder::new(client.clone(), Reporter { controller: "oikos".into(), instance: None }),
        guarded: guarded.clone(),
        wake_plan,
        wake_execution,
    });
    let probe = settings.own_namespace.clone().unwrap_or_else(|| client.default_namespace().to_owned());
    let start = started(context.clone(), client.clone(), probe.clone()).boxed().shared();
    let wakes = (plan_wakes, execution_wakes);
    let mut parts = controllers(&context, changes, wakes, &start, stop);
    parts.extend(watches.map(|watch| part("a watch", watch)));
    parts.push(part("the guard's watch", guard::watch(client, probe, guarded.clone()).boxed()));
    let address = settings.health_address;
    parts.push(Box::pin(async move {
        health::serve(address, watch_health, guarded).await.with_context(|| format!("serving health on {address}"))?;
        Ok("the health endpoints")
    }));
    parts
}

fn part(name: &'static str, work: BoxFuture<'static, ()>) -> Part {
    Box::pin(async move {
        work.await;
        Ok(name)
    })
}

/// Waits until every store is in step and the guard was tried once: nothing is decided on half the facts.
async fn started(context: Arc<Context>, client: Client, probe: String) {
    let stores = &context.stores;
    // An error means that the watch is gone, and then the process ends.
    let _ = stores.plans.wait_until_ready().await;
    let _ = stores.executions.wait_until_ready().await;
    let _ = stores.windows.wait_until_ready().await;
    let _ = stores.messages.wait_until_ready().await;
    let _ = stores.agents.wait_until_ready().await;
    let _ = stores.hosts.wait_until_ready().await;
    let _ = stores.guests.wait_until_ready().await;
    let up = guard::is_up(&client, &probe).await.unwrap_or(false);
    context.guarded.store(up, Ordering::Relaxed);
    tracing::info!(guarded = up, "ready");
}

type Start = futures::future::Shared<BoxFuture<'static, ()>>;
type Handle<K> = ReflectHandle<MaybeInvalid<K>>;

struct Changes {
    plans: Vec<Handle<Plan>>,
    executions: Vec<Handle<Execution>>,
    windows: Vec<Handle<AutonomyWindow>>,
    messages: Vec<Handle<Message>>,
    agents: Vec<Handle<Agent>>,
    hosts: Vec<Handle<Host>>,
    guests: Vec<Handle<Guest>>,
}

/// Takes one stream of changes; an empty one when there is none left, which the counts above rule out.
fn take<K>(handles: &mut Vec<Handle<K>>) -> stream::BoxStream<'static, Arc<MaybeInvalid<K>>>
where
    K: Resource<DynamicType = ()> + Clone + Send + Sync + 'static,
{
    handles.pop().map_or_else(|| stream::empty().boxed(), StreamExt::boxed)
}

fn reference<K: Resource<DynamicType = ()>>(name: &str, namespace: Option<&str>) -> ObjectRef<MaybeInvalid<K>> {
    ObjectRef::new(name).within(namespace.unwrap_or_default())
}

fn references<K: Resource<DynamicType = ()>>(objects: &[K]) -> Vec<ObjectRef<MaybeInvalid<K>>> {
    let name = |object: &K| reference(object.meta().name.as_deref()?, object.meta().namespace.as_deref()).into();
    objects.iter().filter_map(name).collect()
}

type Wakes = (UnboundedReceiver<ObjectRef<MaybeInvalid<Plan>>>, UnboundedReceiver<ObjectRef<MaybeInvalid<Execution>>>);

fn controllers(
    context: &Arc<Context>,
    mut changes: Changes,
    (plan_wakes, execution_wakes): Wakes,
    start: &Start,
    stop: &CancellationToken,
) -> Vec<Part> {
    let stores = &context.stores;
    let blocked = |stores: &Stores, namespace: Option<String>| {
        references(&decoded(&stores.plans, |plan: &Plan| {
            plan.metadata.namespace == namespace
                && plan.status.as_ref().is_some_and(|status| status.phase == PlanPhase::Blocked)
        }))
    };
    let (by_host, by_guest, by_agent) = (stores.clone(), stores.clone(), stores.clone());
    let plans = Controller::for_shared_stream(take(&mut changes.plans), stores.plans.clone())
        .watches_shared_stream(take(&mut changes.executions), |it: Arc<MaybeInvalid<Execution>>| {
            let plan = |it: &Execution| reference(&it.spec.plan_ref.name, it.metadata.namespace.as_deref());
            it.0.as_ref().ok().map(plan)
        })
        .watches_shared_stream(take(&mut changes.windows), |it: Arc<MaybeInvalid<AutonomyWindow>>| {
            let plan = |it: &AutonomyWindow| reference(&it.spec.plan_ref.name, it.metadata.namespace.as_deref());
            it.0.as_ref().ok().map(plan)
        })
        .watches_shared_stream(take(&mut changes.messages), |it: Arc<MaybeInvalid<Message>>| {
            let plan = |it: &Message| reference(&it.spec.plan_ref.name, it.metadata.namespace.as_deref());
            it.0.as_ref().ok().map(plan)
        })
        .watches_shared_stream(take(&mut changes.hosts), move |it: Arc<MaybeInvalid<Host>>| {
            blocked(&by_host, it.meta().namespace.clone())
        })
        .watches_shared_stream(take(&mut changes.guests), move |it: Arc<MaybeInvalid<Guest>>| {
            blocked(&by_guest, it.meta().namespace.clone())
        })
        .watches_shared_stream(take(&mut changes.agents), move |it: Arc<MaybeInvalid<Agent>>| {
            blocked(&by_agent, it.meta().namespace.clone())
        })
        .reconcile_on(received(plan_wakes));
    let waiting = |stores: &Stores, plan_uid: String| {
        references(&decoded(&stores.executions, |it: &Execution| it.spec.plan_ref.uid == plan_uid && !it.has_ended()))
    };
    let (by_plan, by_window) = (stores.clone(), stores.clone());
    let executions = Controller::for_shared_stream(take(&mut changes.executions), stores.executions.clone())
        .watches_shared_stream(take(&mut changes.plans), move |it: Arc<MaybeInvalid<Plan>>| {
            waiting(&by_plan, it.meta().uid.clone().unwrap_or_default())
        })
        .watches_shared_stream(take(&mut changes.windows), move |it: Arc<MaybeInvalid<AutonomyWindow>>| {
            let plan = it.0.as_ref().map(|window| window.spec.plan_ref.uid.clone());
            waiting(&by_window, plan.unwrap_or_default())
        })
        .reconcile_on(received(execution_wakes));
    let by_plan = stores.clone();
    let windows = Controller::for_shared_stream(take(&mut changes.windows), stores.windows.clone())
        .watches_shared_stream(take(&mut changes.plans), move |it: Arc<MaybeInvalid<Plan>>| {
            let uid = it.meta().uid.clone().unwrap_or_default();
            references(&decoded(&by_plan.windows, |window| window.spec.plan_ref.uid == uid && window.status.is_none()))
        });
    let hosts = Controller::for_shared_stream(take(&mut changes.hosts), stores.hosts.clone());
    vec![
        running("the plan controller", plans, plans::reconcile, context, start, stop),
        running("the execution controller", executions, executions::reconcile, context, start, stop),
        running("the window controller", windows, windows::reconcile, context, start, stop),
        running("the host controller", hosts, hosts::reconcile, context, start, stop),
    ]
}

fn received<T: Send + 'static>(receiver: UnboundedReceiver<T>) -> impl stream::Stream<Item = T> + Send + 'static {
    stream::unfold(receiver, |mut receiver| async move { receiver.recv().await.map(|item| (item, receiver)) })
}

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
        let decoded_only = move |object: Arc<MaybeInvalid<K>>, context| async move {
            match &object.0 {
                Ok(_) => reconcile(object, context).await,
                // The watch has logged it; it is left alone until it changes.
                Err(_) => Ok(Action::await_change()),
            }
        };
        controller.run(decoded_only, again, context).for_each(|_| std::future::ready(())).await;
        Ok(name)
    })
}

/// What follows a failed pass: at once after a conflict, since somebody else wrote; else after a pause.
fn again<K: Resource<DynamicType = ()>>(
    object: Arc<DeserializeGuard<K>>,
    error: &ControllerError,
    _: Arc<Context>,
) -> Action {
    let name = object.meta().name.as_deref().unwrap_or_default();
    let kind = K::kind(&());
    if error.is_conflict() {
        tracing::debug!(%kind, name, "somebody else wrote first; read again");
        return Action::requeue(Duration::from_millis(50));
    }
    tracing::warn!(%kind, name, category = error.category(), %error, "a pass failed and is made again");
    Action::requeue(Duration::from_secs(3))
}

//! Which change wakes which controller, and everything else that runs for as long as the process.
//!
//! Each controller subscribes to the watches that wake it at the place where it is built, before the watches start.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::Context as _;
use futures::{FutureExt, future::BoxFuture};
use kube::{
    Client,
    runtime::events::{Recorder, Reporter},
};
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use super::{
    context::Context,
    controllers::{self, Part, Start, Wakes},
    guard, health,
    known_secrets::KnownSecrets,
    tasks::Tasks,
    watch::{WatchHealth, Watches},
};
use crate::steps::Runner;

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

/// Everything that runs for as long as the process.
pub struct Parts {
    /// They end, once told to stop, when their running reconciles have.
    pub controllers: Vec<Part>,
    /// Watches and servers, which never end by themselves.
    pub services: Vec<Part>,
}

/// Builds everything that runs for as long as the process; nothing runs before the parts are polled.
pub fn parts(settings: &Settings, client: Client, stop: &CancellationToken) -> anyhow::Result<Parts> {
    let health = WatchHealth::default();
    let watches = Watches::new(&client, settings.namespace.as_deref(), &health);
    let (wake_plan, plans) = unbounded_channel();
    let (wake_execution, executions) = unbounded_channel();
    let guarded = Arc::new(AtomicBool::new(false));
    let context = Arc::new(Context {
        client: client.clone(),
        stores: watches.stores(),
        runner: Arc::new(Runner::new()),
        steps: Tasks::default(),
        turns: Tasks::default(),
        recorder: Recorder::new(client.clone(), Reporter { controller: "oikos".into(), instance: None }),
        secrets: KnownSecrets::default(),
        guarded: guarded.clone(),
        wake_plan,
        wake_execution,
    });
    let probe_namespace = settings.own_namespace.clone().unwrap_or_else(|| client.default_namespace().to_owned());
    let start: Start = wait_for_facts(context.clone(), probe_namespace.clone()).boxed().shared();
    let controllers = controllers::all(&context, &watches, Wakes { plans, executions }, &start, stop)?;
    let mut services: Vec<Part> = Vec::new();
    services.extend(watches.start(&context.steps, &context.turns).into_iter().map(|watch| service("a watch", watch)));
    services.push(service("the guard's watch", guard::watch(client, probe_namespace, guarded.clone()).boxed()));
    let address = settings.health_address;
    services.push(Box::pin(async move {
        health::serve(address, health, guarded).await.with_context(|| format!("serving health on {address}"))?;
        Ok("the health endpoints")
    }));
    Ok(Parts { controllers, services })
}

fn service(name: &'static str, work: BoxFuture<'static, ()>) -> Part {
    Box::pin(async move {
        work.await;
        Ok(name)
    })
}

/// Waits until every store has been filled and the guard was tried once: nothing is decided on half the facts.
async fn wait_for_facts(context: Arc<Context>, probe_namespace: String) {
    context.stores.wait_until_ready().await;
    let up = guard::is_up(&context.client, &probe_namespace).await.unwrap_or(false);
    context.guarded.store(up, Ordering::Relaxed);
    tracing::info!(guarded = up, "ready");
}

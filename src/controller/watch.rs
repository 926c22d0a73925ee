//! One watch for each kind, feeding one store, from which every controller is also woken: a controller never wakes
//! for an event that its store does not hold yet.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Context as _;
use futures::{Stream, StreamExt, future::BoxFuture, stream::BoxStream};
use kube::{
    Api, Client, Resource,
    core::{DeserializeGuard, NamespaceResourceScope},
    runtime::{
        WatchStreamExt,
        reflector::{
            Store,
            store::{Writer, store_shared},
        },
        watcher,
    },
};
use serde::de::DeserializeOwned;

use super::{
    stores::{MaybeInvalid, Stores},
    tasks::Tasks,
};
use crate::api::{Agent, AutonomyWindow, Execution, GROUP, Guest, Host, Message, Plan, text::shortened};

/// How many events a slow controller may lag behind before the watch waits for it.
const BUFFER: usize = 256;
/// Most bytes of an error that `/readyz` repeats.
const LONGEST_ERROR: usize = 300;

/// Whether each watch follows the API server, and if not why.
#[derive(Clone, Default)]
pub struct WatchHealth(Arc<Mutex<BTreeMap<String, Option<String>>>>);

impl WatchHealth {
    fn set(&self, kind: &str, error: Option<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(kind.to_owned(), error);
    }

    /// What is missing for the controller to be ready; empty when nothing is.
    pub fn missing(&self) -> Vec<String> {
        let kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.iter().filter_map(|(kind, error)| Some(format!("{kind}: {}", error.as_ref()?))).collect()
    }
}

/// The watch of one kind, in one namespace or in all, that has not started yet.
pub struct Watch<K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + 'static,
{
    api: Api<MaybeInvalid<K>>,
    kind: String,
    health: WatchHealth,
    store: Store<MaybeInvalid<K>>,
    writer: Writer<MaybeInvalid<K>>,
}

impl<K> Watch<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + Sync
        + 'static,
    <MaybeInvalid<K> as Resource>::DynamicType: Eq + Hash + Clone,
{
    /// A watch that counts as not ready until it has listed the objects.
    pub fn new(client: &Client, namespace: Option<&str>, health: &WatchHealth) -> Self {
        let api = match namespace {
            Some(namespace) => Api::namespaced(client.clone(), namespace),
            None => Api::all(client.clone()),
        };
        let kind = format!("{}.{GROUP}", K::plural(&()));
        health.set(&kind, Some("not listed yet".to_owned()));
        let (store, writer) = store_shared(BUFFER);
        Self { api, kind, health: health.clone(), store, writer }
    }

    /// The objects as the watch last saw them.
    pub fn store(&self) -> Store<MaybeInvalid<K>> {
        self.store.clone()
    }

    /// Every change from now on, for one subscriber. It has to be polled: the watch waits for a subscriber that lags by
    /// more than [`BUFFER`] events.
    ///
    /// # Errors
    /// When the store cannot be subscribed to, and the controller would never wake.
    pub fn changes(&self) -> anyhow::Result<BoxStream<'static, Arc<MaybeInvalid<K>>>> {
        let handle = self.writer.subscribe().with_context(|| format!("subscribing to changes of {}", self.kind))?;
        Ok(handle.boxed())
    }

    /// Starts to watch; to be polled for as long as the process lives. The streams of changes leave deletions out, so
    /// `deleted` is given the uid of what is gone.
    pub fn start(self, deleted: impl Fn(&str) + Send + 'static) -> BoxFuture<'static, ()> {
        let events = watcher(self.api, watcher::Config::default()).default_backoff().reflect_shared(self.writer);
        Box::pin(follow(events, self.kind, self.health, deleted))
    }
}

/// The watches of all kinds, before they start.
pub struct Watches {
    pub plans: Watch<Plan>,
    pub executions: Watch<Execution>,
    pub windows: Watch<AutonomyWindow>,
    pub messages: Watch<Message>,
    pub agents: Watch<Agent>,
    pub hosts: Watch<Host>,
    pub guests: Watch<Guest>,
}

impl Watches {
    /// Watches in one namespace, or in all.
    pub fn new(client: &Client, namespace: Option<&str>, health: &WatchHealth) -> Self {
        Self {
            plans: Watch::new(client, namespace, health),
            executions: Watch::new(client, namespace, health),
            windows: Watch::new(client, namespace, health),
            messages: Watch::new(client, namespace, health),
            agents: Watch::new(client, namespace, health),
            hosts: Watch::new(client, namespace, health),
            guests: Watch::new(client, namespace, health),
        }
    }

    /// The stores of all kinds.
    pub fn stores(&self) -> Stores {
        Stores {
            plans: self.plans.store(),
            executions: self.executions.store(),
            windows: self.windows.store(),
            messages: self.messages.store(),
            agents: self.agents.store(),
            hosts: self.hosts.store(),
            guests: self.guests.store(),
        }
    }

    /// Starts all of them. What was deleted is not observed any more, so that the tasks that work for it are stopped
    /// from here.
    pub fn start(self, steps: &Tasks, turns: &Tasks) -> Vec<BoxFuture<'static, ()>> {
        let (steps, turns) = (steps.clone(), turns.clone());
        // Without `..`, so that the compiler names a watch that is not started.
        let Self { plans, executions, windows, messages, agents, hosts, guests } = self;
        vec![
            plans.start(move |uid| turns.stop(uid)),
            executions.start(move |uid| steps.stop(uid)),
            windows.start(|_| {}),
            messages.start(|_| {}),
            agents.start(|_| {}),
            hosts.start(|_| {}),
            guests.start(|_| {}),
        ]
    }
}

async fn follow<K: Resource<DynamicType = ()> + 'static>(
    events: impl Stream<Item = watcher::Result<watcher::Event<MaybeInvalid<K>>>>,
    kind: String,
    health: WatchHealth,
    deleted: impl Fn(&str),
) {
    let mut events = std::pin::pin!(events);
    let mut listed = false;
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::InitDone) => {
                listed = true;
                health.set(&kind, None);
            }
            Ok(
                watcher::Event::Apply(DeserializeGuard(Err(invalid)))
                | watcher::Event::InitApply(DeserializeGuard(Err(invalid))),
            ) => {
                let name = invalid.metadata.name.as_deref().unwrap_or_default();
                tracing::warn!(kind, name, error = %invalid.error, "an object cannot be decoded and is left alone");
            }
            Ok(watcher::Event::Delete(object)) => deleted(object.meta().uid.as_deref().unwrap_or_default()),
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(kind, %error, "the watch failed and is tried again");
                // A watch that breaks after the list goes on where it was, without another list that would say so.
                listed &= !matches!(error, watcher::Error::InitialListFailed(_) | watcher::Error::NoResourceVersion);
                if !listed {
                    health.set(&kind, Some(described(&error)));
                }
            }
        }
    }
}

fn described(error: &watcher::Error) -> String {
    match error {
        // By code: to a kind that it does not know the API server answers without a reason.
        watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.code == 404 => {
            "the CustomResourceDefinition is missing; apply crds/ or install the chart".to_owned()
        }
        other => shortened(&other.to_string(), LONGEST_ERROR),
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, stream};
    use kube::core::{Status, response::StatusSummary};

    use super::*;

    fn refused() -> kube::Error {
        api_error(429, "TooManyRequests", "storage is (re)initializing")
    }

    fn api_error(code: u16, reason: &str, message: &str) -> kube::Error {
        let (reason, message) = (reason.to_owned(), message.to_owned());
        let status = Some(StatusSummary::Failure);
        kube::Error::Api(Box::new(Status { status, code, reason, message, ..Status::default() }))
    }

    fn after(events: Vec<watcher::Result<watcher::Event<MaybeInvalid<Plan>>>>) -> Vec<String> {
        let health = WatchHealth::default();
        health.set("plans", Some("not listed yet".to_owned()));
        follow(stream::iter(events), "plans".to_owned(), health.clone(), |_| {}).now_or_never().unwrap();
        health.missing()
    }

    #[test]
    fn a_watch_that_breaks_after_the_list_does_not_end_readiness_for_ever() {
        let events = vec![
            Ok(watcher::Event::Init),
            Ok(watcher::Event::InitDone),
            Err(watcher::Error::WatchStartFailed(refused())),
        ];
        assert!(after(events).is_empty(), "a quiet kind sends no event that would say that the watch works again");
    }

    #[test]
    fn a_missing_definition_is_named_and_other_failures_are_repeated_as_they_are() {
        let list = |error| described(&watcher::Error::InitialListFailed(error));
        assert!(
            list(api_error(404, "Failed to parse error data", "404 page not found"))
                .contains("CustomResourceDefinition is missing")
        );
        assert!(list(api_error(500, "InternalError", "took 404 ms")).contains("404 ms"));
    }

    #[test]
    fn a_list_that_fails_ends_readiness_until_one_succeeds() {
        let events = || vec![Ok(watcher::Event::InitDone), Err(watcher::Error::InitialListFailed(refused()))];
        assert_eq!(after(events()).len(), 1);
        assert!(after(events().into_iter().chain([Ok(watcher::Event::InitDone)]).collect()).is_empty());
    }
}

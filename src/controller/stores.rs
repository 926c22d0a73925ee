//! One watch for each kind, feeding one store, from which every controller is also woken: a controller never wakes
//! for an event that its store does not hold yet.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

use futures::{Stream, StreamExt, future::BoxFuture};
use kube::{
    Api, Client, Resource,
    core::DeserializeGuard,
    runtime::{
        WatchStreamExt,
        reflector::{ReflectHandle, Store, store_shared},
        watcher,
    },
};
use serde::de::DeserializeOwned;

use crate::{
    api::{Agent, AutonomyWindow, Execution, Guest, GuestKind, Host, Message, Plan, Target, TargetKind},
    policy::{Inventory, KnownGuest, KnownHost},
};

/// An object of the store: decoded, or known to be undecodable.
pub type MaybeInvalid<K> = DeserializeGuard<K>;

/// How many events a slow controller may lag behind before the watch waits for it.
const BUFFER: usize = 256;

/// The stores of all kinds.
#[derive(Clone)]
pub struct Stores {
    pub plans: Store<MaybeInvalid<Plan>>,
    pub executions: Store<MaybeInvalid<Execution>>,
    pub windows: Store<MaybeInvalid<AutonomyWindow>>,
    pub messages: Store<MaybeInvalid<Message>>,
    pub agents: Store<MaybeInvalid<Agent>>,
    pub hosts: Store<MaybeInvalid<Host>>,
    pub guests: Store<MaybeInvalid<Guest>>,
}

/// Whether each watch is in step with the API server, and if not why.
#[derive(Clone, Default)]
pub struct WatchHealth(Arc<Mutex<BTreeMap<String, Option<String>>>>);

impl WatchHealth {
    fn set(&self, kind: &str, trouble: Option<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(kind.to_owned(), trouble);
    }

    /// What is missing for the controller to be ready; empty when nothing is.
    pub fn missing(&self) -> Vec<String> {
        let kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.iter().filter_map(|(kind, trouble)| Some(format!("{kind}: {}", trouble.as_ref()?))).collect()
    }
}

/// The store of one kind, its watch, and a stream of changes for each of `subscribers`.
pub struct Watched<K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + 'static,
{
    pub store: Store<MaybeInvalid<K>>,
    pub changes: Vec<ReflectHandle<MaybeInvalid<K>>>,
    /// Has to be polled for as long as the process lives.
    pub watch: BoxFuture<'static, ()>,
}

/// Starts to watch a kind in one namespace, or in all.
///
/// The streams of changes leave deletions out, so `deleted` is told the uid of what is gone.
pub fn watched<K>(
    client: &Client,
    namespace: Option<&str>,
    subscribers: usize,
    watch_health: &WatchHealth,
    deleted: impl Fn(&str) + Send + 'static,
) -> Watched<K>
where
    K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + Sync
        + 'static,
    <MaybeInvalid<K> as Resource>::DynamicType: Eq + Hash + Clone,
{
    let api: Api<MaybeInvalid<K>> = match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    let (store, writer) = store_shared::<MaybeInvalid<K>>(BUFFER);
    let changes = (0..subscribers).filter_map(|_| writer.subscribe()).collect();
    let kind = format!("{}.{}", K::plural(&()), crate::api::GROUP);
    watch_health.set(&kind, Some("not listed yet".to_owned()));
    let events = watcher(api, watcher::Config::default()).default_backoff().reflect_shared(writer);
    Watched { store, changes, watch: Box::pin(follow(events, kind, watch_health.clone(), deleted)) }
}

async fn follow<K: Resource<DynamicType = ()> + 'static>(
    events: impl Stream<Item = watcher::Result<watcher::Event<MaybeInvalid<K>>>>,
    kind: String,
    watch_health: WatchHealth,
    deleted: impl Fn(&str),
) {
    let mut events = std::pin::pin!(events);
    let mut synced = false;
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::InitDone) => {
                synced = true;
                watch_health.set(&kind, None);
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
                synced &= !matches!(error, watcher::Error::InitialListFailed(_) | watcher::Error::NoResourceVersion);
                if !synced {
                    watch_health.set(&kind, Some(trouble(&error)));
                }
            }
        }
    }
}

fn trouble(error: &watcher::Error) -> String {
    let text = error.to_string();
    if text.contains("404") {
        "the CustomResourceDefinition is missing; apply crds/ or install the chart".to_owned()
    } else {
        text.chars().take(300).collect()
    }
}

/// The decoded objects of a store that pass the test.
pub fn decoded<K>(store: &Store<MaybeInvalid<K>>, test: impl Fn(&K) -> bool) -> Vec<K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + 'static,
{
    store.state().iter().filter_map(|object| object.0.as_ref().ok()).filter(|object| test(object)).cloned().collect()
}

impl Stores {
    /// The plan's Executions, by name.
    pub fn executions_of(&self, plan_uid: &str) -> BTreeMap<String, Execution> {
        decoded(&self.executions, |execution| execution.spec.plan_ref.uid == plan_uid)
            .into_iter()
            .filter_map(|execution| Some((execution.metadata.name.clone()?, execution)))
            .collect()
    }

    /// The plan's windows.
    pub fn windows_of(&self, plan_uid: &str) -> Vec<AutonomyWindow> {
        decoded(&self.windows, |window| window.spec.plan_ref.uid == plan_uid)
    }

    /// The plan's Messages in the order of the transcript.
    pub fn messages_of(&self, plan_uid: &str) -> Vec<Message> {
        let mut messages = decoded(&self.messages, |message| message.spec.plan_ref.uid == plan_uid);
        let is_answer = |message: &Message| message.spec.role == crate::api::Role::Operator;
        messages.sort_by_key(|message| {
            (message.spec.sequence, is_answer(message), message.metadata.creation_timestamp.clone())
        });
        messages
    }

    /// Whether the turn of this sequence is here.
    pub fn has_turn(&self, plan_uid: &str, sequence: u32) -> bool {
        let is_it = |message: &Message| super::objects::is_turn(message, plan_uid, sequence);
        self.messages.state().iter().any(|message| message.0.as_ref().is_ok_and(is_it))
    }

    /// The names of Executions that an earlier plan of this name has left.
    pub fn orphaned_executions(&self, plan: &Plan) -> BTreeSet<String> {
        let meta = &plan.metadata;
        let left = |it: &Execution| {
            let plan_ref = &it.spec.plan_ref;
            let ours = Some(&plan_ref.uid) == meta.uid.as_ref();
            it.metadata.namespace == meta.namespace && Some(&plan_ref.name) == meta.name.as_ref() && !ours
        };
        decoded(&self.executions, left).into_iter().filter_map(|execution| execution.metadata.name).collect()
    }

    /// The Hosts and Guests of a namespace.
    pub fn inventory(&self, namespace: &str) -> Inventory {
        let here = |meta: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta| {
            meta.namespace.as_deref() == Some(namespace) && meta.deletion_timestamp.is_none()
        };
        let hosts = decoded(&self.hosts, |host| here(&host.metadata)).into_iter().filter_map(|host| {
            let protected = host.spec.protected_guests.iter().copied().collect();
            Some((host.metadata.name?, KnownHost { address: host.spec.address, protected }))
        });
        let guests = decoded(&self.guests, |guest| here(&guest.metadata)).into_iter().filter_map(|guest| {
            let kind = match guest.spec.kind {
                GuestKind::Lxc => TargetKind::Lxc,
                GuestKind::Vm => TargetKind::Vm,
            };
            let target = Target::new(kind, guest.metadata.name.as_deref()?).ok()?;
            Some((target, KnownGuest { host: guest.spec.host_ref.name, vmid: guest.spec.vmid }))
        });
        Inventory { hosts: hosts.collect(), guests: guests.collect() }
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, stream};
    use kube::core::{Status, response::StatusSummary};

    use super::*;

    fn refused() -> kube::Error {
        let message = "storage is (re)initializing".to_owned();
        kube::Error::Api(Box::new(Status {
            status: Some(StatusSummary::Failure),
            code: 429,
            message,
            ..Status::default()
        }))
    }

    fn after(events: Vec<watcher::Result<watcher::Event<MaybeInvalid<Plan>>>>) -> Vec<String> {
        let watch_health = WatchHealth::default();
        watch_health.set("plans", Some("not listed yet".to_owned()));
        follow(stream::iter(events), "plans".to_owned(), watch_health.clone(), |_| {}).now_or_never().unwrap();
        watch_health.missing()
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
    fn a_list_that_fails_ends_readiness_until_one_succeeds() {
        let events = || vec![Ok(watcher::Event::InitDone), Err(watcher::Error::InitialListFailed(refused()))];
        assert_eq!(after(events()).len(), 1);
        assert!(after(events().into_iter().chain([Ok(watcher::Event::InitDone)]).collect()).is_empty());
    }
}

//! What the stores of the watches are asked: a plan's children, and the Hosts and Guests of a namespace.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, core::DeserializeGuard, runtime::reflector::Store};

use crate::{
    api::{Agent, AutonomyWindow, Execution, Guest, GuestKind, Host, Message, MessageKind, Plan, Target, TargetKind},
    policy::{Inventory, KnownAgent, KnownGuest, KnownHost},
};

/// An object of a store, which may not decode as its kind.
pub type MaybeInvalid<K> = DeserializeGuard<K>;

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

/// The decoded objects of a store that pass the test.
pub fn decoded<K>(store: &Store<MaybeInvalid<K>>, test: impl Fn(&K) -> bool) -> Vec<K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + 'static,
{
    store.state().iter().filter_map(|object| object.0.as_ref().ok()).filter(|object| test(object)).cloned().collect()
}

impl Stores {
    /// Waits until the watch of every kind has listed what exists.
    pub async fn wait_until_ready(&self) {
        // Without `..`, so that the compiler names a store that is not waited for.
        let Self { plans, executions, windows, messages, agents, hosts, guests } = self;
        // An error means that the watch is gone, and then the process ends.
        let _ = plans.wait_until_ready().await;
        let _ = executions.wait_until_ready().await;
        let _ = windows.wait_until_ready().await;
        let _ = messages.wait_until_ready().await;
        let _ = agents.wait_until_ready().await;
        let _ = hosts.wait_until_ready().await;
        let _ = guests.wait_until_ready().await;
    }

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
        let is_answer = |message: &Message| message.spec.kind == MessageKind::Answer;
        messages.sort_by_key(|message| {
            (message.spec.sequence, is_answer(message), message.metadata.creation_timestamp.clone())
        });
        messages
    }

    /// Whether the turn of this sequence, or the note in its place, has reached the store.
    pub fn has_turn(&self, plan_uid: &str, sequence: u32) -> bool {
        let is_it = |message: &Message| super::objects::is_turn_or_note(message, plan_uid, sequence);
        self.messages.state().iter().any(|message| message.0.as_ref().is_ok_and(is_it))
    }

    /// The names of Executions that an earlier plan of this name has left and that still exist.
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
        let here =
            |meta: &ObjectMeta| meta.namespace.as_deref() == Some(namespace) && meta.deletion_timestamp.is_none();
        let hosts = decoded(&self.hosts, |_| true);
        let everywhere: Vec<KnownHost> = hosts.iter().map(KnownHost::of).collect();
        let hosts =
            hosts.iter().zip(&everywhere).filter(|(host, _)| here(&host.metadata)).filter_map(|(host, known)| {
                Some((host.metadata.name.clone()?, with_protection_of_the_machine(known, &everywhere)))
            });
        let guests = decoded(&self.guests, |guest| here(&guest.metadata)).into_iter().filter_map(|guest| {
            let kind = match guest.spec.kind {
                GuestKind::Lxc => TargetKind::Lxc,
                GuestKind::Vm => TargetKind::Vm,
            };
            let target = Target::new(kind, guest.metadata.name.as_deref()?).ok()?;
            Some((target, KnownGuest::of(&guest)))
        });
        let agents = decoded(&self.agents, |agent| here(&agent.metadata)).into_iter();
        let agents = agents.filter_map(|agent| Some((agent.metadata.name.clone()?, KnownAgent::of(&agent))));
        Inventory { hosts: hosts.collect(), guests: guests.collect(), agents: agents.collect() }
    }
}

/// A guest that is protected on any Host object of the cluster for the same machine is protected.
fn with_protection_of_the_machine(known: &KnownHost, everywhere: &[KnownHost]) -> KnownHost {
    let same = everywhere.iter().filter(|other| known.is_same_machine(other));
    let protected = same.flat_map(|other| other.protected.iter().copied()).collect();
    KnownHost { protected, ..known.clone() }
}

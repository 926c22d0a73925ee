//! What every reconciler needs to know of an object, and when it looks again.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::{Resource, runtime::controller::Action};

use super::error::ControllerError;
use crate::api::{Message, MessageKind, MessageSpec, Plan, child};

/// Where an object is found within its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespacedName {
    /// The namespace that it lives in.
    pub namespace: String,
    /// Its name there.
    pub name: String,
}

impl NamespacedName {
    /// That of an object from the API server.
    pub fn of<K: Resource<DynamicType = ()>>(object: &K) -> Result<Self, ControllerError> {
        let meta = object.meta();
        match (&meta.namespace, &meta.name) {
            (Some(namespace), Some(name)) => Ok(Self { namespace: namespace.clone(), name: name.clone() }),
            _ => Err(ControllerError::Nameless),
        }
    }
}

/// Reconciles again at the stated time; without one, only after a change.
pub fn requeue(again_at: Option<Timestamp>, now: Timestamp) -> Action {
    match again_at {
        None => Action::await_change(),
        Some(time) => {
            let wait = Duration::try_from(time.duration_since(now)).unwrap_or_default();
            Action::requeue(wait.max(Duration::from_millis(500)))
        }
    }
}

/// Whether the Message is the turn of this sequence of the plan with this uid, or the note in its place.
pub fn is_turn_or_note(message: &Message, plan_uid: &str, sequence: u32) -> bool {
    let spec = &message.spec;
    spec.plan_ref.uid == plan_uid && spec.sequence == sequence && spec.kind != MessageKind::Answer
}

/// A Message of the plan, owned by it.
pub fn message_of(plan: &Plan, name: &str, spec: MessageSpec) -> Message {
    let mut message = Message::new(name, spec);
    child::own(plan, &mut message);
    message
}

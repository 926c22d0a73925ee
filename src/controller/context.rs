//! What every reconciler works with: the client, the stores, the tasks, the step runner.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use k8s_openapi::{NamespaceResourceScope, jiff::Timestamp};
use kube::{
    Api, Client, Resource,
    runtime::{
        events::{Event, EventType, Recorder},
        reflector::ObjectRef,
    },
};
use tokio::sync::mpsc::UnboundedSender;

use super::{
    known_secrets::KnownSecrets,
    stores::{MaybeInvalid, Stores},
    tasks::Tasks,
    transcript::heard,
};
use crate::{
    api::{Execution, Message, Plan, limits::LONGEST_EVENT_NOTE, text::shortened},
    decide::{AdmissionGuard, Notice, Severity},
    steps::Runner,
};

/// How long a target may wait at most before it starts a step.
const START_WITHIN: Duration = Duration::from_secs(30);

/// What every reconciler works with.
pub struct Context {
    pub client: Client,
    pub stores: Stores,
    pub runner: Arc<Runner>,
    pub steps: Tasks,
    pub turns: Tasks,
    pub recorder: Recorder,
    pub secrets: KnownSecrets,
    pub guarded: Arc<AtomicBool>,
    pub wake_plan: UnboundedSender<ObjectRef<MaybeInvalid<Plan>>>,
    pub wake_execution: UnboundedSender<ObjectRef<MaybeInvalid<Execution>>>,
}

impl Context {
    /// The client's handle for a kind in a namespace.
    pub fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Whether the admission policies that check who decides are up.
    pub fn admission_guard(&self) -> AdmissionGuard {
        if self.guarded.load(Ordering::Relaxed) { AdmissionGuard::Up } else { AdmissionGuard::Missing }
    }

    /// How long the target may wait with the start of a step: not past the end of the window that allows it.
    pub fn start_within(&self, execution: &Execution) -> Duration {
        let authority = execution.status.as_ref().and_then(|status| status.authority.as_ref());
        let Some(name) = authority.and_then(|authority| authority.name.as_deref()) else {
            return START_WITHIN;
        };
        let windows = self.stores.windows_of(&execution.spec.plan_ref.uid);
        let window = windows.iter().find(|window| window.metadata.name.as_deref() == Some(name));
        let expires = window.and_then(|window| window.status.as_ref()?.expiry_time.as_ref());
        let left = expires.map(|time| time.0.duration_since(Timestamp::now()));
        left.and_then(|left| Duration::try_from(left).ok()).unwrap_or_default().min(START_WITHIN)
    }

    /// The plan's transcript in order, without words of people that do not count.
    pub fn transcript(&self, plan_uid: &str) -> Vec<Message> {
        heard(self.stores.messages_of(plan_uid), self.admission_guard())
    }

    /// Publishes an Event. A failure is only logged: no decision depends on Events.
    pub async fn announce<K: Resource<DynamicType = ()>>(&self, object: &K, notice: &Notice) {
        let redactor = self.secrets.redactor(object.meta().namespace.as_deref().unwrap_or_default());
        let event = Event {
            type_: match notice.severity {
                Severity::Normal => EventType::Normal,
                Severity::Warning => EventType::Warning,
            },
            reason: notice.reason.to_owned(),
            note: Some(shortened(&redactor.redact(&notice.note).text, LONGEST_EVENT_NOTE)),
            action: notice.reason.to_owned(),
            secondary: None,
        };
        let reference = object.object_ref(&());
        let publishing = self.recorder.publish(&event, &reference);
        match tokio::time::timeout(super::error::API_TIMEOUT, publishing).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::info!(%error, "an Event could not be published"),
            Err(_) => tracing::info!("an Event could not be published within 10 s"),
        }
    }
}

/// The controller's clock, to the second: that is what an API time can hold.
pub fn now() -> Timestamp {
    Timestamp::from_second(Timestamp::now().as_second()).unwrap_or(Timestamp::UNIX_EPOCH)
}

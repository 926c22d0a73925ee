//! The long-running tasks of this process: running steps and model requests, one for each object.

use std::{
    collections::{HashMap, hash_map::Entry},
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::FutureExt;
use tokio_util::sync::CancellationToken;

/// How long the task of an object stays registered after a panic, so that it is not started again at once.
const PAUSE_AFTER_PANIC: Duration = Duration::from_secs(5);

/// The running tasks, by the uid of the object that they work for.
#[derive(Clone, Default)]
pub struct Tasks(Arc<Mutex<HashMap<String, CancellationToken>>>);

impl Tasks {
    /// Whether a task works for this object.
    pub fn has(&self, uid: &str) -> bool {
        self.lock().contains_key(uid)
    }

    /// Asks the object's task to stop.
    pub fn stop(&self, uid: &str) {
        if let Some(token) = self.lock().get(uid) {
            token.cancel();
        }
    }

    /// Starts a task, to be stopped by `cancel`, unless one works for the object already. `afterwards` runs once the
    /// task is no longer registered, so that a reconcile that it wakes does not find the task any more. A panic ends
    /// only this task.
    pub fn start<F>(
        &self,
        uid: &str,
        cancel: CancellationToken,
        work: impl FnOnce(CancellationToken) -> F,
        afterwards: impl FnOnce() + Send + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        match self.lock().entry(uid.to_owned()) {
            Entry::Occupied(_) => return,
            Entry::Vacant(place) => place.insert(cancel.clone()),
        };
        let (tasks, uid, work) = (self.clone(), uid.to_owned(), work(cancel));
        tokio::spawn(async move {
            if AssertUnwindSafe(work).catch_unwind().await.is_err() {
                tracing::error!(uid, "a task panicked; its object is looked at again");
                tokio::time::sleep(PAUSE_AFTER_PANIC).await;
            }
            tasks.lock().remove(&uid);
            afterwards();
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

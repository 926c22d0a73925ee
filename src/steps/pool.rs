//! The warm connections: one per host, made on demand, replaced when lost or when the host's access changed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use russh::Channel;
use russh::client::Msg;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::{Instant, sleep, timeout};

use super::access::HostAccess;
use super::channel::{Exchange, Sink};
use super::connection::{Connection, Lane};
use super::error::ConnectError;

/// sshd (since 9.8) locks out a source that keeps failing to log in, so a refusal stands for this long.
const REFUSAL_IS_KEPT_FOR: Duration = Duration::from_secs(5);
const OPEN_LIMIT: Duration = Duration::from_secs(20);
const OPEN_TRIES: u32 = 3;
/// How long to ask again for a session that the server refuses.
const SESSION_WAIT_LIMIT: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(crate) struct Pool {
    slots: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Slot>>>>,
}

#[derive(Default)]
struct Slot {
    access: Option<HostAccess>,
    connection: Option<Arc<Connection>>,
    refused: Option<(Instant, ConnectError)>,
}

impl Pool {
    /// Sends `command` with `input` to the host on a channel of its own, when the lane has one free. A connection that
    /// was lost while idle is replaced. An error means that nothing was sent.
    pub(crate) async fn exchange<S: Sink>(
        &self,
        access: &HostAccess,
        lane: Lane,
        command: String,
        input: String,
        sink: S,
    ) -> Result<Exchange<S>, ConnectError> {
        let (channel, permit) = self.open_channel(access, lane).await?;
        Ok(Exchange::start(channel, permit, command, input, sink))
    }

    async fn open_channel(
        &self,
        access: &HostAccess,
        lane: Lane,
    ) -> Result<(Channel<Msg>, OwnedSemaphorePermit), ConnectError> {
        let (mut detail, mut broken) = (String::new(), 0);
        let mut refused_since: Option<Instant> = None;
        while broken < OPEN_TRIES && refused_since.is_none_or(|since| since.elapsed() < SESSION_WAIT_LIMIT) {
            let connection = self.connection(access).await?;
            let Ok(permit) = connection.lane(lane).acquire_owned().await else { continue };
            match timeout(OPEN_LIMIT, open_session(connection.clone())).await {
                Ok(Ok(channel)) => return Ok((channel, permit)),
                // The server allows fewer sessions than usual; the connection is healthy and a session will come free.
                Ok(Err(russh::Error::ChannelOpenFailure(reason))) => {
                    detail = format!("the server refused a session: {reason:?}");
                    refused_since.get_or_insert_with(Instant::now);
                    drop(permit);
                    sleep(Duration::from_millis(200)).await;
                    continue;
                }
                Ok(Err(error)) => detail = error.to_string(),
                Err(_) => detail = format!("no session within {} s", OPEN_LIMIT.as_secs()),
            }
            broken += 1;
            self.discard(access, &connection).await;
        }
        Err(ConnectError::Unreachable { host: access.name.clone(), address: access.socket(), detail })
    }

    async fn connection(&self, access: &HostAccess) -> Result<Arc<Connection>, ConnectError> {
        let slot = self.slot(&access.name);
        let mut slot = slot.lock().await;
        if slot.access.as_ref() != Some(access) {
            *slot = Slot { access: Some(access.clone()), ..Slot::default() };
        }
        if let Some(connection) = slot.connection.as_ref().filter(|connection| !connection.handle.is_closed()) {
            return Ok(connection.clone());
        }
        if let Some((since, error)) = &slot.refused
            && since.elapsed() < REFUSAL_IS_KEPT_FOR
        {
            return Err(error.clone());
        }
        match Connection::open(access).await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                slot.refused = None;
                slot.connection = Some(connection.clone());
                Ok(connection)
            }
            Err(error) => {
                slot.connection = None;
                slot.refused = error.needs_a_person().then(|| (Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    async fn discard(&self, access: &HostAccess, connection: &Arc<Connection>) {
        let slot = self.slot(&access.name);
        let mut slot = slot.lock().await;
        if slot.connection.as_ref().is_some_and(|current| Arc::ptr_eq(current, connection)) {
            slot.connection = None;
        }
    }

    fn slot(&self, host: &str) -> Arc<tokio::sync::Mutex<Slot>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.entry(host.to_owned()).or_default().clone()
    }
}

/// Opens a session in a task of its own: a caller that goes away in the meantime must not leave it open, the server
/// has only ten.
async fn open_session(connection: Arc<Connection>) -> Result<Channel<Msg>, russh::Error> {
    let (give, take) = oneshot::channel();
    tokio::spawn(async move {
        let opened = connection.handle.channel_open_session().await;
        if let Err(Ok(unwanted)) = give.send(opened) {
            let _ = unwanted.close().await;
        }
    });
    take.await.unwrap_or(Err(russh::Error::Disconnect))
}

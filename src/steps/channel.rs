//! One command on one channel: send it its input, read both streams to the end, learn how it closed.
//!
//! The reading happens in a task of its own, always to the Close of the channel: one channel that is not drained stalls
//! the whole connection. A caller that goes away closes the channel; what runs on the target is not touched by that.

use std::time::Duration;

use russh::client::Msg;
use russh::{Channel, ChannelMsg, ChannelReadHalf};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

const DRAIN_LIMIT: Duration = Duration::from_secs(20);
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

/// Takes what arrives on the two streams.
pub(crate) trait Sink: Send + 'static {
    fn stdout(&mut self, bytes: &[u8]);
    fn stderr(&mut self, bytes: &[u8]);

    /// Whether the answer is complete, so that only processes that outlived the command can still hold the channel.
    fn is_complete(&self) -> bool {
        false
    }
}

/// How a channel ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Exit status that the server sent, if any.
    pub exit: Option<u32>,
    /// Signal that the server sent, if any.
    pub signal: Option<String>,
    /// The server closed the channel, as opposed to the connection ending under it.
    pub closed: bool,
}

/// A command that is being talked to.
pub(crate) struct Exchange<S> {
    task: JoinHandle<(S, Ended)>,
    abandon: CancellationToken,
    _abandon_on_drop: DropGuard,
}

impl<S: Sink> Exchange<S> {
    /// Starts `command` with `input` on its standard input. From here on it may have been started.
    pub(crate) fn start(
        channel: Channel<Msg>,
        permit: OwnedSemaphorePermit,
        command: String,
        input: String,
        sink: S,
    ) -> Self {
        let abandon = CancellationToken::new();
        let task = tokio::spawn(send_and_receive(channel, permit, command, input, sink, abandon.clone()));
        Self { task, _abandon_on_drop: abandon.clone().drop_guard(), abandon }
    }

    /// Waits for the end. Cancel-safe: the exchange goes on when the future is dropped and can be waited for again.
    pub(crate) async fn end(&mut self) -> Option<(S, Ended)> {
        (&mut self.task).await.ok()
    }

    /// Closes the channel from our side and returns what came until then.
    pub(crate) async fn close(mut self) -> Option<(S, Ended)> {
        self.abandon.cancel();
        self.end().await
    }
}

async fn send_and_receive<S: Sink>(
    channel: Channel<Msg>,
    permit: OwnedSemaphorePermit,
    command: String,
    input: String,
    mut sink: S,
    abandon: CancellationToken,
) -> (S, Ended) {
    let (mut read, write) = channel.split();
    let mut ended = Ended::default();
    let send = async {
        write.exec(true, command).await?;
        write.data_bytes(input.into_bytes()).await?;
        write.eof().await
    };
    {
        let receive = receive(&mut read, &mut sink, &mut ended);
        tokio::pin!(receive);
        // The server may close before it has read everything: only the receiving side decides that this is over.
        tokio::select! {
            () = &mut receive => {}
            () = abandon.cancelled() => {}
            Err(error) = send => {
                tracing::debug!(%error, "sending a command");
                tokio::select! { () = &mut receive => {} () = abandon.cancelled() => {} }
            }
        }
    }
    if !ended.closed {
        // Another channel may use the permit only when the server has closed its end, which it may put off.
        tokio::spawn(async move {
            let _ = write.close().await;
            let drained = async { while read.wait().await.is_some() {} };
            let _ = timeout(DRAIN_LIMIT, drained).await;
            drop(permit);
        });
    }
    (sink, ended)
}

/// Reads to the Close, to the end of the connection, or until a complete answer has stood for a while.
async fn receive(read: &mut ChannelReadHalf, sink: &mut impl Sink, ended: &mut Ended) {
    let mut complete_since = None;
    loop {
        let message = match complete_since {
            Some(since) => timeout_at(since + CLOSE_LIMIT, read.wait()).await.unwrap_or(None),
            None => read.wait().await,
        };
        match message {
            Some(ChannelMsg::Data { data }) => sink.stdout(&data),
            Some(ChannelMsg::ExtendedData { data, ext: 1 }) => sink.stderr(&data),
            Some(ChannelMsg::ExitStatus { exit_status }) => ended.exit = Some(exit_status),
            Some(ChannelMsg::ExitSignal { signal_name, .. }) => ended.signal = Some(format!("{signal_name:?}")),
            Some(ChannelMsg::Close) => {
                ended.closed = true;
                return;
            }
            Some(_) => {}
            None => return,
        }
        if complete_since.is_none() && sink.is_complete() {
            complete_since = Some(Instant::now());
        }
    }
}

/// Keeps the beginning of both streams and discards the rest.
#[derive(Debug)]
pub(crate) struct Bounded {
    limit: usize,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub truncated: bool,
}

impl Bounded {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, stdout: Vec::new(), stderr: Vec::new(), truncated: false }
    }
}

impl Sink for Bounded {
    fn stdout(&mut self, bytes: &[u8]) {
        self.truncated |= keep(&mut self.stdout, bytes, self.limit);
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.truncated |= keep(&mut self.stderr, bytes, self.limit);
    }
}

fn keep(buffer: &mut Vec<u8>, bytes: &[u8], limit: usize) -> bool {
    let room = limit - buffer.len();
    buffer.extend_from_slice(&bytes[..bytes.len().min(room)]);
    bytes.len() > room
}

//! Commands straight on the channel: read-only steps and small queries.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::access::HostAccess;
use super::capture::{Capture, STDERR, STDOUT, sanitise};
use super::channel::{Bounded, Ended, Sink};
use super::connection::Lane;
use super::error::ConnectError;
use super::frames::new_mark;
use super::marked::{Done, Marked};
use super::pool::Pool;
use super::report::{LostReason, Outcome, Report};
use super::script;
use super::step::{Place, Step};

/// Time that the target gets beyond TERM, 10 s and KILL to report the end of a command.
const GRACE: Duration = Duration::from_secs(25);
const NOISE_LIMIT: usize = 64 * 1024;
const QUERY_LIMIT: usize = 1024 * 1024;

/// Output of a small helper command, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawOutput {
    /// How it ended; [`Outcome::Lost`] when the connection broke.
    pub outcome: Outcome,
    /// Standard output, at most 1 MiB.
    pub stdout: Vec<u8>,
    /// Standard error, at most 1 MiB.
    pub stderr: Vec<u8>,
    /// Whether either stream was longer.
    pub truncated: bool,
}

impl RawOutput {
    /// Whether the command ended by itself with exit code 0 and nothing of its output is missing.
    pub fn is_complete_success(&self) -> bool {
        self.outcome == Outcome::Exited { code: 0 } && !self.truncated
    }
}

/// Runs a read-only step. The target ends it at its time limit. `None`: cancelled before it was sent.
pub(crate) async fn run(
    pool: &Pool,
    access: &HostAccess,
    step: &Step,
    cancel: &CancellationToken,
) -> Result<Option<Report>, ConnectError> {
    let Some(done) = talk(pool, access, step, HeadTail::new, cancel).await? else { return Ok(None) };
    Ok(Some(Report {
        outcome: done.outcome,
        stdout: done.sink.stdout.finish(),
        stderr: done.sink.stderr.finish(),
        detail: done.detail,
    }))
}

/// Runs a helper command with whole output.
pub(crate) async fn query(
    pool: &Pool,
    access: &HostAccess,
    argv: &[&str],
    timeout: Duration,
) -> Result<RawOutput, ConnectError> {
    let step = Step {
        attempt_id: new_mark().trim_start_matches('@').to_owned(),
        place: Place::Host,
        command: format!("exec {}", script::quote_all(argv)),
        timeout,
        mutating: false,
        start_within: timeout,
    };
    let done = talk(pool, access, &step, || Bounded::new(QUERY_LIMIT), &CancellationToken::new()).await?;
    let Some(done) = done else {
        return Ok(RawOutput { outcome: Outcome::Cancelled, stdout: Vec::new(), stderr: Vec::new(), truncated: false });
    };
    Ok(RawOutput {
        outcome: done.outcome,
        stdout: done.sink.stdout,
        stderr: done.sink.stderr,
        truncated: done.sink.truncated,
    })
}

async fn talk<S: Sink>(
    pool: &Pool,
    access: &HostAccess,
    step: &Step,
    sink: fn() -> S,
    cancel: &CancellationToken,
) -> Result<Option<Done<S>>, ConnectError> {
    let mark = new_mark();
    let text = script::direct(&mark, &step.attempt_id, step.place, &step.command, step.seconds());
    let command = script::shell_of(step.place);
    let exchange = pool.exchange(access, Lane::Step, command, text, Marked::new(&mark, sink()));
    let mut exchange = tokio::select! {
        exchange = exchange => exchange?,
        () = cancel.cancelled() => return Ok(None),
    };
    let limit = Duration::from_secs(step.seconds()) + GRACE;
    let began = Instant::now();
    let ended = tokio::select! {
        ended = exchange.end() => ended,
        () = sleep(limit) => exchange.close().await,
        () = cancel.cancelled() => {
            // Its whole tree is ended on the target before this is told to be cancelled.
            stop(pool, access, step).await;
            tokio::select! {
                ended = exchange.end() => ended,
                () = sleep(Duration::from_secs(2)) => exchange.close().await,
            }
        }
    };
    let Some((marked, ended)) = ended else {
        let outcome = Outcome::Lost { reason: LostReason::ConnectionLost };
        return Ok(Some(Done { outcome, detail: "the exchange was broken off".into(), sink: sink() }));
    };
    marked.judge(access, step, ended, began.elapsed(), cancel.is_cancelled()).map(Some)
}

/// Ends a command and its tree on the target: TERM, 10 s, KILL. Returns after that, or when the target cannot be asked.
async fn stop(pool: &Pool, access: &HostAccess, step: &Step) {
    let text = script::stop(&new_mark(), &step.attempt_id, step.place);
    let command = script::shell_of(step.place);
    match pool.exchange(access, Lane::Cancel, command, text, Bounded::new(NOISE_LIMIT)).await {
        Ok(mut exchange) => {
            let _ = timeout(GRACE, exchange.end()).await;
        }
        Err(error) => tracing::warn!(host = access.name, %error, "ending a read-only step"),
    }
}

/// Head and tail of both streams.
struct HeadTail {
    stdout: Capture,
    stderr: Capture,
}

impl HeadTail {
    fn new() -> Self {
        Self { stdout: Capture::new(STDOUT), stderr: Capture::new(STDERR) }
    }
}

impl Sink for HeadTail {
    fn stdout(&mut self, bytes: &[u8]) {
        self.stdout.push(bytes);
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.stderr.push(bytes);
    }
}

/// The error for a target on which our script never ran, from what came instead of an answer.
pub(crate) fn silence(access: &HostAccess, place: Place, ended: &Ended, stdout: &[u8], stderr: &[u8]) -> ConnectError {
    let host = access.name.clone();
    let said = sanitise(if stderr.is_empty() { stdout } else { stderr });
    let detail: String = match said.trim() {
        "" => format!("nothing (exit {:?}, signal {:?})", ended.exit, ended.signal),
        text => text.chars().take(500).collect(),
    };
    match place {
        Place::Guest { .. }
            if detail.contains("not found") && ended.exit == Some(127) && !detail.contains("lxc-attach") =>
        {
            ConnectError::PctMissing { host, detail }
        }
        Place::Guest { vmid } => ConnectError::GuestUnavailable { host, vmid, detail },
        Place::Host => ConnectError::ShellUnusable { host, detail },
    }
}

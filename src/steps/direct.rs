//! Commands straight on the channel: read-only steps and small queries.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::access::HostAccess;
use super::capture::{Capture, STDERR, STDOUT};
use super::channel::{Bounded, Sink};
use super::connection::Lane;
use super::error::ConnectError;
use super::frames::new_mark;
use super::marked::{EndedCommand, MarkedOutput};
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
    let Some(ended) = send_and_wait(pool, access, step, HeadTail::new, cancel).await? else { return Ok(None) };
    Ok(Some(Report {
        outcome: ended.outcome,
        stdout: ended.sink.stdout.finish(),
        stderr: ended.sink.stderr.finish(),
        detail: ended.detail,
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
    let ended = send_and_wait(pool, access, &step, || Bounded::new(QUERY_LIMIT), &CancellationToken::new()).await?;
    let Some(ended) = ended else {
        return Ok(RawOutput { outcome: Outcome::Cancelled, stdout: Vec::new(), stderr: Vec::new(), truncated: false });
    };
    Ok(RawOutput {
        outcome: ended.outcome,
        stdout: ended.sink.stdout,
        stderr: ended.sink.stderr,
        truncated: ended.sink.truncated,
    })
}

async fn send_and_wait<S: Sink>(
    pool: &Pool,
    access: &HostAccess,
    step: &Step,
    sink: fn() -> S,
    cancel: &CancellationToken,
) -> Result<Option<EndedCommand<S>>, ConnectError> {
    let mark = new_mark();
    let text = script::direct(&mark, &step.attempt_id, step.place, &step.command, step.seconds());
    let command = script::remote_shell(step.place);
    let exchange = pool.exchange(access, Lane::Step, command, text, MarkedOutput::new(&mark, sink()));
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
        return Ok(Some(EndedCommand { outcome, detail: "the exchange was broken off".into(), sink: sink() }));
    };
    marked.into_result(access, step, ended, began.elapsed(), cancel.is_cancelled()).map(Some)
}

/// Ends a command and its tree on the target: TERM, 10 s, KILL. Returns after that, or when the target cannot be asked.
async fn stop(pool: &Pool, access: &HostAccess, step: &Step) {
    let text = script::stop(&new_mark(), &step.attempt_id, step.place);
    let command = script::remote_shell(step.place);
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

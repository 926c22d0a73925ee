//! Commands straight on the channel: read-only steps and small queries.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::access::HostAccess;
use super::capture::{Capture, STDERR, STDOUT, sanitise};
use super::channel::{Bounded, Ended, Sink};
use super::connection::Lane;
use super::error::ConnectError;
use super::frames::{find, new_mark};
use super::pool::Pool;
use super::report::{LostReason, NotStarted, Outcome, Report};
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
    let Some(done) = talk(pool, access, step, Kept::new, cancel).await? else { return Ok(None) };
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

struct Done<S> {
    outcome: Outcome,
    detail: String,
    sink: S,
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
            // Ended on the target first, so that its own end can still be told.
            tokio::select! {
                ended = exchange.end() => ended,
                () = stop(pool, access, step) => exchange.close().await,
            }
        }
    };
    let Some((marked, ended)) = ended else {
        let outcome = Outcome::Lost { reason: LostReason::ConnectionLost };
        return Ok(Some(Done { outcome, detail: "the exchange was broken off".into(), sink: sink() }));
    };
    marked.judge(access, step, ended, began.elapsed(), cancel.is_cancelled()).map(Some)
}

/// Ends a command on the target: TERM, 10 s, KILL. Returns some time after, or when the target cannot be reached.
async fn stop(pool: &Pool, access: &HostAccess, step: &Step) {
    let text = script::stop(&new_mark(), &step.attempt_id, step.place);
    let command = script::shell_of(step.place);
    match pool.exchange(access, Lane::Cancel, command, text, Bounded::new(NOISE_LIMIT)).await {
        Ok(mut exchange) => {
            let _ = timeout(GRACE, exchange.end()).await;
        }
        Err(error) => tracing::warn!(host = access.name, %error, "ending a read-only step"),
    }
    sleep(Duration::from_secs(2)).await;
}

/// Head and tail of both streams.
struct Kept {
    stdout: Capture,
    stderr: Capture,
}

impl Kept {
    fn new() -> Self {
        Self { stdout: Capture::new(STDOUT), stderr: Capture::new(STDERR) }
    }
}

impl Sink for Kept {
    fn stdout(&mut self, bytes: &[u8]) {
        self.stdout.push(bytes);
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.stderr.push(bytes);
    }
}

/// Passes on what lies between BEGIN and END, which come on standard error; BEGIN comes on both streams.
struct Marked<S> {
    begin: Vec<u8>,
    end: Vec<u8>,
    missing: Vec<u8>,
    stdout: Side,
    stderr: Side,
    /// Exit code and whether the shell saw a signal.
    result: Option<(i32, bool)>,
    sink: S,
}

#[derive(Default)]
struct Side {
    begun: bool,
    /// Before BEGIN: noise of the login. After it: bytes that may be the beginning of a mark.
    held: Vec<u8>,
}

impl<S: Sink> Marked<S> {
    fn new(mark: &str, sink: S) -> Self {
        Self {
            begin: format!("\n{mark} BEGIN\n").into_bytes(),
            end: format!("\n{mark} END ").into_bytes(),
            missing: format!("\n{mark} MISSING ").into_bytes(),
            stdout: Side::default(),
            stderr: Side::default(),
            result: None,
            sink,
        }
    }

    /// Standard error may go on after END, written by a process that outlived the command: that is not its output.
    fn take_end(&mut self) {
        if let Some(at) = find(&self.stderr.held, &self.end) {
            let rest = &self.stderr.held[at + self.end.len()..];
            let Some(line) = rest.iter().position(|&byte| byte == b'\n').map(|end| &rest[..end]) else { return };
            let words = String::from_utf8_lossy(line);
            let mut words = words.split(' ');
            let code = words.next().and_then(|code| code.parse().ok());
            self.result = code.map(|code| (code, words.next() == Some("1")));
            self.stderr.held.truncate(at);
            self.sink.stderr(&self.stderr.held);
            self.stderr.held.clear();
            return;
        }
        let keep = self.end.len() + 16;
        if let Some(cut) = self.stderr.held.len().checked_sub(keep) {
            self.sink.stderr(&self.stderr.held[..cut]);
            self.stderr.held.drain(..cut);
        }
    }

    fn judge(
        mut self,
        access: &HostAccess,
        step: &Step,
        ended: Ended,
        elapsed: Duration,
        cancelled: bool,
    ) -> Result<Done<S>, ConnectError> {
        if !self.stderr.begun && !self.stdout.begun && ended.closed {
            return self.silence(access, step, &ended);
        }
        if self.stderr.begun && self.result.is_none() {
            let held = std::mem::take(&mut self.stderr.held);
            self.sink.stderr(&held);
        }
        let limit_passed = elapsed >= Duration::from_secs(step.seconds());
        let (outcome, detail) = match self.result {
            Some((124 | 137, _)) if limit_passed => (Outcome::TimedOut, "the target ended it at its time limit"),
            Some((code, _)) if cancelled && code != 0 => (Outcome::Cancelled, "it was ended on request"),
            Some((code, signalled)) => (super::answer::ended(code, signalled), ""),
            None if cancelled => (Outcome::Cancelled, "it was given up on request; its end was not seen"),
            None if limit_passed && !ended.closed => (Outcome::TimedOut, "its end was not seen"),
            None => (
                Outcome::Lost { reason: LostReason::ConnectionLost },
                "the connection ended before the command did; it was read-only and may be run again",
            ),
        };
        Ok(Done { outcome, detail: detail.into(), sink: self.sink })
    }

    /// The script never spoke: the shell, pct or the guest is not there.
    fn silence(self, access: &HostAccess, step: &Step, ended: &Ended) -> Result<Done<S>, ConnectError> {
        if let Some(at) = find(&self.stderr.held, &self.missing) {
            let line = String::from_utf8_lossy(&self.stderr.held[at + self.missing.len()..]).into_owned();
            let detail = format!("the target lacks one of: {}; nothing was started", line.trim());
            let outcome = Outcome::NotStarted { reason: NotStarted::MissingTools };
            return Ok(Done { outcome, detail, sink: self.sink });
        }
        Err(silence(access, step.place, ended, &self.stdout.held, &self.stderr.held))
    }
}

impl<S: Sink> Sink for Marked<S> {
    fn stdout(&mut self, bytes: &[u8]) {
        if self.stdout.begun {
            return self.sink.stdout(bytes);
        }
        if let Some(first) = self.stdout.begin(bytes, &self.begin) {
            self.sink.stdout(&first);
        }
    }

    fn stderr(&mut self, bytes: &[u8]) {
        if self.result.is_some() {
            return;
        }
        if self.stderr.begun {
            self.stderr.held.extend_from_slice(bytes);
        } else if let Some(first) = self.stderr.begin(bytes, &self.begin) {
            self.stderr.held = first;
        } else {
            return;
        }
        self.take_end();
    }

    fn is_complete(&self) -> bool {
        self.result.is_some()
    }
}

impl Side {
    /// Looks for the mark in the noise; what follows it is output.
    fn begin(&mut self, bytes: &[u8], mark: &[u8]) -> Option<Vec<u8>> {
        self.held.extend_from_slice(bytes);
        let Some(at) = find(&self.held, mark) else {
            let cut = self.held.len().saturating_sub(NOISE_LIMIT);
            self.held.drain(..cut);
            return None;
        };
        self.begun = true;
        Some(std::mem::take(&mut self.held).split_off(at + mark.len()))
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

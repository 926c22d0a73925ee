//! What a target says about itself: which boot it is, its uptime, its tools.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::access::HostAccess;
use super::capture::sanitise;
use super::channel::Bounded;
use super::connection::Lane;
use super::error::ConnectError;
use super::frames::{Frame, new_mark, parse};
use super::no_answer::no_answer;
use super::pool::Pool;
use super::script;
use super::step::Place;

const ANSWER_LIMIT: Duration = Duration::from_secs(20);
/// Two clocks drift apart by at most half a second in this time.
const CLOCK_IS_FRESH_FOR: Duration = Duration::from_secs(600);

/// Facts about a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFacts {
    /// First line of `pveversion`; `None` when the host has no such command.
    pub pve_version: Option<String>,
    /// Programs that mutating steps need and the host lacks; empty when all is well.
    pub missing_tools: Vec<String>,
}

/// What a start needs to know about a target: enough to refuse a late start and another boot.
#[derive(Clone, Debug)]
pub(crate) struct TargetClock {
    /// Boot id and start of PID 1: differs after every restart.
    pub instance: String,
    /// Centiseconds since its boot, at `read_at`.
    uptime: u64,
    read_at: Instant,
}

impl TargetClock {
    /// Centiseconds of uptime that have certainly passed on the target at `now`: the answer may have been older than
    /// its arrival, so this is never ahead of the target.
    pub(crate) fn uptime_at(&self, now: Instant) -> u64 {
        self.uptime + centiseconds(now.saturating_duration_since(self.read_at))
    }

    pub(crate) fn is_fresh(&self) -> bool {
        self.read_at.elapsed() < CLOCK_IS_FRESH_FOR
    }
}

pub(crate) fn centiseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis() / 10).unwrap_or(u64::MAX / 4)
}

/// Asks a host.
pub(crate) async fn host_facts(pool: &Pool, access: &HostAccess) -> Result<HostFacts, ConnectError> {
    let (text, mark) = ask(pool, access, Place::Host).await?;
    let frames = parse(&mark, &text);
    let word = |name: &str| find(&frames, name).map(|rest| sanitise(rest.as_bytes())).unwrap_or_default();
    Ok(HostFacts {
        pve_version: Some(word("VERSION")).filter(|version| !version.is_empty()),
        missing_tools: word("MISSING").split_whitespace().map(ToOwned::to_owned).collect(),
    })
}

/// Asks a target for its boot and uptime.
pub(crate) async fn clock(pool: &Pool, access: &HostAccess, place: Place) -> Result<TargetClock, ConnectError> {
    let (text, mark) = ask(pool, access, place).await?;
    let read_at = Instant::now();
    let frames = parse(&mark, &text);
    let uptime = find(&frames, "UPTIME").and_then(|uptime| uptime.parse().ok());
    match (find(&frames, "INSTANCE"), uptime) {
        (Some(instance), Some(uptime)) => Ok(TargetClock { instance: instance.to_owned(), uptime, read_at }),
        _ => Err(ConnectError::ShellUnusable {
            host: access.name.clone(),
            detail: "no boot id or uptime; /proc is not readable there".into(),
        }),
    }
}

/// Run directories on a host whose names begin with `prefix`.
pub(crate) async fn claims(pool: &Pool, access: &HostAccess, prefix: &str) -> Result<Vec<String>, ConnectError> {
    let mark = new_mark();
    let text = ask_with(pool, access, Place::Host, &mark, script::claims(&mark, prefix)).await?;
    let frames = parse(&mark, &text);
    Ok(frames.iter().filter(|frame| frame.word == "CLAIM").map(|frame| frame.rest.to_owned()).collect())
}

async fn ask(pool: &Pool, access: &HostAccess, place: Place) -> Result<(Vec<u8>, String), ConnectError> {
    let mark = new_mark();
    let text = ask_with(pool, access, place, &mark, script::facts(&mark, place)).await?;
    Ok((text, mark))
}

/// Sends a small read-only script and returns its answer, which ends with DONE.
async fn ask_with(
    pool: &Pool,
    access: &HostAccess,
    place: Place,
    mark: &str,
    text: String,
) -> Result<Vec<u8>, ConnectError> {
    let command = script::remote_shell(place);
    let mut exchange = pool.exchange(access, Lane::Step, command, text, Bounded::new(64 * 1024)).await?;
    let broken = |detail: &str| ConnectError::Unreachable {
        host: access.name.clone(),
        address: access.socket(),
        detail: detail.into(),
    };
    let answer = timeout(ANSWER_LIMIT, exchange.end())
        .await
        .map_err(|_| broken(&format!("no answer from a shell within {} s", ANSWER_LIMIT.as_secs())))?;
    let (bytes, ended) = answer.ok_or_else(|| broken("the exchange failed"))?;
    if find(&parse(mark, &bytes.stdout), "DONE").is_some() {
        return Ok(bytes.stdout);
    }
    if !ended.closed {
        return Err(broken("the connection ended before an answer"));
    }
    Err(no_answer(access, place, &ended, &bytes.stdout, &bytes.stderr))
}

fn find<'a>(frames: &[Frame<'a>], word: &str) -> Option<&'a str> {
    frames.iter().find(|frame| frame.word == word).map(|frame| frame.rest)
}

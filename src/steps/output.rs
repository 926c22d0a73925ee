//! Reads the output that a run directory keeps: the beginning and the end of each stream, [`super::capture::KEPT_BYTES`] each.

use std::time::Duration;

use tokio::time::timeout;

use super::access::HostAccess;
use super::channel::Bounded;
use super::connection::Lane;
use super::error::ReadOutputError;
use super::frames::{new_mark, parse};
use super::no_answer::no_answer;
use super::pool::Pool;
use super::script;
use super::step::{Place, check_attempt_id};

const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// Most bytes of one part.
pub const MAX_PART_BYTES: u32 = 256 * 1024;

/// One of the two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A part of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputPart {
    /// Where it begins; later than asked for when the middle of a long stream was not kept.
    pub offset: u64,
    /// The bytes as the command wrote them: not sanitised.
    pub bytes: Vec<u8>,
    /// Length of the stream so far.
    pub total: u64,
}

impl OutputPart {
    /// Where the next part begins; equals `total` at the end.
    pub fn next_offset(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

pub(crate) async fn read(
    pool: &Pool,
    access: &HostAccess,
    attempt_id: &str,
    place: Place,
    stream: Stream,
    offset: u64,
    length: u32,
) -> Result<OutputPart, ReadOutputError> {
    check_attempt_id(attempt_id).map_err(|error| ReadOutputError::AttemptId(error.to_string()))?;
    let incomplete =
        |detail: &str| ReadOutputError::Incomplete { attempt_id: attempt_id.into(), detail: detail.into() };
    let name = match stream {
        Stream::Stdout => "out",
        Stream::Stderr => "err",
    };
    let mark = new_mark();
    let text = script::output(&mark, attempt_id, place, name, offset, length.min(MAX_PART_BYTES));
    let sink = Bounded::new(2 * MAX_PART_BYTES as usize);
    let mut exchange = pool.exchange(access, Lane::Step, script::remote_shell(place), text, sink).await?;
    let answer = timeout(ANSWER_LIMIT, exchange.end()).await.map_err(|_| incomplete("no answer in time"))?;
    let (sink, ended) = answer.ok_or_else(|| incomplete("the exchange failed"))?;
    let frames = parse(&mark, &sink.stdout);
    if frames.is_empty() && ended.closed {
        return Err(no_answer(access, place, &ended, &sink.stdout, &sink.stderr).into());
    }
    if frames.iter().any(|frame| frame.word == "ABSENT") {
        return Err(ReadOutputError::Absent(attempt_id.into()));
    }
    let part = frames.iter().find(|frame| frame.word == "PART").ok_or_else(|| incomplete("no part in the answer"))?;
    let number = |index: usize| part.words().nth(index).and_then(|word| word.parse::<u64>().ok());
    let from = number(0).ok_or_else(|| incomplete("a part without an offset"))?;
    let total = number(2).unwrap_or(from + part.data.len() as u64);
    Ok(OutputPart { offset: from, bytes: part.data.to_vec(), total })
}

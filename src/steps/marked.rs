//! Reads a command that runs straight on a channel: tells login noise from output and finds the command's end.

use std::time::Duration;

use super::access::HostAccess;
use super::channel::{Ended, Sink};
use super::error::ConnectError;
use super::frames::find;
use super::no_answer::no_answer;
use super::report::{LostReason, NotStarted, Outcome};
use super::step::Step;

/// Noise of a login that is looked through for the beginning.
const NOISE_LIMIT: usize = 64 * 1024;

/// A command that has ended, and what it printed.
pub(crate) struct EndedCommand<S> {
    pub outcome: Outcome,
    pub detail: String,
    pub sink: S,
}

/// Passes on what lies between BEGIN and END, which come on standard error; BEGIN comes on both streams.
pub(crate) struct MarkedOutput<S> {
    begin: Vec<u8>,
    end: Vec<u8>,
    missing: Vec<u8>,
    stdout: StreamState,
    stderr: StreamState,
    /// Exit code and whether the shell saw a signal.
    result: Option<(i32, bool)>,
    sink: S,
}

#[derive(Default)]
struct StreamState {
    begun: bool,
    /// Before BEGIN: noise of the login. After it: bytes that may be the beginning of a mark.
    held: Vec<u8>,
}

impl<S: Sink> MarkedOutput<S> {
    pub(crate) fn new(mark: &str, sink: S) -> Self {
        Self {
            begin: format!("\n{mark} BEGIN\n").into_bytes(),
            end: format!("\n{mark} END ").into_bytes(),
            missing: format!("\n{mark} MISSING ").into_bytes(),
            stdout: StreamState::default(),
            stderr: StreamState::default(),
            result: None,
            sink,
        }
    }

    /// Standard error may go on after END, written by a process that outlived the command: that is not its output.
    fn look_for_end(&mut self) {
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

    /// What became of the command.
    pub(crate) fn into_result(
        mut self,
        access: &HostAccess,
        step: &Step,
        ended: Ended,
        elapsed: Duration,
        cancelled: bool,
    ) -> Result<EndedCommand<S>, ConnectError> {
        if !self.stderr.begun && !self.stdout.begun && ended.closed {
            return self.without_answer(access, step, &ended);
        }
        if self.stderr.begun && self.result.is_none() {
            let held = std::mem::take(&mut self.stderr.held);
            self.sink.stderr(&held);
        }
        let limit_passed = elapsed >= Duration::from_secs(step.seconds());
        let (outcome, detail) = match self.result {
            Some((124 | 137 | 143, _)) if limit_passed => (Outcome::TimedOut, "the target ended it at its time limit"),
            Some((code, _)) if cancelled && code != 0 => (Outcome::Cancelled, "it was ended on request"),
            Some((code, signalled)) => (super::answer::outcome_of_exit(code, signalled), ""),
            None if cancelled => (Outcome::Cancelled, "it was given up on request; its end was not seen"),
            None if limit_passed && !ended.closed => (Outcome::TimedOut, "its end was not seen"),
            None => (
                Outcome::Lost { reason: LostReason::ConnectionLost },
                "the connection ended before the command did; it was read-only and may be run again",
            ),
        };
        Ok(EndedCommand { outcome, detail: detail.into(), sink: self.sink })
    }

    /// The script printed no mark: the shell, pct or the guest is not there, or tools are missing.
    fn without_answer(self, access: &HostAccess, step: &Step, ended: &Ended) -> Result<EndedCommand<S>, ConnectError> {
        if let Some(at) = find(&self.stderr.held, &self.missing) {
            let line = String::from_utf8_lossy(&self.stderr.held[at + self.missing.len()..]).into_owned();
            let detail = format!(
                "the target lacks {}, without which no step can be run (coreutils has it); nothing was started",
                line.trim()
            );
            let outcome = Outcome::NotStarted { reason: NotStarted::MissingTools };
            return Ok(EndedCommand { outcome, detail, sink: self.sink });
        }
        Err(no_answer(access, step.place, ended, &self.stdout.held, &self.stderr.held))
    }
}

impl<S: Sink> Sink for MarkedOutput<S> {
    fn stdout(&mut self, bytes: &[u8]) {
        if self.stdout.begun {
            return self.sink.stdout(bytes);
        }
        if let Some(first) = self.stdout.skip_noise(bytes, &self.begin) {
            self.sink.stdout(&first);
        }
    }

    fn stderr(&mut self, bytes: &[u8]) {
        if self.result.is_some() {
            return;
        }
        if self.stderr.begun {
            self.stderr.held.extend_from_slice(bytes);
        } else if let Some(first) = self.stderr.skip_noise(bytes, &self.begin) {
            self.stderr.held = first;
        } else {
            return;
        }
        self.look_for_end();
    }

    fn is_complete(&self) -> bool {
        self.result.is_some()
    }
}

impl StreamState {
    /// Looks for the mark in the noise; what follows it is output.
    fn skip_noise(&mut self, bytes: &[u8], mark: &[u8]) -> Option<Vec<u8>> {
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

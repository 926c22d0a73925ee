//! Mutating steps: started once under the wrapper, followed to their end, found again after a lost connection or a
//! restart of the controller.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::access::HostAccess;
use super::answer::{Answer, Verdict};
use super::channel::{Bounded, Exchange};
use super::connection::Lane;
use super::error::ConnectError;
use super::frames::new_mark;
use super::no_answer::no_answer;
use super::report::{LostReason, NotStarted, Outcome, Report};
use super::script;
use super::step::Step;
use super::targets::Targets;

/// Beside its frames an answer holds at most 18 KiB of output; the rest is room for noise of the login.
const ANSWER_BYTES: usize = 512 * 1024;
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A guest that is not running this many times in a row has been stopped, and what ran in it with it.
const LOOKS_AT_A_STOPPED_GUEST: u32 = 4;

/// One step being followed.
pub(crate) struct SupervisedStep<'a> {
    targets: &'a Targets,
    access: &'a HostAccess,
    step: &'a Step,
    cancel: &'a CancellationToken,
    /// After this the outcome is given up as unknown.
    give_up: Instant,
}

/// What one exchange with the wrapper told.
enum ExchangeResult {
    Report(Report),
    OtherInstance,
    /// The script never ran; why.
    NoAnswer(ConnectError),
    /// The connection broke or the answer is not complete; whether the command was seen running.
    Incomplete {
        running: bool,
    },
    /// Time to give up.
    OutOfTime {
        running: bool,
    },
}

impl<'a> SupervisedStep<'a> {
    pub(crate) fn new(
        targets: &'a Targets,
        access: &'a HostAccess,
        step: &'a Step,
        cancel: &'a CancellationToken,
    ) -> Self {
        let give_up = Instant::now() + step.start_within + step.timeout + targets.patience.after_end;
        Self { targets, access, step, cancel, give_up }
    }

    /// Starts the step, or follows it if the attempt has been started before.
    pub(crate) async fn start(&self) -> Result<Report, ConnectError> {
        let latest = Instant::now() + self.step.start_within;
        loop {
            let clock = tokio::select! {
                clock = self.targets.clock(self.access, self.step.place) => clock?,
                () = self.cancel.cancelled() => return Ok(never_sent()),
            };
            let now = Instant::now();
            if now >= latest {
                return Ok(Report::not_started(
                    NotStarted::TooLate,
                    "the target could not be reached within the time to start; nothing was sent",
                ));
            }
            let limit = clock.uptime_at(now) + super::probe::centiseconds(latest - now);
            let mark = new_mark();
            let text = script::start(&mark, self.step, &clock.instance, limit);
            let exchange = tokio::select! {
                exchange = self.exchange(Lane::Step, text) => exchange?,
                () = self.cancel.cancelled() => return Ok(never_sent()),
            };
            match self.follow(exchange, &mark).await {
                ExchangeResult::Report(report) => return Ok(self.as_cancelled(report)),
                // Nothing was claimed: ask anew which boot this is.
                ExchangeResult::OtherInstance => self.targets.forget_clock(self.access, self.step.place),
                ExchangeResult::NoAnswer(error) => return Err(error),
                ExchangeResult::Incomplete { running: started } => return Ok(self.find_outcome(started).await),
                ExchangeResult::OutOfTime { running } => return Ok(out_of_time(running)),
            }
        }
    }

    /// Finds out what became of an attempt that may have been started before.
    pub(crate) async fn recover(&self) -> Report {
        self.find_outcome(false).await
    }

    /// `started`: whether the target said that it started the command.
    async fn find_outcome(&self, started: bool) -> Report {
        let mut pause = Duration::from_millis(500);
        let (mut running, mut gone) = (false, 0);
        while Instant::now() < self.give_up {
            match self.observe().await {
                ExchangeResult::Report(report) if (started || running) && is_not_started(&report) => {
                    return run_directory_gone();
                }
                ExchangeResult::Report(report) => return self.as_cancelled(report),
                ExchangeResult::OutOfTime { running: seen } => return out_of_time(running || seen),
                ExchangeResult::NoAnswer(error) => {
                    tracing::warn!(attempt = self.step.attempt_id, %error, "looking for a step");
                    gone = if matches!(error, ConnectError::GuestUnavailable { .. }) { gone + 1 } else { 0 };
                    if gone >= LOOKS_AT_A_STOPPED_GUEST {
                        let detail = format!("{error}; what the command did before that is not known");
                        return Report::lost(LostReason::Rebooted, detail);
                    }
                }
                ExchangeResult::Incomplete { running: seen } => {
                    gone = 0;
                    // Progress: the target was reached.
                    if seen && !running {
                        pause = Duration::from_millis(500);
                    }
                    running |= seen;
                }
                ExchangeResult::OtherInstance => {}
            }
            sleep_until((Instant::now() + pause).min(self.give_up)).await;
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
        out_of_time(running)
    }

    async fn observe(&self) -> ExchangeResult {
        if self.cancel.is_cancelled() {
            // First, so that an attempt which was not started yet never is.
            if let Some(report) = self.send_cancel().await {
                return ExchangeResult::Report(report);
            }
        }
        let mark = new_mark();
        match self.exchange(Lane::Step, script::observe(&mark, self.step)).await {
            Ok(exchange) => self.follow(exchange, &mark).await,
            Err(error) => ExchangeResult::NoAnswer(error),
        }
    }

    async fn exchange(&self, lane: Lane, text: String) -> Result<Exchange<Bounded>, ConnectError> {
        let command = script::remote_shell(self.step.place);
        self.targets.pool.exchange(self.access, lane, command, text, Bounded::new(ANSWER_BYTES)).await
    }

    /// Waits for the wrapper's verdict; ends the command when the step is cancelled.
    async fn follow(&self, mut exchange: Exchange<Bounded>, mark: &str) -> ExchangeResult {
        let answer = tokio::select! {
            answer = exchange.end() => answer,
            () = sleep_until(self.give_up) => return self.out_of_time(exchange, mark).await,
            report = self.end_when_cancelled() => return ExchangeResult::Report(report),
        };
        let Some((bytes, ended)) = answer else { return ExchangeResult::Incomplete { running: false } };
        let answer = Answer::read(mark, &self.step.attempt_id, &bytes.stdout);
        match answer.verdict {
            Some(Verdict::Settled(report)) if answer.found_running && is_not_started(&report) => {
                ExchangeResult::Report(run_directory_gone())
            }
            Some(Verdict::Settled(report)) => ExchangeResult::Report(report),
            Some(Verdict::OtherInstance) => ExchangeResult::OtherInstance,
            Some(Verdict::Unknown(detail)) => {
                tracing::warn!(attempt = self.step.attempt_id, detail, "the target cannot tell about a step");
                ExchangeResult::Incomplete { running: answer.running }
            }
            Some(Verdict::Killed) | None if answer.has_frames || !ended.closed => {
                ExchangeResult::Incomplete { running: answer.running }
            }
            _ => self
                .without_answer(no_answer(self.access, self.step.place, &ended, &bytes.stdout, &bytes.stderr), &ended),
        }
    }

    /// Without a word of the script, only the known refusals of `pct` prove that it never ran.
    fn without_answer(&self, error: ConnectError, ended: &super::channel::Ended) -> ExchangeResult {
        let refused = match &error {
            ConnectError::PctMissing { .. } => true,
            ConnectError::GuestUnavailable { detail, .. } => {
                ["not running", "does not exist", "is locked"].iter().any(|text| detail.contains(text))
            }
            _ => false,
        };
        if refused && ended.exit.is_some_and(|code| code != 0) {
            return ExchangeResult::NoAnswer(error);
        }
        tracing::warn!(attempt = self.step.attempt_id, %error, "a step without an answer");
        ExchangeResult::Incomplete { running: false }
    }

    async fn out_of_time(&self, exchange: Exchange<Bounded>, mark: &str) -> ExchangeResult {
        let running = exchange
            .close()
            .await
            .is_some_and(|(bytes, _)| Answer::read(mark, &self.step.attempt_id, &bytes.stdout).running);
        ExchangeResult::OutOfTime { running }
    }

    /// Waits for a cancellation and then ends the command. Returns only when nothing was started: otherwise the exchange
    /// that follows the command brings its record.
    async fn end_when_cancelled(&self) -> Report {
        self.cancel.cancelled().await;
        let mut pause = Duration::from_millis(500);
        loop {
            if let Some(report) = self.send_cancel().await {
                return report;
            }
            sleep(pause).await;
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    /// Sends the kill. A report only if the attempt can be proved not to have started; the rest is in the record.
    async fn send_cancel(&self) -> Option<Report> {
        let mark = new_mark();
        let mut exchange = match self.exchange(Lane::Cancel, script::cancel(&mark, self.step)).await {
            Ok(exchange) => exchange,
            Err(error) => {
                tracing::warn!(attempt = self.step.attempt_id, %error, "cancelling a step");
                return None;
            }
        };
        let (bytes, _) = exchange.end().await?;
        match Answer::read(&mark, &self.step.attempt_id, &bytes.stdout).verdict {
            Some(Verdict::Settled(report)) => Some(report),
            _ => None,
        }
    }

    /// What was fenced off because of a cancellation was cancelled.
    fn as_cancelled(&self, report: Report) -> Report {
        match report.outcome {
            Outcome::NotStarted { reason: NotStarted::Fenced } if self.cancel.is_cancelled() => {
                Report::bare(Outcome::Cancelled, "it was cancelled before it started; nothing was started")
            }
            _ => report,
        }
    }
}

pub(crate) fn never_sent() -> Report {
    Report::bare(Outcome::Cancelled, "it was cancelled before it was sent; nothing was started")
}

fn is_not_started(report: &Report) -> bool {
    matches!(report.outcome, Outcome::NotStarted { .. })
}

/// The target says that nothing was started, but it was seen running: what recorded the start is gone.
fn run_directory_gone() -> Report {
    Report::lost(
        LostReason::RunDirMissing,
        "the command was started, and its run directory was removed since; what the command did is not known",
    )
}

fn out_of_time(running: bool) -> Report {
    if running {
        return Report::lost(
            LostReason::NotEnding,
            "the command was started and its end was not seen until long after its time limit",
        );
    }
    Report::lost(
        LostReason::HostUnreachable,
        "the target could not be asked until long after the time limit; whether the command ran is not known",
    )
}

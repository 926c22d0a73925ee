//! The wrapper's answer, read from its frames: pure.

use super::capture::Captured;
use super::frames::{Frame, parse};
use super::report::{LostReason, NotStarted, Outcome, Report};

/// What the wrapper on the target said until the channel ended.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// Whether the script ran at all.
    pub has_frames: bool,
    /// Whether the command was started, or found running.
    pub running: bool,
    /// Whether it was found running: then it was started, whatever is found later.
    pub found_running: bool,
    /// What it says became of the attempt, if the answer is complete.
    pub verdict: Option<Verdict>,
}

/// What the wrapper says became of an attempt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Decided by evidence.
    Settled(Report),
    /// The target is not the boot that the controller knew; nothing was claimed.
    OtherInstance,
    /// The kill was carried out; the outcome is in the record.
    Killed,
    /// The target could not tell.
    Unknown(String),
}

impl Answer {
    pub(crate) fn read(mark: &str, attempt_id: &str, bytes: &[u8]) -> Self {
        let frames = parse(mark, bytes);
        let mut answer = Self { has_frames: !frames.is_empty(), ..Self::default() };
        answer.running = frames.iter().any(|frame| matches!(frame.word, "STARTED" | "RUNNING"));
        answer.found_running = frames.iter().any(|frame| frame.word == "RUNNING");
        // Without its end an answer may lack the part that matters.
        if frames.last().is_some_and(|frame| frame.word == "DONE") {
            answer.verdict = frames.iter().rev().find_map(|frame| verdict(frame, attempt_id, &frames));
        }
        answer
    }
}

fn verdict(frame: &Frame<'_>, attempt_id: &str, frames: &[Frame<'_>]) -> Option<Verdict> {
    let report = match frame.word {
        "RECORD" => match Record::read(frame.rest, attempt_id) {
            Some(record) => record.report(frames),
            None => lost(LostReason::RecordCorrupt, frames),
        },
        "LOST" => match frame.rest {
            "Rebooted" => lost(LostReason::Rebooted, frames),
            "RecordCorrupt" => lost(LostReason::RecordCorrupt, frames),
            "RunDirMissing" => lost(LostReason::RunDirMissing, frames),
            _ => lost(LostReason::SupervisorVanished, frames),
        },
        "NOTSTARTED" if frame.rest.starts_with("OtherInstance") => return Some(Verdict::OtherInstance),
        "NOTSTARTED" => not_started(frame.rest),
        "KILLED" => return Some(Verdict::Killed),
        "UNKNOWN" => return Some(Verdict::Unknown(frame.rest.to_owned())),
        _ => return None,
    };
    Some(Verdict::Settled(report))
}

fn lost(reason: LostReason, frames: &[Frame<'_>]) -> Report {
    let detail = match reason {
        LostReason::Rebooted => "the target started anew before the command had a result; what it did is not known",
        LostReason::RunDirMissing => "the run directory of the command was removed; what the command did is not known",
        LostReason::RecordCorrupt => "the result record on the target is damaged; what the command did is not known",
        _ => "the process that watched the command was killed; the command has ended since, how is not known",
    };
    Report {
        stdout: captured("out", frames, None, None),
        stderr: captured("err", frames, None, None),
        ..Report::lost(reason, detail)
    }
}

fn not_started(rest: &str) -> Report {
    let (word, detail) = rest.split_once(' ').unwrap_or((rest, ""));
    match word {
        "TooLate" => Report::not_started(
            NotStarted::TooLate,
            "it reached the target after the time in which it was allowed to start; nothing was started",
        ),
        "Busy" => Report::not_started(
            NotStarted::Busy,
            "another mutating step held the target until the time to start had passed; nothing was started",
        ),
        "MissingTools" => Report::not_started(
            NotStarted::MissingTools,
            format!(
                "the target lacks {detail}, without which a step cannot be run safely (util-linux and coreutils have \
                 them); nothing was started"
            ),
        ),
        "RunDirectory" => Report::not_started(NotStarted::RunDirectory, format!("{detail}; nothing was started")),
        _ => Report::not_started(NotStarted::Fenced, "it was never started, and cannot be any more"),
    }
}

/// `oikos1 <attempt id> key=value... END`, written by the supervisor.
#[derive(Debug, PartialEq, Eq)]
struct Record {
    code: i32,
    signalled: bool,
    timed_out: bool,
    cancelled: bool,
    leaked: u32,
    out: RecordedStream,
    err: RecordedStream,
}

/// Length and digest of a whole stream, where the supervisor saw its end.
#[derive(Debug, Default, PartialEq, Eq)]
struct RecordedStream {
    bytes: Option<u64>,
    sha256: Option<String>,
}

impl Record {
    fn read(line: &str, attempt_id: &str) -> Option<Self> {
        let fields = line.trim().strip_prefix("oikos1 ")?.strip_prefix(attempt_id)?.strip_suffix(" END")?;
        let field = |name: &str| {
            fields.split_whitespace().find_map(|field| field.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')))
        };
        let flag = |name: &str| field(name).map(|value| value == "1");
        let stream = |name: &str| RecordedStream {
            bytes: field(&format!("{name}_bytes")).and_then(|value| value.parse().ok()),
            sha256: field(&format!("{name}_sha256")).filter(|value| value.len() == 64).map(ToOwned::to_owned),
        };
        Some(Self {
            code: field("code")?.parse().ok().filter(|code| (0..=255).contains(code))?,
            signalled: flag("signalled")?,
            timed_out: flag("timed_out")?,
            cancelled: flag("cancelled")?,
            leaked: field("leaked")?.parse().ok()?,
            out: stream("out"),
            err: stream("err"),
        })
    }

    fn report(self, frames: &[Frame<'_>]) -> Report {
        let mut notes = Vec::new();
        let outcome = self.outcome(&mut notes);
        if self.leaked > 0 {
            notes.push(format!("{} of its processes were still running when it had ended", self.leaked));
        }
        Report {
            outcome,
            stdout: captured("out", frames, self.out.bytes, self.out.sha256),
            stderr: captured("err", frames, self.err.bytes, self.err.sha256),
            detail: notes.join("; "),
        }
    }

    fn outcome(&self, notes: &mut Vec<String>) -> Outcome {
        let ended = outcome_of_exit(self.code, self.signalled);
        if self.timed_out {
            notes.push("the target ended it at its time limit; it may have done a part of its work".into());
            Outcome::TimedOut
        } else if self.cancelled && self.code != 0 {
            notes.push(format!("it was ended on request ({}); it may have done a part of its work", describe(&ended)));
            Outcome::Cancelled
        } else {
            if self.cancelled {
                notes.push("it was to be cancelled, but had succeeded already".into());
            }
            ended
        }
    }
}

/// The outcome behind a shell's exit code, given whether the shell saw a signal.
pub(crate) fn outcome_of_exit(code: i32, signalled: bool) -> Outcome {
    if signalled && code > 128 {
        return Outcome::Signalled { signal: signal_name(code - 128) };
    }
    Outcome::Exited { code }
}

fn describe(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Signalled { signal } => format!("signal {signal}"),
        Outcome::Exited { code } => format!("exit code {code}"),
        other => format!("{other:?}"),
    }
}

/// Linux signal numbers as on every architecture that Proxmox VE runs on.
fn signal_name(number: i32) -> String {
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM",
        "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF",
        "WINCH", "IO", "PWR", "SYS",
    ];
    usize::try_from(number - 1)
        .ok()
        .and_then(|index| NAMES.get(index))
        .map_or_else(|| format!("{number}"), ToString::to_string)
}

fn captured(stream: &str, frames: &[Frame<'_>], bytes: Option<u64>, sha256: Option<String>) -> Captured {
    let output = frames.iter().find(|frame| frame.word == "OUTPUT" && frame.words().next() == Some(stream));
    let Some(output) = output else { return Captured::default() };
    let head = output.words().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0).min(output.data.len());
    let (head, tail) = output.data.split_at(head);
    if tail.is_empty() {
        return Captured::from_parts(head, tail, bytes, sha256);
    }
    // Two parts are sent only when something was left out between them.
    let at_least = (head.len() + tail.len()) as u64 + 1;
    Captured::from_parts(head, tail, Some(bytes.unwrap_or(at_least).max(at_least)), sha256)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(fields: &str) -> String {
        format!(
            "\n@m STARTED\n\n@m RECORD oikos1 a-1 {fields} END\n\n@m OUTPUT out 3 0\nhi\n\n@m OUTPUT err 0 0\n\n@m DONE\n"
        )
    }

    fn outcome(fields: &str) -> Outcome {
        match Answer::read("@m", "a-1", record(fields).as_bytes()).verdict {
            Some(Verdict::Settled(report)) => report.outcome,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_record_decides_the_outcome() {
        let plain = "timed_out=0 cancelled=0 leaked=0 out_bytes=3 out_sha256=- err_bytes=0 err_sha256=-";
        for (fields, expected) in [
            (format!("code=0 signalled=0 {plain}"), Outcome::Exited { code: 0 }),
            (format!("code=137 signalled=0 {plain}"), Outcome::Exited { code: 137 }),
            (format!("code=137 signalled=1 {plain}"), Outcome::Signalled { signal: "KILL".into() }),
            ("code=124 signalled=0 timed_out=1 cancelled=0 leaked=0".into(), Outcome::TimedOut),
            ("code=143 signalled=1 timed_out=0 cancelled=1 leaked=0".into(), Outcome::Cancelled),
            ("code=0 signalled=0 timed_out=0 cancelled=1 leaked=0".into(), Outcome::Exited { code: 0 }),
            (
                "code=400 signalled=0 timed_out=0 cancelled=0 leaked=0".into(),
                Outcome::Lost { reason: LostReason::RecordCorrupt },
            ),
        ] {
            assert_eq!(outcome(&fields), expected, "{fields}");
        }
    }

    #[test]
    fn a_record_of_another_attempt_is_no_result() {
        let bytes = record("code=0 signalled=0 timed_out=0 cancelled=0 leaked=0");
        let answer = Answer::read("@m", "a-2", bytes.as_bytes());
        let Some(Verdict::Settled(report)) = answer.verdict else { panic!("no verdict") };
        assert_eq!(report.outcome, Outcome::Lost { reason: LostReason::RecordCorrupt });
    }

    #[test]
    fn an_answer_that_breaks_off_has_no_verdict() {
        let whole = record("code=0 signalled=0 timed_out=0 cancelled=0 leaked=0");
        for end in 0..whole.len() {
            let answer = Answer::read("@m", "a-1", &whole.as_bytes()[..end]);
            assert!(answer.verdict.is_none(), "{end}");
        }
    }
}

//! `oikos classify`: explains the verdict of a command.

use std::{
    collections::BTreeSet,
    io::{self, BufRead, Write},
};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use oikos_risk::{self as risk, Affected, Flags, Verdict};

use crate::api::{Target, TargetKind};

/// What to judge and how to show it.
#[derive(Debug, Args)]
pub struct Options {
    /// The command, as one argument.
    #[arg(required_unless_present = "batch")]
    command: Option<String>,
    /// Where it would run: `host:<name>`, `lxc:<name>` or `vm:<name>`.
    #[arg(long, default_value = "host:node", conflicts_with = "locus")]
    target: Target,
    /// Where it would run, without a name.
    #[arg(long)]
    locus: Option<Locus>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Read one JSON object a line from standard input, {"id","locus":"host|guest","command"}, and write one a line:
    /// {"id","risk","reasons","affected","flags"}.
    #[arg(long, conflicts_with_all = ["command", "json"])]
    batch: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Locus {
    Host,
    Guest,
}

impl From<Locus> for risk::Locus {
    fn from(locus: Locus) -> Self {
        match locus {
            Locus::Host => Self::Host,
            Locus::Guest => Self::Guest,
        }
    }
}

#[derive(Deserialize)]
struct Question {
    id: serde_json::Value,
    locus: Locus,
    command: String,
}

#[derive(Serialize)]
struct Answer {
    id: serde_json::Value,
    risk: &'static str,
    reasons: Vec<String>,
    affected: BTreeSet<Affected>,
    flags: Flags,
}

/// Judges one command, or every line of standard input.
pub fn run(options: &Options) -> anyhow::Result<()> {
    if options.batch {
        return batch();
    }
    let Some(command) = &options.command else { bail!("give a command, or --batch") };
    let locus = options.locus.map_or_else(|| locus_of(&options.target), risk::Locus::from);
    let verdict = risk::classify(command, locus);
    let mut out = io::stdout().lock();
    if options.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&verdict)?)?;
    } else {
        explain(&mut out, command, &verdict)?;
    }
    Ok(())
}

fn locus_of(target: &Target) -> risk::Locus {
    match target.kind() {
        TargetKind::Host => risk::Locus::Host,
        TargetKind::Lxc | TargetKind::Vm => risk::Locus::Guest,
    }
}

fn batch() -> anyhow::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for (number, line) in io::stdin().lock().lines().enumerate() {
        let line = line.context("reading standard input")?;
        if line.trim().is_empty() {
            continue;
        }
        let question: Question =
            serde_json::from_str(&line).with_context(|| format!("reading line {} of standard input", number + 1))?;
        let verdict = risk::classify(&question.command, question.locus.into());
        let reasons = verdict.reasons.iter().map(|reason| format!("{}: {}", reason.code, reason.message)).collect();
        let answer = Answer {
            id: question.id,
            risk: verdict.risk.snake_case(),
            reasons,
            affected: verdict.affected,
            flags: verdict.flags,
        };
        serde_json::to_writer(&mut out, &answer)?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(())
}

/// Shows the verdict below the words that led to it, as compilers show an error.
fn explain(out: &mut impl Write, command: &str, verdict: &Verdict) -> io::Result<()> {
    writeln!(out, "{}", verdict.risk.snake_case())?;
    for reason in &verdict.reasons {
        writeln!(out, "\n  {} [{}] {}", reason.risk.snake_case(), reason.code, reason.message)?;
        if let Some(span) = &reason.span {
            mark(out, command, span.clone())?;
        }
        if !reason.argv.is_empty() {
            writeln!(out, "    runs: {}", escaped(&reason.argv.join(" ")))?;
        }
        if let Some(hint) = &reason.hint {
            writeln!(out, "    help: {hint}")?;
        }
    }
    if !verdict.affected.is_empty() {
        let affected: Vec<_> = verdict.affected.iter().map(name).collect();
        writeln!(out, "\nacts on: {}", affected.join(", "))?;
    }
    let flags = verdict.flags;
    for (set, text) in [
        (flags.sensitive, "reads secrets"),
        (flags.unbounded, "does not end by itself: refused"),
        (flags.interactive, "wants a person at a terminal: refused"),
    ] {
        if set {
            writeln!(out, "note: {text}")?;
        }
    }
    Ok(())
}

fn name(affected: &Affected) -> String {
    match affected {
        Affected::Vmid(vmid) => format!("guest {vmid}"),
        Affected::Host(name) => format!("the system {name}"),
        Affected::Unknown => "something that the text does not tell".to_owned(),
    }
}

/// The line that holds the span, with the span underlined.
fn mark(out: &mut impl Write, command: &str, span: std::ops::Range<usize>) -> io::Result<()> {
    let (Some(before), Some(marked)) = (command.get(..span.start), command.get(span.clone())) else {
        return Ok(());
    };
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = command[start..].lines().next().unwrap_or_default();
    let lead = escaped(&before[start..]).chars().count();
    let width = escaped(marked.lines().next().unwrap_or_default()).chars().count().max(1);
    writeln!(out, "    | {}", escaped(line))?;
    writeln!(out, "    | {}{}", " ".repeat(lead), "^".repeat(width))
}

/// Control and format characters made visible, so that nothing hides from whoever reads.
fn escaped(text: &str) -> String {
    let visible =
        |c: char| !c.is_control() && !('\u{200b}'..='\u{200f}').contains(&c) && !('\u{202a}'..='\u{2069}').contains(&c);
    text.chars().map(|c| if visible(c) { c.to_string() } else { c.escape_unicode().to_string() }).collect()
}

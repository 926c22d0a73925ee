//! The first oracle: what real shells make of a line that was judged ReadOnly.
//!
//! A shell must execute only argument vectors that the classifier believed it would, and must write no file.

use std::collections::BTreeSet;

use oikos_risk::{Locus, Risk, Verdict, classify};

use crate::{
    corpus::{ALL, Line, shown},
    sandbox::{Outcome, Root},
};

/// Programs that run others; these are real, so that what they run is recorded.
pub const REAL: &[&str] = &["bash", "dash", "sh", "timeout", "nice", "nohup", "setsid", "env", "xargs", "find"];
/// Programs that run others and are stubs: only what they run is compared.
const WRAPPERS: &[&str] = &[
    "sudo",
    "pct",
    "qm",
    "lxc-attach",
    "nsenter",
    "docker",
    "kubectl",
    "ip",
    "ionice",
    "stdbuf",
    "busybox",
    "flock",
    "chroot",
    "lvm",
    "systemd-run",
    "su",
    "runuser",
    "doas",
    "setpriv",
    "podman",
    "time",
    "ssh",
];

fn read_only() -> impl Iterator<Item = (&'static Line, Verdict)> {
    let judged = ALL.iter().map(|line| (line, classify(&line.command, line.locus)));
    judged.filter(|(_, verdict)| verdict.risk == Risk::ReadOnly && !verdict.flags.unbounded)
}

pub fn names<'a>(commands: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '+');
    let words = commands.flat_map(|command| command.split(move |c| !word(c))).map(|name| name.trim_start_matches('-'));
    words.filter(|name| name.len() > 1 && !name.starts_with('.')).map(str::to_owned).collect()
}

pub fn run(root: &Root, locus: Locus, commands: &[&str]) -> Vec<Outcome> {
    let shell = match locus {
        Locus::Host => "/bin/bash --noprofile --norc -c",
        Locus::Guest => "/bin/sh -c",
    };
    root.run_all(shell, commands)
}

/// What is wrong with a text that was judged ReadOnly, asked once more alone: what one text leaves in the background may
/// be recorded with the next.
pub fn objection(root: &Root, locus: Locus, text: &str, outcome: &Outcome) -> Option<String> {
    let verdict = classify(text, locus);
    let wrong = |outcome: &Outcome| !strangers(outcome, &verdict).is_empty() || !outcome.changed.is_empty();
    if !wrong(outcome) {
        return None;
    }
    let again = run(root, locus, &[text]).remove(0);
    wrong(&again).then(|| {
        let ran = strangers(&again, &verdict).join(" ");
        format!("{locus:?} {}: ran {ran}, changed {:?}", shown(text), again.changed)
    })
}

/// Whether an argument vector may be one that was believed; `…` stands for what was not known.
fn fits(ran: &[String], believed: &[String]) -> bool {
    let Some((want, rest)) = believed.split_first() else { return ran.is_empty() };
    let Some((begin, end)) = want.split_once('…') else {
        return ran.first().is_some_and(|word| word == want) && fits(&ran[1..], rest);
    };
    // What was not known may be any number of words.
    (want == "…" && fits(ran, rest))
        || ran.first().is_some_and(|word| word.starts_with(begin) || end.is_empty())
            && (1..=ran.len()).any(|taken| fits(&ran[taken..], rest))
}

pub fn strangers(outcome: &Outcome, verdict: &Verdict) -> Vec<String> {
    let believed: Vec<Vec<String>> = verdict
        .reasons
        .iter()
        .map(|reason| {
            let mut argv = reason.argv.clone();
            if let Some(first) = argv.first_mut() {
                *first = first.rsplit('/').next().unwrap_or_default().to_owned();
            }
            argv
        })
        .collect();
    // What find executes is told as a part of find.
    let executed = believed.iter().filter(|argv| argv.first().is_some_and(|name| name == "find")).flat_map(|argv| {
        argv.iter().enumerate().filter(|(_, word)| word.starts_with("-exec")).map(|(at, _)| {
            let words = argv[at + 1..].iter().take_while(|word| !matches!(word.as_str(), ";" | "+"));
            words.map(|word| word.replace("{}", "…")).collect::<Vec<_>>()
        })
    });
    let believed: Vec<Vec<String>> = executed.collect::<Vec<_>>().into_iter().chain(believed.iter().cloned()).collect();
    // Without a command xargs runs echo.
    let idle = believed.iter().any(|argv| argv.first().is_some_and(|name| name == "xargs"));
    let stranger = |ran: &&Vec<String>| {
        let expected = idle && ran[0] == "echo" || WRAPPERS.contains(&ran[0].as_str());
        !(expected || believed.iter().any(|believed| !believed.is_empty() && fits(ran, believed)))
    };
    outcome.ran.iter().filter(stranger).map(|ran| format!("{ran:?}")).collect()
}

#[test]
fn shells_execute_what_was_believed_and_write_nothing() {
    let root = Root::new(REAL, &names(read_only().map(|(line, _)| line.command.as_str())));
    let (mut all, mut ran, mut wrong) = (0, 0, Vec::new());
    for locus in [Locus::Host, Locus::Guest] {
        let lines: Vec<(&Line, Verdict)> = read_only().filter(|(line, _)| line.locus == locus).collect();
        let commands: Vec<&str> = lines.iter().map(|(line, _)| line.command.as_str()).collect();
        for ((line, _), outcome) in lines.iter().zip(run(&root, locus, &commands)) {
            all += 1;
            ran += outcome.ran.len();
            wrong.extend(objection(&root, locus, &line.command, &outcome).map(|text| format!("{} {text}", line.id)));
        }
    }
    println!("{all} lines ran {ran} commands");
    assert!(all > 500 && ran > all, "vacuous: {all} lines ran {ran} commands");
    assert!(wrong.is_empty(), "{} of {all}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_oracle_notices_what_was_not_believed() {
    let root = Root::new(REAL, &names(["ls rm sort"].into_iter()));
    let judged = classify("ls /etc", Locus::Host);
    assert!(strangers(&run(&root, Locus::Host, &["ls /etc"])[0], &judged).is_empty());
    let others =
        ["ls  /etc -l", "ls /etc; rm x", "ls \"/etc \"", "nice rm x", "ls $(rm x) /etc", "find /w -exec rm {} +"];
    for (command, outcome) in others.iter().zip(run(&root, Locus::Host, &others)) {
        assert!(!strangers(&outcome, &judged).is_empty(), "{command}");
    }
    assert!(!run(&root, Locus::Host, &["ls /etc > /w/x"])[0].changed.is_empty());
}

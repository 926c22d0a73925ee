//! How the labelled lines are judged.

use std::collections::BTreeSet;

use oikos_risk::{Locus, Risk, Verdict, classify};

use crate::{
    corpus::{ALL, Label, Line, letter, shown, why},
    gaps::{self, GAPS},
};

fn judged() -> impl Iterator<Item = (&'static Line, Verdict)> {
    ALL.iter().map(|line| (line, classify(&line.command, line.locus)))
}

fn report(line: &Line, verdict: &Verdict) -> String {
    let place = if line.locus == Locus::Host { "host" } else { "guest" };
    format!("{}\t{place}\t{}\t{}\t{}", line.id, letter(verdict.risk), shown(&line.command), why(verdict))
}

fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

#[test]
fn the_corpus_is_large_and_every_line_is_there_once() {
    let ids: BTreeSet<_> = ALL.iter().map(|line| (&line.id, line.locus)).collect();
    let commands: BTreeSet<_> = ALL.iter().map(|line| (&line.command, line.locus)).collect();
    assert_eq!(ids.len(), ALL.len());
    assert_eq!(commands.len(), ALL.len());
    assert!(ALL.iter().map(|line| &line.command).collect::<BTreeSet<_>>().len() >= 500);
    for risk in [Risk::ReadOnly, Risk::ConfigMutation, Risk::Destructive] {
        for locus in [Locus::Host, Locus::Guest] {
            assert!(ALL.iter().filter(|line| line.locus == locus && line.is(risk)).count() >= 80);
        }
    }
}

/// The one that must never fail.
#[test]
fn nothing_that_changes_anything_is_judged_read_only() {
    let changes = |line: &Line| match line.label {
        Label::Class(risk) => risk > Risk::ReadOnly,
        Label::Change => true,
        Label::Refused => false,
    };
    let missed: Vec<_> = judged()
        .filter(|(line, verdict)| changes(line) && verdict.risk == Risk::ReadOnly)
        .map(|(line, verdict)| report(line, &verdict))
        .collect();
    assert!(missed.is_empty(), "{} lines:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn less_than_two_percent_of_what_destroys_is_judged_less() {
    let all = ALL.iter().filter(|line| line.is(Risk::Destructive)).count();
    let missed: Vec<_> = judged()
        .filter(|(line, verdict)| line.is(Risk::Destructive) && verdict.risk < Risk::Destructive)
        .map(|(line, verdict)| report(line, &verdict))
        .collect();
    let share = percent(missed.len(), all);
    println!("{share:.2} % of {all} destructive lines judged less:\n{}", missed.join("\n"));
    assert!(share < 2.0, "{share:.2} % of {all}:\n{}", missed.join("\n"));
}

#[test]
fn at_least_ninety_percent_of_what_only_reads_is_judged_read_only() {
    for locus in [Locus::Host, Locus::Guest] {
        let reads = |line: &Line| line.locus == locus && line.is(Risk::ReadOnly);
        let all = ALL.iter().filter(|line| reads(line)).count();
        let raised: Vec<_> = judged()
            .filter(|(line, verdict)| reads(line) && verdict.risk > Risk::ReadOnly)
            .map(|(line, verdict)| report(line, &verdict))
            .collect();
        let share = percent(all - raised.len(), all);
        println!("{locus:?}: {share:.2} % of {all} reading lines judged ReadOnly; not:\n{}", raised.join("\n"));
        assert!(share >= 90.0, "{locus:?}: {share:.2} % of {all}:\n{}", raised.join("\n"));
    }
}

#[test]
fn every_line_gets_its_class_but_for_the_known_gaps() {
    let mut wrong = Vec::new();
    let mut closed: BTreeSet<&str> = GAPS.iter().map(|(id, _)| *id).collect();
    for (line, verdict) in judged() {
        let right = match line.label {
            Label::Class(risk) => verdict.risk == risk,
            Label::Change => verdict.risk > Risk::ReadOnly,
            Label::Refused => true,
        };
        let missing = line.missing(&verdict);
        if right && missing.is_none() {
            continue;
        }
        closed.remove(line.id.as_str());
        if !gaps::is_known(&line.id) {
            let missing = missing.map_or(String::new(), |mark| format!(" [{mark} is missing]"));
            wrong.push(format!("{:?}{missing}: {}", line.label, report(line, &verdict)));
        }
    }
    let (over, all) = (wrong.len(), ALL.len());
    println!("{:.2} % of {all} judgements as labelled, {} known gaps", percent(all - over, all), GAPS.len());
    assert!(wrong.is_empty(), "{over} of {all}:\n{}", wrong.join("\n"));
    assert!(closed.is_empty(), "closed gaps are still listed: {closed:?}");
}

#[test]
fn what_is_refused_says_what_to_do_instead() {
    let silent: Vec<_> = judged()
        .filter(|(line, verdict)| {
            line.label == Label::Refused
                && !gaps::is_known(&line.id)
                && verdict.reasons.iter().all(|reason| reason.hint.is_none())
        })
        .map(|(line, verdict)| report(line, &verdict))
        .collect();
    assert!(silent.is_empty(), "{} without a hint:\n{}", silent.len(), silent.join("\n"));
}

//! Every verb of every Proxmox tool, by every unique beginning, with every option in every spelling.

use crate::{
    Locus, Risk, classify,
    tables::{Entry, Kind, Style, TABLES, Takes, Verb},
};

fn tools() -> impl Iterator<Item = &'static Entry> {
    TABLES.entries().filter(|entry| entry.style == Style::Perl && !entry.verbs.is_empty())
}

fn risk(command: &str) -> Risk {
    classify(command, Locus::Host).risk
}

/// Operands that fit the verb, so that only the verb and the options decide.
fn operands(verb: &Verb) -> &'static str {
    match verb.form.operands.as_slice() {
        [Kind::InGuest, Kind::Command] => "101 -- uptime",
        [Kind::Vmid, Kind::Vmid] => "101 102",
        [Kind::Vmid] | [Kind::Vmid, Kind::Any] => "101 ping",
        [] => "",
        _ => "/nodes/n/status b",
    }
}

/// What `word` names among the words that may stand there: a second reading of the rule, for comparison.
fn resolve<'a>(word: &str, choices: &[(&'a str, bool)]) -> Option<&'a str> {
    if let Some((whole, _)) = choices.iter().find(|(choice, _)| *choice == word) {
        return Some(whole);
    }
    let mut found: Vec<&str> = choices
        .iter()
        .filter(|(choice, alias)| !alias && choice.starts_with(word))
        .map(|(choice, _)| *choice)
        .collect();
    found.sort_unstable();
    found.dedup();
    (found.len() == 1).then(|| found[0])
}

#[test]
fn every_beginning_of_a_verb_is_the_verb_or_destructive() {
    let (mut unique, mut ambiguous) = (0, 0);
    for entry in tools() {
        let first: Vec<(&str, bool)> =
            entry.verbs.iter().map(|verb| (verb.name.split(' ').next().unwrap(), verb.alias)).collect();
        for verb in &entry.verbs {
            let (head, tail) = verb.name.split_once(' ').unwrap_or((verb.name, ""));
            let whole = risk(&format!("{} {} {}", entry.name, verb.name, operands(verb)));
            for end in 1..=head.len() {
                let Some(word) = head.get(..end) else { continue };
                let short = risk(&format!("{} {word} {tail} {}", entry.name, operands(verb)));
                if resolve(word, &first) == Some(head) {
                    unique += 1;
                    assert_eq!(short, whole, "{} {word} {tail}", entry.name);
                } else if resolve(word, &first).is_none() {
                    ambiguous += 1;
                    assert_eq!(short, Risk::Destructive, "{} {word} {tail}", entry.name);
                }
            }
        }
    }
    assert!(unique > 800 && ambiguous > 200, "{unique} unique and {ambiguous} ambiguous beginnings were tried");
}

#[test]
fn every_beginning_of_a_second_verb_is_the_verb_or_destructive() {
    let mut tried = 0;
    for entry in tools() {
        for verb in entry.verbs.iter().filter(|verb| verb.name.matches(' ').count() == 1) {
            let (head, tail) = verb.name.split_once(' ').unwrap();
            let second: Vec<(&str, bool)> = entry
                .verbs
                .iter()
                .filter_map(|verb| verb.name.split_once(' ').map(|(h, rest)| (h, rest, verb.alias)))
                .filter(|(h, ..)| *h == head)
                .map(|(_, rest, alias)| (rest.split(' ').next().unwrap(), alias))
                .collect();
            let whole = risk(&format!("{} {} {}", entry.name, verb.name, operands(verb)));
            for end in 1..tail.len() {
                let word = &tail[..end];
                let short = risk(&format!("{} {head} {word} {}", entry.name, operands(verb)));
                tried += 1;
                if resolve(word, &second) == Some(tail) {
                    assert_eq!(short, whole, "{} {head} {word}", entry.name);
                } else if resolve(word, &second).is_none() {
                    assert_eq!(short, Risk::Destructive, "{} {head} {word}", entry.name);
                }
            }
        }
    }
    assert!(tried > 200, "{tried} beginnings were tried");
}

#[test]
fn every_spelling_of_an_option_is_the_option() {
    let mut tried = 0;
    for entry in tools().filter(|entry| entry.name != "pvesh") {
        for verb in &entry.verbs {
            let command = |option: &str| format!("{} {} {option} {}", entry.name, verb.name, operands(verb));
            for opt in &verb.form.options {
                let name = opt.name.trim_start_matches('-').replace('#', "0");
                let value = match opt.takes {
                    Takes::Maybe(_) => "1",
                    Takes::Value(Kind::Vmid) => "102",
                    _ => "x",
                };
                let plain = risk(&command(&format!("--{name} {value}")));
                let spellings = [
                    format!("--{name}={value}"),
                    format!("-{name} {value}"),
                    format!("-{name}={value}"),
                    format!("--{} {value}", name.to_ascii_uppercase()),
                    format!("-{} {value}", name.to_ascii_uppercase()),
                    format!("'--{name}' \"{value}\""),
                ];
                for spelling in &spellings {
                    tried += 1;
                    assert_eq!(risk(&command(spelling)), plain, "{}", command(spelling));
                }
                for end in 1..name.len() {
                    tried += 1;
                    let short = risk(&command(&format!("--{} {value}", &name[..end])));
                    assert!(
                        short >= plain || belongs_to_a_lower_option(verb, entry, &name[..end]),
                        "{name} at {end}: {}",
                        command("")
                    );
                }
            }
        }
    }
    assert!(tried > 10_000, "{tried} spellings were tried");
}

/// Whether this beginning is the whole name of another option.
fn belongs_to_a_lower_option(verb: &Verb, entry: &Entry, name: &str) -> bool {
    let all = verb.form.options.iter().chain(&entry.form.options);
    all.into_iter().any(|opt| opt.name.trim_start_matches('-').eq_ignore_ascii_case(name))
}

#[test]
fn a_boolean_that_is_false_takes_its_option_back() {
    for (command, expected) in [
        ("pct create 120 local:vztmpl/x --force 0", Risk::ConfigMutation),
        ("pct create 120 local:vztmpl/x --force=0", Risk::ConfigMutation),
        ("pct create 120 local:vztmpl/x --force", Risk::Destructive),
        ("pct create 120 local:vztmpl/x --force on", Risk::Destructive),
        ("pvesm prune-backups local --dry-run", Risk::ReadOnly),
        ("pvesm prune-backups local --dry-run no", Risk::Destructive),
        ("pvesm prune-backups local --dry-run --dry-run 0", Risk::Destructive),
    ] {
        assert_eq!(risk(command), expected, "{command}");
    }
}

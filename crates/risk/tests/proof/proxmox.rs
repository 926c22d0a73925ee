//! Every verb of Proxmox's tools, in every spelling that they take.
//!
//! The tools expand a unique beginning of a verb (aliases only count whole) and read options as Perl's Getopt::Long
//! does: one dash or two, any case, any unique beginning, a value after a blank or an equals sign.

use std::{collections::BTreeSet, sync::LazyLock};

use oikos_risk::{Locus, Risk, Verdict, classify};

use crate::corpus::{letter, why};

struct Verb {
    tool: &'static str,
    words: Vec<&'static str>,
    alias: bool,
    class: &'static str,
    arguments: &'static str,
}

static VERBS: LazyLock<Vec<Verb>> = LazyLock::new(|| {
    let rows = include_str!("../data/proxmox_verbs.tsv").lines().filter(|row| !row.starts_with('#'));
    rows.map(|row| {
        let [tool, verb, class, arguments] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
        let words = verb.trim_start_matches('~').split(' ').collect();
        Verb { tool, words, alias: verb.starts_with('~'), class, arguments }
    })
    .collect()
});

fn host(command: &str) -> Verdict {
    classify(command, Locus::Host)
}

/// What the tool makes of a verb's beginning: the same rule as its own, over this list.
fn expand(tool: &str, before: &[&str], word: &str) -> Option<&'static str> {
    let at = before.len();
    let level = VERBS.iter().filter(|verb| verb.tool == tool && verb.words.len() > at && verb.words[..at] == *before);
    let names: Vec<(&'static str, bool)> =
        level.map(|verb| (verb.words[at], verb.alias && verb.words.len() == at + 1)).collect();
    if let Some((name, _)) = names.iter().find(|(name, _)| *name == word) {
        return Some(name);
    }
    let unique: BTreeSet<&str> =
        names.iter().filter(|(name, alias)| !alias && name.starts_with(word)).map(|(name, _)| *name).collect();
    match unique.into_iter().collect::<Vec<_>>()[..] {
        [name] => Some(name),
        _ => None,
    }
}

fn as_listed(class: &str, verdict: &Verdict) -> bool {
    match class {
        "R" => verdict.risk == Risk::ReadOnly && !verdict.flags.interactive,
        "C" => verdict.risk == Risk::ConfigMutation,
        "D" => verdict.risk == Risk::Destructive,
        "K" | "CD" => verdict.risk > Risk::ReadOnly,
        "X" => verdict.flags.interactive,
        "S" => verdict.flags.sensitive,
        other => panic!("no such class: {other}"),
    }
}

#[test]
fn every_verb_gets_its_class() {
    let mut wrong = Vec::new();
    for verb in VERBS.iter() {
        let mut check = |command: &str, class: &str| {
            let verdict = host(command);
            if !as_listed(class, &verdict) {
                wrong.push(format!("{class} {} {command}: {}", letter(verdict.risk), why(&verdict)));
            }
        };
        let line = format!("{} {} {}", verb.tool, verb.words.join(" "), verb.arguments);
        match verb.class {
            "W" => {
                check(&format!("{line} uptime"), "R");
                check(&format!("{line} systemctl restart nginx"), "C");
                check(&format!("{line} rm -rf /srv"), "D");
            }
            class => check(line.trim_end(), class),
        }
    }
    assert!(VERBS.len() > 230);
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_unique_beginning_of_a_verb_is_that_verb_and_every_other_is_destructive() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for verb in VERBS.iter() {
        let rest = if verb.class == "W" { format!("{} uptime", verb.arguments) } else { verb.arguments.to_owned() };
        let whole = host(&format!("{} {} {rest}", verb.tool, verb.words.join(" ")));
        for (at, word) in verb.words.iter().enumerate() {
            for end in 1..word.len() {
                let mut words = verb.words.clone();
                words[at] = &word[..end];
                let command = format!("{} {} {rest}", verb.tool, words.join(" "));
                let verdict = host(&command);
                tried += 1;
                let same = expand(verb.tool, &verb.words[..at], words[at]) == Some(word);
                let right = match same {
                    true => {
                        verdict.risk == whole.risk && verdict.flags == whole.flags && verdict.affected == whole.affected
                    }
                    // It may be another verb's beginning, or another verb: that one has its own row.
                    false if expand(verb.tool, &verb.words[..at], words[at]).is_some() => true,
                    false => verdict.risk == Risk::Destructive,
                };
                if !right {
                    wrong.push(format!("{command}: {} {}", letter(verdict.risk), why(&verdict)));
                }
            }
        }
    }
    assert!(tried > 1000, "{tried}");
    assert!(wrong.is_empty(), "{} of {tried} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_verb_that_does_not_exist_is_destructive() {
    let tools: BTreeSet<&str> = VERBS.iter().map(|verb| verb.tool).collect();
    for tool in tools {
        for verb in ["frobnicate", "LIST", "list-x", "", "--", "\"$x\""] {
            let command = format!("{tool} {verb} 101");
            assert_eq!(host(&command).risk, Risk::Destructive, "{command}");
        }
    }
}

fn options() -> impl Iterator<Item = [&'static str; 4]> {
    let rows = include_str!("../data/proxmox_options.tsv").lines().filter(|row| !row.starts_with('#'));
    rows.map(|row| row.split('\t').collect::<Vec<_>>().try_into().unwrap())
}

#[test]
fn every_spelling_of_an_option_is_judged_at_least_as_the_whole_one() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for [before, option, class, shortest] in options() {
        let whole = host(&format!("{before} {option}"));
        if !as_listed(class, &whole) {
            wrong.push(format!("{class} {} {before} {option}: {}", letter(whole.risk), why(&whole)));
        }
        let (name, value) = option.split_once(' ').unwrap();
        let bare = name.trim_start_matches('-');
        let quoted: String = bare.chars().map(|c| format!("\\x{:02x}", c as u32)).collect();
        let mut spellings = vec![
            format!("--{bare}={value}"),
            format!("-{bare} {value}"),
            format!("-{bare}={value}"),
            format!("--{} {value}", bare.to_uppercase()),
            format!("-{}={value}", bare.to_uppercase()),
            format!("--'{bare}' '{value}'"),
            format!("\"--{bare}\" {value}"),
            format!("$'--{quoted}' {value}"),
        ];
        spellings.extend((shortest.len()..bare.len()).flat_map(|end| {
            let part = &bare[..end];
            [format!("--{part} {value}"), format!("-{part}={value}"), format!("--{} {value}", part.to_uppercase())]
        }));
        for spelling in spellings {
            let commands = [format!("{before} {spelling}"), format!("{before} --quiet 1 {spelling}")];
            for command in commands {
                let verdict = host(&command);
                tried += 1;
                if verdict.risk < whole.risk {
                    wrong.push(format!("{command}: {} < {}", letter(verdict.risk), letter(whole.risk)));
                }
            }
        }
        // A boolean without its value is true.
        if value == "1" {
            let verdict = host(&format!("{before} {name}"));
            if verdict.risk < whole.risk {
                wrong.push(format!("{before} {name}: {}", letter(verdict.risk)));
            }
        }
    }
    assert!(tried > 700, "{tried}");
    assert!(wrong.is_empty(), "{} of {tried} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn an_option_before_the_guest_s_number_counts_too() {
    let mut wrong = Vec::new();
    for [before, option, class, _] in
        options().filter(|[before, ..]| before.starts_with("pct ") || before.starts_with("qm "))
    {
        let mut words: Vec<&str> = before.split(' ').collect();
        let number = words.iter().position(|word| word.parse::<u32>().is_ok()).unwrap();
        words.insert(number, option);
        let command = words.join(" ");
        let (moved, whole) = (host(&command), host(&format!("{before} {option}")));
        if moved.risk < whole.risk || moved.affected != whole.affected {
            wrong.push(format!("{class} {} {command}: {:?}", letter(moved.risk), moved.affected));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_acts_on_a_guest_names_it() {
    let mut wrong = Vec::new();
    for verb in VERBS.iter().filter(|verb| matches!(verb.tool, "pct" | "qm") && matches!(verb.class, "C" | "D" | "K")) {
        let Some(id) = verb.arguments.split(' ').next().and_then(|word| word.parse().ok()) else { continue };
        let command = format!("{} {} {}", verb.tool, verb.words.join(" "), verb.arguments);
        if !host(&command).affected.contains(&oikos_risk::Affected::Vmid(id)) {
            wrong.push(command);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

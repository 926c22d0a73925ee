//! Every member of every list and every API path matters: without it, some example fails.

use std::sync::Arc;

use super::mutation::without_examples;
use crate::{
    Risk,
    tables::{Effect, Example, ListName, TABLES, Tables},
};

/// Whether an example gets another verdict from these tables; those that hold `text` are tried first.
fn is_caught(tables: Tables, text: &str) -> bool {
    let tables: &'static Tables = Box::leak(Box::new(tables));
    let holds = |example: &&Example| example.command.to_lowercase().contains(text);
    let (near, far): (Vec<&Example>, Vec<_>) = TABLES.examples.iter().partition(holds);
    near.into_iter().chain(far).any(|example| example.fault(tables).is_some())
}

#[test]
fn every_member_of_a_list_is_missed_by_an_example() {
    let (mut tried, mut survived) = (0, Vec::new());
    for (name, list) in ListName::ALL {
        for (at, member) in TABLES.members(*list).iter().enumerate() {
            let mut tables = without_examples();
            Arc::make_mut(&mut tables.lists[*list as usize]).remove(at);
            tried += 1;
            if !is_caught(tables, &member.trim_matches('*').to_lowercase()) {
                survived.push(format!("{name}: {member}"));
            }
        }
    }
    assert!(tried > 100, "{tried}");
    assert!(survived.is_empty(), "{} of {tried} survived:\n{}", survived.len(), survived.join("\n"));
}

#[test]
fn every_path_of_an_api_is_missed_by_an_example() {
    let mut survived = Vec::new();
    for (at, template) in TABLES.paths.iter().enumerate() {
        let mut tables = without_examples();
        Arc::make_mut(&mut tables.paths)[at].effect = Effect::of(Risk::Destructive);
        let last = template.template.rsplit('/').find(|part| *part != "*").unwrap_or_default();
        if !is_caught(tables, last) {
            survived.push(format!("{} {}", template.verb, template.template));
        }
    }
    assert!(survived.is_empty(), "{} survived:\n{}", survived.len(), survived.join("\n"));
}

#[test]
fn every_word_of_a_call_that_prints_something_known_is_missed_by_an_example() {
    let mut survived = Vec::new();
    for (at, (what, pattern)) in TABLES.prints.iter().enumerate() {
        for (number, word) in pattern.words.iter().enumerate() {
            for (choice, text) in word.choices.iter().enumerate() {
                let mut tables = without_examples();
                Arc::make_mut(&mut tables.prints)[at].1.words[number].choices.remove(choice);
                let near = if text.len() < 3 { pattern.words[0].choices[0] } else { text };
                if !is_caught(tables, &near.to_lowercase()) {
                    survived.push(format!("{what:?}: {} without {text}", pattern.words[0].choices.join("|")));
                }
            }
        }
    }
    assert!(survived.is_empty(), "{} survived:\n{}", survived.len(), survived.join("\n"));
}

/// The faults of a table that holds these rows and nothing else.
fn faults(rows: &'static str) -> Vec<String> {
    let faults = Tables::read(&[("rows", rows)]).faults;
    faults.into_iter().filter(|fault| !fault.starts_with("no table has the list")).collect()
}

#[test]
fn a_row_that_names_no_class_or_an_unknown_rule_kind_or_list_is_a_fault() {
    for rows in [
        "cmd x\nis any*",
        "cmd x\nis sensitive any*",
        "cmd x\nis rule:no-such-rule",
        "cmd x\nis read no-such-kind",
        "cmd x\nis read any*\nopt --all",
        "cmd x\nis read any*\nopt sensitive --all",
        "cmd x\nis read any*\nverb y = any*",
        "cmd x\nopt read --all",
        "list no-such-list = a b",
        "path get /nodes = any",
        "cmd x\nis read any*\nwhatever",
    ] {
        assert!(!faults(rows).is_empty(), "{rows}");
    }
    assert_eq!(faults("cmd x\nis read any*\nopt read --all"), Vec::<String>::new());
}

#[test]
fn what_no_row_describes_is_destructive() {
    let tables = Tables::read(&[("rows", "cmd x\nopt read --all\ncmd y\nis rule:sql")]);
    for entry in tables.entries() {
        assert_eq!(entry.form.effect.host, Risk::Destructive, "{}", entry.name);
        assert_eq!(entry.form.effect.guest, Risk::Destructive, "{}", entry.name);
    }
    assert_eq!(tables.api_call("create", "/nodes"), None);
}

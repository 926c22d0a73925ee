//! Every row of the taxonomy of commands gets its class on a host and in a guest.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use oikos_risk::{Affected, Locus, Risk, classify};

const ROWS: &str = include_str!("data/taxonomy.tsv");

struct Row {
    number: u32,
    classes: [(Locus, Option<Risk>); 2],
    flag: &'static str,
    command: String,
}

fn rows() -> Vec<Row> {
    ROWS.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let fields: Vec<&str> = line.splitn(5, '\t').collect();
            let class = |field: &str| match field {
                "R" => Some(Risk::ReadOnly),
                "C" => Some(Risk::ConfigMutation),
                "D" => Some(Risk::Destructive),
                "-" => None,
                other => panic!("no such class: {other}"),
            };
            Row {
                number: fields[0].parse().unwrap(),
                classes: [(Locus::Host, class(fields[1])), (Locus::Guest, class(fields[2]))],
                flag: fields[3],
                command: unescape(fields[4]),
            }
        })
        .collect()
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('u') => {
                let code: String = chars.by_ref().take(4).collect();
                out.push(char::from_u32(u32::from_str_radix(&code, 16).unwrap()).unwrap());
            }
            Some(other) => out.push(other),
            None => panic!("a lone backslash"),
        }
    }
    out
}

#[test]
fn every_row_gets_its_class() {
    let mut wrong = Vec::new();
    let rows = rows();
    for row in &rows {
        for (locus, class) in row.classes {
            let verdict = classify(&row.command, locus);
            if class.is_some_and(|class| class != verdict.risk) {
                let reasons: Vec<_> = verdict.reasons.iter().map(|r| (&r.code, &r.message)).take(4).collect();
                let shown: String = row.command.chars().take(90).collect();
                wrong.push(format!(
                    "row {} {locus:?} {shown:?}: expected {class:?}, got {:?} {reasons:?}",
                    row.number, verdict.risk
                ));
            }
        }
    }
    assert!(rows.len() > 300, "the taxonomy is whole");
    assert_eq!(rows.iter().map(|row| row.number).max(), Some(170));
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_row_gets_its_flag() {
    let mut wrong = Vec::new();
    for row in rows().iter().filter(|row| !row.flag.is_empty()) {
        for (locus, _) in row.classes {
            let verdict = classify(&row.command, locus);
            let found = match row.flag {
                "sensitive" => verdict.flags.sensitive,
                "refuse" => verdict.flags.unbounded || verdict.flags.interactive,
                "target" => verdict.affected.iter().any(|affected| matches!(affected, Affected::Host(_))),
                other => panic!("no such flag: {other}"),
            };
            if !found {
                wrong.push(format!("row {} {locus:?} {:?}: {} is missing", row.number, row.command, row.flag));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_is_refused_says_what_to_do_instead() {
    for row in rows().iter().filter(|row| row.flag == "refuse") {
        let verdict = classify(&row.command, Locus::Host);
        assert!(verdict.reasons.iter().any(|reason| reason.hint.is_some()), "{:?} has no hint", row.command);
    }
}

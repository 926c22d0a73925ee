//! The tables judge their own examples.

use super::{Locus, classify, table::TABLES};
use crate::api::Risk;

#[test]
fn every_line_of_every_table_is_understood() {
    assert_eq!(TABLES.faults, Vec::<String>::new());
}

#[test]
fn every_example_in_the_tables_gets_its_verdict() {
    let letter = |risk| match risk {
        Risk::ReadOnly => 'R',
        Risk::ConfigMutation => 'C',
        Risk::Destructive => 'D',
    };
    let mut wrong = Vec::new();
    for example in &TABLES.examples {
        for (locus, expected) in [(Locus::Host, example.host), (Locus::Guest, example.guest)] {
            let verdict = classify(example.command, locus);
            if letter(verdict.risk) != expected {
                wrong.push(format!(
                    "{}:{} {locus:?} {}: expected {expected}, got {} {:?}",
                    example.place.0,
                    example.place.1,
                    example.command,
                    letter(verdict.risk),
                    verdict.reasons.iter().map(|r| (&r.code, &r.message)).collect::<Vec<_>>()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

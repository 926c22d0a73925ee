//! Programs that are not known: what they may lose or run, by the words that they are given.

use super::judge_argv;
use crate::{
    Risk,
    context::{Findings, Scope, Script},
    facts::suspicion,
    words::Word,
};

/// A program that is not known may lose something, by the words that it is given.
pub fn program(name: &str, argv: &[Word<'_>], scope: &Scope, findings: &mut Findings) {
    if let Some(why) = suspicion::of(argv, scope.locus(), scope.tables()) {
        findings.add(
            scope,
            Risk::Destructive,
            format!("{name}:suspected"),
            format!("what {name} does is not known, and {why}"),
            None,
        );
    }
    wrapper(name, argv, scope, findings);
}

/// A program that is not known may run what it is given: a command that would be Destructive makes it so.
fn wrapper(name: &str, argv: &[Word<'_>], scope: &Scope, findings: &mut Findings) {
    let known = |text: &str| scope.tables().command(text.split(' ').next().unwrap_or("")).is_some();
    let Some(at) = argv.iter().skip(1).position(|word| word.literal().is_some_and(known)) else { return };
    let words = &argv[at + 1..];
    let (mut unrelated, mut inner) = (scope.unrelated(), findings.apart());
    match words[0].literal().filter(|text| text.contains(' ')) {
        Some(text) => {
            let script = Script { text, shell: scope.shell(), arguments: Vec::new() };
            inner.judge_script(script, &mut unrelated);
        }
        None => judge_argv(words, &mut unrelated, &mut inner),
    }
    if inner.risk() == Risk::Destructive {
        inner.into_affected().into_iter().for_each(|affected| findings.affects(affected));
        findings.add(
            scope,
            Risk::Destructive,
            format!("{name}:may-run"),
            format!("what {name} does is not known, and it may run {}", words[0].shown()),
            None,
        );
    }
}

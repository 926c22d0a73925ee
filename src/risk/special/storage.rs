//! Commands that move bytes: `dd`, `tar`, `mv`, `chmod -R`.

use crate::{
    api::Risk,
    risk::{
        judge::Judge,
        paths,
        rule::{Case, general},
        word::{Value, Word},
    },
};

/// `dd if=… of=…`.
pub fn dd(judge: &mut Judge, argv: &[Word<'_>]) {
    for word in &argv[1..] {
        match word.text.split_once('=') {
            Some(("of", path)) => {
                let target = Word { text: path.into(), ..crate::risk::options::borrow(word) };
                judge.writes(&target, "dd");
            }
            Some(("if", path)) => judge.reads(&Word { text: path.into(), ..crate::risk::options::borrow(word) }),
            Some((
                "bs" | "count" | "skip" | "seek" | "ibs" | "obs" | "cbs" | "status" | "conv" | "iflag" | "oflag",
                _,
            )) => {}
            _ if word.is("--help") || word.is("--version") => {}
            _ => judge.find(Risk::Destructive, "dd:operand", "what is written is not known", None),
        }
    }
}

/// `tar`, also with old-style options without a dash. False: the table goes on.
pub fn tar(judge: &mut Judge, argv: &[Word<'_>]) -> bool {
    let Some(first) = argv.get(1).and_then(Word::literal) else { return false };
    if first.starts_with('-') || first.is_empty() {
        return false;
    }
    // Old style: letters first, their values after them in order.
    let mut words: Vec<Word<'_>> = vec![Word::known("tar")];
    let mut values = argv[2..].iter();
    for letter in first.chars() {
        words.push(Word::known(format!("-{letter}")));
        if "fCTXbIgFHKLNV".contains(letter)
            && let Some(value) = values.next()
        {
            words.push(crate::risk::options::borrow(value));
        }
    }
    words.extend(values.map(crate::risk::options::borrow));
    judge.dispatch(&words);
    true
}

/// `mv`: the source is gone, which matters when the target swallows it.
pub fn move_files(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    let operands = &case.args.operands;
    let target = case.value(&["t", "--target-directory"]).or(operands.last());
    if let Some(target) = target {
        if target.is("/dev/null") {
            judge.find(Risk::Destructive, "mv:lost", "moves files to nowhere", None);
        }
        judge.writes(target, "mv");
    }
    let sources = operands.len().saturating_sub(1);
    for source in &operands[..sources] {
        if paths::is_fatal(&paths::normalise(&source.text), judge.locus) {
            judge.find(Risk::Destructive, "mv:lost", format!("moves {} away", source.shown()), None);
        }
    }
}

/// Writers whose last operand is the target: `cp`, `install`, `ln`.
pub fn truncating(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    if let Some(target) = case.value(&["t", "--target-directory"]).or(case.args.operands.last()) {
        judge.writes(target, case.name);
    }
    let sources = case.args.operands.len().saturating_sub(1);
    for source in &case.args.operands[..sources] {
        judge.reads(source);
    }
}

/// `chmod`, `chown`, `chgrp`: recursively over the system they break it.
pub fn recursive_mode(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    let recursive = case.has("R") || case.has("--recursive");
    for operand in case.args.operands.iter().skip(usize::from(!case.has("--reference"))) {
        let path = paths::normalise(&operand.text);
        let top = path == "/" || (path.starts_with('/') && path.trim_end_matches('/').matches('/').count() < 2);
        let system =
            top && !matches!(path.trim_end_matches('/'), "/srv" | "/opt" | "/mnt" | "/home" | "/data" | "/tmp");
        let fatal = paths::is_fatal(&path, judge.locus) && operand.value == Value::Known;
        if (recursive && (system || operand.value >= Value::Data)) || fatal {
            judge.find(
                Risk::Destructive,
                format!("{}:system", case.name),
                format!("changes the rights of {}", operand.shown()),
                None,
            );
        }
    }
}

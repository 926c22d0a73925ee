//! Mounts, partitions, archives and file systems.

use super::{general::*, judge_argv};
use crate::{
    Risk,
    context::{Findings, Scope},
    facts::paths,
    invocation::Invocation,
    tables::ListName,
    words::{Value, Word},
};

/// `tar`, also with old-style options without a dash. False: the table goes on.
pub fn tar(argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) -> bool {
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
            words.push(value.borrow());
        }
    }
    words.extend(values.map(Word::borrow));
    judge_argv(&words, scope, findings);
    true
}

/// `mount`: over a directory of the system it hides what the system needs.
pub fn mount(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    if call
        .value(&["o", "--options"])
        .is_some_and(|word| word.text.contains("remount") && word.text.split(',').any(|part| part == "ro"))
    {
        findings.add(scope, Risk::Destructive, "mount:read-only", "makes a mounted file system read-only", None);
    }
    let Some(target) = call.operands.last().filter(|_| call.operands.len() > 1) else { return };
    let path = paths::normalise(&target.text);
    let free = ["/mnt", "/media", "/srv", "/opt", "/home", "/data", "/tmp", "/run", "/backup"];
    let known = target.value == Value::Known && free.iter().any(|begin| path.starts_with(begin));
    let top = path.trim_end_matches('/').matches('/').count() < 2;
    if !known && (top || paths::is_fatal(&path, scope.locus(), scope.tables())) {
        findings.add(scope, Risk::Destructive, "mount:system", format!("hides {}", target.shown()), None);
    }
}

/// `umount`: what the system or its guests live on must stay.
pub fn umount(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    for target in &call.operands {
        let path = paths::normalise(&target.text);
        if target.value != Value::Known
            || scope.tables().lists(ListName::UmountKept, &path)
            || path.starts_with("/var/lib/")
        {
            findings.add(scope, Risk::Destructive, "umount:system", format!("takes {} away", target.shown()), None);
        }
    }
}

/// A request of `debugfs -R`: without `-w` it cannot write to the file system, but some write files elsewhere.
pub fn debugfs(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let verb = word.text.split_whitespace().next().unwrap_or("");
    if word.value != Value::Known || !scope.tables().lists(ListName::DebugfsReads, verb) {
        findings.add(scope, Risk::Destructive, "debugfs:request", format!("{} may write", word.shown()), None);
    }
}

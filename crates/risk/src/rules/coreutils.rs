//! Commands that move bytes, names and rights: `dd`, `mv`, `cp`, `chmod -R`; and `date`, `sleep`.

use super::general::*;
use crate::{
    Risk, access,
    context::{Findings, Scope},
    facts::paths,
    invocation::Invocation,
    tables::ListName,
    words::{Value, Word},
};

/// `dd if=… of=…`.
pub fn dd(argv: &[Word<'_>], scope: &Scope, findings: &mut Findings) {
    for word in &argv[1..] {
        match word.text.split_once('=') {
            Some(("of", path)) => {
                let target = Word { text: path.into(), ..word.borrow() };
                access::writes(&target, "dd", scope, findings);
            }
            Some(("if", path)) => access::reads(&word.with_text(path), scope, findings),
            Some((name, _)) if scope.tables().lists(ListName::DdOperands, name) => {}
            _ if word.is("--help") || word.is("--version") => {}
            _ => findings.add(scope, Risk::Destructive, "dd:operand", "what is written is not known", None),
        }
    }
}

/// `mv`: the source is gone, which matters when the target swallows it.
pub fn move_files(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    let operands = &call.operands;
    if !scope.on_host() && renames_log(operands, scope) && !call.has("t") && !call.has("--target-directory") {
        return;
    }
    let target = call.value(&["t", "--target-directory"]).or(operands.last());
    if let Some(target) = target {
        if target.is("/dev/null") {
            findings.add(scope, Risk::Destructive, "mv:lost", "moves files to nowhere", None);
        }
        access::writes(target, "mv", scope, findings);
        lands_on(call, target, scope, findings);
    }
    let sources = operands.len().saturating_sub(1);
    for source in &operands[..sources] {
        let path = paths::normalise(&source.text);
        let top = path.trim_end_matches('/');
        let system = source.text.starts_with('/') && top.matches('/').count() < 2;
        if system && !matches!(top, "/opt" | "/srv" | "/mnt" | "/home" | "/data" | "/tmp" | "/media") {
            findings.add(scope, Risk::Destructive, "mv:lost", format!("moves {} away", source.shown()), None);
        }
        if paths::is_fatal(&paths::normalise(&source.text), scope.locus(), scope.tables()) {
            findings.add(scope, Risk::Destructive, "mv:lost", format!("moves {} away", source.shown()), None);
        }
    }
}

/// Whether a log gets another name beside the old one, as rotating does: `mv access.log access.log.1`.
fn renames_log(operands: &[Word<'_>], scope: &Scope) -> bool {
    let [from, to] = operands else { return false };
    let place = |word: &Word<'_>| {
        let path = paths::normalise(scope.resolved(&word.text).first().map_or("", String::as_str));
        let (directory, name) = path.rsplit_once('/')?;
        let log = word.value == Value::Known && !word.glob && path.starts_with("/var/log/");
        log.then(|| (directory.to_owned(), name.to_owned()))
    };
    let (Some((directory, old)), Some((beside, new))) = (place(from), place(to)) else { return false };
    let stem = old.split('.').next().unwrap_or("");
    let log = old.contains(".log") || scope.tables().lists(ListName::PlainLogs, &old);
    directory == beside && log && new != old && !stem.is_empty() && new.starts_with(stem)
}

/// The target may be a directory: the files then keep their names.
fn lands_on(call: &Invocation<'_, '_, '_>, target: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    for source in &call.operands {
        let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or("");
        let path = format!("{}/{name}", target.text.trim_end_matches('/'));
        let fatal = scope
            .resolved(&path)
            .iter()
            .any(|path| paths::is_fatal(&paths::normalise(path), scope.locus(), scope.tables()));
        if target.value == Value::Known && !name.is_empty() && fatal {
            findings.add(scope, Risk::Destructive, format!("{}:write", call.name), format!("writes to {path}"), None);
        }
    }
}

/// Writers whose last operand is the target: `cp`, `install`.
pub fn truncating(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    if let Some(target) = call.value(&["t", "--target-directory"]).or(call.operands.last()) {
        access::writes(target, call.name, scope, findings);
        lands_on(call, target, scope, findings);
    }
    sources(call).iter().for_each(|source| access::reads(source, scope, findings));
}

/// The operands before the last one.
fn sources<'c, 'w>(call: &'c Invocation<'_, 'w, '_>) -> &'c [Word<'w>] {
    call.operands.split_last().map_or(&[], |(_, sources)| sources)
}

/// `ln`: another name for something that the system needs.
pub fn link(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    truncating(call, scope, findings);
    for source in sources(call) {
        let path = paths::normalise(&source.text);
        let code = ["/lib/", "/usr/", "/bin/", "/sbin/", "/dev/null"].iter().any(|begin| path.starts_with(begin));
        if paths::is_fatal(&path, scope.locus(), scope.tables()) && !code {
            findings.add(
                scope,
                Risk::Destructive,
                "ln:protected",
                format!("another name for {} would be written as if it were harmless", source.shown()),
                None,
            );
        }
    }
}

/// `chmod`, `chown`, `chgrp`: they have the mode or owner first, if no option says it.
pub fn recursive_mode(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    let first = usize::from(!call.has("--reference"));
    rights(call, call.operands.get(first..).unwrap_or_default(), scope, findings);
}

/// `setfacl`: all operands are files.
pub fn recursive_acl(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    rights(call, &call.operands, scope, findings);
}

/// The rights of files change: recursively over the system this breaks it.
fn rights(call: &Invocation<'_, '_, '_>, files: &[Word<'_>], scope: &Scope, findings: &mut Findings) {
    let recursive = call.has("R") || call.has("--recursive");
    for operand in files {
        let path = paths::normalise(&operand.text);
        let top = path == "/" || (path.starts_with('/') && path.trim_end_matches('/').matches('/').count() < 2);
        let system =
            top && !matches!(path.trim_end_matches('/'), "/srv" | "/opt" | "/mnt" | "/home" | "/data" | "/tmp");
        let fatal = paths::is_fatal(&path, scope.locus(), scope.tables()) && operand.value == Value::Known;
        let everywhere = operand.value == Value::KnownPrefix && path == "/";
        if everywhere || (recursive && (system || operand.value >= Value::ScriptValue)) || fatal {
            findings.add(
                scope,
                Risk::Destructive,
                format!("{}:system", call.name),
                format!("changes the rights of {}", operand.shown()),
                None,
            );
        }
    }
}

/// `date`: an operand that is not a format sets the clock.
pub fn date(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    if call.operands.iter().any(|word| !word.text.starts_with('+')) {
        findings.add(scope, Risk::ConfigMutation, "date:set", "sets the clock", Some("begin a format with +"));
    }
}

/// A time to sleep: `infinity` does not end.
pub fn span(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if word.text.to_ascii_lowercase().starts_with("inf") {
        findings.does_not_end(scope);
        findings.add(
            scope,
            Risk::ReadOnly,
            "sleep:unbounded",
            "does not end by itself",
            Some("name a number of seconds"),
        );
    }
}

//! Values that name what is written, shrunk or sent: archives on devices, sizes, files that leave the system.

use super::general::general;
use crate::{
    Risk, access,
    context::{Findings, Scope},
    facts::paths,
    invocation::Invocation,
    tables::ListName,
    words::{Input, Value, Word},
};

/// The archive of `tar`, `zip`, `borg export-tar`: written, unless the command only lists or unpacks it.
///
/// A name that is not known at all is the usual `"$directory/$name.tgz"` and no reason for more than a change.
pub fn archive(call: &Invocation<'_, '_, '_>, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if word.is("-") || word.value >= Value::ScriptValue {
        return;
    }
    let reads = ["t", "--list", "x", "--extract", "--get", "d", "--diff", "--compare", "i"];
    if reads.iter().any(|name| call.has(name)) {
        access::reads(word, scope, findings);
    } else {
        access::writes(word, call.name, scope, findings);
    }
}

/// The archive of `tar` or `cpio`, which may lie on another system: `host:file`.
pub fn archive_anywhere(call: &Invocation<'_, '_, '_>, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let elsewhere = word.text.contains(':') && !word.text.starts_with(['/', '.']);
    if elsewhere && word.value < Value::ScriptValue {
        let host = word.text.split(':').next().unwrap_or("").rsplit('@').next().unwrap_or("").to_owned();
        findings.affects_host(Some(&Word::known(host)));
        return findings.add(
            scope,
            Risk::ConfigMutation,
            format!("{}:other-system", call.name),
            "reads or writes an archive on another system",
            Some("add --force-local when the name of the file holds a colon"),
        );
    }
    archive(call, word, scope, findings);
}

/// `tar --checkpoint-action`: all but what shows something or waits executes it.
pub fn checkpoint(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let action = word.literal().map(|text| text.split('=').next().unwrap_or(text));
    if !action.is_some_and(|action| scope.tables().lists(ListName::CheckpointActions, action)) {
        findings.add(scope, Risk::Destructive, "tar:checkpoint", "a checkpoint may execute something", None);
    }
}

/// An operand of `qemu-img dd`: `of=` is written.
pub fn dd_operand(call: &Invocation<'_, '_, '_>, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    match word.text.split_once('=') {
        Some(("of", path)) => access::writes(&Word { text: path.into(), ..word.borrow() }, call.name, scope, findings),
        Some(("if", path)) => access::reads(&Word { text: path.into(), ..word.borrow() }, scope, findings),
        _ => {}
    }
}

/// A new size: only one that is said to be an increase cannot be a loss.
pub fn growth(call: &Invocation<'_, '_, '_>, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let size = word.text.rsplit_once(':').map_or(&*word.text, |(_, size)| size);
    if !(size == "max" || size.starts_with('+') && word.value <= Value::KnownPrefix) {
        findings.add(
            scope,
            Risk::Destructive,
            call.code("size"),
            format!("{} may be less than there is now", word.shown()),
            Some("name the increase: +5G"),
        );
    }
}

/// A property of `zfs set`: a volume that gets smaller loses its end.
pub fn zfs_property(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if word.text.starts_with("volsize=") {
        findings.add(scope, Risk::Destructive, "zfs:volsize", "a volume that gets smaller loses its end", None);
    }
    if let Some(path) = word.text.strip_prefix("mountpoint=/") {
        access::fills(&Word { text: format!("/{path}").into(), ..word.borrow() }, "zfs", scope, findings);
    }
}

/// A file that is sent to another system, and cannot be called back when it holds a secret.
pub fn sent_file(call: &Invocation<'_, '_, '_>, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let path = word.text.trim_start_matches('@');
    let directory = path.trim_end_matches('/');
    let keys = [".ssh", ".gnupg", "/etc/pve/priv", "/etc/ssl/private"].iter().any(|end| directory.ends_with(end));
    if keys || paths::is_secret(path, word.value == Value::Known, scope.tables()) {
        findings.shows_secrets();
        findings.add(
            scope,
            Risk::Destructive,
            format!("{}:sends-secret", call.name),
            format!("sends {path} away"),
            None,
        );
    }
}

/// `mail`, `sendmail`: what is read is sent.
pub fn sends_input(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    if *scope.input() != Input::Closed && findings.secrets_shown_so_far() {
        findings.add(scope, Risk::Destructive, format!("{}:sends-secret", call.name), "sends a secret away", None);
    }
}

//! Values that name what is written, shrunk or sent: archives on devices, sizes, files that leave the system.

use crate::{
    Risk,
    judge::{Input, Judge},
    options::borrow,
    paths,
    rule::{Case, general},
    word::{Value, Word},
};

/// The archive of `tar`, `zip`, `borg export-tar`: written, unless the command only lists or unpacks it.
///
/// A name that is not known at all is the usual `"$directory/$name.tgz"` and no reason for more than a change.
pub fn archive(judge: &mut Judge, case: &Case<'_, '_, '_>, word: &Word<'_>) {
    if word.is("-") || word.value >= Value::Data {
        return;
    }
    if word.text.contains(':') && !word.text.starts_with(['/', '.']) && matches!(case.entry.name, "tar" | "cpio") {
        let host = word.text.split(':').next().unwrap_or("").rsplit('@').next().unwrap_or("").to_owned();
        judge.affects_host(Some(&Word::known(host)));
        return judge.find(
            Risk::ConfigMutation,
            format!("{}:other-system", case.name),
            "reads or writes an archive on another system",
            Some("add --force-local when the name of the file holds a colon"),
        );
    }
    let reads = ["t", "--list", "x", "--extract", "--get", "d", "--diff", "--compare", "i"];
    if reads.iter().any(|name| case.has(name)) {
        judge.reads(word);
    } else {
        judge.writes(word, case.name);
    }
}

/// `tar --checkpoint-action`: all but what shows something or waits executes it.
pub fn checkpoint(judge: &mut Judge, word: &Word<'_>) {
    let action = word.literal().map(|text| text.split('=').next().unwrap_or(text));
    if !matches!(action, Some("dot" | "." | "bell" | "echo" | "ttyout" | "totals" | "sleep")) {
        judge.find(Risk::Destructive, "tar:checkpoint", "a checkpoint may execute something", None);
    }
}

/// An operand of `qemu-img dd`: `of=` is written.
pub fn dd_operand(judge: &mut Judge, case: &Case<'_, '_, '_>, word: &Word<'_>) {
    match word.text.split_once('=') {
        Some(("of", path)) => judge.writes(&Word { text: path.into(), ..borrow(word) }, case.name),
        Some(("if", path)) => judge.reads(&Word { text: path.into(), ..borrow(word) }),
        _ => {}
    }
}

/// A new size: only one that is said to be an increase cannot be a loss.
pub fn growth(judge: &mut Judge, case: &Case<'_, '_, '_>, word: &Word<'_>) {
    let size = word.text.rsplit_once(':').map_or(&*word.text, |(_, size)| size);
    if !(size == "max" || size.starts_with('+') && word.value <= Value::Tail) {
        judge.find(
            Risk::Destructive,
            case.code("size"),
            format!("{} may be less than there is now", word.shown()),
            Some("name the increase: +5G"),
        );
    }
}

/// A property of `zfs set`: a volume that gets smaller loses its end.
pub fn zfs_property(judge: &mut Judge, word: &Word<'_>) {
    if word.text.starts_with("volsize=") {
        judge.find(Risk::Destructive, "zfs:volsize", "a volume that gets smaller loses its end", None);
    }
}

/// A file that is sent to another system, and cannot be called back when it holds a secret.
pub fn sent_file(judge: &mut Judge, case: &Case<'_, '_, '_>, word: &Word<'_>) {
    let path = word.text.trim_start_matches('@');
    let directory = path.trim_end_matches('/');
    let keys = [".ssh", ".gnupg", "/etc/pve/priv", "/etc/ssl/private"].iter().any(|end| directory.ends_with(end));
    if keys || paths::is_secret(path, word.value == Value::Known) {
        judge.shows_secrets();
        judge.find(Risk::Destructive, format!("{}:sends-secret", case.name), format!("sends {path} away"), None);
    }
}

/// `mail`, `sendmail`: what is read is sent.
pub fn sends_input(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    if judge.input != Input::Closed && judge.sensitive() {
        judge.find(Risk::Destructive, format!("{}:sends-secret", case.name), "sends a secret away", None);
    }
}

//! Tools of RAID controllers and disks.

use super::general::*;
use crate::{
    Risk,
    context::{Findings, Scope},
    invocation::Invocation,
    tables::ListName,
    words::{Value, Word},
};

/// `storcli /c0 show`: the first word that is no object says what is done.
pub fn raid(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    let words = small_letters(call);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let verb = words.iter().position(|word| !word.starts_with('/')).unwrap_or(words.len());
    let shows = verb <= 1 && words.get(verb) == Some(&"show") && !words.iter().any(|word| word.contains("file"));
    let asks = matches!(words.as_slice(), ["-v" | "-h" | "help" | "version"] | ["help", _]);
    let locates = matches!(words.get(verb..), Some(["start" | "stop", "locate"]));
    controller(call, shows || asks, locates, scope, findings);
}

/// `megacli -LDInfo -Lall -aALL`: the first word says what is done, and all others what it is done with.
pub fn megacli(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    let words = small_letters(call);
    let reads = words.split_first().is_some_and(|(first, rest)| {
        scope.tables().lists(ListName::MegacliReads, first)
            && rest.iter().all(|word| scope.tables().lists(ListName::MegacliWords, word))
    });
    controller(call, reads, false, scope, findings);
}

/// `ssacli ctrl all show status`: objects stand before `show`, and what of them is shown after it.
pub fn ssacli(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    let words = small_letters(call);
    let lists = |list: ListName, word: &str| scope.tables().lists(list, word);
    let file = words.iter().any(|word| word.contains("file"));
    let object =
        |word: &String| lists(ListName::SsacliObjects, word) || word.contains([':', '=']) && !file || word.len() <= 2;
    let reads = match words.iter().position(|word| word == "show") {
        Some(at) => {
            words[at + 1..].iter().all(|word| lists(ListName::SsacliShows, word)) && words[..at].iter().all(object)
        }
        None => matches!(words.as_slice(), [only] if only == "version" || only == "help"),
    };
    controller(call, reads, false, scope, findings);
}

fn small_letters(call: &Invocation<'_, '_, '_>) -> Vec<String> {
    call.argv[1..].iter().map(|word| word.text.to_ascii_lowercase()).collect()
}

/// What is done to a controller: it reads, or makes a lamp blink, or nobody knows.
fn controller(call: &Invocation<'_, '_, '_>, reads: bool, locates: bool, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    let known = call.argv.iter().all(|word| word.value == Value::Known);
    if !(reads && known) {
        let risk = if locates && known { Risk::ConfigMutation } else { Risk::Destructive };
        findings.add(scope, risk, format!("{}:change", call.name), "may lose what the controller's disks hold", None);
    }
}

/// `hdparm -W /dev/sda` shows, `hdparm -W 0 /dev/sda` sets: what is no device is a value.
pub fn devices(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    if call.operands.iter().any(|word| !word.text.starts_with('/')) {
        findings.add(scope, Risk::ConfigMutation, format!("{}:set", call.name), "sets a property of the disk", None);
    }
}

/// `smartctl -l scterc,70,70` sets what `-l scterc` shows.
pub fn smart_log(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if word.value != Value::Known || word.text.starts_with("scterc,") {
        findings.add(scope, Risk::ConfigMutation, "smartctl:set", "sets a property of the disk", None);
    }
}

//! Tools of RAID controllers and disks.

use super::general::*;
use crate::{
    Risk,
    context::{Findings, Scope},
    invocation::Invocation,
    tables::ListName,
    words::{Value, Word},
};

/// `storcli /c0 show`, `megacli -LDInfo -Lall -aALL`, `ssacli ctrl all show status`.
pub fn raid(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    let words: Vec<String> = call.argv[1..].iter().map(|word| word.text.to_ascii_lowercase()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let known = call.argv.iter().all(|word| word.value == Value::Known);
    let verb = words.iter().position(|word| !word.starts_with('/')).unwrap_or(words.len());
    let file = words.iter().any(|word| word.contains("file"));
    let lists = |list: ListName, word: &str| scope.tables().lists(list, word);
    let reads = match call.entry.name {
        "megacli" => {
            words.first().is_some_and(|word| lists(ListName::MegacliReads, word))
                && words[1..].iter().all(|word| lists(ListName::MegacliWords, word))
        }
        "ssacli" => match words.iter().position(|word| *word == "show") {
            Some(at) => {
                words[at + 1..].iter().all(|word| lists(ListName::SsacliShows, word))
                    && words[..at].iter().all(|word| {
                        lists(ListName::SsacliObjects, word) || word.contains([':', '=']) && !file || word.len() <= 2
                    })
            }
            None => matches!(words.as_slice(), ["version" | "help"]),
        },
        _ => {
            verb <= 1 && words.get(verb) == Some(&"show") && !file
                || matches!(words.as_slice(), ["-v" | "-h" | "help" | "version"] | ["help", _])
        }
    };
    if !(reads && known) {
        let locates = known && matches!(words.get(verb..), Some(["start" | "stop", "locate"]));
        let risk = if locates { Risk::ConfigMutation } else { Risk::Destructive };
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

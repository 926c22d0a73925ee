//! What it means that a file is read or written, or that a variable is set, whichever command does it.

use crate::{
    Risk,
    context::{Findings, Scope},
    facts::{environment, guests, paths},
    words::{Value, Word},
};

/// A file is read.
pub fn reads(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if paths::is_network(&word.text) {
        findings.add(scope, Risk::ConfigMutation, "redirect:network", "bash opens a network connection", None);
    }
    if word.text.starts_with("/dev/watchdog") {
        findings.add(scope, Risk::Destructive, "read:watchdog", "opening the watchdog may reset the machine", None);
    }
    let globbed = word.glob && paths::may_match_secret(&word.text, scope.tables());
    let secret = |path: &String| paths::is_secret(path, word.value == Value::Known, scope.tables());
    let environment = word.value != Value::Known && word.ending.ends_with("/environ");
    if globbed || environment || scope.resolved(&word.text).iter().any(secret) {
        findings.shows_secrets();
    }
}

/// A file is written; `what` is the first half of the reason's code.
pub fn writes(word: &Word<'_>, what: &str, scope: &Scope, findings: &mut Findings) {
    if scope.on_host() {
        guests::named(word).into_iter().for_each(|guest| findings.affects(guest));
    }
    let known = match word.value {
        Value::Known => !word.glob,
        Value::KnownPrefix => false,
        // Words that the first may split into are judged as options and operands.
        Value::ScriptValue if word.text.starts_with('/') => false,
        Value::ScriptValue | Value::Unknown => {
            return findings.add(
                scope,
                Risk::Destructive,
                format!("{what}:unknown-file"),
                "which file is written is not known",
                Some("write to a literal path"),
            );
        }
    };
    let text = if word.glob { word.text.split(['*', '?', '[', '(']).next().unwrap_or("") } else { word.text.as_ref() };
    let written =
        scope.resolved(text).iter().filter_map(|path| paths::writing(path, known, scope.locus(), scope.tables())).max();
    if let Some((risk, message)) = written {
        findings.add(scope, risk, format!("{what}:write"), message, None);
    }
}

/// Files of names that are not known are put into a directory.
pub fn fills(word: &Word<'_>, what: &str, scope: &Scope, findings: &mut Findings) {
    if word.value >= Value::ScriptValue {
        return writes(word, what, scope, findings);
    }
    let filled =
        scope.resolved(&word.text).iter().filter_map(|path| paths::filling(path, scope.locus(), scope.tables())).max();
    if let Some((risk, message)) = filled {
        findings.add(scope, risk, format!("{what}:write"), message, None);
    }
}

/// A variable gets a value: for one command (`prefix`) or for the rest of the script.
pub fn assigns(name: &str, value: Option<&str>, prefix: bool, scope: &Scope, findings: &mut Findings) {
    let risk = environment::class_of(name, value, prefix, scope.tables());
    if risk > Risk::ReadOnly {
        let message = match risk {
            Risk::Destructive => format!("{name} decides what code other commands run"),
            _ => format!("{name} may change what the command does"),
        };
        findings.add(scope, risk, format!("environment:{name}"), message, None);
    }
}

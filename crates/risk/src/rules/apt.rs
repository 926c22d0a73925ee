//! Options of apt that a command line sets: which of them execute nothing and lose nothing.

use crate::{
    Risk,
    context::{Findings, Scope},
    tables::{ListName, Tables},
    words::{Value, Word},
};

/// `apt-get -o NAME=VALUE`.
pub fn option(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let (name, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
    let name = name.to_ascii_lowercase();
    let own = name.strip_prefix("apt::get::");
    if own.is_some_and(|setting| scope.tables().lists(ListName::AptDryRun, setting)) && word.value == Value::Known {
        return findings.add(
            scope,
            Risk::ConfigMutation,
            "apt:option",
            "may take back that nothing is done",
            Some("use -s"),
        );
    }
    if word.value != Value::Known || !is_harmless(&name, value, scope.tables()) {
        let message = format!("-o {} may execute or lose something", word.shown());
        findings.add(scope, Risk::Destructive, "apt:option", message, None);
    }
}

fn is_harmless(name: &str, value: &str, tables: &Tables) -> bool {
    if let Some(setting) = name.strip_prefix("apt::get::") {
        return !tables.lists(ListName::AptLoses, setting) || matches!(value, "false" | "no" | "off" | "0");
    }
    let transfer = name.strip_prefix("acquire::http::").or_else(|| name.strip_prefix("acquire::https::"));
    match name {
        "dpkg::options::" => tables.lists(ListName::DpkgForces, value),
        "dir::etc::sourcelist" | "dir::etc::sourceparts" => is_own_source(value),
        _ => {
            transfer.is_some_and(|setting| tables.lists(ListName::AptTransfer, setting))
                || tables.lists(ListName::AptHarmless, name)
        }
    }
}

/// A list of sources that the system has anyway, or none.
fn is_own_source(path: &str) -> bool {
    let below = path.strip_prefix("/etc/apt/").unwrap_or(path);
    matches!(path, "-" | "/dev/null") || !below.contains("..") && below.starts_with("sources.list")
}

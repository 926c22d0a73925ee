//! Options of apt that a command line sets: which of them execute nothing and lose nothing.

use crate::{
    Risk,
    context::{Findings, Scope},
    words::{Value, Word},
};

/// Whole names, in small letters, that execute nothing.
const HARMLESS: &[&str] = &[
    "quiet",
    "dpkg::lock::timeout",
    "dpkg::progress-fancy",
    "dpkg::use-pty",
    "apt::architecture",
    "apt::autoremove::recommendsimportant",
    "apt::autoremove::suggestsimportant",
    "apt::cache-grow",
    "apt::cache-limit",
    "apt::cache-start",
    "apt::clean-installed",
    "apt::color",
    "apt::default-release",
    "apt::install-recommends",
    "apt::install-suggests",
    "apt::keep-downloaded-packages",
    "acquire::by-hash",
    "acquire::check-date",
    "acquire::check-valid-until",
    "acquire::forceipv4",
    "acquire::forceipv6",
    "acquire::gzipindexes",
    "acquire::languages",
    "acquire::pdiffs",
    "acquire::queue-mode",
    "acquire::retries",
];

/// The same behind `acquire::http::` and `acquire::https::`.
const HARMLESS_TRANSFER: &[&str] =
    &["dl-limit", "max-age", "no-cache", "no-store", "pipeline-depth", "proxy", "timeout", "user-agent"];

/// Settings of `apt-get` itself that remove something or trust what nobody signed; all others only choose and show.
const LOSES: &[&str] = &[
    "allow-change-held-packages",
    "allow-downgrades",
    "allow-remove-essential",
    "allow-solver-remove-essential",
    "allowunauthenticated",
    "automaticremove",
    "automaticremove::kernels",
    "force-yes",
    "purge",
];

/// Settings that say or take back that nothing shall be done.
const DRY_RUN: &[&str] = &["simulate", "just-print", "dry-run", "recon", "no-act"];

/// What `dpkg` may be told: only what to do with configuration files.
const FORCES: &[&str] = &["--force-confold", "--force-confdef", "--force-confnew", "--force-confmiss"];

/// `apt-get -o NAME=VALUE`.
pub fn option(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let (name, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
    let name = name.to_ascii_lowercase();
    let own = name.strip_prefix("apt::get::");
    if own.is_some_and(|setting| DRY_RUN.contains(&setting)) && word.value == Value::Known {
        return findings.add(
            scope,
            Risk::ConfigMutation,
            "apt:option",
            "may take back that nothing is done",
            Some("use -s"),
        );
    }
    if word.value != Value::Known || !is_harmless(&name, value) {
        let message = format!("-o {} may execute or lose something", word.shown());
        findings.add(scope, Risk::Destructive, "apt:option", message, None);
    }
}

fn is_harmless(name: &str, value: &str) -> bool {
    if let Some(setting) = name.strip_prefix("apt::get::") {
        return !LOSES.contains(&setting) || matches!(value, "false" | "no" | "off" | "0");
    }
    let transfer = name.strip_prefix("acquire::http::").or_else(|| name.strip_prefix("acquire::https::"));
    match name {
        "dpkg::options::" => FORCES.contains(&value),
        "dir::etc::sourcelist" | "dir::etc::sourceparts" => is_own_source(value),
        _ => {
            name.starts_with("debug::")
                || transfer.is_some_and(|setting| HARMLESS_TRANSFER.contains(&setting))
                || HARMLESS.contains(&name)
        }
    }
}

/// A list of sources that the system has anyway, or none.
fn is_own_source(path: &str) -> bool {
    let below = path.strip_prefix("/etc/apt/").unwrap_or(path);
    matches!(path, "-" | "/dev/null") || !below.contains("..") && below.starts_with("sources.list")
}

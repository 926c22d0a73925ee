//! Package managers: options that execute something, packages that are removed.

use crate::{
    Risk,
    context::{Findings, Scope},
    words::{Value, Word},
};

/// `apt-get -o NAME=VALUE`: names that execute nothing.
pub fn apt_option(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    const HARMLESS: &[&str] = &[
        "dpkg::lock::timeout",
        "acquire::retries",
        "acquire::http::timeout",
        "acquire::https::timeout",
        "acquire::forceipv4",
        "acquire::forceipv6",
        "apt::get::assume-yes",
        "dpkg::progress-fancy",
        "dpkg::use-pty",
        "apt::color",
        "acquire::languages",
        "apt::install-recommends",
        "apt::install-suggests",
        "acquire::check-valid-until",
        "debug::pkgproblemresolver",
        "quiet",
        "apt::get::show-versions",
    ];
    let (name, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
    let forces = name.eq_ignore_ascii_case("Dpkg::Options::")
        && matches!(value, "--force-confold" | "--force-confdef" | "--force-confnew" | "--force-confmiss");
    if word.value != Value::Known || !(forces || HARMLESS.contains(&name.to_ascii_lowercase().as_str())) {
        findings.add(
            scope,
            Risk::Destructive,
            "apt:option",
            format!("-o {} may execute something", word.shown()),
            None,
        );
    }
}

/// A package to install; one that ends in `-` is removed instead.
pub fn apt_package(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if word.text.ends_with('-') || word.ending.ends_with('-') {
        findings.add(scope, Risk::Destructive, "apt:package", format!("removes {}", word.shown()), None);
    }
}

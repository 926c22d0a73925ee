//! Package managers: options that execute something, packages that are removed.

use crate::{
    Risk,
    context::{Findings, Scope},
    tables::ListName,
    words::{Value, Word},
};

/// `apt-get -o NAME=VALUE`: names that execute nothing.
pub fn apt_option(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let (name, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
    let forces = name.eq_ignore_ascii_case("Dpkg::Options::")
        && matches!(value, "--force-confold" | "--force-confdef" | "--force-confnew" | "--force-confmiss");
    if word.value != Value::Known || !(forces || scope.tables().lists(ListName::AptOptions, &name.to_ascii_lowercase()))
    {
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

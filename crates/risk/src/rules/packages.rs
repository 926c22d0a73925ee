//! Package managers: options that execute something, packages that are removed.

use crate::{
    Risk,
    context::{Findings, Scope},
    words::Word,
};

/// A package to install; one that ends in `-` is removed instead.
pub fn apt_package(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if word.text.ends_with('-') || word.ending.ends_with('-') {
        findings.add(scope, Risk::Destructive, "apt:package", format!("removes {}", word.shown()), None);
    }
}

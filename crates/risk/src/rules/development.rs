//! `git`, and programs that are given as files.

use super::general::*;
use crate::{
    Risk, access,
    context::{Findings, Scope},
    facts::paths,
    invocation::Invocation,
    words::{Value, Word},
};

/// `git`: a directory given by its path may be one that the system needs.
pub fn git(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    for operand in call.operands.iter().filter(|word| word.text.starts_with('/')) {
        access::fills(operand, "git", scope, findings);
    }
}

/// A program that comes through a pipe is not known at all.
pub fn program_file(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if word.value != Value::Known || word.text == "-" || word.text.starts_with("/dev/") {
        findings.add(scope, Risk::Destructive, "shell:piped-code", "executes what comes through a pipe", None);
    }
}

/// The directory of a site whose code is executed: not one in which anybody may have put it.
pub fn site(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if word.value != Value::Known || paths::is_temporary(&word.text, scope.tables()) {
        let message = "executes the code of a site that is not known";
        findings.add(scope, Risk::Destructive, "shell:unknown-site", message, None);
    }
}

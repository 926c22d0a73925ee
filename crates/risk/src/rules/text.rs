//! Pagers and editors.

use super::general::*;
use crate::{
    Risk,
    context::{Findings, Scope},
    invocation::Invocation,
};

/// `less` and the like: `+COMMAND` executes.
pub fn pager(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    if call.operands.iter().any(|word| word.text.starts_with('+')) {
        findings.add(scope, Risk::Destructive, "pager:command", "a pager command may execute something", None);
    }
}

//! The way back up: a command may run another command, or a text that a shell reads.
//!
//! Rules stand below the shell's grammar and must not import it. They reach it through the functions that the scope
//! carries.

use super::{Findings, Scope, Shell};
use crate::words::{Binding, Word};

/// A text that another shell reads.
pub struct Script<'t> {
    /// The text.
    pub text: &'t str,
    /// The shell that reads it.
    pub shell: Shell,
    /// What it gets as `$0`, `$1` ….
    pub arguments: Vec<Binding>,
}

/// How commands and scripts within commands are judged.
#[derive(Clone, Copy)]
pub struct Interpreter {
    /// Judges an argument vector.
    pub command: fn(&[Word<'_>], &mut Scope, &mut Findings),
    /// Judges a text.
    pub script: fn(Script<'_>, &mut Scope, &mut Findings),
}

/// Judges the command with this argument vector.
pub fn run_command(words: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    (scope.interpreter().command)(words, scope, findings);
}

/// Judges a command that the present one runs in a process of its own; reasons show the inner one.
pub fn run_shown(words: &[Word<'_>], scope: &Scope, findings: &mut Findings) {
    let mut inner = scope.showing(words);
    findings.shows(&inner);
    run_command(words, &mut inner, findings);
}

/// Judges a text that another shell reads.
///
/// Directories that it enters are remembered in `scope`: whoever starts a new process passes a clone.
pub fn run_script(script: Script<'_>, scope: &mut Scope, findings: &mut Findings) {
    (scope.interpreter().script)(script, scope, findings);
}

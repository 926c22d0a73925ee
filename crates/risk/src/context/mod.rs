//! What a judgement carries down and what it collects.
//!
//! [`Scope`] is what a command inherits: where it runs, what it reads, what is known about variables. It is cloned for
//! whatever runs apart, and the clone is dropped afterwards. [`Findings`] only grow. Neither knows any command.

mod findings;
mod scope;
mod shell;

pub use findings::Findings;
pub use scope::{Scope, SourceText};
pub use shell::{Function, ShellState, parameter};

use crate::words::Binding;

/// Which shell reads a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    /// bash.
    Bash,
    /// Whatever `/bin/sh` is: dash, busybox ash, bash.
    Sh,
}

/// A text that a command hands to a shell.
pub struct Script<'t> {
    /// The text.
    pub text: &'t str,
    /// The shell that reads it.
    pub shell: Shell,
    /// What it gets as `$0`, `$1` ….
    pub arguments: Vec<Binding>,
}

/// The most texts within texts (`sh -c "sh -c …"`).
pub const MAX_DEPTH: usize = 8;

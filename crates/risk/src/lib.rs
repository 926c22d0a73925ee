//! Judges from its text alone how much harm a shell command can do. Pure: no client, no clock, no file is read.
//!
//! ```
//! use oikos_risk::{Locus, Risk, classify};
//!
//! let verdict = classify("df -h && rm -rf /srv/old", Locus::Host);
//! assert_eq!(verdict.risk, Risk::Destructive);
//! println!("{}: {}", verdict.reasons[0].code, verdict.reasons[0].message);
//! ```
//!
//! # Guarantees
//! - **ReadOnly needs proof**: every word of every command was understood, and a table says that it changes nothing.
//! - **Destructive needs only suspicion**: syntax that is not understood, a computed command, a program that no table
//!   knows and that is told to `delete`.
//! - ConfigMutation is what remains. Joins never lower a class: the verdict is the worst of all parts.
//! - Every text is judged, whatever it holds, in time that grows with its length; what is too long or too deeply nested
//!   is Destructive.
//!
//! # Known limits
//! - Aliases, functions and files of the system are not known: `/root/.bashrc` could make `ls` anything. A host runs
//!   the text with `bash --noprofile --norc -c`, a guest with `sh -c`.
//! - Code in other languages is not judged but suspected: `python3 -c …` is never ReadOnly.
//! - A program in a trusted directory is believed to be the one of that name.
//!
//! # How a verdict comes about
//! [`classify`] → `syntax` (the shell's grammar) → `rules` (which command it is and, by its entry in the `tables`, what
//! it does) → `invocation` (its options and operands) → `context::Findings`. Imports go this way only. A rule that meets
//! another script judges it by the entry of the grammar that the findings carry (`Findings::judge_script`).

mod access;
mod class;
mod context;
mod evaluation;
mod facts;
mod invocation;
mod rules;
mod syntax;
mod tables;
mod verdict;
mod words;

#[cfg(test)]
mod tests;

pub use class::Risk;
pub use verdict::{Affected, Flags, Locus, Reason, Verdict};

use context::{Findings, Scope};
use tables::{TABLES, Tables};

/// Judges `command` as it would run on `locus`: under `bash --noprofile --norc -c` on a host, `sh -c` in a guest.
pub fn classify(command: &str, locus: Locus) -> Verdict {
    classify_by(&TABLES, command, locus)
}

/// Judges by these tables.
fn classify_by(tables: &'static Tables, command: &str, locus: Locus) -> Verdict {
    let mut scope = Scope::new(tables, locus).with_whole(command);
    let mut findings = Findings::new(syntax::nested_script);
    syntax::whole_script(command, &mut scope, &mut findings);
    let mut verdict = findings.into_verdict();
    verdict.name_lines(command);
    verdict
}

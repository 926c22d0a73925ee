//! The command classifier: what a shell command can do, judged from its text alone. Pure.
//!
//! ReadOnly needs proof; Destructive needs only suspicion; ConfigMutation is what remains. Joins never lower.
//! Invariant: no client, no runtime, no clock, no randomness, no file is read here.

mod arithmetic;
mod assigned;
mod class;
mod condition;
mod effect;
mod environment;
mod expansion;
mod functions;
mod guard;
mod guests;
mod judge;
mod loops;
mod nested;
mod options;
mod paths;
mod place;
mod quoting;
mod redirect;
mod rule;
mod simple;
mod source;
mod special;
mod suspicion;
mod table;
mod table_reader;
mod tables;
mod units;
mod verdict;
mod walk;
mod word;

#[cfg(test)]
mod tests;

pub use class::Risk;
pub use verdict::{Affected, Flags, Locus, Reason, Verdict};

/// Judges `command` as it would run on `locus`: under `bash --noprofile --norc -c` on a host, `sh -c` in a guest.
pub fn classify(command: &str, locus: Locus) -> Verdict {
    classify_by(&table::TABLES, command, locus)
}

/// Judges by these tables.
fn classify_by(tables: &'static table::Tables, command: &str, locus: Locus) -> Verdict {
    let mut judge = judge::Judge::new(tables, locus);
    judge.whole = command.to_owned();
    judge.script(command);
    judge.retire(0);
    judge.verdict()
}

/// The parts of a name like `git-clean`: some programs find their subcommands under such names.
fn dashed(name: &str) -> Option<(&'static str, &str)> {
    name.strip_prefix("git-").map(|verb| ("git", verb))
}

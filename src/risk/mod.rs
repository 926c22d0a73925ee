//! The command classifier: what a shell command can do, judged from its text alone. Pure.
//!
//! ReadOnly needs proof; Destructive needs only suspicion; ConfigMutation is what remains. Joins never lower.
//! Invariant: no client, no runtime, no clock, no randomness, no file is read here.

mod verdict;

pub use verdict::{Affected, Flags, Locus, Reason, Verdict};

/// Judges `command` as it would run on `locus`: under `bash --noprofile --norc -c` on a host, `sh -c` in a guest.
pub fn classify(command: &str, locus: Locus) -> Verdict {
    let _ = (command, locus);
    Verdict::unjudged()
}

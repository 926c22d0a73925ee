//! The answer of the classifier.

use std::{collections::BTreeSet, ops::Range};

use serde::Serialize;

use crate::Risk;

/// Where a command runs: on a Proxmox node or inside a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Locus {
    /// A Proxmox VE node, under bash.
    Host,
    /// A container or virtual machine, under sh.
    Guest,
}

/// Something besides the place where the command runs that it acts on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Affected {
    /// A guest of this node, by its VMID (`pct destroy 105`).
    Vmid(u32),
    /// Another system, as the command names it (`ssh pve2 …`).
    Host(String),
    /// Something that the text alone does not tell (`pct stop "$id"`). No window covers it.
    Unknown,
}

/// Properties beside the class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flags {
    /// Reads secrets: keys, password hashes, environment dumps.
    pub sensitive: bool,
    /// Does not end by itself (`tail -f`).
    pub unbounded: bool,
    /// Wants a person at a terminal (an editor, a pager, a shell).
    pub interactive: bool,
}

/// Why the verdict is what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// Stable code, `family:what` (`pct:destroy`, `shell:unparsable`).
    pub code: String,
    /// What this part alone would be.
    pub risk: Risk,
    /// One sentence for a person or a model.
    pub message: String,
    /// The bytes of the command that this is about.
    pub span: Option<Range<usize>>,
    /// The argument vector after unwrapping `sudo`, `timeout`, `sh -c` and the like; empty when there is none.
    pub argv: Vec<String>,
    /// What to do instead, when there is something.
    pub hint: Option<String>,
}

/// The classifier's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The class: the highest of all parts.
    pub risk: Risk,
    /// Why, highest risk first; one for each command that ReadOnly was proven for, too.
    pub reasons: Vec<Reason>,
    /// What it acts on besides the place where it runs.
    pub affected: BTreeSet<Affected>,
    /// Properties beside the class.
    pub flags: Flags,
}

impl Verdict {
    /// Each reason says at which line of a text of several lines its command begins.
    pub(crate) fn name_lines(&mut self, command: &str) {
        if !command.trim_end().contains('\n') {
            return;
        }
        for reason in &mut self.reasons {
            if let Some(before) = reason.span.as_ref().and_then(|span| command.get(..span.start)) {
                let line = before.matches('\n').count() + 1;
                reason.message = format!("line {line}: {}", reason.message);
            }
        }
    }
}

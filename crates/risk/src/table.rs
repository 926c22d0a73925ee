//! The command tables: what each command, option and verb does, as data.
//!
//! Owns the format of `tables/*.risk` and the lookup; must not know the shell. The format is described in
//! `tables/README.md`; a test reads every example line in it.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use super::effect::Effect;

/// How a command reads its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// getopt_long: clusters, glued values, `--x=v`, abbreviations, options after operands.
    #[default]
    Gnu,
    /// The same, but the first operand ends the options.
    Posix,
    /// Perl's Getopt::Long as Proxmox uses it: one or two dashes, any case, abbreviations.
    Perl,
    /// Long options with one dash (`-name value`), no clusters.
    Dash,
    /// No options: every word is an operand.
    Plain,
}

/// What an operand or an option's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Harmless text.
    Any,
    /// A number or a time span; harmless.
    Num,
    /// A file that is read.
    Read,
    /// A file or device that is written.
    Write,
    /// A directory into which files are put.
    Directory,
    /// A file or directory that is removed.
    Lose,
    /// Its presence makes the command a change.
    Set,
    /// Its presence makes the command destructive.
    Destroy,
    /// Code in a language that is not judged.
    Code,
    /// One word that a shell executes.
    Shell,
    /// This and all later words form a command.
    Command,
    /// This and all later words, joined by blanks, are executed by a shell.
    Line,
    /// Another system.
    Host,
    /// Another system on which the rest runs.
    On,
    /// A guest of this node.
    Vmid,
    /// A guest of this node in which the rest runs.
    Within,
    /// A container in which the rest runs.
    Container,
    /// A unit or service that is started or changed.
    Unit,
    /// A unit or service that is stopped or disabled.
    StopUnit,
    /// A unit or service that is restarted.
    RestartUnit,
    /// A package that is removed.
    Package,
    /// A URL.
    Url,
    /// A name to be resolved.
    Name,
    /// A file of a guest that is written.
    GuestFile,
    /// A boolean: the option counts only when it is true.
    True,
    /// A resource of the HA manager or a replication job: `vm:104`, `104-0`.
    Sid,
    /// A mode for chmod.
    Mode,
    /// A value with a rule of its own, by the rule's name.
    Checked(&'static str),
}

/// Whether an option takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// No value.
    Nothing,
    /// A value, glued, after `=`, or the next word.
    Value(Kind),
    /// A value only when glued or after `=`.
    Maybe(Kind),
}

/// One option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opt {
    /// A single letter without its dash, or the whole word with its dashes: `n`, `--lines`, `-name`.
    pub name: &'static str,
    /// Its value.
    pub takes: Takes,
    /// What it makes of the command.
    pub effect: Effect,
    /// What to do instead.
    pub hint: Option<&'static str>,
}

/// What a command or verb accepts and does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// What it does without options.
    pub effect: Effect,
    /// Whether nothing that it accepts can do harm, so that words of unknown value are harmless too.
    pub inert: bool,
    /// Its options.
    pub options: Vec<Opt>,
    /// The kinds of its operands, in order.
    pub operands: Vec<Kind>,
    /// The kind of all further operands; `None` when there may be none.
    pub rest: Option<Kind>,
    /// What to do instead.
    pub hint: Option<&'static str>,
    /// A rule written in code that takes the place of the general one.
    pub rule: Option<&'static str>,
}

/// A subcommand.
#[derive(Clone, Debug)]
pub struct Verb {
    /// One or more words: `guest exec`.
    pub name: &'static str,
    /// Only its whole name counts, no beginning of it.
    pub alias: bool,
    /// What it accepts and does.
    pub form: Form,
}

/// A command.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The name that reasons use.
    pub name: &'static str,
    /// The table that it stands in.
    pub table: &'static str,
    /// How it reads options.
    pub style: Style,
    /// Options before a verb, and the whole form of a command without verbs.
    pub form: Form,
    /// Its subcommands; empty when it has none.
    pub verbs: Vec<Verb>,
    /// Whether a unique beginning of a verb is the verb.
    pub prefixes: bool,
    /// How many verbs the last `verb` line named: option lines after it belong to all of them.
    pub(super) twins: usize,
}

/// An example line of a table: the verdict on a host and in a guest, and the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// `R`, `C` or `D` on a host.
    pub host: char,
    /// `R`, `C` or `D` in a guest.
    pub guest: char,
    /// The flags, and what is acted on: `sensitive`, `endless`, `interactive`, a VMID, `unknown`, a host's name.
    pub marks: Vec<&'static str>,
    /// The command line.
    pub command: String,
    /// The table and line it stands in.
    pub place: (&'static str, usize),
}

/// All tables, read.
#[derive(Clone)]
pub struct Tables {
    pub(super) entries: Vec<Arc<Entry>>,
    pub(super) names: Arc<HashMap<&'static str, usize, Fnv>>,
    /// The examples, for the test.
    pub examples: Vec<Example>,
    /// Lines that could not be read, for the test: `file:line: why`.
    pub faults: Vec<String>,
}

/// The tables of this build.
pub static TABLES: LazyLock<Tables> = LazyLock::new(|| Tables::read(super::tables::SOURCES));

/// A fast hasher for names.
pub type Fnv = std::hash::BuildHasherDefault<FnvHasher>;

/// A short hash for short names.
#[derive(Default)]
pub struct FnvHasher(u64);

impl std::hash::Hasher for FnvHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

impl Tables {
    /// The entry of a command.
    pub fn command(&self, name: &str) -> Option<&Entry> {
        self.names.get(name).and_then(|at| self.entries.get(*at)).map(Arc::as_ref)
    }

    /// Every entry, in the order of the tables.
    #[cfg(test)]
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().map(Arc::as_ref)
    }
}

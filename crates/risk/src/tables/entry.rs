//! What a table says: entries, verbs, options, operands.

use super::{
    effect::Effect,
    pattern::Pattern,
    rule::{RequestRule, Rule, ValueRule},
};

/// How a command reads its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// getopt_long: clusters, glued values, `--x=v`, abbreviations, options after operands.
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
    Remove,
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
    OnSystem,
    /// A guest of this node.
    Vmid,
    /// A guest of this node in which the rest runs.
    InGuest,
    /// A container in which the rest runs.
    InContainer,
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
    DomainName,
    /// A file of a guest that is written.
    GuestFile,
    /// A boolean: the option counts only when it is true.
    True,
    /// A resource of the HA manager or a replication job: `vm:104`, `104-0`.
    Sid,
    /// A mode for chmod.
    Mode,
    /// A value with a rule of its own.
    Checked(ValueRule),
    /// A part of a request to a server.
    Request(RequestRule),
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

/// What a command does to the one that it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wrapper {
    /// `NAME=value` before the command sets its environment.
    pub sets_environment: bool,
    /// It may stand without a command.
    pub command_optional: bool,
    /// The command may go on when the script has ended.
    pub detaches: bool,
    /// The command leaves the container and runs on the node.
    pub on_node: bool,
    /// The command is ended after a time.
    pub time_limit: bool,
    /// The command runs in the same shell, and may change it.
    pub same_shell: bool,
    /// Where the command begins is certain only after `--`.
    pub dashes_first: bool,
}

/// Operands of which the table says what the command does with exactly these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownArguments {
    /// What it does.
    pub effect: Effect,
    /// The operands.
    pub pattern: Pattern,
}

/// What a command or verb accepts and does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// What it does without options.
    pub effect: Effect,
    /// Whether nothing that it accepts can do harm, so that words of unknown value are harmless too.
    pub inert: bool,
    /// What it does to the command that it runs.
    pub wrapper: Wrapper,
    /// Its options.
    pub options: Vec<Opt>,
    /// What it does with known operands, instead of `effect`; the first that fits counts.
    pub known_arguments: Vec<KnownArguments>,
    /// The kinds of its operands, in order.
    pub operands: Vec<Kind>,
    /// The kind of all further operands; `None` when there may be none.
    pub rest: Option<Kind>,
    /// What to do instead.
    pub hint: Option<&'static str>,
    /// A rule written in code that takes the place of the general one.
    pub rule: Option<Rule>,
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
    /// Whether an `is` row says what the command does.
    pub(super) described: bool,
    /// How many verbs the last `verb` line named: option lines after it belong to all of them.
    pub(super) twins: usize,
}

impl Wrapper {
    /// Whether the word is one that says what happens to the command that is run.
    pub(super) fn read(&mut self, word: &str) -> bool {
        let property = match word {
            "sets-environment" => &mut self.sets_environment,
            "command-optional" => &mut self.command_optional,
            "detaches" => &mut self.detaches,
            "on-node" => &mut self.on_node,
            "time-limit" => &mut self.time_limit,
            "same-shell" => &mut self.same_shell,
            "dashes-first" => &mut self.dashes_first,
            _ => return false,
        };
        *property = true;
        true
    }
}

impl Kind {
    pub(super) fn read(word: &'static str) -> Result<Self, &'static str> {
        Ok(match word {
            "" | "any" => Kind::Any,
            "num" => Kind::Num,
            "read" => Kind::Read,
            "write" => Kind::Write,
            "directory" => Kind::Directory,
            "remove" => Kind::Remove,
            "set" => Kind::Set,
            "destroy" => Kind::Destroy,
            "code" => Kind::Code,
            "shell" => Kind::Shell,
            "command" => Kind::Command,
            "line" => Kind::Line,
            "host" => Kind::Host,
            "on-system" => Kind::OnSystem,
            "vmid" => Kind::Vmid,
            "in-guest" => Kind::InGuest,
            "in-container" => Kind::InContainer,
            "unit" => Kind::Unit,
            "stop-unit" => Kind::StopUnit,
            "restart-unit" => Kind::RestartUnit,
            "package" => Kind::Package,
            "url" => Kind::Url,
            "mode" => Kind::Mode,
            "true" => Kind::True,
            "name" => Kind::DomainName,
            "guest-file" => Kind::GuestFile,
            "sid" => Kind::Sid,
            _ => {
                let request = RequestRule::read(word).map(Kind::Request);
                request.or(ValueRule::read(word).map(Kind::Checked)).ok_or("no such kind of operand")?
            }
        })
    }
}

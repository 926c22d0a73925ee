//! The judgement as it grows: what was found so far, where the present command runs and what is known there.
//!
//! Owns joining; nothing in it lowers a class. Must not know any command.

use std::{borrow::Cow, collections::BTreeSet, ops::Range};

use super::{
    Affected, Flags, Locus, Reason, Verdict,
    effect::Effect,
    functions::Function,
    table::Tables,
    word::{Binding, Value, Variables, Word},
};
use crate::Risk;

/// Which shell reads the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    /// bash.
    Bash,
    /// Whatever `/bin/sh` is: dash, busybox ash, bash.
    Sh,
}

/// What a command reads on its standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Nothing.
    Closed,
    /// This text.
    Text(String),
    /// What this URL answered.
    Fetched(String),
    /// Something not known.
    Opaque,
}

/// The most commands that one judgement looks at.
const MAX_COMMANDS: usize = 300;
/// The most texts within texts (`sh -c "sh -c …"`).
pub const MAX_DEPTH: usize = 8;
/// The most directories that are followed at once.
const MAX_DIRECTORIES: usize = 8;
/// The most words of an argument vector that reasons show.
const MAX_ARGV: usize = 64;
/// The most reasons kept; the class takes all into account.
const MAX_REASONS: usize = 64;

/// A judgement in the making.
pub struct Judge {
    /// What is known about commands.
    pub tables: &'static Tables,
    /// Where the present command runs.
    pub locus: Locus,
    /// The shell that reads the present text.
    pub shell: Shell,
    /// What the present command reads.
    pub input: Input,
    /// Variables set by this script.
    pub variables: Vec<(String, Binding)>,
    /// Whether unquoted words split at blanks only.
    pub plain_splitting: bool,
    /// The directories in which the present command may run; empty while no `cd` was seen, `?` for an unknown one.
    pub directories: Vec<String>,
    /// How many enclosing constructs may or may not run.
    pub conditions: usize,
    /// What the next nested text gets as `$0`, `$1` ….
    pub arguments: Vec<Binding>,
    /// Functions defined by this script.
    pub functions: Vec<Function>,
    /// Names of functions that may have been defined in a part that may or may not have run.
    pub retired: Vec<String>,
    /// Guests that words of the present command name, or of the substitutions in it.
    pub named: Vec<Affected>,
    /// Guests that any word so far names: a computed process may be one of theirs.
    pub mentioned: Vec<Affected>,
    /// How many wrappers the present command is inside of.
    pub wrappers: usize,
    /// How many rounds of loops were judged one by one.
    pub rounds: usize,
    /// How many texts this one is nested in.
    pub depth: usize,
    /// Bytes of the texts below the second shell.
    pub reparsed: usize,
    /// How many substitutions the present command is inside of.
    pub substitutions: usize,
    /// Whether the present command goes on when the script has ended.
    pub detached: bool,
    /// Names declared as maps, whose subscripts are plain texts.
    pub maps: Vec<String>,
    /// Texts that hold a substitution within a subscript: evaluated as arithmetic they execute it.
    evaluable: Vec<String>,
    /// Whether something of unknown text is evaluated as arithmetic.
    evaluates: bool,
    /// The mark that `find` or `xargs` replaces by names that are not known.
    pub placeholder: Option<String>,
    /// The argument vector of the present command, for reasons.
    pub argv: Vec<String>,
    /// Where the present command stands in the whole text.
    pub span: Option<Range<usize>>,
    /// Spans of a nested text have no meaning in the whole one: the outer command's is used.
    pub nested: bool,
    /// The whole text, for reasons that name its lines.
    pub whole: String,
    /// Where the text that is read stands in the whole one, in bytes.
    pub offset: usize,
    /// The length of the text that is read, in bytes.
    pub length: usize,
    /// The text that is read, when it is not ASCII and characters are not bytes.
    pub wide: Option<String>,
    risk: Risk,
    reasons: Vec<Reason>,
    affected: BTreeSet<Affected>,
    flags: Flags,
    commands: usize,
}

impl Judge {
    /// A judgement by `tables` about a text that runs on `locus`.
    pub fn new(tables: &'static Tables, locus: Locus) -> Self {
        let shell = match locus {
            Locus::Host => Shell::Bash,
            Locus::Guest => Shell::Sh,
        };
        Self {
            tables,
            locus,
            shell,
            input: Input::Closed,
            variables: Vec::new(),
            plain_splitting: true,
            directories: Vec::new(),
            conditions: 0,
            arguments: Vec::new(),
            functions: Vec::new(),
            retired: Vec::new(),
            named: Vec::new(),
            mentioned: Vec::new(),
            wrappers: 0,
            rounds: 0,
            depth: 0,
            reparsed: 0,
            substitutions: 0,
            detached: false,
            maps: Vec::new(),
            evaluable: Vec::new(),
            evaluates: false,
            placeholder: None,
            argv: Vec::new(),
            span: None,
            nested: false,
            whole: String::new(),
            offset: 0,
            length: 0,
            wide: None,
            risk: Risk::ReadOnly,
            reasons: Vec::new(),
            affected: BTreeSet::new(),
            flags: Flags::default(),
            commands: 0,
        }
    }

    /// From here on reasons show these words as the argument vector.
    pub fn argv_of(&mut self, words: &[Word<'_>]) {
        self.argv = words.iter().take(MAX_ARGV).map(Word::shown).collect();
        if words.len() > MAX_ARGV {
            self.argv.push("…".to_owned());
        }
    }

    /// Keeps a text that arithmetic would execute; true when something is evaluated already.
    pub fn is_evaluated_now(&mut self, text: &str) -> bool {
        if !self.evaluates {
            self.evaluable.push(text.to_owned());
        }
        self.evaluates
    }

    /// From here on everything that arithmetic would execute is executed; what was kept so far.
    pub fn evaluated(&mut self) -> Vec<String> {
        self.evaluates = true;
        std::mem::take(&mut self.evaluable)
    }

    /// How many reasons there are.
    pub fn reasons(&self) -> usize {
        self.reasons.len()
    }

    /// The worst class among the reasons after the first `before`; the worst of all once reasons are dropped.
    pub fn worst_since(&self, before: usize) -> Risk {
        let before = if self.reasons.len() < MAX_REASONS { before } else { 0 };
        self.reasons.iter().skip(before).map(|reason| reason.risk).max().unwrap_or(Risk::ReadOnly)
    }

    /// The class so far.
    pub fn risk(&self) -> Risk {
        self.risk
    }

    /// Counts one more command; false when there are too many.
    pub fn count(&mut self) -> bool {
        self.commands += 1;
        if self.commands == MAX_COMMANDS + 1 {
            self.not_understood("shell:too-complex", "more commands than can be judged", None);
        }
        self.commands <= MAX_COMMANDS
    }

    /// Records that a text was not understood. On a host it may act on any guest, also on a protected one.
    pub fn not_understood(&mut self, code: &str, message: impl Into<Cow<'static, str>>, hint: Option<&str>) {
        if self.locus == Locus::Host {
            self.affects(Affected::Unknown);
        }
        self.find(Risk::Destructive, code, message, hint);
    }

    /// Records a finding about the present command.
    pub fn find(
        &mut self,
        risk: Risk,
        code: impl Into<String>,
        message: impl Into<Cow<'static, str>>,
        hint: Option<&str>,
    ) {
        self.risk = self.risk.max(risk);
        if self.reasons.len() < MAX_REASONS || (risk == Risk::Destructive && self.reasons.len() < 2 * MAX_REASONS) {
            self.reasons.push(Reason {
                code: code.into(),
                risk,
                message: message.into().into_owned(),
                span: self.span.clone(),
                argv: self.argv.clone(),
                hint: hint.map(str::to_owned),
            });
        }
    }

    /// Raises the flags of an effect.
    pub fn flag(&mut self, effect: Effect) {
        self.flags.sensitive |= effect.sensitive;
        self.flags.unbounded |= effect.unbounded;
        self.flags.interactive |= effect.interactive;
    }

    /// Something reads secrets.
    pub fn shows_secrets(&mut self) {
        self.flags.sensitive = true;
    }

    /// The class of an effect at the place where the present command runs.
    pub fn class(&self, effect: Effect) -> Risk {
        match self.locus {
            Locus::Guest if !(effect.power && self.detached) => effect.guest,
            _ => effect.host,
        }
    }

    /// Whether something found so far reads secrets.
    pub fn sensitive(&self) -> bool {
        self.flags.sensitive
    }

    /// Whether something found so far does not end by itself.
    pub fn unbounded(&self) -> bool {
        self.flags.unbounded
    }

    /// What ran under a time limit has ended.
    pub fn set_unbounded(&mut self, unbounded: bool) {
        self.flags.unbounded = unbounded;
    }

    /// Something else is acted on.
    pub fn affects(&mut self, affected: Affected) {
        self.affected.insert(affected);
    }

    /// The guest that a word names is acted on.
    pub fn affects_guest(&mut self, word: Option<&Word<'_>>) {
        let vmid = word.and_then(Word::literal).and_then(|text| text.parse().ok());
        self.affects(vmid.map_or(Affected::Unknown, Affected::Vmid));
    }

    /// Another system that a word names is acted on.
    pub fn affects_host(&mut self, word: Option<&Word<'_>>) {
        let host = word.and_then(Word::literal).filter(|text| !text.is_empty());
        self.affects(host.map_or(Affected::Unknown, |text| Affected::Host(text.to_owned())));
    }

    /// Sets what is known about a variable.
    pub fn bind(&mut self, name: &str, binding: Binding) {
        match self.variables.iter_mut().find(|(known, _)| known == name) {
            Some((_, value)) => *value = binding,
            None => self.variables.push((name.to_owned(), binding)),
        }
    }

    /// Nothing is known about any variable any more.
    pub fn forget_variables(&mut self) {
        for (_, value) in &mut self.variables {
            *value = Binding::Data;
        }
        self.plain_splitting = false;
    }

    /// Judges something whose variable assignments do not last: a subshell, a part of a pipeline.
    pub fn isolated(&mut self, judge: impl FnOnce(&mut Self)) {
        let saved = (self.variables.clone(), self.plain_splitting, self.directories.clone(), self.functions.len());
        judge(self);
        self.retire(saved.3);
        (self.variables, self.plain_splitting, self.directories, _) = saved;
    }

    /// Judges something that may or may not run: what it assigns is not known afterwards.
    pub fn conditional(&mut self, judge: impl FnOnce(&mut Self)) {
        let saved = self.variables.clone();
        let functions = self.functions.len();
        self.conditions += 1;
        judge(self);
        self.conditions -= 1;
        self.retire(functions);
        self.forget_changes(&saved);
    }

    /// Nothing is known any more about variables that are not what they were.
    pub fn forget_changes(&mut self, saved: &[(String, Binding)]) {
        for (name, value) in &mut self.variables {
            if !saved.iter().any(|(known, before)| known == name && before == value) {
                *value = Binding::Data;
            }
        }
    }

    /// From here on commands run in this directory, or may do so inside a condition.
    pub fn enter_directory(&mut self, path: &Word<'_>) {
        let relative = !path.text.starts_with('/');
        let before = std::mem::take(&mut self.directories);
        let target = match path.value {
            Value::Known | Value::Tail => path.text.trim_end_matches('/').to_owned(),
            Value::Data | Value::Open => "?".to_owned(),
        };
        let mut entered: Vec<String> = match (relative && target != "?", before.as_slice()) {
            (true, []) => vec![target],
            (true, known) => known.iter().map(|base| format!("{base}/{target}")).collect(),
            (false, _) => vec![target],
        };
        if self.conditions > 0 {
            entered.extend(before);
        }
        entered.truncate(MAX_DIRECTORIES);
        self.directories = entered;
    }

    /// The paths that `path` may mean where the present command runs.
    pub fn resolved(&self, path: &str) -> Vec<String> {
        if path.starts_with('/') || self.directories.is_empty() {
            return vec![path.to_owned()];
        }
        self.directories.iter().map(|base| format!("{base}/{path}")).collect()
    }

    /// The finished answer.
    pub fn verdict(mut self) -> Verdict {
        for at in 0..self.reasons.len() {
            if let Some(line) = self.line_of(self.reasons[at].span.as_ref()) {
                self.reasons[at].message = format!("line {line}: {}", self.reasons[at].message);
            }
        }
        self.reasons.sort_by_key(|reason| std::cmp::Reverse(reason.risk));
        Verdict { risk: self.risk, reasons: self.reasons, affected: self.affected, flags: self.flags }
    }
}

impl Variables for Judge {
    fn variable(&self, name: &str) -> Option<&Binding> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    fn plain_splitting(&self) -> bool {
        self.plain_splitting
    }
}

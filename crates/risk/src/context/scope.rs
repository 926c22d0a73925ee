//! What a command inherits from what it stands in.
//!
//! A scope is passed down and never edited for a while and put back: whatever holds for a part only is set in a clone
//! that the part gets. What a part does to its shell lasts where the caller says so with [`Scope::continue_after`].

use std::{ops::Range, rc::Rc};

use super::{Shell, ShellState};
use crate::{
    Locus, Risk,
    tables::{Effect, Tables},
    words::{Binding, Input, Variables, Word},
};

/// The most words of an argument vector that reasons show.
const MAX_ARGV: usize = 64;

/// The text that is read, whose spans count in the whole one.
pub struct SourceText {
    /// Where it stands in the whole text, in bytes.
    offset: usize,
    /// The length in bytes.
    length: usize,
    /// The text, when it is not ASCII and characters are not bytes.
    wide: Option<String>,
}

impl SourceText {
    /// A text that stands at this byte of the whole one.
    pub fn new(text: &str, offset: usize) -> Self {
        Self { offset, length: text.len(), wide: (!text.is_ascii()).then(|| text.to_owned()) }
    }

    /// The bytes between two characters.
    pub fn bytes(&self, from: usize, to: usize) -> Range<usize> {
        self.byte(from)..self.byte(to.max(from))
    }

    fn byte(&self, character: usize) -> usize {
        self.offset
            + match &self.wide {
                None => character.min(self.length),
                Some(text) => text.char_indices().nth(character).map_or(text.len(), |(byte, _)| byte),
            }
    }
}

/// Everything that a nested command inherits.
#[derive(Clone)]
pub struct Scope {
    tables: &'static Tables,
    locus: Locus,
    shell: Shell,
    input: Input,
    state: Rc<ShellState>,
    depth: usize,
    wrappers: usize,
    conditional: bool,
    in_substitution: bool,
    time_limited: bool,
    detached: bool,
    placeholder: Option<Rc<str>>,
    argv: Rc<Vec<String>>,
    span: Option<Range<usize>>,
    source: Option<Rc<SourceText>>,
    whole: Rc<str>,
}

impl Scope {
    /// A script that begins on `locus`.
    pub fn new(tables: &'static Tables, locus: Locus) -> Self {
        Self {
            tables,
            locus,
            shell: match locus {
                Locus::Host => Shell::Bash,
                Locus::Guest => Shell::Sh,
            },
            input: Input::Closed,
            state: Rc::new(ShellState::new(Vec::new())),
            depth: 0,
            wrappers: 0,
            conditional: false,
            in_substitution: false,
            time_limited: false,
            detached: false,
            placeholder: None,
            argv: Rc::default(),
            span: None,
            source: None,
            whole: Rc::from(""),
        }
    }

    /// The same place and depth, with nothing known: for a command that may or may not be run as it stands.
    pub fn unrelated(&self) -> Self {
        let fresh = Self::new(self.tables, self.locus);
        Self { depth: self.depth, wrappers: self.wrappers, ..fresh }
    }

    /// What is known about commands.
    pub fn tables(&self) -> &'static Tables {
        self.tables
    }

    /// Where the present command runs.
    pub fn locus(&self) -> Locus {
        self.locus
    }

    /// Whether the present command runs on a node.
    pub fn on_host(&self) -> bool {
        self.locus == Locus::Host
    }

    /// The shell that reads the present text.
    pub fn shell(&self) -> Shell {
        self.shell
    }

    /// What the present command reads.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// How many texts this one is nested in.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// How many wrappers the present command is inside of.
    pub fn wrappers(&self) -> usize {
        self.wrappers
    }

    /// Whether the present command is inside a substitution of the present text.
    pub fn in_substitution(&self) -> bool {
        self.in_substitution
    }

    /// Whether something else ends the present command after a time.
    pub fn is_time_limited(&self) -> bool {
        self.time_limited
    }

    /// The mark that `find` or `xargs` replaces by names that are not known.
    pub fn placeholder(&self) -> Option<&str> {
        self.placeholder.as_deref()
    }

    /// The argument vector of the present command, for reasons.
    pub fn argv(&self) -> &Rc<Vec<String>> {
        &self.argv
    }

    /// Where the present command stands in the whole text.
    pub fn span(&self) -> Option<&Range<usize>> {
        self.span.as_ref()
    }

    /// What is known about the present shell.
    pub fn state(&self) -> &Rc<ShellState> {
        &self.state
    }

    /// What commands of the present shell change.
    pub fn state_mut(&mut self) -> &mut ShellState {
        Rc::make_mut(&mut self.state)
    }

    /// The class of an effect at the place where the present command runs.
    pub fn class_of(&self, effect: Effect) -> Risk {
        match self.locus {
            Locus::Guest if !(effect.power && self.detached) => effect.guest,
            _ => effect.host,
        }
    }

    /// The script that the caller gives, in which all spans count.
    pub fn with_whole(&self, text: &str) -> Self {
        Self { whole: Rc::from(text), ..self.clone() }
    }

    /// Where a nested text stands word for word in the whole one, in bytes, if it does so once.
    pub fn place_of(&self, text: &str) -> Option<usize> {
        let mut places = self.whole.match_indices(text);
        let (at, _) = places.next().filter(|_| text.len() >= 4)?;
        places.next().is_none().then_some(at)
    }

    /// Spans count in this text.
    pub fn with_source(&self, source: SourceText) -> Self {
        Self { source: Some(Rc::new(source)), ..self.clone() }
    }

    /// The next command stands here; a text without spans keeps the place of the command that runs it.
    pub fn locate(&mut self, from: usize, to: usize) {
        if let Some(source) = &self.source {
            self.span = Some(source.bytes(from, to));
        }
    }

    /// Reasons show these words as the argument vector.
    pub fn showing(&self, words: &[Word<'_>]) -> Self {
        let mut argv: Vec<String> = words.iter().take(MAX_ARGV).map(Word::shown).collect();
        if words.len() > MAX_ARGV {
            argv.push("…".to_owned());
        }
        Self { argv: Rc::new(argv), ..self.clone() }
    }

    /// Reasons show this argument vector.
    pub fn showing_argv(&self, argv: Rc<Vec<String>>) -> Self {
        Self { argv, ..self.clone() }
    }

    /// With this as standard input.
    pub fn reading(&self, input: Input) -> Self {
        Self { input, ..self.clone() }
    }

    /// From here on commands of this shell read something else: `exec < FILE`.
    pub fn redirect_input(&mut self, input: Input) {
        self.input = input;
    }

    /// One level deeper, within the same shell.
    pub fn deeper(&self) -> Self {
        Self { depth: self.depth + 1, ..self.clone() }
    }

    /// One level deeper, in a piece of text whose spans have no meaning in the whole one.
    pub fn in_fragment(&self) -> Self {
        Self { source: None, ..self.deeper() }
    }

    /// Inside one more wrapper.
    pub fn wrapped(&self) -> Self {
        Self { wrappers: self.wrappers + 1, ..self.clone() }
    }

    /// In a part that may or may not run.
    pub fn in_condition(&self) -> Self {
        Self { conditional: true, ..self.clone() }
    }

    /// In a substitution: nothing waits for what it starts.
    pub fn in_a_substitution(&self, input: Input) -> Self {
        Self { input, in_substitution: true, detached: true, argv: Rc::default(), ..self.clone() }
    }

    /// In a command that goes on when the script has ended.
    pub fn detached(&self) -> Self {
        Self { detached: true, ..self.clone() }
    }

    /// In a command that something else ends after a time.
    pub fn time_limited(&self) -> Self {
        Self { time_limited: true, ..self.clone() }
    }

    /// In a command whose argument vector holds this mark for names that are not known.
    pub fn with_placeholder(&self, placeholder: Option<&str>) -> Self {
        Self { placeholder: placeholder.map(Rc::from), ..self.clone() }
    }

    /// On another system, under its `sh`.
    pub fn on_other_system(&self) -> Self {
        Self { locus: Locus::Host, shell: Shell::Sh, state: Rc::new(self.state.elsewhere()), ..self.clone() }
    }

    /// In a guest or container, under its `sh`.
    pub fn in_guest(&self) -> Self {
        Self { locus: Locus::Guest, shell: Shell::Sh, state: Rc::new(self.state.elsewhere()), ..self.clone() }
    }

    /// Outside of the container, in the node's own namespaces.
    pub fn on_node(&self) -> Self {
        Self { locus: Locus::Host, ..self.clone() }
    }

    /// In a text that another shell reads.
    pub fn in_script(&self, shell: Shell, arguments: Vec<Binding>) -> Self {
        Self {
            shell,
            state: Rc::new(self.state.child(arguments)),
            in_substitution: false,
            depth: self.depth + 1,
            source: None,
            ..self.clone()
        }
    }

    /// The same shell goes on after a part of it: what the part did to the shell and its standard input lasts.
    pub fn continue_after(&mut self, part: Scope) {
        self.input = part.input;
        self.state = part.state;
    }

    /// The same, after a part that had a standard input of its own.
    pub fn continue_shell_after(&mut self, part: Scope) {
        self.state = part.state;
    }

    /// Nothing is known any more about variables that are not what they were `before`.
    pub fn forget_changes(&mut self, before: &Rc<ShellState>) {
        if !Rc::ptr_eq(&self.state, before) {
            self.state_mut().forget_changes(before);
        }
    }

    /// Sets what is known about a variable.
    pub fn bind(&mut self, name: &str, binding: Binding) {
        self.state_mut().bind(name, binding);
    }

    /// From here on commands of this shell run in this directory, or may do so inside a condition.
    pub fn enter_directory(&mut self, path: &Word<'_>) {
        let conditional = self.conditional;
        self.state_mut().enter_directory(path, conditional);
    }

    /// The paths that `path` may mean where the present command runs.
    pub fn resolved(&self, path: &str) -> Vec<String> {
        self.state.resolved(path)
    }
}

impl Variables for Scope {
    fn tables(&self) -> &Tables {
        self.tables
    }

    fn variable(&self, name: &str) -> Option<&Binding> {
        self.state.variable(name)
    }

    fn plain_splitting(&self) -> bool {
        self.state.plain_splitting()
    }
}

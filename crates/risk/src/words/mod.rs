//! Words: what a shell word will be when the command runs, as far as the text alone tells.
//!
//! Owns quote removal, expansions and what is known about a variable; knows no command by name: what some of them print
//! stands in the tables.

pub mod arithmetic;
mod old_arithmetic;
pub mod output;
mod parameter;
pub mod quoting;
mod reader;

use std::{borrow::Cow, rc::Rc};

use rable::{Node, NodeKind};

pub use arithmetic::{is_name, is_number};
pub use output::Input;
use reader::{Reader, is_plain};

use crate::tables::{Argument, Tables};

/// The most words that a brace expansion may make.
pub const MAX_BRACE_WORDS: usize = 64;

/// How much of a word is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::enum_variant_names, reason = "a value of the script is what it is")]
pub enum Value {
    /// The text is the argument, exactly.
    Known,
    /// The text is a known beginning (never of an option), the rest is not known: `/etc/*.cfg`, `"/srv/$x"`.
    KnownPrefix,
    /// Not known, but made by this very script: a loop variable, the output of a judged command.
    ScriptValue,
    /// Not known at all: the environment, positional parameters, a pattern that may become an option.
    Unknown,
}

/// One argument as far as it is known.
#[derive(Clone, Debug)]
pub struct Word<'a> {
    /// The argument, or its known beginning.
    pub text: Cow<'a, str>,
    /// How much of it is known.
    pub value: Value,
    /// The known text after the last piece that is not known.
    pub ending: String,
    /// Holds a shell pattern.
    pub glob: bool,
    /// Comes from a brace expansion.
    pub brace: bool,
    /// Holds the text of a variable.
    pub expanded: bool,
    /// May become several words, or none.
    pub splits: bool,
    /// Holds the output of a command.
    pub substituted: bool,
    /// Is what this URL answers, and nothing else.
    pub fetched: Option<String>,
}

impl<'a> Word<'a> {
    /// A word whose text is known.
    pub fn known(text: impl Into<Cow<'a, str>>) -> Self {
        Self {
            text: text.into(),
            value: Value::Known,
            ending: String::new(),
            glob: false,
            brace: false,
            expanded: false,
            splits: false,
            substituted: false,
            fetched: None,
        }
    }

    /// A word about which this much is known.
    pub fn partly(text: impl Into<Cow<'a, str>>, value: Value) -> Self {
        Self { value, ..Self::known(text) }
    }

    /// The same word, borrowed.
    pub fn borrow(&self) -> Word<'_> {
        Word {
            text: Cow::Borrowed(self.text.as_ref()),
            ending: self.ending.clone(),
            fetched: self.fetched.clone(),
            ..*self
        }
    }

    /// The same word with another text: a part of it.
    pub fn with_text<'b>(&self, text: impl Into<Cow<'b, str>>) -> Word<'b> {
        Word { text: text.into(), ending: self.ending.clone(), fetched: self.fetched.clone(), ..*self }
    }

    /// The exact text, when it is known.
    pub fn literal(&self) -> Option<&str> {
        (self.value == Value::Known).then_some(self.text.as_ref())
    }

    /// Whether this is known to be exactly `text`.
    pub fn is(&self, text: &str) -> bool {
        self.value == Value::Known && self.text == text
    }

    /// Whether the word may be taken for an option by the command.
    pub fn may_be_option(&self) -> bool {
        match self.value {
            Value::Known => self.text.len() > 1 && self.text.starts_with('-'),
            Value::KnownPrefix => false,
            Value::ScriptValue | Value::Unknown => true,
        }
    }

    /// What a pattern of the tables looks at.
    pub fn as_argument(&self) -> Argument<'_> {
        Argument { text: self.literal(), may_be_option: self.may_be_option(), may_split: self.splits }
    }

    /// For display: the text, with `…` for what is not known.
    pub fn shown(&self) -> String {
        match self.value {
            Value::Known => self.text.to_string(),
            _ => format!("{}…{}", self.text, self.ending),
        }
    }
}

/// What reading a word found besides its value.
#[derive(Default)]
pub struct Expansions<'a> {
    /// Substitutions to be judged.
    pub commands: Vec<(&'a Node, Substitution)>,
    /// Text that must be parsed and judged as a word on its own (nested in `${…}` or arithmetic).
    pub nested: Vec<String>,
    /// Variables that `${x:=…}` sets.
    pub assigned: Vec<String>,
    /// What hides a value on purpose or executes it: the word is obfuscated.
    pub obfuscated: Option<&'static str>,
    /// A letter that looks like a dash or a quote and is none.
    pub lookalike: bool,
    /// Syntax that only bash understands.
    pub bash_only: bool,
    /// Arithmetic over variables whose text is not known to be a number.
    pub arithmetic: bool,
}

/// The kind of substitution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Substitution {
    /// `$(…)` or backticks.
    Command,
    /// `<(…)`.
    ReadFrom,
    /// `>(…)`.
    WriteTo,
}

/// What is known about a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Binding {
    /// Its exact value.
    Text(Rc<str>),
    /// Set by this script to something not known.
    ScriptValue,
    /// The same, but one word without blanks.
    OneWord,
    /// One word that begins like this.
    Prefix(Rc<str>),
    /// Only digits, whatever they are.
    Number,
}

/// Looks a variable up.
pub trait Variables {
    /// What is known about commands.
    fn tables(&self) -> &Tables;
    /// What is known about `name`; `None` when this script did not set it.
    fn variable(&self, name: &str) -> Option<&Binding>;
    /// Whether unquoted expansions split at blanks only.
    fn plain_splitting(&self) -> bool;
}

/// Reads a word node. Brace expansions may make several words of it. What a command in it prints may be foretold, which
/// reads the words of that command.
pub fn read<'a>(node: &'a Node, vars: &dyn Variables, expansions: &mut Expansions<'a>) -> Vec<Word<'a>> {
    let NodeKind::Word { value, parts, .. } = &node.kind else {
        expansions.obfuscated = Some("a word of an unexpected kind");
        return vec![Word::partly("", Value::Unknown)];
    };
    if is_plain(value) || matches!(value.as_str(), "[" | "]" | "{}" | "{" | "}" | "!") {
        return vec![Word::known(value.as_str())];
    }
    let substitutes = parts.iter().any(|part| matches!(part.kind, NodeKind::CommandSubstitution { .. }));
    if substitutes && value.contains('`') && ["\\`", "\\$", "\\\\"].iter().any(|escape| value.contains(escape)) {
        expansions.obfuscated.get_or_insert("an escape within backticks");
    }
    let mut computes = false;
    if parts.iter().any(|part| matches!(part.kind, NodeKind::ArithmeticExpansion { .. })) {
        within_arithmetic(value, expansions);
        arithmetic::assigned(value, &mut |name| expansions.assigned.push(name.to_owned()));
        computes = arithmetic::of_numbers(value, vars);
    }
    let mut reader = Reader::new(vars, expansions);
    reader.computes = computes;
    reader.brackets = value.contains(']') || value.contains(['$', '`']);
    for part in parts {
        reader.part(part);
    }
    let mut words = reader.into_words();
    if let [word] = words.as_mut_slice() {
        word.fetched = fetched(parts, vars);
    }
    words
}

/// The parser does not look for substitutions within `$((…))`: they are judged on their own.
fn within_arithmetic(value: &str, expansions: &mut Expansions<'_>) {
    let inner = value.replace("$((", " ");
    if inner.contains(['`', '$']) {
        expansions.nested.push(inner);
    }
}

/// The URL, when the word is nothing but `$(curl URL)` or `<(curl URL)`.
fn fetched(parts: &[Node], vars: &dyn Variables) -> Option<String> {
    let quote = |node: &Node| matches!(&node.kind, NodeKind::WordLiteral { value } if value == "\"");
    let only = match parts {
        [only] => only,
        [open, only, close] if quote(open) && quote(close) => only,
        _ => return None,
    };
    let (NodeKind::CommandSubstitution { command, .. } | NodeKind::ProcessSubstitution { command, .. }) = &only.kind
    else {
        return None;
    };
    let NodeKind::Command { words, redirects, assignments } = &command.kind else { return None };
    if !redirects.is_empty() || !assignments.is_empty() {
        return None;
    }
    let argv: Vec<Word<'_>> = words.iter().flat_map(|node| read(node, vars, &mut Expansions::default())).collect();
    match output::of(&argv, vars.tables()) {
        Input::Fetched(url) => Some(url.to_string()),
        _ => None,
    }
}

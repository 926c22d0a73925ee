//! A call of a command: its argument vector, read the way the command itself reads it.
//!
//! Owns the grammar of options; must not know what any command does.

mod reader;

use crate::{
    tables::{Argument, Effect, Entry, Form, Kind, Opt, Takes, Verb},
    words::{Value, Word},
};

/// An option that was given.
#[derive(Debug)]
pub struct Given<'e, 'w> {
    /// What the table says about it.
    pub opt: &'e Opt,
    /// Its value; `None` when it has none or it is missing.
    pub value: Option<Word<'w>>,
}

/// A call of a command.
pub struct Invocation<'e, 'w, 'a> {
    /// The command's table entry.
    pub entry: &'e Entry,
    /// The name under which it is called.
    pub name: &'w str,
    /// Its argument vector.
    pub argv: &'w [Word<'a>],
    /// The subcommand.
    pub verb: Option<&'e Verb>,
    /// A word that should be a subcommand and is none, or not a single one.
    pub unknown_verb: Option<String>,
    /// The options that the table lists.
    pub options: Vec<Given<'e, 'w>>,
    /// The operands, without the verb.
    pub operands: Vec<Word<'w>>,
    /// Options that the table does not list.
    pub unlisted: Vec<String>,
    /// The worst of the words that may turn out to be options.
    pub doubt: Option<Value>,
    /// One of them may become several words.
    pub doubt_splits: bool,
    /// A word begins as an option and its rest is not known.
    pub computed_option: bool,
    /// Where a nested command begins in the argument vector.
    pub command: Option<usize>,
    /// Whether `--` stood before the nested command.
    pub dashes: bool,
}

impl<'e, 'w, 'a> Invocation<'e, 'w, 'a> {
    /// Reads an argument vector, with the command's name at its head.
    pub fn read(entry: &'e Entry, name: &'w str, argv: &'w [Word<'a>]) -> Self {
        reader::read(entry, name, argv)
    }

    /// The form that judges: the verb's, or the command's own.
    pub fn form(&self) -> &'e Form {
        self.verb.map_or(&self.entry.form, |verb| &verb.form)
    }

    /// What it does: what the form says of exactly these operands, or of any.
    pub fn effect(&self) -> Effect {
        let form = self.form();
        if form.known_arguments.is_empty() || !self.unlisted.is_empty() {
            return form.effect;
        }
        let operands: Vec<Argument<'_>> = self.operands.iter().map(Word::as_argument).collect();
        let known = form.known_arguments.iter().find(|known| known.pattern.matches(&operands));
        known.map_or(form.effect, |known| known.effect)
    }

    /// `command:verb`, or `command:what` when there is no verb.
    pub fn code(&self, what: &str) -> String {
        match self.verb {
            Some(verb) => format!("{}:{}", self.name, verb.name.replace(' ', "-")),
            None => format!("{}:{what}", self.name),
        }
    }

    /// The kinds of operand that the form takes.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        let form = self.form();
        form.operands.iter().copied().chain(form.rest)
    }

    /// Whether the command only shows what it would do: every option that says so, and says so truly.
    pub fn is_dry_run(&self) -> bool {
        let given = || self.options.iter().map(|given| given.opt.effect);
        if !self.unlisted.is_empty() || self.computed_option || given().any(|effect| effect.real_run) {
            return false;
        }
        let alone =
            self.verb.is_none() && self.operands.is_empty() && self.command.is_none() && self.unknown_verb.is_none();
        if alone && given().any(|effect| effect.info) {
            return true;
        }
        let mut dry = self.options.iter().filter(|given| given.opt.effect.dry_run).peekable();
        dry.peek().is_some()
            && dry.all(|given| matches!(given.opt.takes, Takes::Value(_)) || is_true(given.value.as_ref()))
    }

    /// Whether an option makes it end by itself, or takes the place of a nested command: `numactl --hardware`.
    pub fn is_bounded(&self) -> bool {
        self.options.iter().any(|given| given.opt.effect.bounded)
    }

    /// Whether an option was given.
    pub fn has(&self, name: &str) -> bool {
        self.options.iter().any(|given| given.opt.name == name)
    }

    /// The value of the last such option.
    pub fn value(&self, names: &[&str]) -> Option<&Word<'_>> {
        let named = self.options.iter().rev().find(|given| names.contains(&given.opt.name));
        named.and_then(|given| given.value.as_ref())
    }

    /// The nested command, as far as there is one.
    pub fn nested_words(&self) -> &'w [Word<'a>] {
        self.command.and_then(|at| self.argv.get(at..)).unwrap_or_default()
    }

    /// Whether it runs another command; an assignment (`env A=b`) is none.
    pub fn runs_something(&self) -> bool {
        let runs = self.kinds().any(|kind| matches!(kind, Kind::Command | Kind::Line));
        runs && self.nested_words().iter().any(|word| !word.text.contains('='))
    }
}

/// Whether a boolean is switched on: a missing value does that.
pub fn is_true(value: Option<&Word<'_>>) -> bool {
    value.is_none_or(|word| {
        word.literal().is_some_and(|text| matches!(text, "" | "1" | "yes" | "true" | "on" | "client" | "server"))
    })
}

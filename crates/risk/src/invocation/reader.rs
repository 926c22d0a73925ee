//! Reads an argument vector the way the command itself does: getopt in its dialects.
//!
//! Owns the grammar of options; must not know what any command does.

use super::{Given, Invocation};
use crate::{
    tables::{Entry, Kind, Opt, Style, Takes, Verb},
    words::{Value, Word},
};

/// The most words that may stand between the two words of a verb.
const MAX_BETWEEN: usize = 32;

struct Reader<'e, 'w, 'a> {
    entry: &'e Entry,
    words: &'w [Word<'a>],
    at: usize,
    /// The words of a subcommand of several words, as far as they were read.
    verb_words: Vec<&'w str>,
    out: Invocation<'e, 'w, 'a>,
}

/// Reads the words after the command's name.
pub(super) fn read<'e, 'w, 'a>(entry: &'e Entry, name: &'w str, words: &'w [Word<'a>]) -> Invocation<'e, 'w, 'a> {
    let out = Invocation {
        entry,
        name,
        argv: words,
        verb: None,
        unknown_verb: None,
        options: Vec::new(),
        operands: Vec::new(),
        unlisted: Vec::new(),
        doubt: None,
        doubt_splits: false,
        computed_option: false,
        command: None,
        dashes: false,
    };
    let mut reader = Reader { entry, words, at: 1, verb_words: Vec::new(), out };
    reader.run();
    reader.out
}

impl<'e, 'w> Reader<'e, 'w, '_> {
    fn run(&mut self) {
        let mut options = self.entry.style != Style::Plain;
        while let Some(word) = self.words.get(self.at) {
            if self.at_command() {
                self.out.command = Some(self.at);
                return;
            }
            self.at += 1;
            if options && word.may_be_option() {
                if word.is("--") {
                    options = false;
                    self.out.dashes = true;
                    continue;
                }
                if word.value == Value::Known {
                    self.option(&word.text);
                    continue;
                }
                self.out.doubt = self.out.doubt.max(Some(word.value));
                self.out.doubt_splits |= word.splits;
                self.out.computed_option |= word.text.starts_with('-');
            }
            self.operand(word);
            if self.entry.style == Style::Posix && !self.out.operands.is_empty() {
                options = false;
            }
        }
        if !self.verb_words.is_empty() {
            self.out.unknown_verb.get_or_insert(self.verb_words.join(" "));
        }
    }

    /// Whether the next operand begins a nested command.
    fn at_command(&self) -> bool {
        if !self.entry.verbs.is_empty() && self.out.verb.is_none() {
            return false;
        }
        let form = self.out.form();
        let next = form.operands.get(self.out.operands.len()).copied().or(form.rest);
        let dashes = self.words.get(self.at).is_some_and(|word| word.is("--"));
        let option = self.words.get(self.at).is_some_and(|word| word.value == Value::Known && word.may_be_option());
        let begins = if self.out.dashes { true } else { !dashes && !option };
        begins && matches!(next, Some(Kind::Command | Kind::Line))
    }

    fn operand(&mut self, word: &'w Word<'_>) {
        if self.entry.verbs.is_empty() || self.out.verb.is_some() || self.out.unknown_verb.is_some() {
            self.out.operands.push(word.borrow());
            return;
        }
        let Some(text) = word.literal() else {
            self.out.unknown_verb = Some(word.shown());
            return;
        };
        self.verb_words.push(text);
        match find_verb(self.entry, &self.verb_words) {
            Matched::Verb(_) if self.goes_on() => {}
            Matched::Verb(verb) => {
                self.out.verb = Some(verb);
                self.verb_words.clear();
            }
            Matched::More => {}
            Matched::Nothing => {
                self.out.unknown_verb = Some(self.verb_words.join(" "));
                self.verb_words.clear();
            }
        }
    }

    /// Whether the words read so far are the beginning of a longer verb: `sensor` of `sensor thresh`.
    ///
    /// An option's value may stand between the two, so later words count too; of two readings the longer one does.
    fn goes_on(&self) -> bool {
        let depth = self.verb_words.len();
        let first = self.verb_words.first().copied().unwrap_or("");
        let begins = |verb: &&Verb| {
            if self.entry.prefixes { verb.name.starts_with(first) } else { begins_with(verb.name, first) }
        };
        let longer = self.entry.verbs.iter().filter(begins).any(|verb| !part(verb, depth).is_empty());
        let mut words = self.verb_words.clone();
        longer
            && self.words[self.at..].iter().take(MAX_BETWEEN).any(|word| {
                let Some(text) = word.literal() else { return false };
                words.truncate(depth);
                words.push(text);
                !matches!(find_verb(self.entry, &words), Matched::Nothing)
            })
    }

    fn option(&mut self, text: &'w str) {
        match self.entry.style {
            Style::Perl => self.perl(text),
            Style::Dash => self.dash(text),
            _ if text.starts_with("--") => self.long(text),
            _ => self.cluster(&text[1..]),
        }
    }

    fn lookup(&self, matches: impl Fn(&Opt) -> bool) -> Option<&'e Opt> {
        let verb = self.out.verb.into_iter().flat_map(|verb| verb.form.options.iter());
        verb.chain(self.entry.form.options.iter()).find(|opt| matches(opt))
    }

    fn unlisted(&mut self, text: &str) {
        self.out.unlisted.push(text.to_owned());
    }

    /// `-abc`, `-n5`, `-n 5`.
    fn cluster(&mut self, letters: &'w str) {
        for (at, letter) in letters.char_indices() {
            let mut name = [0; 4];
            let name: &str = letter.encode_utf8(&mut name);
            let Some(opt) = self.lookup(|opt| opt.name == name) else {
                // What follows may be its value or more letters: both are possible.
                self.unlisted(&format!("-{letter}"));
                continue;
            };
            let rest = &letters[at + letter.len_utf8()..];
            match opt.takes {
                Takes::Nothing => self.give(opt, None),
                Takes::Maybe(_) => {
                    let value = (!rest.is_empty()).then(|| Word::known(rest));
                    return self.give(opt, value);
                }
                Takes::Value(_) if rest.is_empty() => return self.give_next(opt),
                Takes::Value(_) => return self.give(opt, Some(Word::known(rest))),
            }
        }
    }

    /// `--lines=5`, `--lines 5`, `--lin 5`.
    fn long(&mut self, text: &'w str) {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        self.named(
            text,
            name,
            value,
            |candidate, name| candidate == name,
            |candidate, name| candidate.starts_with(name),
        );
    }

    /// `-DEL mp0`, `--delete=mp0`.
    fn perl(&mut self, text: &'w str) {
        let (name, value) = match text.split_once(['=']) {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let bare = name.trim_start_matches('-');
        self.named(
            text,
            bare,
            value,
            |candidate, name| candidate.trim_start_matches('-').eq_ignore_ascii_case(name),
            |candidate, name| {
                candidate.trim_start_matches('-').get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name))
            },
        );
    }

    /// Finds an option by its whole name or a beginning; of several the worst counts.
    fn named(
        &mut self,
        text: &str,
        name: &'w str,
        value: Option<&'w str>,
        same: impl Fn(&str, &str) -> bool,
        begins: impl Fn(&str, &str) -> bool,
    ) {
        let long = |opt: &Opt| opt.name.len() > 1;
        let numbered = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let numbered = (numbered.len() < name.len()).then(|| format!("{numbered}#"));
        let exact = self.lookup(|opt| long(opt) && same(opt.name, name));
        let exact = exact.or_else(|| {
            let numbered = numbered.as_deref()?;
            self.lookup(|opt| long(opt) && same(opt.name, numbered))
        });
        let verb = self.out.verb.into_iter().flat_map(|verb| verb.form.options.iter());
        let all = verb.chain(self.entry.form.options.iter());
        let opt = exact.or_else(|| {
            all.filter(|opt| long(opt) && begins(opt.name, name))
                .max_by_key(|opt| (opt.effect.host, opt.effect.guest, !opt.effect.dry_run))
        });
        match (opt, value) {
            (None, _) => self.unlisted(text),
            (Some(opt), Some(value)) => self.give(opt, Some(Word::known(value))),
            (Some(opt), None) => match opt.takes {
                Takes::Value(_) => self.give_next(opt),
                Takes::Maybe(_) if self.entry.style == Style::Perl => {
                    if self.words.get(self.at).is_some_and(is_boolean) {
                        self.give_next(opt)
                    } else {
                        self.give(opt, None)
                    }
                }
                _ => self.give(opt, None),
            },
        }
    }

    /// `-name value`.
    fn dash(&mut self, text: &'w str) {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let bare = name.trim_start_matches('-');
        match self.lookup(|opt| opt.name.trim_start_matches('-') == bare) {
            None => self.unlisted(text),
            Some(opt) => match (opt.takes, value) {
                (_, Some(value)) => self.give(opt, Some(Word::known(value))),
                (Takes::Value(_), None) => self.give_next(opt),
                _ => self.give(opt, None),
            },
        }
    }

    fn give(&mut self, opt: &'e Opt, value: Option<Word<'w>>) {
        self.out.options.push(Given { opt, value });
    }

    fn give_next(&mut self, opt: &'e Opt) {
        let value = self.words.get(self.at).map(Word::borrow);
        if let Some(word) = value.as_ref().filter(|word| word.splits && word.value >= Value::ScriptValue) {
            self.out.doubt = self.out.doubt.max(Some(word.value));
            self.out.doubt_splits = true;
        }
        self.at += usize::from(value.is_some());
        self.give(opt, value);
    }
}

/// The booleans of Proxmox's schema.
fn is_boolean(word: &Word<'_>) -> bool {
    matches!(word.text.to_ascii_lowercase().as_str(), "0" | "1" | "on" | "off" | "yes" | "no" | "true" | "false")
}

/// Whether the first word of a verb's name is this one.
fn begins_with(name: &str, word: &str) -> bool {
    same_start(name, word) && name.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

enum Matched<'e> {
    Verb(&'e Verb),
    More,
    Nothing,
}

/// Finds the verb that these words name, each by its whole name or, where the tool allows it, a unique beginning.
fn find_verb<'e>(entry: &'e Entry, words: &[&str]) -> Matched<'e> {
    let mut level: Vec<&Verb> = Vec::new();
    for (depth, word) in words.iter().enumerate() {
        let is = |verb: &&Verb| if depth == 0 { begins_with(verb.name, word) } else { part(verb, depth) == *word };
        let above = || entry.verbs.iter().filter(|_| depth == 0).chain(level.iter().copied());
        let exact: Vec<&Verb> = above().filter(is).collect();
        if !exact.is_empty() {
            level = exact;
            continue;
        }
        if !entry.prefixes || word.is_empty() {
            return Matched::Nothing;
        }
        level = above().filter(|verb| !verb.alias && could_begin(verb, depth, word)).collect();
        let first = level.first().map(|verb| part(verb, depth));
        if level.is_empty() || level.iter().any(|verb| Some(part(verb, depth)) != first) {
            return Matched::Nothing;
        }
    }
    let full = level.iter().copied().find(|verb| verb.name.split(' ').count() == words.len());
    match full {
        Some(verb) => Matched::Verb(verb),
        None => Matched::More,
    }
}

/// Whether a word of a verb's name begins like this.
fn could_begin(verb: &Verb, depth: usize, word: &str) -> bool {
    (depth > 0 || same_start(verb.name, word)) && part(verb, depth).starts_with(word)
}

/// Whether two texts begin with the same byte: most verbs are done with this.
fn same_start(one: &str, other: &str) -> bool {
    other.is_empty() || one.as_bytes().first() == other.as_bytes().first()
}

/// One word of a verb's name; empty beyond its end.
fn part(verb: &Verb, depth: usize) -> &str {
    verb.name.split(' ').nth(depth).unwrap_or("")
}

//! Reads a word of the syntax tree: quote removal, expansions, patterns.
//!
//! Owns what the shell does to a word before a command gets it; must not know any command.

use std::{iter::Peekable, str::Chars};

use rable::{Node, NodeKind};

use super::{
    Expansions, MAX_BRACE_WORDS, Substitution, Value, Variables, Word,
    arithmetic::{expression_of_numbers, is_name},
    output,
    quoting::{brace_choices, decode_ansi, looks_like_syntax},
};

/// Letters that mean themselves to every shell wherever they stand in a word.
pub fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(
            |b| matches!(b, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' | b':' | b'=' | b',' | b'+' | b'%' | b'@'),
        )
}

pub(super) struct Reader<'v, 'f, 'a> {
    pub(super) vars: &'v dyn Variables,
    pub(super) expansions: &'f mut Expansions<'a>,
    /// Alternatives made by brace expansions; one when there is none.
    texts: Vec<String>,
    /// What is known about all of them; its text is not used.
    pub(super) word: Word<'static>,
    /// Text after the first unknown piece is dropped: only a beginning is kept.
    open: bool,
    pub(super) double: bool,
    quoted: bool,
    /// Whether a bracket may have an end and be a pattern.
    pub(super) brackets: bool,
    /// Whether the arithmetic in the word is known to be about numbers only.
    pub(super) computes: bool,
    /// The text of a `$[…]` that is being read, and how many brackets stand open in it.
    pub(super) old_arithmetic: Option<(String, usize)>,
}

impl<'v, 'f, 'a> Reader<'v, 'f, 'a> {
    pub(super) fn new(vars: &'v dyn Variables, expansions: &'f mut Expansions<'a>) -> Self {
        Self {
            vars,
            expansions,
            texts: vec![String::new()],
            word: Word::known(""),
            open: false,
            double: false,
            quoted: false,
            brackets: true,
            computes: false,
            old_arithmetic: None,
        }
    }

    fn push(&mut self, c: char) {
        if self.open {
            self.word.ending.push(c);
            return;
        }
        for text in &mut self.texts {
            text.push(c);
        }
    }

    pub(super) fn push_str(&mut self, more: &str) {
        if self.open {
            self.word.ending.push_str(more);
            return;
        }
        for text in &mut self.texts {
            text.push_str(more);
        }
    }

    /// The rest of the word is not known; `splits` when it may become several words.
    pub(super) fn unknown(&mut self, value: Value, splits: bool) {
        let begins = self.texts.iter().all(|text| !text.is_empty() && !text.starts_with('-'));
        let value = if begins && !splits { Value::KnownPrefix } else { value };
        self.word.value = self.word.value.max(value);
        self.word.splits |= splits;
        self.word.ending.clear();
        self.open = true;
    }

    pub(super) fn obfuscated(&mut self, what: &'static str) {
        self.expansions.obfuscated.get_or_insert(what);
        self.unknown(Value::Unknown, true);
    }

    pub(super) fn part(&mut self, part: &'a Node) {
        if self.old_arithmetic.is_some() && !matches!(part.kind, NodeKind::WordLiteral { .. }) {
            return self.obfuscated("an expansion that is not understood");
        }
        let quoted = self.double;
        match &part.kind {
            NodeKind::WordLiteral { value } => self.literal(value),
            NodeKind::AnsiCQuote { content, .. } => {
                self.expansions.bash_only = true;
                self.quoted = true;
                match decode_ansi(content) {
                    Some(text) => self.push_str(&text),
                    None => self.obfuscated("an escape that is not plain text"),
                }
            }
            NodeKind::LocaleString { .. } => self.obfuscated("a translated string"),
            NodeKind::ParamExpansion { param, op, arg } => self.parameter(param, op.as_deref(), arg.as_deref()),
            NodeKind::ParamLength { param } => {
                let name = param.strip_suffix("[@]").or_else(|| param.strip_suffix("[*]")).unwrap_or(param);
                self.expansions.bash_only |= name.len() < param.len();
                if !is_name(name) && !matches!(param.as_str(), "@" | "*" | "#" | "?") {
                    self.obfuscated("a length of something computed");
                }
                self.digits();
            }
            NodeKind::ParamIndirect { .. } => self.obfuscated("an indirect expansion"),
            NodeKind::CommandSubstitution { command, .. } => self.substitution(command, quoted),
            NodeKind::ProcessSubstitution { direction, command } => {
                self.expansions.bash_only = true;
                let kind = if direction.starts_with('>') { Substitution::WriteTo } else { Substitution::ReadFrom };
                self.expansions.commands.push((command, kind));
                self.push_str("/dev/fd/");
                self.unknown(Value::KnownPrefix, false);
            }
            NodeKind::ArithmeticExpansion { expression } => {
                self.arithmetic(expression.as_deref());
                self.digits();
            }
            NodeKind::BraceExpansion { content } => self.braces(content),
            _ => self.obfuscated("syntax that is not understood"),
        }
    }

    /// `$(…)`: digits, a text that stands for what is printed, or something not known.
    fn substitution(&mut self, command: &'a Node, quoted: bool) {
        self.expansions.commands.push((command, Substitution::Command));
        if output::prints_number(command, self.vars) || output::prints_address(command, self.vars) {
            return self.digits();
        }
        self.word.substituted = true;
        match output::stand_in(command, self.vars) {
            Some(text) => {
                self.word.expanded = true;
                self.push_str(&text);
            }
            None => self.unknown(Value::ScriptValue, !quoted),
        }
    }

    /// Some digits stand here.
    pub(super) fn digits(&mut self) {
        if self.open {
            return;
        }
        if self.texts.iter().all(String::is_empty) {
            self.push('0');
        }
        self.unknown(Value::KnownPrefix, false);
    }

    fn arithmetic(&mut self, expression: Option<&Node>) {
        if !self.computes && expression.is_none_or(|expression| !expression_of_numbers(expression, self.vars)) {
            self.expansions.arithmetic = true;
        }
    }

    fn literal(&mut self, raw: &str) {
        let mut chars = raw.chars().peekable();
        while let Some(c) = chars.next() {
            if self.old_arithmetic.is_some() {
                self.old_arithmetic_text(c);
                continue;
            }
            match c {
                '"' => {
                    self.double = !self.double;
                    self.quoted = true;
                }
                '\\' if self.double => match chars.peek() {
                    Some(&next @ ('$' | '`' | '"' | '\\')) => {
                        chars.next();
                        self.push(next);
                    }
                    _ => self.push('\\'),
                },
                '\\' => {
                    self.quoted = true;
                    match chars.next() {
                        Some(next) => self.push(next),
                        None => self.obfuscated("a lone backslash"),
                    }
                }
                '\'' if !self.double => self.single_quoted(&mut chars),
                '`' => self.obfuscated("a backtick that is not understood"),
                '$' => self.dollar(&mut chars),
                '{' if !self.double
                    && chars.clone().any(|c| c == '}')
                    && chars.clone().any(|c| matches!(c, ',' | '.')) =>
                {
                    // Shells disagree with the parser about which brace ends it.
                    self.expansions.bash_only = true;
                    self.word.brace = true;
                    self.push(c);
                    self.unknown(Value::Unknown, true);
                }
                '[' if !self.brackets => self.push(c),
                '*' | '?' | '[' if !self.double => self.pattern(c),
                '(' | ')' if !self.double => self.pattern(c),
                '~' if !self.double && !self.quoted && self.texts.iter().all(String::is_empty) => self.home(&mut chars),
                _ => {
                    let begins = !self.quoted && !self.open && self.texts.iter().all(String::is_empty);
                    self.expansions.lookalike |= !self.double && looks_like_syntax(c, begins);
                    self.push(c);
                }
            }
        }
    }

    /// The text up to the next `'`.
    fn single_quoted(&mut self, chars: &mut Peekable<Chars<'_>>) {
        self.quoted = true;
        loop {
            match chars.next() {
                Some('\'') => return,
                Some(c) => self.push(c),
                None => return self.obfuscated("a quote that does not end"),
            }
        }
    }

    /// A dollar sign that the parser left in the text.
    fn dollar(&mut self, chars: &mut Peekable<Chars<'_>>) {
        let next = chars.peek().copied();
        if next == Some('[') {
            chars.next();
            self.expansions.bash_only = true;
            self.old_arithmetic = Some((String::new(), 1));
        } else if plain_dollar(next) && (self.double || !matches!(next, Some('"' | '\''))) {
            self.push('$');
        } else {
            self.obfuscated("a dollar sign that is not understood");
        }
    }

    /// `~` at the beginning: somebody's home directory.
    fn home(&mut self, chars: &mut Peekable<Chars<'_>>) {
        match chars.peek() {
            None | Some('/') => self.push_str("/root"),
            // No name of a user begins like this, so the shell leaves it as it is.
            Some(c) if !c.is_ascii_alphanumeric() && !matches!(c, '_' | '+' | '-' | '\\' | '"' | '\'') => {
                self.push('~')
            }
            _ => {
                self.push_str("/home/");
                self.unknown(Value::KnownPrefix, false);
            }
        }
    }

    /// A pattern character: the beginning stays known, and an empty beginning may become an option.
    fn pattern(&mut self, c: char) {
        self.word.glob = true;
        if !self.open {
            let begins = self.texts.iter().all(|text| !text.is_empty() && !text.starts_with('-'));
            self.push(c);
            self.word.value = self.word.value.max(if begins { Value::KnownPrefix } else { Value::Unknown });
        }
    }

    fn braces(&mut self, content: &str) {
        self.expansions.bash_only = true;
        self.word.brace = true;
        let inner = content.strip_prefix('{').and_then(|c| c.strip_suffix('}')).unwrap_or(content);
        let Some(choices) = brace_choices(inner) else {
            return self.unknown(Value::Unknown, true);
        };
        if self.open || self.texts.len() * choices.len() > MAX_BRACE_WORDS {
            return self.unknown(Value::Unknown, true);
        }
        self.texts =
            self.texts.iter().flat_map(|text| choices.iter().map(move |choice| format!("{text}{choice}"))).collect();
    }

    pub(super) fn into_words(mut self) -> Vec<Word<'a>> {
        if self.double || self.old_arithmetic.is_some() {
            self.obfuscated("a quote that does not end");
        }
        if self.texts.len() == 1 && self.texts[0].is_empty() && self.word.value == Value::Known && !self.quoted {
            // An unquoted variable with an empty value disappears.
            return Vec::new();
        }
        let word = self.word;
        self.texts.into_iter().map(|text| word.with_text(text)).collect()
    }
}

/// Whether a dollar sign before this character begins no expansion.
fn plain_dollar(next: Option<char>) -> bool {
    next.is_none_or(|c| " \"'/.,:=%|)\n^]\\;&+~}".contains(c))
}

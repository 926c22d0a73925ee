//! Reads a word of the syntax tree: quote removal, expansions, patterns.
//!
//! Owns what the shell does to a word before a command gets it; must not know any command.

mod old_arithmetic;
mod parameter;

use std::{borrow::Cow, iter::Peekable, str::Chars};

use rable::{Node, NodeKind};

use super::{
    arithmetic,
    quoting::{brace_choices, decode_ansi, looks_like_syntax},
    source,
    word::{Found, Kind, MAX_BRACE_WORDS, Value, Variables, Word, is_name, numbers_only},
};

/// Reads a word node. Brace expansions may make several words of it.
pub fn read<'a>(node: &'a Node, vars: &dyn Variables, found: &mut Found<'a>) -> Vec<Word<'a>> {
    let span = (node.span.start, node.span.end);
    let NodeKind::Word { value, parts, .. } = &node.kind else {
        found.obfuscated = Some("a word of an unexpected kind");
        return vec![Word { span, ..Word::partly("", Value::Open) }];
    };
    if is_plain(value) || matches!(value.as_str(), "[" | "]" | "{}" | "{" | "}" | "!") {
        return vec![Word { span, ..Word::known(value.as_str()) }];
    }
    let substitutes = parts.iter().any(|part| matches!(part.kind, NodeKind::CommandSubstitution { .. }));
    if substitutes && value.contains('`') && ["\\`", "\\$", "\\\\"].iter().any(|escape| value.contains(escape)) {
        found.obfuscated.get_or_insert("an escape within backticks");
    }
    let mut computes = false;
    if parts.iter().any(|part| matches!(part.kind, NodeKind::ArithmeticExpansion { .. })) {
        within_arithmetic(value, found);
        computes = arithmetic::of_numbers(value, vars);
    }
    let mut reader = Reader::new(vars, found);
    reader.computes = computes;
    reader.brackets = value.contains(']') || value.contains(['$', '`']);
    for part in parts {
        reader.part(part);
    }
    let mut words = reader.finish(span);
    if let [word] = words.as_mut_slice() {
        word.fetched = fetched(parts, vars);
    }
    words
}

/// The parser does not look for substitutions within `$((…))`: they are judged on their own.
fn within_arithmetic(value: &str, found: &mut Found<'_>) {
    let inner = value.replace("$((", " ");
    if inner.contains(['`', '$']) {
        found.nested.push(inner);
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
    let argv: Vec<Word<'_>> = words.iter().flat_map(|node| read(node, vars, &mut Found::default())).collect();
    match source::of(&argv) {
        super::judge::Input::Fetched(url) => Some(url),
        _ => None,
    }
}

/// Letters that mean themselves to every shell wherever they stand in a word.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(
            |b| matches!(b, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' | b':' | b'=' | b',' | b'+' | b'%' | b'@'),
        )
}

struct Reader<'v, 'f, 'a> {
    vars: &'v dyn Variables,
    found: &'f mut Found<'a>,
    /// Alternatives made by brace expansions; one when there is none.
    texts: Vec<String>,
    value: Value,
    /// Text after the first unknown piece is dropped: only a beginning is kept.
    open: bool,
    ending: String,
    glob: bool,
    brace: bool,
    expanded: bool,
    splits: bool,
    substituted: bool,
    double: bool,
    quoted: bool,
    /// Whether a bracket may have an end and be a pattern.
    brackets: bool,
    /// Whether the arithmetic in the word is known to be about numbers only.
    computes: bool,
    /// The text of a `$[…]` that is being read, and how many brackets stand open in it.
    old_arithmetic: Option<(String, usize)>,
}

impl<'v, 'f, 'a> Reader<'v, 'f, 'a> {
    fn new(vars: &'v dyn Variables, found: &'f mut Found<'a>) -> Self {
        Self {
            vars,
            found,
            texts: vec![String::new()],
            value: Value::Known,
            open: false,
            ending: String::new(),
            glob: false,
            brace: false,
            expanded: false,
            splits: false,
            substituted: false,
            double: false,
            quoted: false,
            brackets: true,
            computes: false,
            old_arithmetic: None,
        }
    }

    fn push(&mut self, c: char) {
        if self.open {
            self.ending.push(c);
            return;
        }
        for text in &mut self.texts {
            text.push(c);
        }
    }

    fn push_str(&mut self, more: &str) {
        if self.open {
            self.ending.push_str(more);
            return;
        }
        for text in &mut self.texts {
            text.push_str(more);
        }
    }

    /// The rest of the word is not known; `splits` when it may become several words.
    fn unknown(&mut self, value: Value, splits: bool) {
        let begins = self.texts.iter().all(|text| !text.is_empty() && !text.starts_with('-'));
        let value = if begins && !splits { Value::Tail } else { value };
        self.value = self.value.max(value);
        self.splits |= splits;
        self.ending.clear();
        self.open = true;
    }

    fn obfuscated(&mut self, what: &'static str) {
        self.found.obfuscated.get_or_insert(what);
        self.unknown(Value::Open, true);
    }

    fn part(&mut self, part: &'a Node) {
        if self.old_arithmetic.is_some() && !matches!(part.kind, NodeKind::WordLiteral { .. }) {
            return self.obfuscated("an expansion that is not understood");
        }
        let quoted = self.double;
        match &part.kind {
            NodeKind::WordLiteral { value } => self.literal(value),
            NodeKind::AnsiCQuote { content, .. } => {
                self.found.bash_only = true;
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
                self.found.bash_only |= name.len() < param.len();
                if !is_name(name) && !matches!(param.as_str(), "@" | "*" | "#" | "?") {
                    self.obfuscated("a length of something computed");
                }
                self.digits();
            }
            NodeKind::ParamIndirect { .. } => self.obfuscated("an indirect expansion"),
            NodeKind::CommandSubstitution { command, .. } => self.substitution(command, quoted),
            NodeKind::ProcessSubstitution { direction, command } => {
                self.found.bash_only = true;
                let kind = if direction.starts_with('>') { Kind::WriteTo } else { Kind::ReadFrom };
                self.found.commands.push((command, kind));
                self.push_str("/dev/fd/");
                self.unknown(Value::Tail, false);
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
        self.found.commands.push((command, Kind::Command));
        if source::prints_number(command, self.vars) || source::prints_address(command, self.vars) {
            return self.digits();
        }
        self.substituted = true;
        match source::stand_in(command, self.vars) {
            Some(text) => {
                self.expanded = true;
                self.push_str(&text);
            }
            None => self.unknown(Value::Data, !quoted),
        }
    }

    /// Some digits stand here.
    fn digits(&mut self) {
        if self.open {
            return;
        }
        if self.texts.iter().all(String::is_empty) {
            self.push('0');
        }
        self.unknown(Value::Tail, false);
    }

    fn arithmetic(&mut self, expression: Option<&Node>) {
        if !self.computes && expression.is_none_or(|expression| !numbers_only(expression, self.vars)) {
            self.found.arithmetic = true;
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
                    self.found.bash_only = true;
                    self.brace = true;
                    self.push(c);
                    self.unknown(Value::Open, true);
                }
                '[' if !self.brackets => self.push(c),
                '*' | '?' | '[' if !self.double => self.pattern(c),
                '(' | ')' if !self.double => self.pattern(c),
                '~' if !self.double && !self.quoted && self.texts.iter().all(String::is_empty) => self.home(&mut chars),
                _ => {
                    let begins = !self.quoted && !self.open && self.texts.iter().all(String::is_empty);
                    self.found.lookalike |= !self.double && looks_like_syntax(c, begins);
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
            self.found.bash_only = true;
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
                self.unknown(Value::Tail, false);
            }
        }
    }

    /// A pattern character: the beginning stays known, and an empty beginning may become an option.
    fn pattern(&mut self, c: char) {
        self.glob = true;
        if !self.open {
            let begins = self.texts.iter().all(|text| !text.is_empty() && !text.starts_with('-'));
            self.push(c);
            self.value = self.value.max(if begins { Value::Tail } else { Value::Open });
        }
    }

    fn braces(&mut self, content: &str) {
        self.found.bash_only = true;
        self.brace = true;
        let inner = content.strip_prefix('{').and_then(|c| c.strip_suffix('}')).unwrap_or(content);
        let Some(choices) = brace_choices(inner) else {
            return self.unknown(Value::Open, true);
        };
        if self.open || self.texts.len() * choices.len() > MAX_BRACE_WORDS {
            return self.unknown(Value::Open, true);
        }
        self.texts =
            self.texts.iter().flat_map(|text| choices.iter().map(move |choice| format!("{text}{choice}"))).collect();
    }

    fn finish(mut self, span: (usize, usize)) -> Vec<Word<'a>> {
        if self.double || self.old_arithmetic.is_some() {
            self.obfuscated("a quote that does not end");
        }
        if self.texts.len() == 1 && self.texts[0].is_empty() && self.value == Value::Known && !self.quoted {
            // An unquoted variable with an empty value disappears.
            return Vec::new();
        }
        let (value, splits, substituted) = (self.value, self.splits, self.substituted);
        let (glob, brace, expanded, ending) = (self.glob, self.brace, self.expanded, self.ending);
        self.texts
            .into_iter()
            .map(|text| {
                let text = Cow::Owned(text);
                Word {
                    text,
                    value,
                    ending: ending.clone(),
                    glob,
                    brace,
                    expanded,
                    splits,
                    substituted,
                    fetched: None,
                    span,
                }
            })
            .collect()
    }
}

/// Whether a dollar sign before this character begins no expansion.
fn plain_dollar(next: Option<char>) -> bool {
    next.is_none_or(|c| " \"'/.,:=%|)\n^]\\;&+~}".contains(c))
}

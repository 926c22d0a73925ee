//! Simple commands: assignments, redirects, and finding out which command it is.
//!
//! Owns the way from words to a table entry; must not know what the entry's command does.

use rable::{Node, NodeKind};

use super::{
    environment,
    judge::{Input, Judge},
    paths, rule,
    table::TABLES,
    word::{self, Binding, Found, Value, Word},
};
use crate::api::Risk;

impl Judge {
    /// Judges `NAME=value … command words … redirects`.
    pub fn simple(&mut self, assignments: &[Node], words: &[Node], redirects: &[Node]) {
        let argv = self.words(words);
        let outer = (std::mem::take(&mut self.argv), self.span.clone());
        self.argv = argv.iter().map(Word::shown).collect();
        self.locate(words);
        let before = self.reasons();
        self.assignments(assignments, !argv.is_empty());
        let input = self.redirects(redirects);
        let saved = input.map(|input| std::mem::replace(&mut self.input, input));
        if argv.first().is_none_or(|word| matches!(word.literal(), Some(":" | "true"))) {
            self.emptied(redirects);
        }
        if argv.is_empty() && !words.is_empty() {
            self.find(Risk::Destructive, "shell:computed-command", "which command runs is not known", None);
        }
        self.dispatch(&argv);
        if self.reasons() == before && !self.argv.is_empty() {
            let code = format!("{}:read", self.argv[0]);
            self.find(Risk::ReadOnly, code, "proven to change nothing", None);
        }
        self.in_protected_directory(before);
        match saved {
            // From here on everything reads what `exec` opened.
            Some(_) if argv.len() == 1 && argv[0].is("exec") => self.input = Input::Opaque,
            Some(saved) => self.input = saved,
            None => {}
        }
        (self.argv, self.span) = outer;
    }

    /// A change in a directory that keeps the system running is no ordinary change.
    fn in_protected_directory(&mut self, before: usize) {
        let changed = self.worst_since(before) == Risk::ConfigMutation;
        if changed && self.directories.iter().any(|directory| paths::is_fatal(directory, self.locus)) {
            self.find(
                Risk::Destructive,
                "shell:protected-directory",
                "changes something in a directory that keeps the system running or safe",
                None,
            );
        }
    }

    fn locate(&mut self, words: &[Node]) {
        if self.nested {
            return;
        }
        if let (Some(first), Some(last)) = (words.first(), words.last())
            && !first.span.is_empty()
            && self.substitutions == 0
        {
            self.span = Some(self.bytes(first.span.start)..self.bytes(last.span.end.max(first.span.end)));
        }
    }

    fn assignments(&mut self, nodes: &[Node], prefix: bool) {
        for node in nodes {
            let mut found = Found::default();
            let read = word::read(node, self, &mut found);
            self.found(found);
            let Some(whole) = read.first() else { continue };
            let Some((target, value)) = whole.text.split_once('=') else {
                self.find(Risk::Destructive, "shell:variable", "an assignment to something computed", None);
                continue;
            };
            if value.starts_with('(') || target.ends_with([']', '+']) {
                self.bash_only("an array or `+=`");
            }
            let appends = target.ends_with('+');
            let name = target.trim_end_matches('+').split('[').next().unwrap_or(target).to_owned();
            let literal =
                (whole.value == Value::Known && read.len() == 1 && !appends && target == name).then_some(value);
            self.assignment(&name, literal, prefix);
            if !prefix {
                self.remember(&name, literal, node);
            }
        }
    }

    fn remember(&mut self, name: &str, literal: Option<&str>, node: &Node) {
        if name == "IFS" {
            self.plain_splitting = false;
        }
        let arithmetic = matches!(&node.kind, NodeKind::Word { parts, .. }
            if matches!(parts.as_slice(), [_, Node { kind: NodeKind::ArithmeticExpansion { .. }, .. }]));
        let binding = match literal {
            Some(text) => Binding::Text(text.to_owned()),
            None if arithmetic || self.is_count(node) => Binding::Number,
            None => Binding::Data,
        };
        self.bind(name, binding);
    }

    /// Whether the value is the output of a command that prints one number.
    fn is_count(&self, node: &Node) -> bool {
        let NodeKind::Word { parts, .. } = &node.kind else { return false };
        let [_, Node { kind: NodeKind::CommandSubstitution { command, .. }, .. }] = parts.as_slice() else {
            return false;
        };
        let last = match &command.kind {
            NodeKind::Pipeline { commands, .. } => commands.last(),
            _ => Some(&**command),
        };
        let Some(Node { kind: NodeKind::Command { words, .. }, .. }) = last else { return false };
        let words = self.peek(words);
        let texts: Vec<&str> = words.iter().filter_map(Word::literal).collect();
        texts.len() == words.len()
            && matches!(
                texts.as_slice(),
                ["wc", "-l" | "-c" | "-w" | "-m"]
                    | ["nproc"]
                    | ["id", "-u" | "-g"]
                    | ["date", "+%s"]
                    | ["grep", "-c", _]
            )
    }

    /// Judges that a variable gets a value: for one command (`prefix`) or for the rest of the script.
    pub fn assignment(&mut self, name: &str, value: Option<&str>, prefix: bool) {
        let risk = environment::judge(name, value, prefix);
        if risk > Risk::ReadOnly {
            let message = match risk {
                Risk::Destructive => format!("{name} decides what code other commands run"),
                _ => format!("{name} may change what the command does"),
            };
            self.find(risk, format!("environment:{name}"), message, None);
        }
    }

    /// Judges redirects; returns the standard input if they set it.
    pub fn redirects(&mut self, nodes: &[Node]) -> Option<Input> {
        let mut input = None;
        for node in nodes {
            match &node.kind {
                NodeKind::HereDoc { content, quoted, fd, .. } => {
                    let text = self.document(content, *quoted);
                    if matches!(fd, -1 | 0) {
                        input = Some(text);
                    }
                }
                NodeKind::Redirect { op, target, fd, varfd } => {
                    if varfd.is_some() {
                        self.bash_only("`{name}>`");
                    }
                    let new = self.redirect(op, target, *fd);
                    input = new.or(input);
                }
                _ => self.find(Risk::Destructive, "shell:unknown-syntax", "a redirect that is not understood", None),
            }
        }
        if nodes.iter().filter(|node| matches!(node.kind, NodeKind::HereDoc { .. })).count() > 1 {
            self.find(Risk::ConfigMutation, "shell:here-document", "shells disagree about two here-documents", None);
        }
        input
    }

    fn document(&mut self, content: &str, quoted: bool) -> Input {
        if self.substitutions > 0 {
            self.find(
                Risk::Destructive,
                "shell:here-document",
                "a here-document inside a substitution is read differently by different shells",
                Some("write the text to a file first"),
            );
        }
        if quoted || !content.contains(['$', '`', '\\']) {
            return Input::Text(content.to_owned());
        }
        self.fragment(content);
        Input::Opaque
    }

    fn redirect(&mut self, op: &str, target: &Node, fd: i32) -> Option<Input> {
        let words = self.words(std::slice::from_ref(target));
        let [word] = words.as_slice() else {
            self.find(Risk::Destructive, "redirect:unknown", "where the output goes is not known", None);
            return None;
        };
        let standard_input = matches!(fd, -1 | 0);
        match op {
            ">&-" => None,
            "<<<" => {
                self.bash_only("`<<<`");
                let text = word.literal().map(|text| Input::Text(text.to_owned()));
                Some(text.unwrap_or(Input::Opaque))
            }
            "<" => {
                self.reads(word);
                standard_input.then_some(Input::Opaque)
            }
            "<&" | ">&" if word.literal().is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit())) => None,
            "<&" => {
                self.find(Risk::ConfigMutation, "redirect:descriptor", "a computed file descriptor", None);
                standard_input.then_some(Input::Opaque)
            }
            ">" | ">>" | ">|" | "&>" | "&>>" | ">&" | "<>" => {
                if op.contains('&') {
                    self.bash_only("`&>`");
                }
                // A redirect's target never splits: a known beginning stays one.
                let begins = word.value >= Value::Data && word.text.starts_with('/');
                let value = if begins { Value::Tail } else { word.value };
                self.writes(&Word { value, ..super::options::borrow(word) }, "redirect");
                None
            }
            _ => {
                self.find(Risk::Destructive, "redirect:unknown", "a redirect that is not understood", None);
                None
            }
        }
    }

    /// Files that a command without output opens for writing: they are emptied.
    fn emptied(&mut self, redirects: &[Node]) {
        for redirect in redirects {
            if let NodeKind::Redirect { op, target, .. } = &redirect.kind
                && matches!(op.as_str(), ">" | ">|" | "&>")
                && let [word] = self.peek(std::slice::from_ref(&**target)).as_slice()
                && self.resolved(&word.text).iter().any(|path| paths::normalise(path).starts_with("/etc/"))
            {
                self.find(Risk::Destructive, "redirect:empty", format!("empties {}", word.shown()), None);
            }
        }
    }

    /// A file is read.
    pub fn reads(&mut self, word: &Word<'_>) {
        if paths::is_network(&word.text) {
            self.find(Risk::ConfigMutation, "redirect:network", "bash opens a network connection", None);
        }
        if word.text.starts_with("/dev/watchdog") {
            self.find(Risk::Destructive, "read:watchdog", "opening the watchdog may reset the machine", None);
        }
        let globbed = word.glob && paths::may_match_secret(&word.text);
        if globbed || paths::is_secret(&word.text, word.value == Value::Known) {
            self.flag(super::effect::Effect { sensitive: true, ..super::effect::Effect::READ });
        }
    }

    /// A file is written; `what` is the first half of the reason's code.
    pub fn writes(&mut self, word: &Word<'_>, what: &str) {
        let known = match word.value {
            Value::Known => !word.glob,
            Value::Tail => false,
            Value::Data | Value::Open => {
                return self.find(
                    Risk::Destructive,
                    format!("{what}:unknown-file"),
                    "which file is written is not known",
                    Some("write to a literal path"),
                );
            }
        };
        let text =
            if word.glob { word.text.split(['*', '?', '[', '(']).next().unwrap_or("") } else { word.text.as_ref() };
        let found = self.resolved(text).iter().filter_map(|path| paths::writing(path, known, self.locus)).max();
        if let Some((risk, message)) = found {
            self.find(risk, format!("{what}:write"), message, None);
        }
    }

    /// Files of names that are not known are put into a directory.
    pub fn fills(&mut self, word: &Word<'_>, what: &str) {
        if word.value >= Value::Data {
            return self.writes(word, what);
        }
        let found = self.resolved(&word.text).iter().filter_map(|path| paths::filling(path, self.locus)).max();
        if let Some((risk, message)) = found {
            self.find(risk, format!("{what}:write"), message, None);
        }
    }

    /// Finds the command's table entry and judges by it.
    pub fn dispatch(&mut self, argv: &[Word<'_>]) {
        let Some(head) = argv.first() else { return };
        if !self.count() {
            return;
        }
        if argv.iter().any(|word| word.brace && (word.text.starts_with('-') || word.value != Value::Known))
            || head.brace
        {
            self.find(Risk::Destructive, "shell:computed-option", "a brace expansion makes an option", None);
        }
        let Some(text) = head.literal().filter(|_| !head.expanded && !head.glob) else {
            return self.find(
                Risk::Destructive,
                "shell:computed-command",
                "which command runs is not known",
                Some("name the command literally"),
            );
        };
        if !text.is_ascii() || argv.iter().any(|word| word.text.starts_with('-') && !word.text.is_ascii()) {
            return self.find(
                Risk::Destructive,
                "shell:lookalike",
                "a command or option with letters beyond ASCII",
                None,
            );
        }
        if self.functions.iter().any(|known| known == text) {
            return;
        }
        match paths::command_name(text) {
            Some(name) => self.named(&name, argv),
            None => self.file_as_command(text),
        }
    }

    fn named(&mut self, name: &str, argv: &[Word<'_>]) {
        match TABLES.command(name) {
            Some(entry) => rule::judge(self, entry, argv),
            None if super::dashed(name).is_some() => {
                let (first, second) = super::dashed(name).unwrap_or((name, ""));
                let mut words = vec![Word::known(first), Word::known(second)];
                words.extend(argv[1..].iter().map(super::options::borrow));
                self.named_again(first, &words);
            }
            None => {
                self.find(Risk::ConfigMutation, format!("{name}:unknown"), format!("{name} is not in the tables"), None)
            }
        }
    }

    fn named_again(&mut self, name: &str, argv: &[Word<'_>]) {
        if let Some(entry) = TABLES.command(name) {
            rule::judge(self, entry, argv);
        }
    }

    fn file_as_command(&mut self, text: &str) {
        let (host, guest) = (Risk::Destructive, Risk::ConfigMutation);
        let risk = match self.locus {
            super::Locus::Host => host,
            super::Locus::Guest => guest,
        };
        self.find(risk, "shell:program-file", format!("{text} is code that is not known"), None);
    }
}

//! Simple commands: assignments, redirects, and finding out which command it is.
//!
//! Owns the way from words to a table entry; must not know what the entry's command does.

use rable::{Node, NodeKind};

use super::{
    Locus, arithmetic, environment, expansion, guests,
    judge::{Input, Judge},
    paths, rule, source, suspicion,
    word::{Binding, Found, Value, Word},
};
use crate::Risk;

/// The most commands that run one another (`sudo timeout nice …`).
const MAX_WRAPPERS: usize = 10;

impl Judge {
    /// Judges `NAME=value … command words … redirects`.
    pub fn simple(&mut self, assignments: &[Node], words: &[Node], redirects: &[Node]) {
        let named = self.named.len();
        let argv = self.words(words);
        if self.locus == Locus::Host {
            let guests: Vec<_> = argv.iter().flat_map(guests::named).collect();
            let processes = argv.iter().filter(|word| guests::names_processes(word)).flat_map(guests::named);
            self.mentioned.extend(processes);
            self.named.extend(guests);
        }
        argv.iter().for_each(|word| self.may_be_evaluated(&word.text));
        let outer = (std::mem::take(&mut self.argv), self.span.clone());
        self.argv_of(&argv);
        self.locate(words);
        let before = self.reasons();
        self.assignments(assignments, !argv.is_empty());
        let (written, endless) = (self.reasons(), self.unbounded());
        let input = self.redirects(redirects);
        let wrote = self.reasons();
        let saved = input.map(|input| std::mem::replace(&mut self.input, input));
        if argv.first().is_none_or(|word| matches!(word.literal(), Some(":" | "true"))) {
            self.emptied(redirects);
        }
        if argv.is_empty() && !words.is_empty() {
            self.find(Risk::Destructive, "shell:computed-command", "the command expands to nothing", None);
        }
        let proven = self.reasons();
        if !self.calls_function(&argv) {
            self.dispatch(&argv);
        }
        if self.reasons() == proven && !self.argv.is_empty() {
            let code = format!("{}:read", self.argv[0]);
            self.find(Risk::ReadOnly, code, "proven to change nothing", None);
        }
        if self.unbounded() && !endless && wrote > written {
            self.find(Risk::Destructive, "shell:fills-disk", "writes without end", None);
        }
        self.in_protected_directory(before);
        if self.worst_since(before) > Risk::ReadOnly {
            self.affected_by_name(named);
        }
        match saved {
            // From here on everything reads what `exec` opened.
            Some(_) if argv.len() == 1 && argv[0].is("exec") => self.input = Input::Opaque,
            Some(saved) => self.input = saved,
            None => {}
        }
        (self.argv, self.span) = outer;
    }

    /// What is changed belongs to these guests.
    fn affected_by_name(&mut self, from: usize) {
        for guest in self.named.split_off(from) {
            self.affects(guest);
        }
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
            let read = expansion::read(node, self, &mut found);
            self.found(found);
            let Some(whole) = read.first() else { continue };
            self.value_may_be_evaluated(&whole.text);
            let Some((target, value)) = whole.text.split_once('=') else {
                self.find(Risk::Destructive, "shell:variable", "an assignment to something computed", None);
                continue;
            };
            if value.starts_with('(') || target.ends_with([']', '+']) {
                self.bash_only("an array or `+=`");
            }
            let appends = target.ends_with('+');
            self.subscript(target);
            let name = target.trim_end_matches('+').split('[').next().unwrap_or(target).to_owned();
            let literal =
                (whole.value == Value::Known && read.len() == 1 && !appends && target == name).then_some(value);
            self.assignment(&name, literal, prefix);
            if !prefix {
                self.remember(&name, literal, node);
            }
        }
    }

    /// `name[subscript]=…`: bash evaluates the subscript, unless the name is that of a map.
    fn subscript(&mut self, target: &str) {
        let Some((name, subscript)) = target.trim_end_matches('+').split_once('[') else { return };
        let subscript = subscript.trim_end_matches(']');
        if !arithmetic::numbers_only(subscript, self) && !self.maps.iter().any(|map| map == name) {
            self.evaluates("bash evaluates a subscript as code", None);
        }
    }

    fn remember(&mut self, name: &str, literal: Option<&str>, node: &Node) {
        if name == "IFS" {
            self.plain_splitting = false;
        }
        let arithmetic = matches!(&node.kind, NodeKind::Word { parts, .. }
            if matches!(parts.as_slice(), [_, Node { kind: NodeKind::ArithmeticExpansion { .. }, .. }]));
        let counts = matches!(&node.kind, NodeKind::Word { parts, .. }
            if matches!(parts.as_slice(), [_, Node { kind: NodeKind::CommandSubstitution { command, .. }, .. }]
                if source::prints_number(command, self)));
        if literal.is_some_and(|text| paths::is_secret(text, true)) {
            // Where the name is used may not be followed.
            self.shows_secrets();
        }
        let binding = match literal {
            Some(text) => Binding::Text(text.to_owned()),
            None if arithmetic || counts => Binding::Number,
            None => Binding::Data,
        };
        self.bind(name, binding);
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

    /// Finds the command's table entry and judges by it.
    pub fn dispatch(&mut self, argv: &[Word<'_>]) {
        let Some(head) = argv.first() else { return };
        if !self.count() {
            return;
        }
        if self.wrappers > MAX_WRAPPERS {
            return self.not_understood("shell:too-complex", "more wrappers than anybody needs", None);
        }
        self.wrappers += 1;
        self.judged(head, argv);
        self.wrappers -= 1;
    }

    fn judged(&mut self, head: &Word<'_>, argv: &[Word<'_>]) {
        if let Some(guest) = guests::of_command(argv) {
            self.mentioned.push(guest.clone());
            self.named.push(guest);
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
        if !text.is_ascii()
            || argv.iter().any(|word| word.text.starts_with('-') && !word.text.replace(source::PLAIN, "").is_ascii())
        {
            return self.find(
                Risk::Destructive,
                "shell:lookalike",
                "a command or option with letters beyond ASCII",
                None,
            );
        }
        match paths::command_name(text) {
            Some(name) => self.named(&name, argv),
            None => self.file_as_command(text, argv),
        }
    }

    fn named(&mut self, name: &str, argv: &[Word<'_>]) {
        match self.tables.command(name) {
            Some(entry) => rule::judge(self, entry, argv),
            None if super::dashed(name).is_some() => {
                let (first, second) = super::dashed(name).unwrap_or((name, ""));
                let mut words = vec![Word::known(first), Word::known(second)];
                words.extend(argv[1..].iter().map(super::options::borrow));
                self.named_again(first, &words);
            }
            None => {
                self.find(
                    Risk::ConfigMutation,
                    format!("{name}:unknown"),
                    format!("{name} is not in the tables"),
                    None,
                );
                self.suspect(name, argv);
            }
        }
    }

    fn named_again(&mut self, name: &str, argv: &[Word<'_>]) {
        if let Some(entry) = self.tables.command(name) {
            rule::judge(self, entry, argv);
        }
    }

    /// A program that is not known may lose something, by the words that it is given.
    pub fn suspect(&mut self, name: &str, argv: &[Word<'_>]) {
        if let Some(why) = suspicion::of(argv, self.locus) {
            self.find(
                Risk::Destructive,
                format!("{name}:suspected"),
                format!("what {name} does is not known, and {why}"),
                None,
            );
        }
        self.suspect_wrapper(name, argv);
    }

    /// A program that is not known may run what it is given: a command that would be Destructive makes it so.
    fn suspect_wrapper(&mut self, name: &str, argv: &[Word<'_>]) {
        let known = |text: &str| self.tables.command(text.split(' ').next().unwrap_or("")).is_some();
        let Some(at) = argv.iter().skip(1).position(|word| word.literal().is_some_and(known)) else { return };
        let words = &argv[at + 1..];
        let mut inner = Judge::new(self.tables, self.locus);
        (inner.depth, inner.wrappers, inner.nested) = (self.depth, self.wrappers, true);
        inner.reparsed = self.reparsed;
        match words[0].literal().filter(|text| text.contains(' ')) {
            Some(text) => inner.nested_script(text, self.shell),
            None => inner.dispatch(words),
        }
        let verdict = inner.verdict();
        if verdict.risk == Risk::Destructive {
            verdict.affected.into_iter().for_each(|affected| self.affects(affected));
            self.find(
                Risk::Destructive,
                format!("{name}:may-run"),
                format!("what {name} does is not known, and it may run {}", words[0].shown()),
                None,
            );
        }
    }

    fn file_as_command(&mut self, text: &str, argv: &[Word<'_>]) {
        let (host, guest) = (Risk::Destructive, Risk::ConfigMutation);
        let risk = match self.locus {
            Locus::Host => host,
            Locus::Guest => guest,
        };
        self.find(risk, "shell:program-file", format!("{text} is code that is not known"), None);
        self.suspect(text.rsplit('/').next().unwrap_or(text), argv);
    }
}

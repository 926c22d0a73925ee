//! Walks every node and every field of the syntax tree.
//!
//! Owns the meaning of the shell's grammar; must not know any command. A node without a rule is Destructive.

use rable::{ListOperator, Node, NodeKind, PipeSep};

use super::{
    assigned, expansion,
    guard::{self, Refusal},
    judge::{Input, Judge, MAX_DEPTH, Shell},
    word::{Found, Kind, Word},
};
use crate::Risk;

/// Most bytes of texts for a shell in a shell in a shell: each level reads the rest of the text anew.
const MAX_REPARSED: usize = 4 * 1024;

impl Judge {
    /// Judges a text that the present shell reads.
    pub fn script(&mut self, text: &str) {
        if let Err(refusal) = guard::check(text) {
            return self.refused(refusal);
        }
        if self.depth > 1 {
            self.reparsed += text.len();
        }
        if self.depth > MAX_DEPTH || self.reparsed > MAX_REPARSED {
            return self.refused(Refusal::TooComplex);
        }
        match rable::parse(text, false) {
            Ok(nodes) if nodes.is_empty() => {
                if !text.lines().all(|line| line.trim_start().starts_with('#') || line.trim().is_empty()) {
                    self.not_understood("shell:unparsable", "nothing was understood", None);
                }
            }
            Ok(nodes) => {
                if text.contains("<<") && documents_are_ambiguous(text, &nodes) {
                    self.find(
                        Risk::Destructive,
                        "shell:here-document",
                        "where the here-document ends is not certain",
                        Some("put the delimiter alone on its line, without blanks"),
                    );
                }
                if !self.nested {
                    self.length = text.len();
                }
                if !self.nested && !text.is_ascii() {
                    self.wide = Some(text.to_owned());
                }
                for node in &nodes {
                    if !self.nested {
                        self.span = Some(self.bytes(node.span.start)..self.bytes(node.span.end.max(node.span.start)));
                    }
                    self.node(node);
                }
            }
            Err(error) => {
                self.not_understood("shell:unparsable", format!("not understood as shell: {error}"), None);
            }
        }
    }

    fn refused(&mut self, refusal: Refusal) {
        let (code, message, hint) = match refusal {
            Refusal::Empty => ("shell:empty", "there is no command", None),
            Refusal::TooComplex => {
                ("shell:too-complex", "too long or too deeply nested to be judged", Some("split it into several steps"))
            }
            Refusal::Control => ("shell:control-character", "holds a control character", None),
            Refusal::Invisible => ("shell:invisible-character", "holds a character that cannot be seen", None),
            Refusal::Continuation => (
                "shell:continuation",
                "a backslash splits a word over two lines",
                Some("put a blank before the backslash at the end of the line"),
            ),
        };
        self.not_understood(code, message, hint);
    }

    /// Judges one node and all below it.
    pub fn node(&mut self, node: &Node) {
        match &node.kind {
            NodeKind::Command { assignments, words, redirects } => self.simple(assignments, words, redirects),
            NodeKind::Pipeline { commands, separators } => self.pipeline(commands, separators),
            NodeKind::List { .. } => self.list(node),
            NodeKind::If { condition, then_body, else_body, redirects } => {
                self.redirects(redirects);
                self.node(condition);
                self.conditional(|judge| judge.node(then_body));
                if let Some(body) = else_body {
                    self.conditional(|judge| judge.node(body));
                }
            }
            NodeKind::While { condition, body, redirects } | NodeKind::Until { condition, body, redirects } => {
                self.with_redirects(redirects, |judge| judge.repeated(condition, body));
            }
            NodeKind::For { var, words, body, redirects } => {
                self.with_redirects(redirects, |judge| judge.for_loop(var, words.as_deref(), body));
            }
            NodeKind::Select { var, words, body, redirects } => {
                self.find(Risk::ConfigMutation, "shell:select", "a menu needs a person", None);
                self.with_redirects(redirects, |judge| judge.for_loop(var, words.as_deref(), body));
            }
            NodeKind::ForArith { init, cond, incr, body, redirects } => {
                self.bash_only("a C-style loop");
                self.with_redirects(redirects, |judge| judge.arithmetic_loop([init, cond, incr], body));
            }
            NodeKind::Case { word, patterns, redirects } => {
                self.redirects(redirects);
                self.words(std::slice::from_ref(word));
                for pattern in patterns {
                    self.words(&pattern.patterns);
                    if let Some(body) = &pattern.body {
                        self.conditional(|judge| judge.node(body));
                    }
                }
            }
            NodeKind::Function { name, body } => self.function(name, body),
            NodeKind::Subshell { body, redirects } => {
                self.with_redirects(redirects, |judge| judge.isolated(|judge| judge.node(body)));
            }
            NodeKind::BraceGroup { body, redirects } => self.with_redirects(redirects, |judge| judge.node(body)),
            NodeKind::Coproc { command, .. } => {
                self.find(Risk::ConfigMutation, "shell:coproc", "runs in the background", None);
                self.isolated(|judge| judge.node(command));
            }
            NodeKind::Negation { pipeline } | NodeKind::Time { pipeline, .. } => self.node(pipeline),
            NodeKind::ArithmeticCommand { redirects, raw_content, .. } => {
                self.redirects(redirects);
                self.arithmetic_command(raw_content);
            }
            NodeKind::ConditionalExpr { body, redirects } => {
                self.bash_only("`[[ … ]]`");
                self.redirects(redirects);
                self.condition(body);
            }
            NodeKind::Redirect { .. } | NodeKind::HereDoc { .. } => {
                self.redirects(std::slice::from_ref(node));
            }
            NodeKind::Empty | NodeKind::Comment { .. } => {}
            _ => self.find(Risk::Destructive, "shell:unknown-syntax", "syntax that is not understood", None),
        }
    }

    /// Judges something under redirects of its own, which may also give it its input.
    fn with_redirects(&mut self, redirects: &[Node], judge: impl FnOnce(&mut Self)) {
        let input = self.redirects(redirects);
        let saved = input.map(|input| std::mem::replace(&mut self.input, input));
        judge(self);
        if let Some(saved) = saved {
            self.input = saved;
        }
    }

    /// Syntax that sh reads differently is not ReadOnly where sh may read it.
    pub fn bash_only(&mut self, what: &str) {
        if self.shell == Shell::Sh {
            self.find(
                Risk::ConfigMutation,
                "shell:bash-only",
                format!("{what} means something else to sh"),
                Some("use plain sh syntax, or bash -c '…'"),
            );
        }
    }

    /// Lists nest to the left, one level for each command: walked without recursion.
    fn list(&mut self, node: &Node) {
        let mut parts: Vec<(&Node, Option<ListOperator>)> = Vec::new();
        let mut left = node;
        while let NodeKind::List { items } = &left.kind {
            let Some((first, others)) = items.split_first() else { break };
            let before = items.iter().map(|item| item.operator);
            let segment: Vec<_> = others.iter().map(|item| &item.command).zip(before).collect();
            if others.is_empty() && first.operator == Some(ListOperator::Background) {
                parts.push((&NOTHING, first.operator));
            }
            parts.extend(segment.into_iter().rev());
            left = &first.command;
        }
        parts.push((left, None));
        parts.reverse();
        for (at, (part, before)) in parts.iter().enumerate() {
            let background = parts.get(at + 1).is_some_and(|(_, op)| *op == Some(ListOperator::Background));
            match before {
                _ if background => self.isolated(|judge| judge.node(part)),
                Some(ListOperator::And | ListOperator::Or) => self.conditional(|judge| judge.node(part)),
                _ => self.node(part),
            }
        }
    }

    fn pipeline(&mut self, commands: &[Node], separators: &[PipeSep]) {
        if separators.contains(&PipeSep::PipeBoth) {
            self.bash_only("`|&`");
        }
        let outer = self.input.clone();
        for (at, command) in commands.iter().enumerate() {
            if matches!(command.kind, NodeKind::Redirect { .. }) {
                continue;
            }
            self.input = if at == 0 { outer.clone() } else { self.pipe_source(&commands[..at]) };
            self.isolated(|judge| judge.node(command));
        }
        self.input = outer;
    }

    /// What the commands so far write into the pipe.
    fn pipe_source(&mut self, commands: &[Node]) -> Input {
        let [only] = commands else { return Input::Opaque };
        let NodeKind::Command { words, redirects, .. } = &only.kind else { return Input::Opaque };
        if !redirects.iter().all(|redirect| matches!(&redirect.kind, NodeKind::Redirect { fd: 2, .. })) {
            return Input::Opaque;
        }
        let argv = self.peek(words);
        super::source::of(&argv)
    }

    /// Judges the expansions in a piece of text that stands as it would between double quotes.
    pub fn fragment(&mut self, raw: &str) {
        if self.depth > MAX_DEPTH {
            return self.refused(Refusal::TooComplex);
        }
        let Some(text) = super::quoting::as_quoted(raw) else {
            return self.find(Risk::Destructive, "shell:obfuscated", "a substitution that is not understood", None);
        };
        match rable::parse(&text, false) {
            Ok(nodes) => {
                self.depth += 1;
                let nested = std::mem::replace(&mut self.nested, true);
                for node in &nodes {
                    if let NodeKind::Command { words, .. } = &node.kind {
                        self.words(words);
                    } else {
                        self.node(node);
                    }
                }
                self.nested = nested;
                self.depth -= 1;
            }
            Err(_) => self.find(Risk::Destructive, "shell:unparsable", "an expansion that is not understood", None),
        }
    }

    /// Reads words and judges everything that is executed to make them.
    pub fn words<'a>(&mut self, nodes: &'a [impl std::borrow::Borrow<Node>]) -> Vec<Word<'a>> {
        let mut out = Vec::with_capacity(nodes.len());
        for node in nodes {
            let mut found = Found::default();
            out.extend(expansion::read(node.borrow(), self, &mut found));
            self.found(found);
        }
        out
    }

    /// Reads words without judging what makes them.
    pub fn peek<'a>(&self, nodes: &'a [Node]) -> Vec<Word<'a>> {
        nodes.iter().flat_map(|node| expansion::read(node, self, &mut Found::default())).collect()
    }

    /// Judges what reading a word found.
    pub fn found(&mut self, found: Found<'_>) {
        if let Some(what) = found.obfuscated {
            self.find(Risk::Destructive, "shell:obfuscated", format!("{what} hides what is executed"), None);
        }
        if found.lookalike {
            self.find(
                Risk::ConfigMutation,
                "shell:lookalike",
                "a letter looks like a dash or quote and is none",
                Some("type the plain characters - ' and \""),
            );
        }
        if found.bash_only {
            self.bash_only("this expansion or quoting");
        }
        if found.arithmetic {
            self.evaluates("bash evaluates variables in arithmetic as code", None);
        }
        for (command, kind) in found.commands {
            let input = match kind {
                Kind::WriteTo => Input::Opaque,
                _ => Input::Closed,
            };
            let saved = std::mem::replace(&mut self.input, input);
            let argv = std::mem::take(&mut self.argv);
            self.substitutions += 1;
            let detached = std::mem::replace(&mut self.detached, true);
            self.isolated(|judge| judge.node(command));
            self.detached = detached;
            self.substitutions -= 1;
            self.input = saved;
            self.argv = argv;
        }
        for name in found.assigned {
            self.assignment(&name, None, false);
            self.bind(&name, super::word::Binding::Data);
        }
        for text in found.nested {
            self.fragment(&text);
        }
    }

    /// Counts a round of a loop; whether there were too many.
    pub fn overflowing(&mut self) -> bool {
        !self.count()
    }
}

static NOTHING: Node = Node::empty(NodeKind::Empty);

/// Whether bash and the parser may disagree about where a here-document ends.
fn documents_are_ambiguous(text: &str, nodes: &[Node]) -> bool {
    let mut delimiters = Vec::new();
    for node in nodes {
        assigned::documents(node, &mut delimiters);
    }
    delimiters.iter().any(|delimiter| {
        !text.lines().any(|line| line.trim_start_matches('\t') == delimiter)
            || text.lines().any(|line| line.trim_end() == delimiter && line != delimiter)
            || text.lines().any(|line| {
                line.trim_start_matches('\t')
                    .strip_prefix(delimiter.as_str())
                    .is_some_and(|rest| rest.trim_start().starts_with(')'))
            })
    })
}

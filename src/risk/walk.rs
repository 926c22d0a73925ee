//! Walks every node and every field of the syntax tree.
//!
//! Owns the meaning of the shell's grammar; must not know any command. A node without a rule is Destructive.

use rable::{ListOperator, Node, NodeKind, PipeSep};

use super::{
    arithmetic, assigned,
    guard::{self, Refusal},
    judge::{Input, Judge, MAX_DEPTH, Shell},
    table::TABLES,
    word::{self, Binding, Found, Kind, Value, Word},
};
use crate::api::Risk;

/// The most values of a `for` loop that are tried one by one.
const MAX_VALUES: usize = 32;

impl Judge {
    /// Judges a text that the present shell reads.
    pub fn script(&mut self, text: &str) {
        if let Err(refusal) = guard::check(text) {
            return self.refused(refusal);
        }
        if self.depth > MAX_DEPTH {
            return self.refused(Refusal::TooComplex);
        }
        match rable::parse(text, false) {
            Ok(nodes) if nodes.is_empty() => {
                if !text.lines().all(|line| line.trim_start().starts_with('#') || line.trim().is_empty()) {
                    self.find(Risk::Destructive, "shell:unparsable", "nothing was understood", None);
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
                self.find(Risk::Destructive, "shell:unparsable", format!("not understood as shell: {error}"), None);
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
        self.find(Risk::Destructive, code, message, hint);
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
            let mut before = first.operator;
            for item in others {
                parts.push((&item.command, before));
                before = item.operator;
            }
            if others.is_empty() && first.operator == Some(ListOperator::Background) {
                parts.push((&NOTHING, first.operator));
            }
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

    fn repeated(&mut self, condition: &Node, body: &Node) {
        assigned::forget(self, &[condition, body]);
        if assigned::is_forever(condition) && !assigned::leaves(body) {
            self.flag(super::effect::Effect { endless: true, ..super::effect::Effect::READ });
            self.find(
                Risk::ReadOnly,
                "shell:endless",
                "the loop has no end",
                Some("use a bounded loop: for i in 1 2 3; do …; sleep 2; done"),
            );
        }
        self.node(condition);
        self.conditional(|judge| judge.node(body));
    }

    fn for_loop(&mut self, var: &str, words: Option<&[Node]>, body: &Node) {
        let values = self.words(words.unwrap_or(&[]));
        if !word::is_name(var) || super::environment::is_critical(var) {
            self.find(Risk::Destructive, "shell:variable", format!("the loop sets {var}"), None);
        }
        assigned::forget(self, &[body]);
        let known = !values.is_empty() && values.len() <= MAX_VALUES && values.iter().all(|w| w.literal().is_some());
        if known && self.depth < 3 {
            self.depth += 1;
            for value in &values {
                self.bind(var, Binding::Text(value.text.to_string()));
                self.conditional(|judge| judge.node(body));
                if self.risk() == Risk::Destructive && self.overflowing() {
                    break;
                }
            }
            self.depth -= 1;
        } else {
            let binding = self.loop_binding(words.unwrap_or(&[]), &values);
            self.bind(var, binding);
            self.conditional(|judge| judge.node(body));
        }
        self.bind(var, Binding::Data);
    }

    /// What is known about a loop's variable when its values are not.
    fn loop_binding(&self, words: &[Node], values: &[Word<'_>]) -> Binding {
        if !self.plain_splitting {
            return Binding::Data;
        }
        if let [Node { kind: NodeKind::Word { parts, .. }, .. }] = words
            && let [Node { kind: NodeKind::CommandSubstitution { command, .. }, .. }] = parts.as_slice()
            && let NodeKind::Command { words, .. } = &command.kind
            && self.peek(words).first().is_some_and(|word| word.is("seq"))
        {
            return Binding::Number;
        }
        match values {
            [only] if only.value == Value::Tail && !only.text.is_empty() => {
                Binding::Prefix(literal_beginning(&only.text))
            }
            [] => Binding::Data,
            all if all
                .iter()
                .all(|word| matches!(word.value, Value::Known | Value::Tail) && word.text.starts_with('/')) =>
            {
                Binding::Prefix("/".to_owned())
            }
            all if all.iter().any(|word| word.glob || word.text.contains(char::is_whitespace)) => Binding::Data,
            // A quoted list may hold blanks.
            all if all.iter().any(|word| word.value >= Value::Data && !word.splits) => Binding::Data,
            _ => Binding::Token,
        }
    }

    fn arithmetic_loop(&mut self, parts: [&String; 3], body: &Node) {
        let text = parts.map(String::as_str).join(";");
        if assigned::spoils(body, &text) {
            self.find(Risk::ConfigMutation, "shell:arithmetic", "bash evaluates variables in arithmetic as code", None);
        }
        self.arithmetic_command(&text);
        assigned::forget(self, &[body]);
        self.conditional(|judge| judge.node(body));
    }

    fn function(&mut self, name: &str, body: &Node) {
        if TABLES.command(name).is_some() || self.functions.iter().any(|known| known == name) {
            self.find(
                Risk::Destructive,
                "shell:shadowing",
                format!("gives the name of a command, {name}, another meaning"),
                Some("choose a name that no command has"),
            );
        }
        if assigned::calls(body, name) {
            self.find(Risk::Destructive, "shell:recursion", format!("the function {name} calls itself"), None);
        }
        self.functions.push(name.to_owned());
        assigned::forget(self, &[body]);
        // Where it is called, anything may come through a pipe.
        let input = std::mem::replace(&mut self.input, Input::Opaque);
        self.isolated(|judge| judge.node(body));
        self.input = input;
    }

    /// `(( … ))`: harmless when every name in it is known to be a number. To sh it is two subshells.
    fn arithmetic_command(&mut self, raw: &str) {
        if self.shell == Shell::Sh {
            self.bash_only("`(( … ))`");
            self.nested_script(raw, Shell::Sh);
        }
        if raw.contains(['`', '$', '[', '"', '\'']) {
            self.fragment(raw);
        } else if arithmetic::numbers_only(raw, self) {
            return arithmetic::assign(raw, self);
        }
        assigned::forget_text(self, raw);
        self.find(Risk::ConfigMutation, "shell:arithmetic", "bash evaluates variables in arithmetic as code", None);
    }

    /// Judges the expansions in a piece of text that stands as it would between double quotes.
    pub fn fragment(&mut self, raw: &str) {
        if self.depth > MAX_DEPTH {
            return self.refused(Refusal::TooComplex);
        }
        let text = format!(": \"{}\"", raw.replace('"', " "));
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

    fn condition(&mut self, node: &Node) {
        match &node.kind {
            NodeKind::CondAnd { left, right } | NodeKind::CondOr { left, right } => {
                self.condition(left);
                self.condition_as_command(right);
                self.condition(right);
            }
            NodeKind::CondNot { operand: inner } => self.condition(inner),
            NodeKind::CondParen { inner } => {
                self.condition_as_command(inner);
                self.condition(inner);
            }
            NodeKind::UnaryTest { op, operand } => {
                if matches!(op.as_str(), "-v" | "-R") {
                    self.find(Risk::ConfigMutation, "shell:arithmetic", "`-v` evaluates a subscript as code", None);
                }
                self.condition(operand);
            }
            NodeKind::BinaryTest { op, left, right } => self.comparison(op, left, right),
            NodeKind::CondTerm { value, .. } => {
                if value.contains(['`', '$']) || value.contains("<(") || value.contains(">(") {
                    self.term(value);
                }
            }
            _ => self.find(Risk::Destructive, "shell:unknown-syntax", "a test that is not understood", None),
        }
    }

    /// To sh, which has no `[[`, what follows `&&`, `||` and `(` in it is a command of its own.
    fn condition_as_command(&mut self, node: &Node) {
        let harmless = match &node.kind {
            NodeKind::UnaryTest { op, operand } => {
                let implicit =
                    op == "-n" && matches!(&operand.kind, NodeKind::CondTerm { value, .. } if !value.starts_with('-'));
                op.starts_with('-') && !implicit
            }
            NodeKind::CondAnd { .. } | NodeKind::CondOr { .. } => true,
            _ => false,
        };
        if self.shell == Shell::Sh && !harmless {
            self.find(
                Risk::Destructive,
                "shell:bash-only",
                "a part of `[[ … ]]` would be executed by sh",
                Some("use [ … ] && [ … ]"),
            );
        }
    }

    fn comparison(&mut self, op: &str, left: &Node, right: &Node) {
        if self.shell == Shell::Sh && matches!(op, "<" | ">") {
            self.find(Risk::Destructive, "shell:bash-only", "`>` in `[[ … ]]` writes a file in sh", Some("use [ … ]"));
        }
        if matches!(op, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge")
            && !(self.is_number(left) && self.is_number(right))
        {
            self.find(
                Risk::ConfigMutation,
                "shell:arithmetic",
                "bash evaluates both sides as code",
                Some("use [ \"$x\" -gt 1 ]"),
            );
        }
        self.condition(left);
        self.condition(right);
    }

    fn is_number(&self, node: &Node) -> bool {
        let NodeKind::CondTerm { value, .. } = &node.kind else { return false };
        let bare = value.trim_matches('"');
        let name = bare.strip_prefix('$').map(|name| name.trim_start_matches('{').trim_end_matches('}'));
        !bare.is_empty() && bare.bytes().all(|b| b.is_ascii_digit())
            || name.is_some_and(|name| word::is_number(name, self))
    }

    /// A word of `[[ … ]]`: rable keeps its text only.
    fn term(&mut self, value: &str) {
        match rable::parse(&format!(": {value}"), true) {
            Ok(nodes) => {
                for node in &nodes {
                    match &node.kind {
                        NodeKind::Command { words, redirects, .. } if redirects.is_empty() => {
                            self.words(words);
                        }
                        _ => self.fragment(value),
                    }
                }
            }
            Err(_) => self.fragment(value),
        }
    }

    /// Reads words and judges everything that is executed to make them.
    pub fn words<'a>(&mut self, nodes: &'a [impl std::borrow::Borrow<Node>]) -> Vec<Word<'a>> {
        let mut out = Vec::with_capacity(nodes.len());
        for node in nodes {
            let mut found = Found::default();
            out.extend(word::read(node.borrow(), self, &mut found));
            self.found(found);
        }
        out
    }

    /// Reads words without judging what makes them.
    pub fn peek<'a>(&self, nodes: &'a [Node]) -> Vec<Word<'a>> {
        nodes.iter().flat_map(|node| word::read(node, self, &mut Found::default())).collect()
    }

    /// Judges what reading a word found.
    pub fn found(&mut self, found: Found<'_>) {
        if let Some(what) = found.obfuscated {
            self.find(Risk::Destructive, "shell:obfuscated", format!("{what} hides what is executed"), None);
        }
        if found.bash_only {
            self.bash_only("this expansion or quoting");
        }
        if found.arithmetic {
            self.find(Risk::ConfigMutation, "shell:arithmetic", "bash evaluates variables in arithmetic as code", None);
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
        for text in found.nested {
            self.fragment(&text);
        }
    }

    fn overflowing(&mut self) -> bool {
        !self.count()
    }
}

/// The text before the first pattern character.
fn literal_beginning(text: &str) -> String {
    text.split(['*', '?', '[', '(']).next().unwrap_or("").to_owned()
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

//! Loops: which values their variables take, and whether they end.

use rable::{Node, NodeKind};

use super::{
    assigned,
    effect::Effect,
    environment,
    judge::Judge,
    word::{self, Binding, Value, Word},
};
use crate::Risk;

/// The most rounds of all loops of a text together that are judged one by one.
const MAX_ROUNDS: usize = 40;
/// The most values of a `for` loop that are tried one by one.
const MAX_VALUES: usize = 32;

impl Judge {
    pub fn repeated(&mut self, condition: &Node, body: &Node) {
        assigned::forget(self, &[condition, body]);
        if assigned::is_forever(condition) && !assigned::leaves(body) {
            self.flag(Effect { unbounded: true, ..Effect::READ });
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

    pub fn for_loop(&mut self, var: &str, words: Option<&[Node]>, body: &Node) {
        let values = self.words(words.unwrap_or(&[]));
        if !word::is_name(var) || environment::is_critical(var) {
            self.find(Risk::Destructive, "shell:variable", format!("the loop sets {var}"), None);
        }
        values.iter().for_each(|value| self.value_may_be_evaluated(&value.text));
        assigned::forget(self, &[body]);
        let known = !values.is_empty() && values.len() <= MAX_VALUES && values.iter().all(|w| w.literal().is_some());
        if known && self.depth < 3 && self.rounds + values.len() <= MAX_ROUNDS {
            self.rounds += values.len();
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

    pub fn arithmetic_loop(&mut self, parts: [&String; 3], body: &Node) {
        let text = parts.map(String::as_str).join(";");
        if assigned::spoils(body, &text) {
            self.evaluates("bash evaluates variables in arithmetic as code", None);
        }
        self.arithmetic_command(&text);
        assigned::forget(self, &[body]);
        self.conditional(|judge| judge.node(body));
    }
}

/// The text before the first pattern character.
fn literal_beginning(text: &str) -> String {
    text.split(['*', '?', '[', '(']).next().unwrap_or("").to_owned()
}

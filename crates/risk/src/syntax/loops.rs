//! Loops: which values their variables take, and whether they end.

use rable::{Node, NodeKind};

use super::{condition, expansions, judge_node, parts, scan};
use crate::{
    Risk,
    context::{Findings, Scope},
    evaluation,
    facts::environment,
    words::{Binding, Value, Word, is_name},
};

/// The most values of a `for` loop that are tried one by one.
const MAX_VALUES: usize = 32;

/// `while` and `until`.
pub fn repeated(condition: &Node, body: &Node, scope: &mut Scope, findings: &mut Findings) {
    scan::forget(scope, &[condition, body]);
    if scan::is_forever(condition) && !scan::leaves(body) {
        findings.does_not_end(scope);
        findings.add(
            scope,
            Risk::ReadOnly,
            "shell:unbounded",
            "the loop has no end",
            Some("use a bounded loop: for i in 1 2 3; do …; sleep 2; done"),
        );
    }
    judge_node(condition, scope, findings);
    parts::conditional(scope, findings, |scope, findings| judge_node(body, scope, findings));
}

/// `for NAME in WORDS`.
pub fn for_loop(var: &str, words: Option<&[Node]>, body: &Node, scope: &mut Scope, findings: &mut Findings) {
    let values = expansions::words(words.unwrap_or(&[]), scope, findings);
    if !is_name(var) || environment::is_critical(var, scope.tables()) {
        findings.add(scope, Risk::Destructive, "shell:variable", format!("the loop sets {var}"), None);
    }
    values.iter().for_each(|value| evaluation::value_may_be_evaluated(&value.text, scope, findings));
    scan::forget(scope, &[body]);
    let known = !values.is_empty() && values.len() <= MAX_VALUES && values.iter().all(|w| w.literal().is_some());
    if known && scope.depth() < 3 && findings.count_rounds(values.len()) {
        each_round(var, &values, body, scope, findings);
    } else {
        let binding = loop_binding(words.unwrap_or(&[]), &values, scope);
        scope.bind(var, binding);
        parts::conditional(scope, findings, |scope, findings| judge_node(body, scope, findings));
    }
    scope.bind(var, Binding::ScriptValue);
}

/// Judges a loop's body once for each value.
fn each_round(var: &str, values: &[Word<'_>], body: &Node, scope: &mut Scope, findings: &mut Findings) {
    let mut inner = scope.deeper();
    for value in values {
        inner.bind(var, Binding::Text(value.text.as_ref().into()));
        parts::conditional(&mut inner, findings, |scope, findings| judge_node(body, scope, findings));
        if findings.risk_so_far() == Risk::Destructive && !findings.count_command(&inner) {
            break;
        }
    }
    scope.continue_after(inner);
}

/// What is known about a loop's variable when its values are not.
fn loop_binding(words: &[Node], values: &[Word<'_>], scope: &Scope) -> Binding {
    if !scope.state().plain_splitting() {
        return Binding::ScriptValue;
    }
    if let [Node { kind: NodeKind::Word { parts, .. }, .. }] = words
        && let [Node { kind: NodeKind::CommandSubstitution { command, .. }, .. }] = parts.as_slice()
        && let NodeKind::Command { words, .. } = &command.kind
        && expansions::peek(words, scope).first().is_some_and(|word| word.is("seq"))
    {
        return Binding::Number;
    }
    match values {
        [only] if only.value == Value::KnownPrefix && !only.text.is_empty() => {
            Binding::Prefix(literal_beginning(&only.text).into())
        }
        [] => Binding::ScriptValue,
        all if all
            .iter()
            .all(|word| matches!(word.value, Value::Known | Value::KnownPrefix) && word.text.starts_with('/')) =>
        {
            Binding::Prefix("/".into())
        }
        all if all.iter().any(|word| word.glob || word.text.contains(char::is_whitespace)) => Binding::ScriptValue,
        // A quoted list may hold blanks.
        all if all.iter().any(|word| word.value >= Value::ScriptValue && !word.splits) => Binding::ScriptValue,
        _ => Binding::OneWord,
    }
}

/// `for ((INIT; CONDITION; STEP))`.
pub fn arithmetic_loop(expressions: [&String; 3], body: &Node, scope: &mut Scope, findings: &mut Findings) {
    let text = expressions.map(String::as_str).join(";");
    if scan::spoils(body, &text) {
        expansions::arithmetic(scope, findings);
    }
    condition::arithmetic_command(&text, scope, findings);
    scan::forget(scope, &[body]);
    parts::conditional(scope, findings, |scope, findings| judge_node(body, scope, findings));
}

/// The text before the first pattern character.
fn literal_beginning(text: &str) -> &str {
    text.split(['*', '?', '[', '(']).next().unwrap_or("")
}

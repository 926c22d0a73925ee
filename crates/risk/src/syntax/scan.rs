//! Looks through syntax trees for what changes variables, leaves loops and ends here-documents.

use rable::{Node, NodeKind};

use crate::{
    context::Scope,
    words::{Binding, Variables, arithmetic, is_name},
};

/// Calls `visit` for a node and all below it that is part of the same shell.
pub fn visit<'a>(node: &'a Node, each: &mut dyn FnMut(&'a Node)) {
    let mut stack = vec![node];
    while let Some(node) = stack.pop() {
        each(node);
        match &node.kind {
            NodeKind::Command { redirects, .. } => stack.extend(redirects),
            NodeKind::Pipeline { commands, .. } => stack.extend(commands),
            NodeKind::List { items } => stack.extend(items.iter().map(|item| &item.command)),
            NodeKind::If { condition, then_body, else_body, redirects } => {
                stack.extend([&**condition, &**then_body]);
                stack.extend(else_body.as_deref());
                stack.extend(redirects);
            }
            NodeKind::While { condition, body, redirects } | NodeKind::Until { condition, body, redirects } => {
                stack.extend([&**condition, &**body]);
                stack.extend(redirects);
            }
            NodeKind::For { body, redirects, .. }
            | NodeKind::ForArith { body, redirects, .. }
            | NodeKind::Select { body, redirects, .. }
            | NodeKind::Subshell { body, redirects }
            | NodeKind::BraceGroup { body, redirects } => {
                stack.push(body);
                stack.extend(redirects);
            }
            NodeKind::Case { patterns, redirects, .. } => {
                stack.extend(patterns.iter().filter_map(|pattern| pattern.body.as_ref()));
                stack.extend(redirects);
            }
            NodeKind::Function { body: inner, .. }
            | NodeKind::Coproc { command: inner, .. }
            | NodeKind::Negation { pipeline: inner }
            | NodeKind::Time { pipeline: inner, .. } => stack.push(inner),
            _ => {}
        }
    }
}

fn raw(node: &Node) -> &str {
    match &node.kind {
        NodeKind::Word { value, .. } => value,
        _ => "",
    }
}

/// Forgets the value of every variable that these parts of a script may set.
pub fn forget(scope: &mut Scope, nodes: &[&Node]) {
    let mut names: Vec<(String, bool)> = Vec::new();
    let mut all = false;
    let state = scope.state();
    for node in nodes {
        visit(node, &mut |node| collect(node, &mut names, &mut all));
        visit(node, &mut |node| all |= state.may_be_function(command(node)));
    }
    if all {
        scope.state_mut().forget_variables();
    }
    for (name, number) in &names {
        let stays = *number
            && names.iter().all(|(other, number)| other != name || *number)
            && match scope.variable(name) {
                Some(Binding::Number) => true,
                Some(Binding::Text(text)) => !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()),
                _ => false,
            };
        scope.bind(name, if stays { Binding::Number } else { Binding::ScriptValue });
    }
}

fn collect(node: &Node, names: &mut Vec<(String, bool)>, all: &mut bool) {
    match &node.kind {
        NodeKind::Command { assignments, words, .. } => {
            for assignment in assignments {
                let text = raw(assignment);
                let (name, value) = text.split_once('=').unwrap_or((text, ""));
                let name = name.trim_end_matches('+').split('[').next().unwrap_or(name);
                names.push((name.to_owned(), counts(value, name)));
                *all |= name == "IFS" && words.is_empty();
            }
            let command = words.first().map_or("", |word| raw(word));
            if matches!(command, "eval" | "source" | "." | "trap" | "let" | "builtin" | "command") {
                *all = true;
            }
            if matches!(
                command,
                "read"
                    | "mapfile"
                    | "readarray"
                    | "printf"
                    | "declare"
                    | "local"
                    | "typeset"
                    | "export"
                    | "readonly"
                    | "unset"
                    | "getopts"
            ) {
                for word in &words[1..] {
                    let name = raw(word).split('=').next().unwrap_or("").trim_matches(['"', '\'']);
                    if is_name(name) {
                        names.push((name.to_owned(), false));
                    } else if !name.starts_with('-') && command != "printf" {
                        *all = true;
                    }
                }
            }
        }
        NodeKind::For { var, .. } | NodeKind::Select { var, .. } => names.push((var.clone(), false)),
        NodeKind::ArithmeticCommand { raw_content, .. } => {
            arithmetic::names(raw_content, &mut |name| names.push((name.to_owned(), true)))
        }
        NodeKind::ForArith { init, cond, incr, .. } => {
            for part in [init, cond, incr] {
                arithmetic::names(part, &mut |name| names.push((name.to_owned(), true)));
            }
        }
        _ => {}
    }
}

/// Whether an assignment keeps a counter a number: `i=3`, `i=$((i+1))`.
fn counts(value: &str, name: &str) -> bool {
    let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
    let inner = value.strip_prefix("$((").and_then(|rest| rest.strip_suffix("))"));
    digits
        || inner.is_some_and(|inner| {
            inner
                .split(['+', '-', '*', ' '])
                .filter(|part| !part.is_empty())
                .all(|part| part.trim_start_matches('$') == name || part.bytes().all(|b| b.is_ascii_digit()))
        })
}

/// Whether a part of a script may set one of the names in an arithmetic text to something that is no number.
pub fn spoils(body: &Node, text: &str) -> bool {
    let mut names: Vec<(String, bool)> = Vec::new();
    let mut all = false;
    visit(body, &mut |node| collect(node, &mut names, &mut all));
    let mut spoilt = all;
    arithmetic::names(text, &mut |name| {
        spoilt |= names.iter().any(|(other, number)| other == name && !*number);
    });
    spoilt
}

/// Every name in a text of numbers is a number afterwards.
pub fn bind_numbers(text: &str, scope: &mut Scope) {
    arithmetic::names(text, &mut |name| scope.bind(name, Binding::Number));
}

/// Forgets every variable that an arithmetic text names.
pub fn forget_text(scope: &mut Scope, text: &str) {
    arithmetic::names(text, &mut |name| scope.bind(name, Binding::ScriptValue));
}

/// Whether a loop's condition is always true.
pub fn is_forever(condition: &Node) -> bool {
    matches!(&condition.kind, NodeKind::Command { words, .. }
        if words.len() == 1 && matches!(raw(&words[0]), "true" | ":"))
}

/// Whether something in a loop's body leaves the loop.
pub fn leaves(body: &Node) -> bool {
    let mut leaves = false;
    visit(body, &mut |node| leaves |= matches!(command(node), "break" | "exit" | "return" | "exec"));
    leaves
}

/// Whether a function's body runs the command `name`.
pub fn calls(body: &Node, name: &str) -> bool {
    let mut calls = false;
    visit(body, &mut |node| calls |= command(node) == name);
    calls
}

fn command(node: &Node) -> &str {
    match &node.kind {
        NodeKind::Command { words, .. } => words.first().map_or("", raw),
        _ => "",
    }
}

/// The delimiters of all here-documents in a tree.
pub fn documents(node: &Node, out: &mut Vec<String>) {
    visit(node, &mut |node| {
        if let NodeKind::HereDoc { delimiter, .. } = &node.kind {
            out.push(delimiter.clone());
        }
    });
}

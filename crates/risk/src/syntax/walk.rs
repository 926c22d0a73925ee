//! Walks every node and every field of the syntax tree. A node without a rule is Destructive.

use rable::{ListOperator, Node, NodeKind, PipeSep};

use super::{condition, expansions, functions, loops, parts, redirects, simple};
use crate::{
    Risk,
    context::{Findings, Scope},
    words::{Input, output},
};

/// Judges one node and all below it.
pub fn judge_node(node: &Node, scope: &mut Scope, findings: &mut Findings) {
    match &node.kind {
        NodeKind::Command { assignments, words, redirects } => {
            simple::judge_simple(assignments, words, redirects, scope, findings)
        }
        NodeKind::Pipeline { commands, separators } => pipeline(commands, separators, scope, findings),
        NodeKind::List { .. } => list(node, scope, findings),
        NodeKind::If { condition, then_body, else_body, redirects } => {
            redirects::judge_redirects(redirects, scope, findings);
            judge_node(condition, scope, findings);
            parts::conditional(scope, findings, |scope, findings| judge_node(then_body, scope, findings));
            if let Some(body) = else_body {
                parts::conditional(scope, findings, |scope, findings| judge_node(body, scope, findings));
            }
        }
        NodeKind::While { condition, body, redirects } | NodeKind::Until { condition, body, redirects } => {
            under_redirects(redirects, scope, findings, |scope, findings| {
                loops::repeated(condition, body, scope, findings)
            });
        }
        NodeKind::For { var, words, body, redirects } => {
            under_redirects(redirects, scope, findings, |scope, findings| {
                loops::for_loop(var, words.as_deref(), body, scope, findings)
            });
        }
        NodeKind::Select { var, words, body, redirects } => {
            findings.add(scope, Risk::ConfigMutation, "shell:select", "a menu needs a person", None);
            under_redirects(redirects, scope, findings, |scope, findings| {
                loops::for_loop(var, words.as_deref(), body, scope, findings)
            });
        }
        NodeKind::ForArith { init, cond, incr, body, redirects } => {
            findings.bash_only(scope, "a C-style loop");
            under_redirects(redirects, scope, findings, |scope, findings| {
                loops::arithmetic_loop([init, cond, incr], body, scope, findings)
            });
        }
        NodeKind::Case { word, patterns, redirects } => {
            redirects::judge_redirects(redirects, scope, findings);
            expansions::words(std::slice::from_ref(word), scope, findings);
            for pattern in patterns {
                expansions::words(&pattern.patterns, scope, findings);
                if let Some(body) = &pattern.body {
                    parts::conditional(scope, findings, |scope, findings| judge_node(body, scope, findings));
                }
            }
        }
        NodeKind::Function { name, body } => functions::define(name, body, scope, findings),
        NodeKind::Subshell { body, redirects } => {
            under_redirects(redirects, scope, findings, |scope, findings| {
                parts::subshell(scope.clone(), findings, |scope, findings| judge_node(body, scope, findings))
            });
        }
        NodeKind::BraceGroup { body, redirects } => {
            under_redirects(redirects, scope, findings, |scope, findings| judge_node(body, scope, findings))
        }
        NodeKind::Coproc { command, .. } => {
            findings.add(scope, Risk::ConfigMutation, "shell:coproc", "runs in the background", None);
            parts::subshell(scope.clone(), findings, |scope, findings| judge_node(command, scope, findings));
        }
        NodeKind::Negation { pipeline } | NodeKind::Time { pipeline, .. } => judge_node(pipeline, scope, findings),
        NodeKind::ArithmeticCommand { redirects, raw_content, .. } => {
            redirects::judge_redirects(redirects, scope, findings);
            condition::arithmetic_command(raw_content, scope, findings);
        }
        NodeKind::ConditionalExpr { body, redirects } => {
            findings.bash_only(scope, "`[[ … ]]`");
            redirects::judge_redirects(redirects, scope, findings);
            condition::judge_test(body, scope, findings);
        }
        NodeKind::Redirect { .. } | NodeKind::HereDoc { .. } => {
            redirects::judge_redirects(std::slice::from_ref(node), scope, findings);
        }
        NodeKind::Empty | NodeKind::Comment { .. } => {}
        _ => findings.add(scope, Risk::Destructive, "shell:unknown-syntax", "syntax that is not understood", None),
    }
}

/// Lists nest to the left, one level for each command: walked without recursion.
fn list(node: &Node, scope: &mut Scope, findings: &mut Findings) {
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
            _ if background => {
                parts::subshell(scope.clone(), findings, |scope, findings| judge_node(part, scope, findings))
            }
            Some(ListOperator::And | ListOperator::Or) => {
                parts::conditional(scope, findings, |scope, findings| judge_node(part, scope, findings))
            }
            _ => judge_node(part, scope, findings),
        }
    }
}

fn pipeline(commands: &[Node], separators: &[PipeSep], scope: &mut Scope, findings: &mut Findings) {
    if separators.contains(&PipeSep::PipeBoth) {
        findings.bash_only(scope, "`|&`");
    }
    for (at, command) in commands.iter().enumerate() {
        if matches!(command.kind, NodeKind::Redirect { .. }) {
            continue;
        }
        let stage = if at == 0 { scope.clone() } else { scope.reading(pipe_source(&commands[..at], scope)) };
        parts::subshell(stage, findings, |scope, findings| judge_node(command, scope, findings));
    }
}

/// What the commands so far write into the pipe.
fn pipe_source(commands: &[Node], scope: &Scope) -> Input {
    let [only] = commands else { return Input::Opaque };
    let NodeKind::Command { words, redirects, .. } = &only.kind else { return Input::Opaque };
    if !redirects.iter().all(|redirect| matches!(&redirect.kind, NodeKind::Redirect { fd: 2, .. })) {
        return Input::Opaque;
    }
    output::of(&expansions::peek(words, scope))
}

/// Judges something under redirects of its own, which may also give it its input.
fn under_redirects(
    nodes: &[Node],
    scope: &mut Scope,
    findings: &mut Findings,
    part: impl FnOnce(&mut Scope, &mut Findings),
) {
    let input = redirects::judge_redirects(nodes, scope, findings);
    parts::reading(input, scope, findings, part);
}

static NOTHING: Node = Node::empty(NodeKind::Empty);

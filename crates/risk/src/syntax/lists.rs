//! Commands one after another, and pipelines.

use rable::{ListOperator, Node, NodeKind, PipeSep};

use super::{expansions, judge_node, parts};
use crate::{
    context::{Findings, Scope},
    words::{Input, output},
};

/// Lists nest to the left, one level for each command: walked without recursion.
pub fn list(node: &Node, scope: &mut Scope, findings: &mut Findings) {
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

/// Commands that each read what the one before writes.
pub fn pipeline(commands: &[Node], separators: &[PipeSep], scope: &mut Scope, findings: &mut Findings) {
    if separators.contains(&PipeSep::PipeBoth) {
        findings.bash_only(scope, "`|&`");
    }
    for (at, command) in commands.iter().enumerate() {
        if matches!(command.kind, NodeKind::Redirect { .. }) {
            continue;
        }
        let stage = if at == 0 { scope.clone() } else { scope.reading(pipe_source(&commands[..at], scope)) };
        let part = |scope: &mut Scope, findings: &mut Findings| judge_node(command, scope, findings);
        if at + 1 == commands.len() {
            parts::last_stage(stage, scope, findings, part);
        } else {
            parts::subshell(stage, findings, part);
        }
    }
}

/// What the commands so far write into the pipe.
fn pipe_source(commands: &[Node], scope: &Scope) -> Input {
    let [only] = commands else { return Input::Opaque };
    let NodeKind::Command { words, redirects, .. } = &only.kind else { return Input::Opaque };
    if !redirects.iter().all(|redirect| matches!(&redirect.kind, NodeKind::Redirect { fd: 2, .. })) {
        return Input::Opaque;
    }
    output::of(&expansions::peek(words, scope), scope.tables())
}

static NOTHING: Node = Node::empty(NodeKind::Empty);

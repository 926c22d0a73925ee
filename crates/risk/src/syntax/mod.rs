//! The shell's grammar: from a text to the commands in it.
//!
//! Owns what each node of the syntax tree means; must not know any command. A node without a rule is Destructive.

mod condition;
mod expansions;
mod functions;
mod guard;
mod lists;
mod loops;
mod parts;
mod redirects;
mod scan;
mod script;
mod simple;

pub use script::{nested_script, whole_script};

use std::slice;

use rable::{CasePattern, Node, NodeKind};

use crate::{
    Risk, access,
    context::{Findings, Scope},
    words::Binding,
};

/// Judges one node and all below it. Every part of a node may hold further nodes, so the parts come back here.
fn judge_node(node: &Node, scope: &mut Scope, findings: &mut Findings) {
    match &node.kind {
        NodeKind::Command { assignments, words, redirects } => {
            simple::judge_simple(assignments, words, redirects, scope, findings)
        }
        NodeKind::Pipeline { commands, separators } => lists::pipeline(commands, separators, scope, findings),
        NodeKind::List { .. } => lists::list(node, scope, findings),
        NodeKind::Negation { pipeline } | NodeKind::Time { pipeline, .. } => judge_node(pipeline, scope, findings),
        NodeKind::Function { name, body } => functions::define(name, body, scope, findings),
        NodeKind::Coproc { command, name } => {
            let name = name.as_deref().unwrap_or("COPROC");
            access::assigns(name, None, false, scope, findings);
            scope.bind(name, Binding::ScriptValue);
            findings.add(scope, Risk::ConfigMutation, "shell:coproc", "runs in the background", None);
            parts::subshell(scope.clone(), findings, |scope, findings| judge_node(command, scope, findings));
        }
        NodeKind::If { condition, then_body, else_body, redirects } => {
            redirects::judge_redirects(redirects, scope, findings);
            judge_node(condition, scope, findings);
            for body in [Some(then_body), else_body.as_ref()].into_iter().flatten() {
                parts::conditional(scope, findings, |scope, findings| judge_node(body, scope, findings));
            }
        }
        NodeKind::Case { word, patterns, redirects } => {
            redirects::judge_redirects(redirects, scope, findings);
            case(word, patterns, scope, findings);
        }
        NodeKind::While { redirects, .. }
        | NodeKind::Until { redirects, .. }
        | NodeKind::For { redirects, .. }
        | NodeKind::Select { redirects, .. }
        | NodeKind::ForArith { redirects, .. }
        | NodeKind::Subshell { redirects, .. }
        | NodeKind::BraceGroup { redirects, .. } => {
            let input = redirects::judge_redirects(redirects, scope, findings);
            parts::reading(input, scope, findings, |scope, findings| group(node, scope, findings));
        }
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
            redirects::judge_redirects(slice::from_ref(node), scope, findings);
        }
        NodeKind::Empty | NodeKind::Comment { .. } => {}
        _ => not_understood(scope, findings),
    }
}

/// What stands between the words of a loop, or between brackets: redirects of its own are judged before.
fn group(node: &Node, scope: &mut Scope, findings: &mut Findings) {
    match &node.kind {
        NodeKind::While { condition, body, .. } | NodeKind::Until { condition, body, .. } => {
            loops::repeated(condition, body, scope, findings)
        }
        NodeKind::For { var, words, body, .. } => loops::for_loop(var, words.as_deref(), body, scope, findings),
        NodeKind::Select { var, words, body, .. } => {
            findings.add(scope, Risk::ConfigMutation, "shell:select", "a menu needs a person", None);
            loops::for_loop(var, words.as_deref(), body, scope, findings)
        }
        NodeKind::ForArith { init, cond, incr, body, .. } => {
            findings.bash_only(scope, "a C-style loop");
            loops::arithmetic_loop([init, cond, incr], body, scope, findings)
        }
        NodeKind::Subshell { body, .. } => {
            parts::subshell(scope.clone(), findings, |scope, findings| judge_node(body, scope, findings))
        }
        NodeKind::BraceGroup { body, .. } => judge_node(body, scope, findings),
        _ => not_understood(scope, findings),
    }
}

fn case(word: &Node, patterns: &[CasePattern], scope: &mut Scope, findings: &mut Findings) {
    expansions::words(slice::from_ref(word), scope, findings);
    for pattern in patterns {
        expansions::words(&pattern.patterns, scope, findings);
        if let Some(body) = &pattern.body {
            parts::conditional(scope, findings, |scope, findings| judge_node(body, scope, findings));
        }
    }
}

fn not_understood(scope: &Scope, findings: &mut Findings) {
    findings.add(scope, Risk::Destructive, "shell:unknown-syntax", "syntax that is not understood", None);
}

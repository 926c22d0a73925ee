//! `[[ … ]]` and `(( … ))`: what bash evaluates in them, and what sh would execute.

use rable::{Node, NodeKind};

use super::{expansions, scan, script};
use crate::{
    Risk,
    context::{Findings, Scope, Script, Shell},
    evaluation,
    words::{self, arithmetic},
};

/// `(( … ))`: harmless when every name in it is known to be a number. To sh it is two subshells.
pub fn arithmetic_command(raw: &str, scope: &mut Scope, findings: &mut Findings) {
    if scope.shell() == Shell::Sh {
        findings.bash_only(scope, "`(( … ))`");
        script::nested_script(Script { text: raw, shell: Shell::Sh, arguments: Vec::new() }, scope, findings);
    }
    evaluation::assigns_in(raw, scope, findings);
    if raw.contains(['`', '$', '[', '"', '\'']) {
        expansions::fragment(raw, scope, findings);
    } else if arithmetic::numbers_only(raw, scope) {
        return scan::bind_numbers(raw, scope);
    }
    scan::forget_text(scope, raw);
    expansions::arithmetic(scope, findings);
}

/// The expression of `[[ … ]]`.
pub fn judge_test(node: &Node, scope: &mut Scope, findings: &mut Findings) {
    match &node.kind {
        NodeKind::CondAnd { left, right } | NodeKind::CondOr { left, right } => {
            judge_test(left, scope, findings);
            as_command(right, scope, findings);
            judge_test(right, scope, findings);
        }
        NodeKind::CondNot { operand: inner } => judge_test(inner, scope, findings),
        NodeKind::CondParen { inner } => {
            as_command(inner, scope, findings);
            judge_test(inner, scope, findings);
        }
        NodeKind::UnaryTest { op, operand } => {
            if matches!(op.as_str(), "-v" | "-R") {
                evaluation::evaluates("`-v` evaluates a subscript as code", None, scope, findings);
            }
            judge_test(operand, scope, findings);
        }
        NodeKind::BinaryTest { op, left, right } => comparison(op, left, right, scope, findings),
        NodeKind::CondTerm { value, .. } => {
            evaluation::word_may_be_evaluated(value, scope, findings);
            if value.contains(['`', '$']) || value.contains("<(") || value.contains(">(") {
                term(value, scope, findings);
            }
        }
        _ => findings.add(scope, Risk::Destructive, "shell:unknown-syntax", "a test that is not understood", None),
    }
}

/// To sh, which has no `[[`, what follows `&&`, `||` and `(` in it is a command of its own.
fn as_command(node: &Node, scope: &Scope, findings: &mut Findings) {
    let harmless = match &node.kind {
        NodeKind::UnaryTest { op, operand } => {
            let implicit =
                op == "-n" && matches!(&operand.kind, NodeKind::CondTerm { value, .. } if !value.starts_with('-'));
            op.starts_with('-') && !implicit
        }
        NodeKind::CondAnd { .. } | NodeKind::CondOr { .. } => true,
        _ => false,
    };
    if scope.shell() == Shell::Sh && !harmless {
        findings.add(
            scope,
            Risk::Destructive,
            "shell:bash-only",
            "a part of `[[ … ]]` would be executed by sh",
            Some("use [ … ] && [ … ]"),
        );
    }
}

fn comparison(op: &str, left: &Node, right: &Node, scope: &mut Scope, findings: &mut Findings) {
    if scope.shell() == Shell::Sh && matches!(op, "<" | ">") {
        findings.add(
            scope,
            Risk::Destructive,
            "shell:bash-only",
            "`>` in `[[ … ]]` writes a file in sh",
            Some("use [ … ]"),
        );
    }
    if matches!(op, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge")
        && !(is_number(left, scope) && is_number(right, scope))
    {
        evaluation::evaluates("bash evaluates both sides as code", Some("use [ \"$x\" -gt 1 ]"), scope, findings);
    }
    judge_test(left, scope, findings);
    judge_test(right, scope, findings);
}

fn is_number(node: &Node, scope: &Scope) -> bool {
    let NodeKind::CondTerm { value, .. } = &node.kind else { return false };
    let bare = value.trim_matches('"');
    let name = bare.strip_prefix('$').map(|name| name.trim_start_matches('{').trim_end_matches('}'));
    !bare.is_empty() && bare.bytes().all(|b| b.is_ascii_digit())
        || name.is_some_and(|name| words::is_number(name, scope))
}

/// A word of `[[ … ]]`: rable keeps its text only.
fn term(value: &str, scope: &mut Scope, findings: &mut Findings) {
    match rable::parse(&format!(": {value}"), true) {
        Ok(nodes) => {
            for node in &nodes {
                match &node.kind {
                    NodeKind::Command { words, redirects, .. } if redirects.is_empty() => {
                        expansions::words(words, scope, findings);
                    }
                    _ => expansions::fragment(value, scope, findings),
                }
            }
        }
        Err(_) => expansions::fragment(value, scope, findings),
    }
}

//! The expansions in words: what is executed to make an argument vector.

use std::borrow::Borrow;

use rable::{Node, NodeKind};

use super::{guard::Refusal, judge_node, parts, script};
use crate::{
    Risk, access,
    context::{Findings, MAX_DEPTH, Scope},
    evaluation,
    words::{self, Binding, Expansions, Input, Substitution, Word, quoting},
};

/// Reads words and judges everything that is executed to make them.
pub fn words<'a>(nodes: &'a [impl Borrow<Node>], scope: &mut Scope, findings: &mut Findings) -> Vec<Word<'a>> {
    let mut out = Vec::with_capacity(nodes.len());
    for node in nodes {
        let mut expansions = Expansions::default();
        out.extend(words::read(node.borrow(), scope, &mut expansions));
        judge_expansions(expansions, scope, findings);
    }
    out
}

/// Reads words without judging what makes them.
pub fn peek<'a>(nodes: &'a [Node], scope: &Scope) -> Vec<Word<'a>> {
    nodes.iter().flat_map(|node| words::read(node, scope, &mut Expansions::default())).collect()
}

/// Judges what reading a word found.
pub fn judge_expansions(expansions: Expansions<'_>, scope: &mut Scope, findings: &mut Findings) {
    if let Some(what) = expansions.obfuscated {
        findings.add(scope, Risk::Destructive, "shell:obfuscated", format!("{what} hides what is executed"), None);
    }
    if expansions.lookalike {
        findings.add(
            scope,
            Risk::ConfigMutation,
            "shell:lookalike",
            "a letter looks like a dash or quote and is none",
            Some("type the plain characters - ' and \""),
        );
    }
    if expansions.bash_only {
        findings.bash_only(scope, "this expansion or quoting");
    }
    if expansions.arithmetic {
        arithmetic(scope, findings);
    }
    for (command, kind) in expansions.commands {
        let input = match kind {
            Substitution::WriteTo => Input::Opaque,
            Substitution::Command | Substitution::ReadFrom => Input::Closed,
        };
        parts::subshell(scope.in_a_substitution(input), findings, |scope, findings| {
            judge_node(command, scope, findings);
        });
    }
    for name in expansions.assigned {
        access::assigns(&name, None, false, scope, findings);
        scope.bind(&name, Binding::ScriptValue);
    }
    for text in expansions.nested {
        fragment(&text, scope, findings);
    }
}

/// Arithmetic over something that may be no number.
pub fn arithmetic(scope: &Scope, findings: &mut Findings) {
    evaluation::evaluates("bash evaluates variables in arithmetic as code", None, scope, findings);
}

/// Judges the expansions in a piece of text that stands as it would between double quotes.
pub fn fragment(raw: &str, scope: &mut Scope, findings: &mut Findings) {
    if scope.depth() > MAX_DEPTH {
        return script::refuse(Refusal::TooComplex, scope, findings);
    }
    let Some(text) = quoting::as_quoted(raw) else {
        return findings.add(
            scope,
            Risk::Destructive,
            "shell:obfuscated",
            "a substitution that is not understood",
            None,
        );
    };
    let Ok(nodes) = rable::parse(&text, false) else {
        return findings.add(scope, Risk::Destructive, "shell:unparsable", "an expansion that is not understood", None);
    };
    let mut inner = scope.in_fragment();
    for node in &nodes {
        match &node.kind {
            NodeKind::Command { words: nodes, .. } => {
                words(nodes, &mut inner, findings);
            }
            _ => judge_node(node, &mut inner, findings),
        }
    }
    scope.continue_after(inner);
}

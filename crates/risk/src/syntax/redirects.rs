//! Redirects, and the standard input that they give.

use rable::{Node, NodeKind};

use super::expansions;
use crate::{
    Risk, access,
    context::{Findings, Scope},
    facts::guests,
    words::{Binding, Input, Value, Word},
};

/// Judges redirects; returns the standard input if they set it.
pub fn judge_redirects(nodes: &[Node], scope: &mut Scope, findings: &mut Findings) -> Option<Input> {
    let mut input = None;
    for node in nodes {
        match &node.kind {
            NodeKind::HereDoc { content, quoted, fd, .. } => {
                let text = document(content, *quoted, scope, findings);
                if matches!(fd, -1 | 0) {
                    input = Some(text);
                }
            }
            NodeKind::Redirect { op, target, fd, varfd } => {
                if let Some(name) = varfd {
                    findings.bash_only(scope, "`{name}>`");
                    access::assigns(name, None, false, scope, findings);
                    scope.bind(name, Binding::ScriptValue);
                }
                let new = redirect(op, target, *fd, scope, findings);
                input = new.or(input);
            }
            _ => findings.add(
                scope,
                Risk::Destructive,
                "shell:unknown-syntax",
                "a redirect that is not understood",
                None,
            ),
        }
    }
    if nodes.iter().filter(|node| matches!(node.kind, NodeKind::HereDoc { .. })).count() > 1 {
        findings.add(
            scope,
            Risk::ConfigMutation,
            "shell:here-document",
            "shells disagree about two here-documents",
            None,
        );
    }
    input
}

fn document(content: &str, quoted: bool, scope: &mut Scope, findings: &mut Findings) -> Input {
    if scope.in_substitution() {
        findings.add(
            scope,
            Risk::Destructive,
            "shell:here-document",
            "a here-document inside a substitution is read differently by different shells",
            Some("write the text to a file first"),
        );
    }
    if quoted || !content.contains(['$', '`', '\\']) {
        return Input::Text(content.into());
    }
    expansions::fragment(content, scope, findings);
    Input::Opaque
}

fn redirect(op: &str, target: &Node, fd: i32, scope: &mut Scope, findings: &mut Findings) -> Option<Input> {
    let words = expansions::words(std::slice::from_ref(target), scope, findings);
    let [word] = words.as_slice() else {
        findings.add(scope, Risk::Destructive, "redirect:unknown", "where the output goes is not known", None);
        return None;
    };
    let standard_input = matches!(fd, -1 | 0);
    if fd > 9 {
        findings.bash_only(scope, "a file descriptor above 9");
    }
    match op {
        ">&-" => None,
        "<<<" => {
            findings.bash_only(scope, "`<<<`");
            let text = word.literal().map(|text| Input::Text(text.into()));
            Some(text.unwrap_or(Input::Opaque))
        }
        "<" => {
            access::reads(word, scope, findings);
            if scope.on_host() && guests::names_processes(word) {
                findings.name_processes(guests::named(word));
            }
            let nothing = word.is("/dev/null");
            standard_input.then_some(if nothing { Input::Closed } else { Input::Opaque })
        }
        "<&" | ">&" if word.literal().is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit())) => None,
        "<&" => {
            findings.add(scope, Risk::ConfigMutation, "redirect:descriptor", "a computed file descriptor", None);
            standard_input.then_some(Input::Opaque)
        }
        ">" | ">>" | ">|" | "&>" | "&>>" | ">&" | "<>" => {
            if op.contains('&') {
                findings.bash_only(scope, "`&>`");
            }
            // A redirect's target never splits: a known beginning stays one.
            let begins = word.value >= Value::ScriptValue && word.text.starts_with('/');
            let value = if begins { Value::KnownPrefix } else { word.value };
            access::writes(&Word { value, ..word.borrow() }, "redirect", scope, findings);
            None
        }
        _ => {
            findings.add(scope, Risk::Destructive, "redirect:unknown", "a redirect that is not understood", None);
            None
        }
    }
}

//! Whole texts: the script that the caller gives, and those that its commands hand to a shell.

use rable::Node;

use super::{
    functions,
    guard::{self, Refusal},
    judge_node, scan,
};
use crate::{
    Risk,
    context::{Findings, MAX_DEPTH, Scope, Script, SourceText},
};

/// Most bytes of texts for a shell in a shell in a shell: each level reads the rest of the text anew.
const MAX_REPARSED: usize = 4 * 1024;

/// Judges the text that the caller gives.
pub fn whole_script(text: &str, scope: &mut Scope, findings: &mut Findings) {
    read(text, scope, findings);
    functions::judge_uncalled(0, scope, findings);
}

/// Judges a text that a command hands to a shell.
pub fn nested_script(script: Script<'_>, scope: &mut Scope, findings: &mut Findings) {
    let text = script.text;
    if text.trim().is_empty() {
        return;
    }
    if scope.placeholder().is_some_and(|placeholder| text.contains(placeholder)) {
        findings.add(
            scope,
            Risk::Destructive,
            "shell:placeholder",
            "file names become code",
            Some("pass {} as an argument"),
        );
    }
    functions::judge_all(scope, findings);
    let mut inner = scope.in_script(script.shell, script.arguments);
    whole_script(text, &mut inner, findings);
    if scope.state().directories() != inner.state().directories() {
        scope.state_mut().follow_directories(inner.state());
    }
}

/// Judges a text that the present shell reads.
fn read(text: &str, scope: &mut Scope, findings: &mut Findings) {
    if let Err(refusal) = guard::check(text) {
        return refuse(refusal, scope, findings);
    }
    let reparsed = findings.count_reparsed(if scope.depth() > 1 { text.len() } else { 0 });
    if scope.depth() > MAX_DEPTH || reparsed > MAX_REPARSED {
        return refuse(Refusal::TooComplex, scope, findings);
    }
    match rable::parse(text, false) {
        Ok(nodes) if nodes.is_empty() => {
            if !text.lines().all(|line| line.trim_start().starts_with('#') || line.trim().is_empty()) {
                findings.not_understood(scope, "shell:unparsable", "nothing was understood", None);
            }
        }
        Ok(nodes) => commands(text, &nodes, scope, findings),
        Err(error) => {
            let message = format!("not understood as shell: {error}");
            findings.not_understood(scope, "shell:unparsable", message, None);
        }
    }
}

fn commands(text: &str, nodes: &[Node], scope: &mut Scope, findings: &mut Findings) {
    if text.contains("<<") && documents_are_ambiguous(text, nodes) {
        findings.add(
            scope,
            Risk::Destructive,
            "shell:here-document",
            "where the here-document ends is not certain",
            Some("put the delimiter alone on its line, without blanks"),
        );
    }
    let place = if scope.depth() == 0 { Some(0) } else { scope.place_of(text) };
    if let Some(offset) = place {
        *scope = scope.with_source(SourceText::new(text, offset));
    }
    for node in nodes {
        scope.locate(node.span.start, node.span.end);
        judge_node(node, scope, findings);
    }
}

/// Records why a text is not parsed.
pub(super) fn refuse(refusal: Refusal, scope: &Scope, findings: &mut Findings) {
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
    findings.not_understood(scope, code, message, hint);
}

/// Whether bash and the parser may disagree about where a here-document ends.
fn documents_are_ambiguous(text: &str, nodes: &[Node]) -> bool {
    let mut delimiters = Vec::new();
    for node in nodes {
        scan::documents(node, &mut delimiters);
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

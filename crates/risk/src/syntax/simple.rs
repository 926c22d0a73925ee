//! Simple commands: assignments, redirects, and the command itself.

use std::{rc::Rc, slice};

use rable::{Node, NodeKind};

use super::{expansions, functions, redirects};
use crate::{
    Risk, access,
    context::{Findings, Scope},
    evaluation,
    facts::{guests, paths},
    rules,
    words::{self, Binding, Expansions, Input, Value, Word, arithmetic, output},
};

/// Judges `NAME=value … command words … redirects`.
pub fn judge_simple(
    assignments: &[Node],
    words: &[Node],
    redirects: &[Node],
    scope: &mut Scope,
    findings: &mut Findings,
) {
    let mut whole = findings.part();
    let argv = expansions::words(words, scope, &mut whole);
    if scope.on_host() {
        let processes = argv.iter().filter(|word| guests::names_processes(word)).flat_map(guests::named);
        whole.name_processes(processes);
        whole.name_guests(argv.iter().flat_map(guests::named));
    }
    argv.iter().for_each(|word| evaluation::word_may_be_evaluated(&word.text, scope, &mut whole));
    let mut inner = scope.showing(&argv);
    locate(words, &mut inner);
    let mut found = whole.part();
    let input = without_words(assignments, &argv, words, redirects, &mut inner, &mut found);
    let changes = found.risk() > Risk::ReadOnly;
    whole.absorb(found);
    if changes {
        whole.affects_named_guests();
    }
    findings.absorb(whole);
    match input {
        Some(_) => {
            scope.continue_shell_after(inner);
            if argv.len() == 1 && argv[0].is("exec") {
                // From here on everything reads what `exec` opened.
                scope.redirect_input(Input::Opaque);
            }
        }
        None => scope.continue_after(inner),
    }
}

/// Judges everything but the expansions of the words; returns the standard input if redirects set it.
fn without_words(
    assignments: &[Node],
    argv: &[Word<'_>],
    words: &[Node],
    redirects: &[Node],
    scope: &mut Scope,
    findings: &mut Findings,
) -> Option<Input> {
    assign(assignments, !argv.is_empty(), scope, findings);
    let mut opened = findings.part();
    let input = redirects::judge_redirects(redirects, scope, &mut opened);
    let (writes, mut unbounded) = (!opened.is_empty(), opened.is_unbounded());
    findings.absorb(opened);
    if let Some(input) = &input {
        scope.redirect_input(input.clone());
    }
    if argv.first().is_none_or(|word| matches!(word.literal(), Some(":" | "true"))) {
        empties(redirects, scope, findings);
    }
    if argv.is_empty() && !words.is_empty() {
        let message = "the command expands to nothing";
        findings.add(scope, Risk::Destructive, "shell:computed-command", message, None);
    }
    let mut run = findings.part();
    if !functions::call_by_name(argv, scope, &mut run) {
        rules::judge_argv(argv, scope, &mut run);
    }
    let inner = run.innermost().map(|argv| scope.showing_argv(Rc::clone(argv)));
    let shown = inner.as_ref().unwrap_or(scope);
    if run.is_empty()
        && let Some(name) = shown.argv().first()
    {
        run.add(shown, Risk::ReadOnly, format!("{name}:read"), "proven to change nothing", None);
    }
    unbounded |= run.is_unbounded();
    findings.absorb(run);
    if unbounded && writes {
        findings.add(shown, Risk::Destructive, "shell:fills-disk", "writes without end", None);
    }
    in_protected_directory(shown, findings);
    input
}

/// A change in a directory that keeps the system running is no ordinary change.
fn in_protected_directory(scope: &Scope, findings: &mut Findings) {
    let protected = |directory: &String| paths::is_fatal(directory, scope.locus(), scope.tables());
    if findings.risk() == Risk::ConfigMutation && scope.state().directories().iter().any(protected) {
        findings.add(
            scope,
            Risk::Destructive,
            "shell:protected-directory",
            "changes something in a directory that keeps the system running or safe",
            None,
        );
    }
}

fn locate(words: &[Node], scope: &mut Scope) {
    if let (Some(first), Some(last)) = (words.first(), words.last())
        && !first.span.is_empty()
        && !scope.in_substitution()
    {
        scope.locate(first.span.start, last.span.end.max(first.span.end));
    }
}

/// Judges assignments: for one command, or for the rest of the script.
fn assign(nodes: &[Node], prefix: bool, scope: &mut Scope, findings: &mut Findings) {
    for node in nodes {
        let mut expansions = Expansions::default();
        let read = words::read(node, scope, &mut expansions);
        expansions::judge_expansions(expansions, scope, findings);
        let Some(whole) = read.first() else { continue };
        evaluation::value_may_be_evaluated(&whole.text, scope, findings);
        let Some((target, value)) = whole.text.split_once('=') else {
            findings.add(scope, Risk::Destructive, "shell:variable", "an assignment to something computed", None);
            continue;
        };
        if value.starts_with('(') || target.ends_with([']', '+']) {
            findings.bash_only(scope, "an array or `+=`");
        }
        let appends = target.ends_with('+');
        subscript(target, scope, findings);
        if value.starts_with('(') {
            elements(target, node, scope, findings);
        }
        let name = target.trim_end_matches('+').split('[').next().unwrap_or(target);
        let literal = (whole.value == Value::Known && read.len() == 1 && !appends && target == name).then_some(value);
        access::assigns(name, literal, prefix, scope, findings);
        if !prefix {
            remember(name, literal, node, scope, findings);
        }
    }
}

/// `name[subscript]=…`: bash evaluates the subscript, unless the name is that of a map.
fn subscript(target: &str, scope: &Scope, findings: &mut Findings) {
    let Some((name, subscript)) = target.trim_end_matches('+').split_once('[') else { return };
    let subscript = subscript.trim_end_matches(']');
    if !arithmetic::numbers_only(subscript, scope) && !findings.is_map(name) {
        evaluation::evaluates("bash evaluates a subscript as code", None, scope, findings);
    }
}

/// `name=([subscript]=value …)`: bash evaluates these subscripts too.
fn elements(target: &str, node: &Node, scope: &Scope, findings: &mut Findings) {
    let NodeKind::Word { value, .. } = &node.kind else { return };
    let sets = value.contains("]=") || value.contains("]+=");
    let numbers = || {
        value.split('[').skip(1).all(|part| {
            let subscript = part.split(']').next().unwrap_or(part);
            matches!(subscript, "@" | "*") || arithmetic::numbers_only(subscript, scope)
        })
    };
    if sets && !findings.is_map(target.trim_end_matches('+')) && !numbers() {
        evaluation::evaluates("bash evaluates a subscript as code", None, scope, findings);
    }
}

/// Remembers what is known about a variable of the script.
fn remember(name: &str, literal: Option<&str>, node: &Node, scope: &mut Scope, findings: &mut Findings) {
    if name == "IFS" {
        scope.state_mut().forget_splitting();
    }
    if literal.is_some_and(|text| paths::is_secret(text, true, scope.tables())) {
        // Where the name is used may not be followed.
        findings.shows_secrets();
    }
    let binding = match literal {
        Some(text) => Binding::Text(text.into()),
        None if is_computed_number(node, scope) => Binding::Number,
        None => Binding::ScriptValue,
    };
    scope.bind(name, binding);
}

/// Whether an assignment's value is `$((…))`, or a substitution that prints digits only.
fn is_computed_number(node: &Node, scope: &Scope) -> bool {
    let NodeKind::Word { parts, .. } = &node.kind else { return false };
    match parts.as_slice() {
        [_, Node { kind: NodeKind::ArithmeticExpansion { .. }, .. }] => true,
        [_, Node { kind: NodeKind::CommandSubstitution { command, .. }, .. }] => output::prints_number(command, scope),
        _ => false,
    }
}

/// Files that a command without output opens for writing: they are emptied.
fn empties(redirects: &[Node], scope: &Scope, findings: &mut Findings) {
    for redirect in redirects {
        if let NodeKind::Redirect { op, target, .. } = &redirect.kind
            && matches!(op.as_str(), ">" | ">|" | "&>")
            && let [word] = expansions::peek(slice::from_ref(&**target), scope).as_slice()
            && scope.resolved(&word.text).iter().any(|path| paths::normalise(path).starts_with("/etc/"))
        {
            findings.add(scope, Risk::Destructive, "redirect:empty", format!("empties {}", word.shown()), None);
        }
    }
}

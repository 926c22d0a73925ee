//! Commands within commands: what a wrapper runs, where it runs it, and texts that another shell reads.
//!
//! Owns the change of place and shell; must not know any single command.

use super::judge_argv;
use crate::{
    Risk, access,
    context::{Findings, Scope, Script, Shell},
    invocation::Invocation,
    tables::{Kind, Style},
    words::{Input, Value, Word},
};

/// Judges the command or shell line that this one runs.
pub fn command(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    let Some(runs) = call.kinds().find(|kind| matches!(kind, Kind::Command | Kind::Line)) else { return };
    let place = call.kinds().find(|kind| matches!(kind, Kind::OnSystem | Kind::InGuest | Kind::InContainer));
    let Some(at) = call.command.filter(|at| *at < call.argv.len()) else {
        return without_command(call, place, scope, findings);
    };
    let words = &call.argv[at..];
    if call.form().wrapper.dashes_first && !call.dashes && words.iter().any(|word| word.is("--")) {
        findings.add(
            scope,
            Risk::Destructive,
            call.code("dashes"),
            "where the command begins is not certain",
            Some("put -- before the command"),
        );
    }
    let mut inner = at_place(place, scope);
    match runs {
        Kind::Line => line(words, call.name, &mut inner, findings),
        _ => wrapped(call, words, &mut inner, findings),
    }
    if call.form().wrapper.same_shell {
        scope.continue_after(inner);
    }
}

/// Judges a command that the present one runs in a process of its own; reasons show the inner one.
pub fn own_process(words: &[Word<'_>], scope: &Scope, findings: &mut Findings) {
    let mut inner = scope.showing(words);
    findings.shows(&inner);
    judge_argv(words, &mut inner, findings);
}

/// The scope of what runs at a place that the table names; the same place without one.
pub fn at_place(place: Option<Kind>, scope: &Scope) -> Scope {
    match place {
        Some(Kind::OnSystem) => scope.on_other_system(),
        Some(Kind::InGuest | Kind::InContainer) => scope.in_guest(),
        _ => scope.clone(),
    }
}

fn without_command(call: &Invocation<'_, '_, '_>, place: Option<Kind>, scope: &Scope, findings: &mut Findings) {
    if place == Some(Kind::OnSystem)
        && let Input::Text(text) = scope.input().clone()
    {
        // The shell there reads the here-document.
        script(&text, Shell::Sh, &mut at_place(place, scope), findings);
    } else if place.is_some() {
        findings.needs_a_person();
        findings.add(
            scope,
            Risk::Destructive,
            call.code("shell"),
            "opens a shell for a person",
            Some("name the command that shall run there"),
        );
    } else if call.entry.style == Style::Posix && call.argv.len() > 1 && !call.is_bounded() {
        findings.add(scope, Risk::ConfigMutation, call.code("no-command"), "runs no command that is known", None);
    }
}

/// Judges a command that another one runs with its own argument vector.
fn wrapped(call: &Invocation<'_, '_, '_>, words: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    let wrapper = call.form().wrapper;
    let name = call.entry.name;
    let mut words = words;
    while wrapper.sets_environment
        && let Some((first, rest)) = words.split_first()
        && let Some((variable, value)) = first.text.split_once('=')
    {
        access::assigns(variable, (first.value == Value::Known).then_some(value), true, scope, findings);
        words = rest;
    }
    let Some(first) = words.first() else {
        if !wrapper.command_optional {
            findings.add(scope, Risk::ConfigMutation, format!("{name}:no-command"), "runs no command", None);
        }
        return;
    };
    if first.value == Value::Known && first.text.starts_with('-') {
        return findings.add(
            scope,
            Risk::Destructive,
            format!("{name}:unlisted-option"),
            format!("{} is not an option known to be harmless", first.text),
            None,
        );
    }
    let mut inner = scope.showing(words);
    findings.shows(&inner);
    if wrapper.detaches {
        inner = inner.detached();
    }
    if wrapper.on_node {
        inner = inner.on_node();
    }
    if wrapper.time_limit && sets_limit(call, words.len()) {
        inner = inner.time_limited();
    }
    judge_argv(words, &mut inner, findings);
    scope.continue_after(inner);
}

/// Whether no word before the nested command is a zero: `timeout 0` sets no limit.
fn sets_limit(call: &Invocation<'_, '_, '_>, nested: usize) -> bool {
    let own = &call.argv[..call.argv.len() - nested];
    let zero = |word: &Word<'_>| word.text.trim_matches(|c: char| !c.is_ascii_digit()) == "0";
    !own.iter().any(zero)
}

/// Judges words that are joined by blanks and read by a shell.
fn line(words: &[Word<'_>], name: &str, scope: &mut Scope, findings: &mut Findings) {
    if words.iter().any(|word| word.value != Value::Known) {
        // Nothing may be left of it, and then a shell waits for a person.
        findings.needs_a_person();
        computed_code(name, scope, findings);
    }
    let text: Vec<&str> = words.iter().filter_map(Word::literal).collect();
    script(&text.join(" "), Shell::Sh, scope, findings);
}

/// Judges one word that a shell executes.
pub fn word(word: &Word<'_>, shell: Shell, name: &str, scope: &mut Scope, findings: &mut Findings) {
    match word.literal() {
        Some(text) => script(text, shell, scope, findings),
        None => computed_code(name, scope, findings),
    }
}

/// Code is executed that only shows itself when the script runs.
pub fn computed_code(name: &str, scope: &Scope, findings: &mut Findings) {
    findings.add(
        scope,
        Risk::Destructive,
        format!("{name}:computed-code"),
        "what is executed is not known",
        Some("write the command out literally"),
    );
}

/// Judges a text that a shell reads, without parameters.
pub fn script(text: &str, shell: Shell, scope: &mut Scope, findings: &mut Findings) {
    findings.judge_script(Script { text, shell, arguments: Vec::new() }, scope);
}

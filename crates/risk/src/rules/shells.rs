//! Shells that a command starts: `sh -c CODE`, `bash FILE`, code through a pipe, `source FILE`.

use super::{general::*, nested, suspect};
use crate::{
    Locus, Risk,
    context::{Findings, Scope, Script, Shell, parameter},
    invocation::Invocation,
    tables::ListName,
    words::{Input, Value, Word},
};

/// `sh -c CODE`, `bash FILE`, `bash` with code on its standard input.
pub fn shell(call: &Invocation<'_, '_, '_>, shell: Shell, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    if call.has("--version") || call.has("--help") {
        return;
    }
    let first = call.operands.first();
    if first.is_some_and(|word| word.text.starts_with('+')) {
        findings.add(scope, Risk::Destructive, "shell:option", "an option that is not followed", None);
    }
    if call.has("c") {
        match first {
            Some(code) if code.value == Value::ScriptValue && code.fetched.is_some() => {
                fetched(code.fetched.as_deref().unwrap_or(""), scope, findings);
            }
            Some(code) => match code.literal() {
                Some(text) => {
                    let arguments = call.operands[1..].iter().map(parameter).collect();
                    findings.judge_script(Script { text, shell, arguments }, scope);
                }
                None => nested::computed_code(call.name, scope, findings),
            },
            None => findings.add(scope, Risk::Destructive, "shell:computed-code", "there is no code after -c", None),
        }
    } else if call.has("s") || first.is_none() {
        standard_input(shell, scope, findings);
    } else if let Some(file) = first {
        match &file.fetched {
            Some(url) => fetched(url, scope, findings),
            None if file.value != Value::Known || file.text.starts_with("/dev/") => findings.add(
                scope,
                Risk::Destructive,
                "shell:computed-code",
                "what is executed is not known",
                Some("write the commands out"),
            ),
            None => {
                program_file(&file.text, scope, findings);
                suspect::program(call.name, &call.operands, scope, findings);
            }
        }
    }
}

/// A script file: what is in it is not known.
fn program_file(name: &str, scope: &Scope, findings: &mut Findings) {
    let stream = name.starts_with("/dev/") || name.starts_with("/proc/");
    let risk = if scope.locus() == Locus::Host || stream { Risk::Destructive } else { Risk::ConfigMutation };
    findings.add(scope, risk, "shell:program-file", format!("executes {name}, whose content is not known"), None);
}

/// Code from a URL: an installer of known origin is a change in a guest, never on a node.
fn fetched(url: &str, scope: &Scope, findings: &mut Findings) {
    if !url.starts_with("https://") {
        return findings.add(
            scope,
            Risk::Destructive,
            "shell:fetched-code",
            "executes code that came over an unprotected connection",
            Some("use https"),
        );
    }
    let risk = if scope.locus() == Locus::Host { Risk::Destructive } else { Risk::ConfigMutation };
    findings.add(scope, risk, "shell:fetched-code", format!("executes what {url} answers"), None);
}

fn standard_input(shell: Shell, scope: &mut Scope, findings: &mut Findings) {
    match scope.input().clone() {
        Input::Closed => {
            findings.needs_a_person();
            findings.add(
                scope,
                Risk::ConfigMutation,
                "shell:interactive",
                "a shell without a command waits for a person",
                Some("give the command with -c"),
            );
        }
        Input::Text(text) => nested::script(&text, shell, scope, findings),
        Input::Fetched(url) => fetched(&url, scope, findings),
        Input::Opaque => findings.add(
            scope,
            Risk::Destructive,
            "shell:piped-code",
            "executes what comes through a pipe and is not known",
            Some("write the commands out"),
        ),
    }
}

/// `source FILE`, `. FILE`, `run-parts`.
pub fn source(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    scope.state_mut().forget_variables();
    match call.operands.first().and_then(Word::literal) {
        Some(file) if scope.tables().lists(ListName::SourcedFiles, file) => {}
        Some(file) => program_file(file, scope, findings),
        None => findings.add(scope, Risk::Destructive, "source:computed", "which file is executed is not known", None),
    }
}

//! Interpreters: `python -c`, `perl -e`, `node FILE`, and applications that a table knows although an interpreter runs
//! them.

use super::{general::*, suspect};
use crate::{
    Locus, Risk, access,
    context::{Findings, Scope, run_command},
    facts::paths,
    invocation::Invocation,
    tables::ListName,
    words::{Input, Value, Word},
};

/// `php occ status` is `occ status`; false when the file is none that the tables know.
pub fn php_console(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) -> bool {
    let Some(file) = call.operands.first().filter(|_| call.name.starts_with("php")) else { return false };
    let Some(path) = file.literal().filter(|path| !paths::is_temporary(path, scope.tables())) else { return false };
    let Some(name) =
        scope.tables().members(ListName::PhpConsoles).iter().find(|name| path.rsplit('/').next() == Some(**name))
    else {
        return false;
    };
    let Some(at) = call.argv.iter().position(|word| word.text == path) else { return false };
    options_only(call, scope, findings);
    let mut words = vec![Word::known(*name)];
    words.extend(call.argv[at + 1..].iter().map(Word::borrow));
    run_command(&words, scope, findings);
    true
}

/// `python3 -c CODE`, `perl -e CODE`, `node FILE`: code in a language that is not judged.
pub fn interpreter(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    if only_asks(call, scope) {
        return call.operands.iter().for_each(|file| access::reads(file, scope, findings));
    }
    let risk = if scope.locus() == Locus::Host { Risk::Destructive } else { Risk::ConfigMutation };
    let code =
        call.options.iter().filter(|given| matches!(given.opt.name, "c" | "e" | "E" | "r" | "--eval" | "--print"));
    let mut inline: Vec<Option<&str>> = code.map(|given| given.value.as_ref().and_then(Word::literal)).collect();
    let first = call.operands.first();
    let asks = |name: &str| matches!(name, "--version" | "V" | "--help" | "h" | "v");
    let input = scope.input().clone();
    if inline.is_empty()
        && let Input::Text(text) = &input
        && (first.is_some_and(|word| word.is("-"))
            || first.is_none() && !call.has("m") && !call.options.iter().any(|given| asks(given.opt.name)))
    {
        inline.push(Some(text));
    }
    for code in &inline {
        let hostile = code.is_none_or(|code| {
            scope.tables().members(ListName::ProgramDestroys).iter().any(|mark| code.contains(mark))
        });
        let risk = if hostile { Risk::Destructive } else { risk };
        findings.add(scope, risk, format!("{}:code", call.name), "executes code that is not judged", None);
    }
    if !inline.is_empty() {
        return;
    }
    match first {
        Some(word) if word.value >= Value::ScriptValue && *scope.input() != Input::Closed => findings.add(
            scope,
            Risk::Destructive,
            format!("{}:piped-code", call.name),
            "may execute what comes through a pipe",
            None,
        ),
        Some(_) => {
            findings.add(
                scope,
                risk,
                format!("{}:program-file", call.name),
                "executes a program that is not judged",
                None,
            );
            suspect::program(call.name, &call.operands, scope, findings);
        }
        None if call.has("m") && call.name.starts_with("php") => {}
        None if call.has("m") => findings.add(scope, risk, format!("{}:module", call.name), "runs a module", None),
        None if call.options.iter().any(|given| asks(given.opt.name)) => {}
        None if *scope.input() == Input::Closed => {
            findings.needs_a_person();
            findings.add(scope, Risk::ConfigMutation, format!("{}:interactive", call.name), "waits for a person", None);
        }
        None => findings.add(
            scope,
            Risk::Destructive,
            format!("{}:piped-code", call.name),
            "executes what comes through a pipe",
            None,
        ),
    }
}

/// `php -i`, `php -l FILE`, `python3 -m json.tool FILE`: no code of the file is executed.
fn only_asks(call: &Invocation<'_, '_, '_>, scope: &Scope) -> bool {
    let mut given = call.options.iter();
    if call.name.starts_with("php") {
        let asks = |name: &str| matches!(name, "i" | "l" | "m" | "v");
        return !call.options.is_empty() && given.all(|given| asks(given.opt.name));
    }
    let module = |value: Option<&Word<'_>>| value.is_some_and(|module| module.is("json.tool"));
    // Where the script has gone, another json/tool.py may lie.
    scope.state().directories().is_empty()
        && call.operands.len() < 2
        && !call.options.is_empty()
        && given.all(|given| given.opt.name == "m" && module(given.value.as_ref()))
}

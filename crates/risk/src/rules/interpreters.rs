//! Interpreters: `python -c`, `perl -e`, `node FILE`, and applications that a table knows although an interpreter runs
//! them.

use super::{general::*, judge_argv, suspect};
use crate::{
    Locus, Risk, access,
    context::{Findings, Scope},
    facts::paths,
    invocation::Invocation,
    tables::ListName,
    words::{Input, Value, Word},
};

/// `php`: a console program that the tables know by its own name, questions that execute nothing, or code.
pub fn php(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    if php_console(call, scope, findings) {
        return;
    }
    general(call, scope, findings);
    let asks = |name: &str| matches!(name, "i" | "l" | "m" | "v");
    if !call.options.is_empty() && call.options.iter().all(|given| asks(given.opt.name)) {
        return call.operands.iter().for_each(|file| access::reads(file, scope, findings));
    }
    // `-m` lists modules.
    if call.has("m") && call.operands.is_empty() {
        return;
    }
    code(call, scope, findings);
}

/// `php occ status` is `occ status`; false when the file is none that the tables know.
fn php_console(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) -> bool {
    let Some(file) = call.operands.first() else { return false };
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
    judge_argv(&words, scope, findings);
    true
}

/// `python3 -c CODE`, `perl -e CODE`, `node FILE`: code in a language that is not judged.
pub fn interpreter(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    if only_asks(call, scope) {
        return call.operands.iter().for_each(|file| access::reads(file, scope, findings));
    }
    code(call, scope, findings);
}

/// Code that options hold, that a file holds, or that comes from the standard input.
fn code(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    let inline = inline_code(call, scope);
    if inline.is_empty() {
        return program(call, scope, findings);
    }
    for code in &inline {
        let destroys =
            |code: &String| scope.tables().members(ListName::ProgramDestroys).iter().any(|mark| code.contains(mark));
        let risk = if code.as_ref().is_none_or(destroys) { Risk::Destructive } else { class_of_code(scope) };
        findings.add(scope, risk, format!("{}:code", call.name), "executes code that is not judged", None);
    }
}

/// The class of code that is not judged.
fn class_of_code(scope: &Scope) -> Risk {
    if scope.locus() == Locus::Host { Risk::Destructive } else { Risk::ConfigMutation }
}

/// Whether the interpreter is asked about itself.
fn is_asked(call: &Invocation<'_, '_, '_>) -> bool {
    call.options.iter().any(|given| matches!(given.opt.name, "--version" | "V" | "--help" | "h" | "v"))
}

/// The code that options and a here-document hold; `None` for one whose text is not known.
fn inline_code(call: &Invocation<'_, '_, '_>, scope: &Scope) -> Vec<Option<String>> {
    let code =
        call.options.iter().filter(|given| matches!(given.opt.name, "c" | "e" | "E" | "r" | "--eval" | "--print"));
    let text = |value: Option<&Word<'_>>| value.and_then(Word::literal).map(str::to_owned);
    let mut inline: Vec<Option<String>> = code.map(|given| text(given.value.as_ref())).collect();
    let first = call.operands.first();
    let reads_input = first.is_some_and(|word| word.is("-")) || first.is_none() && !call.has("m") && !is_asked(call);
    if inline.is_empty()
        && reads_input
        && let Input::Text(text) = scope.input()
    {
        inline.push(Some(text.to_string()));
    }
    inline
}

/// A program in a file, a module, or whatever comes from the standard input.
fn program(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    let (name, risk) = (call.name, class_of_code(scope));
    match call.operands.first() {
        Some(word) if word.value >= Value::ScriptValue && *scope.input() != Input::Closed => {
            let message = "may execute what comes through a pipe";
            findings.add(scope, Risk::Destructive, format!("{name}:piped-code"), message, None)
        }
        Some(_) => {
            let message = "executes a program that is not judged";
            findings.add(scope, risk, format!("{name}:program-file"), message, None);
            suspect::program(name, &call.operands, scope, findings);
        }
        None if call.has("m") => findings.add(scope, risk, format!("{name}:module"), "runs a module", None),
        None if is_asked(call) => {}
        None if *scope.input() == Input::Closed => {
            findings.needs_a_person();
            findings.add(scope, Risk::ConfigMutation, format!("{name}:interactive"), "waits for a person", None);
        }
        None => {
            let message = "executes what comes through a pipe";
            findings.add(scope, Risk::Destructive, format!("{name}:piped-code"), message, None)
        }
    }
}

/// `python3 -m json.tool FILE`: no code of the file is executed.
fn only_asks(call: &Invocation<'_, '_, '_>, scope: &Scope) -> bool {
    let mut given = call.options.iter();
    let module = |value: Option<&Word<'_>>| value.is_some_and(|module| module.is("json.tool"));
    // Where the script has gone, another json/tool.py may lie.
    scope.state().directories().is_empty()
        && call.operands.len() < 2
        && !call.options.is_empty()
        && given.all(|given| given.opt.name == "m" && module(given.value.as_ref()))
}

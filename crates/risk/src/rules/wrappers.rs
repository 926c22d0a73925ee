//! Wrappers whose own words cannot be told from the command by a table: `xargs`, `flock`, `su`, `taskset`.

use super::{general::*, nested};
use crate::{
    Risk, access,
    context::{Findings, Scope, Shell},
    facts::environment,
    invocation::Invocation,
    tables::ListName,
    words::{Input, Value, Word},
};

/// `xargs COMMAND…`: the command gets words that are not known.
pub fn xargs(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    let outer = call.command.unwrap_or(call.argv.len());
    options_only(&Invocation::read(call.entry, call.name, &call.argv[..outer]), scope, findings);
    let replace = call.value(&["I", "--replace", "i"]).and_then(|word| word.literal().map(str::to_owned));
    let mark = replace.or_else(|| (call.has("i") || call.has("--replace") || call.has("I")).then(|| "{}".to_owned()));
    let mut words: Vec<Word<'_>> = call.argv[outer..].iter().map(Word::borrow).collect();
    if words.is_empty() {
        return;
    }
    match &mark {
        Some(mark) => {
            for word in &mut words {
                if word.text.contains(mark.as_str()) {
                    let begin = word.text.split(mark.as_str()).next().unwrap_or("").to_owned();
                    let value = if begin.is_empty() || begin.starts_with('-') {
                        Value::ScriptValue
                    } else {
                        Value::KnownPrefix
                    };
                    *word = Word::partly(begin, value);
                }
            }
        }
        None => words.push(Word { splits: true, ..Word::partly("", Value::ScriptValue) }),
    }
    let keeps_input = call.has("a") || call.has("--arg-file") || call.has("o") || call.has("--open-tty");
    let inner = scope.reading(if keeps_input { Input::Opaque } else { Input::Closed });
    nested::own_process(&words, &inner.with_placeholder(mark.as_deref()), findings);
}

/// `flock FILE -c CODE`; false when the table can go on with `flock FILE COMMAND`.
pub fn flock(argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) -> bool {
    let Some(at) = argv.iter().position(|word| word.is("-c") || word.is("--command")) else { return false };
    for file in argv[1..at].iter().filter(|word| !word.text.starts_with('-')) {
        access::writes(file, "flock", scope, findings);
    }
    match argv.get(at + 1) {
        Some(code) => nested::word(code, Shell::Sh, "flock", scope, findings),
        None => findings.add(scope, Risk::Destructive, "flock:computed-code", "what is executed is not known", None),
    }
    true
}

/// `su [-] [USER] -c CODE`.
pub fn su(argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    as_user(argv, false, scope, findings);
}

/// `runuser [-] [USER] -c CODE`, `runuser -u USER [--] COMMAND`.
pub fn runuser(argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    as_user(argv, true, scope, findings);
}

fn as_user(argv: &[Word<'_>], takes_user_option: bool, scope: &mut Scope, findings: &mut Findings) {
    let is_plain_shell =
        |word: &Word<'_>| word.literal().is_some_and(|text| scope.tables().lists(ListName::SuShells, text));
    let mut code = None;
    let mut at = 1;
    let mut operands = 0;
    while let Some(word) = argv.get(at) {
        at += 1;
        match word.literal() {
            Some("-c" | "--command") => {
                code = argv.get(at);
                at += 1;
            }
            Some("-s" | "--shell") if argv.get(at).is_some_and(is_plain_shell) => at += 1,
            Some("-u" | "--user" | "-g" | "--group") if operands == 0 && takes_user_option => {
                at += 1;
                operands = 2;
            }
            Some("-" | "-l" | "--login" | "-m" | "-p" | "--preserve-environment") => {}
            Some("--") if operands == 2 => break,
            Some(text) if text.starts_with('-') => {
                return findings.add(scope, Risk::Destructive, "su:option", format!("{text} is not known"), None);
            }
            Some(_) if operands == 2 => {
                at -= 1;
                break;
            }
            Some(_) if operands == 0 => operands = 1,
            _ => {
                findings.needs_a_person();
                return findings.add(scope, Risk::Destructive, "su:operand", "what is executed is not known", None);
            }
        }
    }
    match (code, argv.get(at..).filter(|rest| !rest.is_empty())) {
        (Some(code), None) => nested::word(code, Shell::Sh, "su", scope, findings),
        (None, Some(rest)) if operands == 2 => {
            nested::own_process(rest, scope, findings);
        }
        _ => {
            findings.needs_a_person();
            findings.add(
                scope,
                Risk::Destructive,
                "su:shell",
                "opens a shell for a person",
                Some("name the command: su USER -c '…'"),
            );
        }
    }
}

/// `script -c COMMAND FILE`: what it runs goes on after the terminal is gone.
pub fn script(call: &Invocation<'_, '_, '_>, scope: &Scope, findings: &mut Findings) {
    general(call, &mut scope.detached(), findings);
}

/// `env -u NAME`.
pub fn unset(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let risk = environment::class_of(&word.text, None, true, scope.tables());
    if risk > Risk::ReadOnly || word.value != Value::Known {
        findings.add(
            scope,
            Risk::ConfigMutation,
            "env:unset",
            format!("{} may matter to the command", word.shown()),
            None,
        );
    }
}

/// `taskset -cp 812` shows, `taskset -cp 0-3 812` sets.
pub fn taskset(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    let process = call.has("p") || call.has("--pid");
    if !process {
        return general(call, scope, findings);
    }
    options_only(call, scope, findings);
    let known = call.argv.iter().all(|word| word.value == Value::Known);
    let words = call.argv[1..].iter().filter(|word| !word.may_be_option()).count();
    if words > 1 || !known {
        findings.add(scope, Risk::ConfigMutation, "taskset:set", "binds a process to processors", None);
    }
}

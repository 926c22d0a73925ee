//! Builtins of the shell that have a grammar of their own.

use super::nested;
use crate::{
    Risk, access,
    context::{Findings, Scope},
    evaluation,
    facts::environment,
    words::{Binding, Input, Value, Word, is_name},
};

/// `test` and `[`: an unknown word must not become the operator `-v`, which evaluates a subscript.
pub fn test(argv: &[Word<'_>], scope: &Scope, findings: &mut Findings) {
    let mut words = &argv[1..];
    if argv[0].text == "[" && words.last().is_some_and(|word| word.is("]")) {
        words = &words[..words.len() - 1];
    }
    if words.iter().any(|word| word.is("-v") || word.is("-R")) {
        evaluation::evaluates("`-v` evaluates a subscript as code", None, scope, findings);
    } else if words.iter().any(|word| word.value >= Value::ScriptValue && word.splits && word.text.is_empty()) {
        findings.add(
            scope,
            Risk::ConfigMutation,
            "test:unquoted",
            "an unquoted variable may become an operator",
            Some("quote it: [ \"$x\" = y ]"),
        );
    } else if words.iter().any(|word| word.value >= Value::ScriptValue) && !operators_are_known(words) {
        findings.add(scope, Risk::ConfigMutation, "test:operator", "which operator is used is not known", None);
    }
}

/// Whether each part between `-a` and `-o` has its operator where the shell looks for it.
fn operators_are_known(words: &[Word<'_>]) -> bool {
    const BINARY: &[&str] = &["=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];
    let joins = |word: &Word<'_>| word.is("-a") || word.is("-o");
    words.split(joins).all(|part| {
        let part = if part.first().is_some_and(|word| word.is("!")) { &part[1..] } else { part };
        match part {
            [_] => true,
            [operator, _] => operator.literal().is_some_and(|text| text.starts_with('-') && text.len() == 2),
            [_, operator, _] => operator.literal().is_some_and(|text| BINARY.contains(&text)),
            _ => false,
        }
    })
}

/// `printf FORMAT …`; `-v` assigns.
pub fn printf(argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    match argv.get(1) {
        Some(first) if first.text.starts_with("-v") => {
            let name = argv.get(2).and_then(Word::literal).unwrap_or("");
            if is_name(name) && !environment::is_critical(name, scope.tables()) {
                scope.bind(name, Binding::ScriptValue);
                findings.bash_only(scope, "`printf -v`");
            } else {
                findings.add(
                    scope,
                    Risk::Destructive,
                    "printf:variable",
                    "sets a variable that is not a plain name",
                    None,
                );
            }
        }
        Some(first) if first.value >= Value::ScriptValue && first.splits => {
            findings.add(scope, Risk::ConfigMutation, "printf:unknown-word", "the format may be the option -v", None);
        }
        _ => {}
    }
}

/// `export`, `declare`, `local`, `readonly`, `typeset`, `unset`.
pub fn declare(argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    let command = argv[0].text.to_string();
    let mut maps = false;
    for word in &argv[1..] {
        if word.text.starts_with('-') && word.value == Value::Known {
            if word.text.contains('p') {
                findings.shows_secrets();
            }
            if word.text.contains(['n', 'i', 'f']) && command != "export" {
                evaluation::evaluates("changes how a name is evaluated", None, scope, findings);
            }
            if word.text.contains('n') && command != "export" {
                let message = "makes a name stand for another variable";
                findings.add(scope, Risk::Destructive, format!("{command}:reference"), message, None);
            }
            maps |= word.text.contains('A');
            continue;
        }
        let (name, value) = match word.text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.text.as_ref(), None),
        };
        if maps {
            findings.declares_map(name);
        }
        if !is_name(name) {
            findings.add(
                scope,
                Risk::Destructive,
                format!("{command}:computed"),
                "which variable is meant is not known",
                None,
            );
            continue;
        }
        match value {
            Some(value) => declared_value(&command, name, value, word.value == Value::Known, scope, findings),
            None if command == "unset" => unset(name, scope, findings),
            None => {}
        }
    }
}

/// `declare NAME=VALUE`: with an attribute set before, the value may be evaluated.
fn declared_value(command: &str, name: &str, value: &str, known: bool, scope: &mut Scope, findings: &mut Findings) {
    let evaluated = value.contains(['[', '$', '`', '(']) && !matches!(command, "export" | "readonly" | "unset");
    if evaluated || value.starts_with('(') && value.contains("]=") {
        findings.add(scope, Risk::Destructive, format!("{command}:code"), "the value may be evaluated as code", None);
    }
    evaluation::value_may_be_evaluated(value, scope, findings);
    let literal = known.then_some(value);
    access::assigns(name, literal, command == "export", scope, findings);
    scope.bind(name, literal.map_or(Binding::ScriptValue, |text| Binding::Text(text.into())));
    if name == "IFS" {
        scope.state_mut().forget_splitting();
    }
}

/// `unset NAME`.
fn unset(name: &str, scope: &mut Scope, findings: &mut Findings) {
    if environment::is_critical(name, scope.tables()) {
        let message = format!("{name} matters to other commands");
        findings.add(scope, Risk::ConfigMutation, "unset:environment", message, None);
    } else if scope.state().may_be_function(name) {
        let message = format!("{name} is a function before and something else after");
        findings.add(scope, Risk::Destructive, "unset:function", message, None);
    } else {
        scope.bind(name, Binding::ScriptValue);
    }
}

/// `read NAME…`.
pub fn read(argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    if let Input::Text(text) = scope.input().clone() {
        evaluation::value_may_be_evaluated(&text, scope, findings);
    }
    let mut words = argv[1..].iter();
    while let Some(word) = words.next() {
        let Some(text) = word.literal() else {
            return findings.add(scope, Risk::Destructive, "read:computed", "which variable is set is not known", None);
        };
        if let Some(letters) = text.strip_prefix('-') {
            if letters.ends_with(['a', 'd', 'i', 'n', 'N', 'p', 't', 'u']) {
                if letters.ends_with('a') {
                    continue;
                }
                words.next();
            }
            continue;
        }
        if !is_name(text) || environment::is_critical(text, scope.tables()) {
            findings.add(scope, Risk::Destructive, "read:variable", format!("sets {text}"), None);
        }
        scope.bind(text, Binding::ScriptValue);
    }
}

/// `getopts LETTERS NAME …`: sets NAME, `OPTARG` and `OPTIND`.
pub fn getopts(argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    let name = argv.get(2).and_then(Word::literal).unwrap_or("");
    if !is_name(name) || environment::is_critical(name, scope.tables()) {
        let message = "sets a variable that is not a plain name";
        findings.add(scope, Risk::Destructive, "getopts:variable", message, None);
    }
    scope.bind(name, Binding::ScriptValue);
    scope.bind("OPTARG", Binding::ScriptValue);
}

/// `set -euo pipefail`, `set -x`.
pub fn set(argv: &[Word<'_>], scope: &Scope, findings: &mut Findings) {
    for word in &argv[1..] {
        let known = word.literal().is_some_and(|text| {
            text.strip_prefix(['-', '+']).is_some_and(|letters| letters.chars().all(|c| "euxofvCEThn".contains(c)))
                || matches!(
                    text,
                    "pipefail"
                        | "errexit"
                        | "nounset"
                        | "noglob"
                        | "noclobber"
                        | "errtrace"
                        | "xtrace"
                        | "verbose"
                        | "posix"
                        | "functrace"
                )
        });
        if word.literal().is_none_or(|text| text.contains('k') && text != "--") {
            findings.add(
                scope,
                Risk::Destructive,
                "set:keyword",
                "turns arguments of commands into their environment",
                None,
            );
        }
        if word.is("--") || !known {
            return findings.add(
                scope,
                Risk::ConfigMutation,
                "set:parameters",
                "changes parameters that are not followed",
                None,
            );
        }
        if word.literal().is_some_and(|text| text.contains('n')) && word.is("-n") {
            findings.add(scope, Risk::ConfigMutation, "set:no-execution", "the rest is not executed", None);
        }
    }
}

/// `eval WORDS…`: only what is known is judged.
pub fn eval(argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    let shell = scope.shell();
    if argv.iter().any(|word| word.value != Value::Known) {
        scope.state_mut().forget_variables();
        return findings.add(
            scope,
            Risk::Destructive,
            "eval:computed-code",
            "what is executed is not known",
            Some("run the command itself"),
        );
    }
    let text: Vec<&str> = argv[1..].iter().map(|word| word.text.as_ref()).collect();
    if !text.is_empty() {
        nested::script(&text.join(" "), shell, scope, findings);
    }
    scope.state_mut().forget_variables();
}

/// `exec COMMAND…`, or redirects only.
pub fn exec(argv: &[Word<'_>], scope: &Scope, findings: &mut Findings) {
    let Some(rest) = argv.get(1..).filter(|rest| !rest.is_empty()) else { return };
    if rest[0].text.starts_with('-') {
        return findings.add(scope, Risk::Destructive, "exec:option", "runs a program under another name", None);
    }
    nested::own_process(rest, scope, findings);
}

/// `let`: arithmetic.
pub fn arithmetic(argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    argv[1..].iter().for_each(|word| evaluation::assigns_in(&word.text, scope, findings));
    scope.state_mut().forget_variables();
    evaluation::evaluates("bash evaluates variables in arithmetic as code", None, scope, findings);
}

/// `shift`: which parameter is which is not followed.
pub fn shift(_argv: &[Word<'_>], scope: &mut Scope, _findings: &mut Findings) {
    scope.state_mut().forget_parameters();
}

/// `cd DIRECTORY`, `pushd DIRECTORY`.
pub fn cd(argv: &[Word<'_>], scope: &mut Scope, _findings: &mut Findings) {
    let operand = argv[1..].iter().find(|word| !matches!(word.literal(), Some("-L" | "-P" | "-e" | "--")));
    // Where these lead is not followed.
    let back = argv[0].is("popd");
    let climbs = |word: &Word<'_>| word.value == Value::KnownPrefix && (word.text == "/" || word.ending.contains(".."));
    match operand {
        _ if back => scope.enter_directory(&Word::partly("", Value::ScriptValue)),
        None => scope.enter_directory(&Word::known("/root")),
        Some(word) if word.is("-") || climbs(word) => scope.enter_directory(&Word::partly("", Value::ScriptValue)),
        Some(word) => scope.enter_directory(word),
    }
}

/// `mapfile NAME`, `readarray NAME`.
pub fn mapfile(argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    findings.bash_only(scope, "`mapfile`");
    if let Input::Text(text) = scope.input().clone() {
        evaluation::value_may_be_evaluated(&text, scope, findings);
    }
    let mut words = argv[1..].iter();
    while let Some(word) = words.next() {
        match word.literal() {
            Some("-t") => {}
            Some("-d" | "-n" | "-O" | "-s" | "-u") => {
                words.next();
            }
            Some(name) if is_name(name) && !environment::is_critical(name, scope.tables()) => {
                scope.bind(name, Binding::ScriptValue)
            }
            _ => findings.add(scope, Risk::Destructive, "mapfile:callback", "may execute code for each line", None),
        }
    }
}

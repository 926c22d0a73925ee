//! `find`: tests and actions in an expression.

use super::judge_argv;
use crate::{
    Risk, access,
    context::{Findings, Scope},
    facts::paths,
    tables::ListName,
    words::{Value, Word},
};

/// `find START… EXPRESSION`.
pub fn find(argv: &[Word<'_>], scope: &Scope, findings: &mut Findings) {
    let start = argv.get(1).filter(|word| word.value != Value::Unknown && !word.text.starts_with(['-', '(', '!']));
    let start = start.map_or_else(|| "./".to_owned(), |word| word.text.to_string());
    let mut at = 1;
    let mut expression = false;
    while let Some(word) = argv.get(at) {
        at += 1;
        let Some(text) = word.literal() else {
            if word.value >= Value::ScriptValue && (expression || word.splits || word.value == Value::Unknown) {
                unknown_word(scope, findings);
            }
            continue;
        };
        expression |= text.starts_with('-');
        if scope.tables().lists(ListName::FindValues, text) {
            test_value(argv.get(at), scope, findings);
            at += 1;
        } else if matches!(text, "-exec" | "-execdir") {
            at = find_exec(argv, at, text, &start, scope, findings);
        } else if !is_flag(text, scope) && !action(word, text, scope, findings) {
            return;
        }
    }
}

/// Whether a word is a test or option without a value that only looks.
fn is_flag(text: &str, scope: &Scope) -> bool {
    scope.tables().lists(ListName::FindFlags, text)
        || text.starts_with("-O")
        || text.starts_with("-newer") && text.len() < 9
}

/// The value of a test.
fn test_value(value: Option<&Word<'_>>, scope: &Scope, findings: &mut Findings) {
    if value.is_some_and(|word| word.splits && word.value >= Value::ScriptValue) {
        unknown_word(scope, findings);
    }
    if value.is_some_and(|word| names_a_secret(&word.text, scope)) {
        findings.shows_secrets();
    }
}

/// An action, a starting point or a word that is not known; false when what follows cannot be told any more.
fn action(word: &Word<'_>, text: &str, scope: &Scope, findings: &mut Findings) -> bool {
    match text {
        "-ok" | "-okdir" => {
            let message = "asks a person before each execution";
            findings.add(scope, Risk::Destructive, "find:ok", message, Some("use -exec"));
            return false;
        }
        "-delete" => {
            let hint = "look at the list with -print first";
            findings.add(scope, Risk::Destructive, "find:delete", "removes what it finds", Some(hint));
        }
        "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
            findings.add(scope, Risk::Destructive, "find:write", format!("{text} writes a file"), None);
            return false;
        }
        _ if text.starts_with('-') && text.len() > 1 => {
            let message = format!("{text} is not a known test");
            findings.add(scope, Risk::ConfigMutation, "find:unlisted-option", message, None);
        }
        _ => access::reads(word, scope, findings),
    }
    true
}

fn unknown_word(scope: &Scope, findings: &mut Findings) {
    let message = "a word that is not known may be an action";
    findings.add(scope, Risk::ConfigMutation, "find:unknown-word", message, None);
}

/// Whether files of this name hold secrets wherever they lie.
fn names_a_secret(name: &str, scope: &Scope) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name);
    scope.tables().lists(ListName::FindSecrets, base) || paths::is_secret(&format!("/{base}"), true, scope.tables())
}

/// Judges `-exec COMMAND… ;`; returns where the expression goes on.
fn find_exec(
    argv: &[Word<'_>],
    from: usize,
    action: &str,
    start: &str,
    scope: &Scope,
    findings: &mut Findings,
) -> usize {
    let end = (from..argv.len())
        .find(|at| argv[*at].is(";") || (argv[*at].is("+") && *at > from && argv[*at - 1].is("{}")))
        .unwrap_or(argv.len());
    let words: Vec<Word<'_>> = argv[from..end]
        .iter()
        .map(|word| {
            if word.value == Value::Known && word.text.contains("{}") {
                let begin = word.text.split("{}").next().unwrap_or("");
                let known = if begin.is_empty() { start.to_owned() } else { begin.to_owned() };
                let value = if action == "-execdir" || !known.starts_with('-') {
                    Value::KnownPrefix
                } else {
                    Value::ScriptValue
                };
                Word::partly(known, value)
            } else {
                word.borrow()
            }
        })
        .collect();
    if words.is_empty() || end == argv.len() {
        findings.add(scope, Risk::Destructive, "find:exec", "what -exec runs is not known", None);
        return end + 1;
    }
    if words[0].value != Value::Known {
        findings.add(scope, Risk::Destructive, "find:exec", "executes the files that it finds", None);
        return end + 1;
    }
    let mut inner = scope.with_placeholder(Some("{}")).showing(&words);
    judge_argv(&words, &mut inner, findings);
    end + 1
}

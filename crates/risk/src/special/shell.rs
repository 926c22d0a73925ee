//! Commands that run other commands: shells, `source`, `xargs`, `at`.

use crate::{
    Locus, Risk, functions,
    judge::{Input, Judge, Shell},
    rule::{Case, general, options_only},
    word::{Value, Word},
};

/// `sh -c CODE`, `bash FILE`, `bash` with code on its standard input.
pub fn shell(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    let shell = if case.argv[0].text.ends_with("bash") { Shell::Bash } else { Shell::Sh };
    general(judge, case);
    if case.has("--version") || case.has("--help") {
        return;
    }
    let first = case.args.operands.first();
    if first.is_some_and(|word| word.text.starts_with('+')) {
        judge.find(Risk::Destructive, "shell:option", "an option that is not followed", None);
    }
    if case.has("c") {
        match first {
            Some(code) if code.value == Value::Data && code.fetched.is_some() => {
                fetched(judge, code.fetched.as_deref().unwrap_or(""));
            }
            Some(code) => {
                judge.arguments = case.args.operands[1..].iter().map(functions::parameter).collect();
                judge.nested_word(code, shell, case.name);
                judge.arguments.clear();
            }
            None => judge.find(Risk::Destructive, "shell:computed-code", "there is no code after -c", None),
        }
    } else if case.has("s") || first.is_none() {
        standard_input(judge, shell);
    } else if let Some(file) = first {
        match &file.fetched {
            Some(url) => fetched(judge, url),
            None if file.value != Value::Known || file.text.starts_with("/dev/") => judge.find(
                Risk::Destructive,
                "shell:computed-code",
                "what is executed is not known",
                Some("write the commands out"),
            ),
            None => {
                program_file(judge, &file.text);
                judge.suspect(case.name, &case.args.operands);
            }
        }
    }
}

/// A script file: what is in it is not known.
fn program_file(judge: &mut Judge, name: &str) {
    let stream = name.starts_with("/dev/") || name.starts_with("/proc/");
    let risk = if judge.locus == Locus::Host || stream { Risk::Destructive } else { Risk::ConfigMutation };
    judge.find(risk, "shell:program-file", format!("executes {name}, whose content is not known"), None);
}

/// Code from a URL: an installer of known origin is a change in a guest, never on a node.
fn fetched(judge: &mut Judge, url: &str) {
    if !url.starts_with("https://") {
        return judge.find(
            Risk::Destructive,
            "shell:fetched-code",
            "executes code that came over an unprotected connection",
            Some("use https"),
        );
    }
    let risk = if judge.locus == Locus::Host { Risk::Destructive } else { Risk::ConfigMutation };
    judge.find(risk, "shell:fetched-code", format!("executes what {url} answers"), None);
}

fn standard_input(judge: &mut Judge, shell: Shell) {
    match judge.input.clone() {
        Input::Closed => {
            judge.flag(crate::effect::Effect { interactive: true, ..crate::effect::Effect::READ });
            judge.find(
                Risk::ConfigMutation,
                "shell:interactive",
                "a shell without a command waits for a person",
                Some("give the command with -c"),
            );
        }
        Input::Text(text) => judge.nested_script(&text, shell),
        Input::Fetched(url) => fetched(judge, &url),
        Input::Opaque => judge.find(
            Risk::Destructive,
            "shell:piped-code",
            "executes what comes through a pipe and is not known",
            Some("write the commands out"),
        ),
    }
}

/// `source FILE`, `. FILE`, `run-parts`.
pub fn source(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    judge.forget_variables();
    match case.args.operands.first().and_then(Word::literal) {
        Some("/etc/os-release" | "/usr/lib/os-release" | "/etc/lsb-release" | "/etc/default/locale") => {}
        Some(file) => program_file(judge, file),
        None => judge.find(Risk::Destructive, "source:computed", "which file is executed is not known", None),
    }
}

/// `xargs COMMAND…`: the command gets words that are not known.
pub fn xargs(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    let outer = case.args.command.unwrap_or(case.argv.len());
    let options = Case {
        entry: case.entry,
        name: case.name,
        argv: &case.argv[..outer],
        args: crate::options::read(case.entry, &case.argv[..outer]),
    };
    options_only(judge, &options);
    let replace = case.value(&["I", "--replace", "i"]).and_then(|word| word.literal().map(str::to_owned));
    let mark = replace.or_else(|| (case.has("i") || case.has("--replace") || case.has("I")).then(|| "{}".to_owned()));
    let mut words: Vec<Word<'_>> = case.argv[outer..].iter().map(crate::options::borrow).collect();
    if words.is_empty() {
        return;
    }
    match &mark {
        Some(mark) => {
            for word in &mut words {
                if word.text.contains(mark.as_str()) {
                    let begin = word.text.split(mark.as_str()).next().unwrap_or("").to_owned();
                    let value = if begin.is_empty() || begin.starts_with('-') { Value::Data } else { Value::Tail };
                    *word = Word::partly(begin, value);
                }
            }
        }
        None => words.push(Word { splits: true, ..Word::partly("", Value::Data) }),
    }
    let saved = std::mem::replace(&mut judge.placeholder, mark);
    let keeps_input = case.has("a") || case.has("--arg-file") || case.has("o") || case.has("--open-tty");
    let none = if keeps_input { Input::Opaque } else { Input::Closed };
    let input = std::mem::replace(&mut judge.input, none);
    judge.argv_of(&words);
    judge.dispatch(&words);
    judge.input = input;
    judge.placeholder = saved;
}

/// `flock FILE -c CODE`; false when the table can go on with `flock FILE COMMAND`.
pub fn flock(judge: &mut Judge, argv: &[Word<'_>]) -> bool {
    let Some(at) = argv.iter().position(|word| word.is("-c") || word.is("--command")) else { return false };
    for file in argv[1..at].iter().filter(|word| !word.text.starts_with('-')) {
        judge.writes(file, "flock");
    }
    match argv.get(at + 1) {
        Some(code) => judge.nested_word(code, Shell::Sh, "flock"),
        None => judge.find(Risk::Destructive, "flock:computed-code", "what is executed is not known", None),
    }
    true
}

/// `su [-] [USER] -c CODE`, `runuser -u USER [--] COMMAND`.
pub fn su(judge: &mut Judge, argv: &[Word<'_>]) {
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
            Some("-u" | "--user" | "-g" | "--group") if operands == 0 && argv[0].text.ends_with("runuser") => {
                at += 1;
                operands = 2;
            }
            Some("-" | "-l" | "--login" | "-m" | "-p" | "--preserve-environment") => {}
            Some("--") if operands == 2 => break,
            Some(text) if text.starts_with('-') => {
                return judge.find(Risk::Destructive, "su:option", format!("{text} is not known"), None);
            }
            Some(_) if operands == 2 => {
                at -= 1;
                break;
            }
            Some(_) if operands == 0 => operands = 1,
            _ => {
                judge.flag(crate::effect::Effect { interactive: true, ..crate::effect::Effect::READ });
                return judge.find(Risk::Destructive, "su:operand", "what is executed is not known", None);
            }
        }
    }
    match (code, argv.get(at..).filter(|rest| !rest.is_empty())) {
        (Some(code), None) => judge.nested_word(code, Shell::Sh, "su"),
        (None, Some(rest)) if operands == 2 => {
            judge.argv_of(rest);
            judge.dispatch(rest);
        }
        _ => {
            judge.flag(crate::effect::Effect { interactive: true, ..crate::effect::Effect::READ });
            judge.find(
                Risk::Destructive,
                "su:shell",
                "opens a shell for a person",
                Some("name the command: su USER -c '…'"),
            );
        }
    }
}

fn is_plain_shell(word: &Word<'_>) -> bool {
    matches!(word.literal(), Some("/bin/sh" | "/bin/bash" | "/usr/bin/bash" | "/usr/bin/sh" | "sh" | "bash"))
}

//! A command: finds out which one an argument vector names, and its entry in the tables.
//!
//! Must not know what the entry's command does.

use crate::{
    Risk,
    context::{Findings, Scope},
    facts::{guests, paths},
    rules::{judge_command, suspect_program},
    tables::Entry,
    words::{Value, Word, output},
};

/// The most commands that run one another (`sudo timeout nice …`).
const MAX_WRAPPERS: usize = 10;

/// Judges the command that this argument vector names.
pub fn judge_argv(argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    let Some(head) = argv.first() else { return };
    if !findings.count_command(scope) {
        return;
    }
    if scope.wrappers() > MAX_WRAPPERS {
        return findings.not_understood(scope, "shell:too-complex", "more wrappers than anybody needs", None);
    }
    let mut inner = scope.wrapped();
    by_head(head, argv, &mut inner, findings);
    scope.continue_after(inner);
}

fn by_head(head: &Word<'_>, argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    if let Some(guest) = guests::of_command(argv) {
        findings.name_processes([guest.clone()]);
        findings.name_guests([guest]);
    }
    let makes_option = |word: &Word<'_>| word.brace && (word.text.starts_with('-') || word.value != Value::Known);
    if head.brace || argv.iter().any(makes_option) {
        findings.add(scope, Risk::Destructive, "shell:computed-option", "a brace expansion makes an option", None);
    }
    let Some(text) = head.literal().filter(|_| !head.expanded && !head.glob) else {
        return findings.add(
            scope,
            Risk::Destructive,
            "shell:computed-command",
            "which command runs is not known",
            Some("name the command literally"),
        );
    };
    let beyond_ascii = |word: &Word<'_>| word.text.starts_with('-') && !word.text.replace(output::PLAIN, "").is_ascii();
    if !text.is_ascii() || argv.iter().any(beyond_ascii) {
        return findings.add(
            scope,
            Risk::Destructive,
            "shell:lookalike",
            "a command or option with letters beyond ASCII",
            None,
        );
    }
    match paths::command_name(text, scope.tables()) {
        Some(name) => by_name(&name, argv, scope, findings),
        None => program_file(text, argv, scope, findings),
    }
}

fn by_name(name: &str, argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    let tables = scope.tables();
    if let Some(entry) = tables.command(name) {
        return judge_command(entry, argv, scope, findings);
    }
    if let Some((entry, words)) = git_program(name, argv, tables.command("git")) {
        return judge_command(entry, &words, scope, findings);
    }
    findings.add(scope, Risk::ConfigMutation, format!("{name}:unknown"), format!("{name} is not in the tables"), None);
    suspect_program(name, argv, scope, findings);
}

/// `git-clean -n` is `git clean -n`.
fn git_program<'e, 'w>(
    name: &'w str,
    argv: &'w [Word<'_>],
    git: Option<&'e Entry>,
) -> Option<(&'e Entry, Vec<Word<'w>>)> {
    let verb = name.strip_prefix("git-")?;
    let mut words = vec![Word::known("git"), Word::known(verb)];
    words.extend(argv[1..].iter().map(Word::borrow));
    Some((git?, words))
}

/// A file that is executed: what is in it is not known.
fn program_file(path: &str, argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    let risk = if scope.on_host() { Risk::Destructive } else { Risk::ConfigMutation };
    findings.add(scope, risk, "shell:program-file", format!("{path} is code that is not known"), None);
    suspect_program(path.rsplit('/').next().unwrap_or(path), argv, scope, findings);
}

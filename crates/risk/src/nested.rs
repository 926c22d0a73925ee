//! Commands within commands: what a wrapper runs, where it runs it, and texts that another shell reads.
//!
//! Owns the change of place and shell; must not know any single command.

use super::{
    Locus,
    effect::Effect,
    judge::{Input, Judge, Shell},
    rule::Case,
    table::{Entry, Kind, Style},
    word::{Value, Word},
};
use crate::Risk;

/// Judges the command or shell line that this one runs.
pub fn nested(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    let form = case.form();
    let kinds = || form.operands.iter().copied().chain(form.rest);
    let runs = kinds().find(|kind| matches!(kind, Kind::Command | Kind::Line));
    let Some(runs) = runs else { return };
    let remote = kinds().find(|kind| matches!(kind, Kind::On | Kind::Within | Kind::Container));
    let Some(at) = case.args.command.filter(|at| *at < case.argv.len()) else {
        return without_command(judge, case, remote);
    };
    let words = &case.argv[at..];
    if !case.args.dashes && words.iter().any(|word| word.is("--")) && matches!(case.entry.name, "pct" | "qm") {
        judge.find(
            Risk::Destructive,
            case.code("dashes"),
            "where the command begins is not certain",
            Some("put -- before the command"),
        );
    }
    judge.elsewhere(remote, |judge| match runs {
        Kind::Line => judge.line(words, case.name),
        _ => judge.wrapped(words, case.entry),
    });
}

/// Whether it runs another command; an assignment (`env A=b`) is none.
pub fn runs_something(case: &Case<'_, '_, '_>) -> bool {
    let runs =
        case.form().operands.iter().chain(&case.form().rest).any(|kind| matches!(kind, Kind::Command | Kind::Line));
    let words = case.args.command.and_then(|at| case.argv.get(at..)).unwrap_or_default();
    runs && words.iter().any(|word| !word.text.contains('='))
}

/// Whether an option takes the place of a command: `numactl --hardware`.
fn ends(case: &Case<'_, '_, '_>) -> bool {
    case.args.given.iter().any(|given| given.opt.effect.bounded)
}

fn without_command(judge: &mut Judge, case: &Case<'_, '_, '_>, remote: Option<Kind>) {
    if remote == Some(Kind::On)
        && let Input::Text(text) = judge.input.clone()
    {
        // The shell there reads the here-document.
        judge.elsewhere(remote, |judge| judge.nested_script(&text, Shell::Sh));
    } else if remote.is_some() {
        judge.flag(Effect { interactive: true, ..Effect::READ });
        judge.find(
            Risk::Destructive,
            case.code("shell"),
            "opens a shell for a person",
            Some("name the command that shall run there"),
        );
    } else if case.entry.style == Style::Posix && case.argv.len() > 1 && !ends(case) {
        judge.find(Risk::ConfigMutation, case.code("no-command"), "runs no command that is known", None);
    }
}

impl Judge {
    /// Judges something that runs at another place.
    pub fn elsewhere(&mut self, place: Option<Kind>, judge: impl FnOnce(&mut Self)) {
        let saved = (self.locus, self.shell);
        let directories = place.map(|_| std::mem::take(&mut self.directories));
        match place {
            Some(Kind::On) => (self.locus, self.shell) = (Locus::Host, Shell::Sh),
            Some(Kind::Within | Kind::Container) => (self.locus, self.shell) = (Locus::Guest, Shell::Sh),
            _ => {}
        }
        judge(self);
        (self.locus, self.shell) = saved;
        if let Some(directories) = directories {
            self.directories = directories;
        }
    }

    /// Judges a command that another one runs with its own argument vector.
    pub fn wrapped(&mut self, words: &[Word<'_>], entry: &Entry) {
        let mut words = words;
        if matches!(entry.name, "env" | "sudo" | "doas") {
            while let Some((first, rest)) = words.split_first() {
                let Some((name, value)) = first.text.split_once('=') else { break };
                self.assignment(name, (first.value == Value::Known).then_some(value), true);
                words = rest;
            }
        }
        if words.is_empty() {
            // `env A=b` only shows the environment, which the table says.
            if entry.name != "env" {
                self.find(Risk::ConfigMutation, format!("{}:no-command", entry.name), "runs no command", None);
            }
            return;
        }
        if words[0].value == Value::Known && words[0].text.starts_with('-') {
            return self.find(
                Risk::Destructive,
                format!("{}:unlisted-option", entry.name),
                format!("{} is not an option known to be harmless", words[0].text),
                None,
            );
        }
        // `timeout 0` sets no limit.
        let zero = |word: &String| word.trim_matches(|c: char| !c.is_ascii_digit()) == "0";
        let limit = !self.argv.iter().take_while(|word| **word != words[0].text).any(zero);
        self.argv_of(words);
        let detached = self.detached;
        self.detached |= matches!(entry.name, "nohup" | "setsid" | "env" | "nsenter");
        let unbounded = self.unbounded();
        let locus = if entry.name == "nsenter" { std::mem::replace(&mut self.locus, Locus::Host) } else { self.locus };
        self.dispatch(words);
        if entry.name == "timeout" && limit {
            self.set_unbounded(unbounded);
        }
        self.locus = locus;
        self.detached = detached;
    }

    /// Judges words that are joined by blanks and read by a shell.
    pub fn line(&mut self, words: &[Word<'_>], name: &str) {
        if words.iter().any(|word| word.value != Value::Known) {
            // Nothing may be left of it, and then a shell waits for a person.
            self.flag(Effect { interactive: true, ..Effect::READ });
            self.find(
                Risk::Destructive,
                format!("{name}:computed-code"),
                "what is executed is not known",
                Some("write the command out literally"),
            );
        }
        let text: Vec<&str> = words.iter().filter_map(Word::literal).collect();
        self.nested_script(&text.join(" "), Shell::Sh);
    }

    /// Judges one word that a shell executes.
    pub fn nested_word(&mut self, word: &Word<'_>, shell: Shell, name: &str) {
        match word.literal() {
            Some(text) => self.nested_script(text, shell),
            None => self.find(
                Risk::Destructive,
                format!("{name}:computed-code"),
                "what is executed is not known",
                Some("write the command out literally"),
            ),
        }
    }

    /// Judges a text that another shell reads.
    pub fn nested_script(&mut self, text: &str, shell: Shell) {
        if text.trim().is_empty() {
            return;
        }
        if let Some(placeholder) = self.placeholder.clone()
            && text.contains(&placeholder)
        {
            self.find(Risk::Destructive, "shell:placeholder", "file names become code", Some("pass {} as an argument"));
        }
        self.may_call_all();
        let arguments = std::mem::take(&mut self.arguments).into_iter().enumerate();
        let arguments = arguments.map(|(at, binding)| (at.to_string(), binding)).collect();
        let variables = std::mem::replace(&mut self.variables, arguments);
        let functions = std::mem::take(&mut self.functions);
        let saved = (self.shell, self.nested, self.plain_splitting, self.substitutions);
        let place = self.place_of(text);
        let outer = (self.offset, self.length, self.wide.take());
        self.offset = place.unwrap_or_default();
        (self.shell, self.nested, self.plain_splitting, self.substitutions) = (shell, place.is_none(), true, 0);
        self.depth += 1;
        self.script(text);
        self.retire(0);
        self.depth -= 1;
        (self.shell, self.nested, self.plain_splitting, self.substitutions) = saved;
        (self.offset, self.length, self.wide) = outer;
        self.variables = variables;
        self.functions = functions;
    }
}

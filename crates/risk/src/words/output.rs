//! What a command writes into a pipe, as far as a shell at the other end would execute it.

use std::rc::Rc;

use rable::{Node, NodeKind};

use super::{Expansions, Value, Variables, Word, read};
use crate::tables::{Argument, ListName, Prints, Tables};

/// What a command reads on its standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Nothing.
    Closed,
    /// This text.
    Text(Rc<str>),
    /// What this URL answered.
    Fetched(Rc<str>),
    /// Something not known.
    Opaque,
}

/// What `argv` writes to its standard output.
pub fn of(argv: &[Word<'_>], tables: &Tables) -> Input {
    let Some(name) = argv.first().and_then(Word::literal) else { return Input::Opaque };
    let mut call = arguments(argv);
    call[0].text = name.rsplit('/').next();
    match () {
        () if tables.prints(Prints::Answer, &call) => fetched(argv),
        () if tables.prints(Prints::Text, &call) => text(&argv[1..]),
        () => Input::Opaque,
    }
}

fn arguments<'w>(words: &'w [Word<'_>]) -> Vec<Argument<'w>> {
    words.iter().map(Word::as_argument).collect()
}

fn fetched(argv: &[Word<'_>]) -> Input {
    let urls: Vec<&str> = argv[1..].iter().filter_map(Word::literal).filter(|text| text.contains("://")).collect();
    match urls.as_slice() {
        [url] if argv.iter().all(|word| word.value == Value::Known) => Input::Fetched((*url).into()),
        _ => Input::Opaque,
    }
}

fn text(words: &[Word<'_>]) -> Input {
    if words.iter().any(|word| word.value != Value::Known || word.text.contains('\\')) {
        return Input::Opaque;
    }
    let words: Vec<&str> =
        words.iter().map(|word| word.text.as_ref()).filter(|text| !matches!(*text, "-n" | "-e" | "-E")).collect();
    Input::Text(words.join(" ").into())
}

/// What stands for text that is not known but holds neither blanks nor anything that a shell, sed or a path minds.
pub const PLAIN: &str = "…";

/// A text that may stand for what a command prints: a name of the system, a date, a new temporary file.
pub fn stand_in(command: &Node, vars: &dyn Variables) -> Option<String> {
    let stages = stages(command, vars)?;
    if stages.iter().flatten().any(|word| word.literal().is_none()) {
        return None;
    }
    let tables = vars.tables();
    match stages.as_slice() {
        [only] => {
            let call = arguments(only);
            let last = only.last().map_or("", |word| word.text.as_ref());
            let prints = |what: Prints| tables.prints(what, &call);
            let state = prints(Prints::State) && !last.contains(['*', '?', '[']);
            if prints(Prints::Name) || state {
                Some(PLAIN.to_owned())
            } else if prints(Prints::Date) {
                last.strip_prefix('+').filter(|format| is_plain_date(format, tables)).map(|_| PLAIN.to_owned())
            } else if prints(Prints::Temporary) && vars.variable("TMPDIR").is_none() {
                Some(format!("/tmp/tmp.{PLAIN}"))
            } else {
                let template = prints(Prints::Template) && last.starts_with('/') && last.ends_with("XXX");
                template.then(|| format!("{}{PLAIN}", last.trim_end_matches('X')))
            }
        }
        // `pct status 104 | awk '{print $2}'`
        [status, column] => {
            let id = status.last().is_some_and(|id| id.text.bytes().all(|b| b.is_ascii_digit()));
            let state = id
                && tables.prints(Prints::Status, &arguments(status))
                && tables.prints(Prints::SecondColumn, &arguments(column));
            state.then(|| PLAIN.to_owned())
        }
        _ => None,
    }
}

/// The words of each stage of a pipeline; `None` when one is no plain command.
fn stages<'a>(command: &'a Node, vars: &dyn Variables) -> Option<Vec<Vec<Word<'a>>>> {
    let commands = match &command.kind {
        NodeKind::Pipeline { commands, .. } => commands.as_slice(),
        _ => std::slice::from_ref(command),
    };
    let words = |command: &'a Node| {
        let NodeKind::Command { words, assignments, redirects } = &command.kind else { return None };
        let plain =
            assignments.is_empty() && redirects.iter().all(|it| matches!(it.kind, NodeKind::Redirect { fd: 2, .. }));
        plain.then(|| words.iter().flat_map(|node| read(node, vars, &mut Expansions::default())).collect())
    };
    commands.iter().map(words).collect()
}

fn literals<'w>(words: &'w [Word<'_>]) -> Option<Vec<&'w str>> {
    words.iter().map(Word::literal).collect()
}

/// Whether a command prints addresses on the PCI bus: `lspci | grep VGA | cut -d' ' -f1`.
pub fn prints_address(command: &Node, vars: &dyn Variables) -> bool {
    let Some(stages) = stages(command, vars) else { return false };
    let Some((devices, filters)) = stages.split_first() else { return false };
    let tables = vars.tables();
    tables.prints(Prints::Devices, &arguments(devices))
        && filters.iter().any(|filter| is_first_column(filter, tables))
        && filters.iter().all(|filter| is_first_column(filter, tables) || keeps_lines(filter, tables))
}

/// Filters that print the first column of the lines they read.
fn is_first_column(filter: &[Word<'_>], tables: &Tables) -> bool {
    let pattern = match literals(filter).as_deref() {
        Some(["awk", program]) => program.strip_suffix("{print $1}").map(str::trim),
        _ => None,
    };
    tables.prints(Prints::FirstColumn, &arguments(filter))
        || pattern.is_some_and(|pattern| {
            pattern.len() > 1 && pattern.starts_with('/') && pattern.ends_with('/') && !pattern.contains('{')
        })
}

/// Filters that print some of the lines they read, and nothing of their own.
fn keeps_lines(filter: &[Word<'_>], tables: &Tables) -> bool {
    let Some(texts) = literals(filter) else { return false };
    let is_count = |option: &&str| {
        option.strip_prefix('-').unwrap_or(option).trim_start_matches('n').bytes().all(|b| b.is_ascii_digit())
    };
    tables.prints(Prints::SomeLines, &arguments(filter))
        || tables.prints(Prints::FirstLines, &arguments(filter)) && texts[1..].iter().all(is_count)
}

/// Whether `date` prints one word in this format, which begins with no dash and holds no blank.
fn is_plain_date(format: &str, tables: &Tables) -> bool {
    let mut chars = format.chars().peekable();
    let begins = chars.peek().is_some_and(|c| *c == '%' || c.is_ascii_alphanumeric());
    let mut plain = true;
    while let Some(c) = chars.next() {
        plain &= match c {
            '%' => chars.next().is_some_and(|c| tables.lists(ListName::DateFields, c.encode_utf8(&mut [0; 4]))),
            c => c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':'),
        };
    }
    begins && plain
}

/// Whether a command prints numbers only: it counts, filters digits, or takes a column of what the kernel counts.
pub fn prints_number(command: &Node, vars: &dyn Variables) -> bool {
    let commands = match &command.kind {
        NodeKind::Pipeline { commands, .. } => commands.as_slice(),
        _ => std::slice::from_ref(command),
    };
    let mut stages = Vec::with_capacity(commands.len());
    for command in commands {
        let NodeKind::Command { words, assignments, .. } = &command.kind else { return false };
        let words: Vec<Word<'_>> = words.iter().flat_map(|node| read(node, vars, &mut Expansions::default())).collect();
        stages.push(if assignments.is_empty() { words } else { Vec::new() });
    }
    let tables = vars.tables();
    let counts = stages.last().is_some_and(|last| tables.prints(Prints::Number, &arguments(last)));
    counts
        || stages.split_first().is_some_and(|(first, filters)| {
            is_measured(first, tables) && filters.iter().all(|filter| selects(filter, tables))
        })
}

/// Commands that print what the kernel counts, by themselves or from files in which nobody else's text is.
fn is_measured(words: &[Word<'_>], tables: &Tables) -> bool {
    let call = arguments(words);
    if tables.prints(Prints::Measure, &call) {
        return call.iter().all(|argument| argument.text.is_some());
    }
    if tables.prints(Prints::Files, &call) {
        return words.len() > 1 && words[1..].iter().all(|word| is_counter(word, tables));
    }
    words.split_last().is_some_and(|(file, filter)| is_counter(file, tables) && selects(filter, tables))
}

fn is_counter(word: &Word<'_>, tables: &Tables) -> bool {
    word.value <= Value::KnownPrefix
        && !word.text.contains("..")
        && tables.members(ListName::CounterFiles).iter().any(|file| word.text.starts_with(file))
}

/// Filters that print a part of what they read and nothing of their own.
fn selects(words: &[Word<'_>], tables: &Tables) -> bool {
    let Some(texts) = literals(words) else { return false };
    let call = arguments(words);
    let prints_part =
        |program: &str| program.chars().all(|c| c.is_ascii_alphanumeric() || "/_{}$ ^:=+*-;,%.".contains(c));
    tables.prints(Prints::Part, &call)
        || tables.prints(Prints::Lines, &call) && texts.iter().all(|text| !text.contains(['[', '$']))
        || tables.prints(Prints::Program, &call) && texts.last().is_some_and(|program| prints_part(program))
}

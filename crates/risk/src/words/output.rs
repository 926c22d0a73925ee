//! What a command writes into a pipe, as far as a shell at the other end would execute it.

use rable::{Node, NodeKind};

use std::rc::Rc;

use super::{Expansions, Value, Variables, Word, read};

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
pub fn of(argv: &[Word<'_>]) -> Input {
    let Some(name) = argv.first().and_then(Word::literal) else { return Input::Opaque };
    match name.rsplit('/').next().unwrap_or(name) {
        "curl" => fetched(argv),
        "wget" if argv.iter().any(|word| writes_to_stdout(word)) => fetched(argv),
        "echo" => text(&argv[1..]),
        "printf" if argv.len() == 2 => text(&argv[1..]),
        _ => Input::Opaque,
    }
}

fn writes_to_stdout(word: &Word<'_>) -> bool {
    word.literal().is_some_and(|text| {
        text == "-"
            || text == "--output-document=-"
            || (text.starts_with('-') && !text.starts_with("--") && text.ends_with("O-"))
    })
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
    if prints_state(command, vars) {
        return Some(PLAIN.to_owned());
    }
    let NodeKind::Command { words, assignments, redirects } = &command.kind else { return None };
    if !assignments.is_empty() || redirects.iter().any(|it| !matches!(it.kind, NodeKind::Redirect { fd: 2, .. })) {
        return None;
    }
    let words: Vec<Word<'_>> = words.iter().flat_map(|node| read(node, vars, &mut Expansions::default())).collect();
    let texts = words.iter().map(Word::literal).collect::<Option<Vec<_>>>()?;
    match texts.as_slice() {
        ["hostname"]
        | ["hostname", "-s" | "-f" | "--short" | "--fqdn"]
        | ["uname", "-r" | "-m" | "-n" | "-s"]
        | ["whoami" | "arch"]
        | ["id", "-un" | "-gn"]
        | ["lsb_release", "-cs" | "-rs" | "-is"]
        | ["dpkg", "--print-architecture"] => Some(PLAIN.to_owned()),
        ["date", options @ .., format]
            if matches!(options, [] | ["-u"]) && format.strip_prefix('+').is_some_and(is_plain_date) =>
        {
            Some(PLAIN.to_owned())
        }
        ["mktemp"] | ["mktemp", "-d"] if vars.variable("TMPDIR").is_none() => Some(format!("/tmp/tmp.{PLAIN}")),
        ["mktemp", "-d", template] | ["mktemp", template] if template.starts_with('/') && template.ends_with("XXX") => {
            Some(format!("{}{PLAIN}", template.trim_end_matches('X')))
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
        plain.then(|| words.iter().flat_map(|node| super::read(node, vars, &mut Expansions::default())).collect())
    };
    commands.iter().map(words).collect()
}

fn literals<'w>(words: &'w [Word<'_>]) -> Option<Vec<&'w str>> {
    words.iter().map(Word::literal).collect()
}

/// Whether a command prints one word that is the state of a guest or a unit: `pct status 104 | awk '{print $2}'`.
fn prints_state(command: &Node, vars: &dyn Variables) -> bool {
    let Some(stages) = stages(command, vars) else { return false };
    let Some(texts) = stages.iter().map(|words| literals(words)).collect::<Option<Vec<_>>>() else { return false };
    match texts.as_slice() {
        [only] => matches!(only.as_slice(), ["systemctl", "is-active" | "is-enabled" | "is-failed", unit]
            if !unit.starts_with('-') && !unit.contains(['*', '?', '['])),
        [first, last] => {
            let guest =
                matches!(first.as_slice(), ["pct" | "qm", "status", id] if id.bytes().all(|b| b.is_ascii_digit()));
            let second = matches!(
                last.as_slice(),
                ["awk", "{print $2}" | "{ print $2 }" | "{print $NF}"]
                    | ["cut", "-d ", "-f2"]
                    | ["cut", "-d", " ", "-f2"]
                    | ["cut", "-d ", "-f", "2"]
                    | ["cut", "-d", " ", "-f", "2"]
                    | ["sed", "s/status: //" | "s/^status: //" | "s/.*: //"]
            );
            guest && second
        }
        _ => false,
    }
}

/// Whether a command prints addresses on the PCI bus: `lspci | grep VGA | cut -d' ' -f1`.
pub fn prints_address(command: &Node, vars: &dyn Variables) -> bool {
    let Some(stages) = stages(command, vars) else { return false };
    let Some((first, rest)) = stages.split_first() else { return false };
    let Some(first) = literals(first) else { return false };
    let lists = matches!(first.as_slice(), ["lspci"] | ["lspci", "-D" | "-nn" | "-n" | "-Dn" | "-Dnn" | "-nnD"]);
    let Some(rest) = rest.iter().map(|words| literals(words)).collect::<Option<Vec<_>>>() else { return false };
    lists
        && rest.iter().any(|texts| is_first_column(texts))
        && rest.iter().all(|it| is_first_column(it) || keeps_lines(it))
}

/// Filters that print the first column of the lines they read.
fn is_first_column(texts: &[&str]) -> bool {
    match texts {
        ["awk", program] => program.strip_suffix("{print $1}").is_some_and(|pattern| {
            let pattern = pattern.trim();
            pattern.is_empty()
                || pattern.len() > 1 && pattern.starts_with('/') && pattern.ends_with('/') && !pattern.contains('{')
        }),
        ["cut", "-d ", "-f1"] | ["cut", "-f1", "-d "] | ["cut", "-d", " ", "-f1"] | ["cut", "-d", " ", "-f", "1"] => {
            true
        }
        _ => false,
    }
}

/// Filters that print some of the lines they read, and nothing of their own.
fn keeps_lines(texts: &[&str]) -> bool {
    match texts {
        ["grep", options @ .., _pattern] => {
            options.iter().all(|option| matches!(*option, "-i" | "-v" | "-E" | "-F" | "-w" | "-m1" | "-iE" | "-Ei"))
        }
        ["head" | "tail", options @ ..] => options.iter().all(|option| {
            option.strip_prefix('-').unwrap_or(option).trim_start_matches('n').bytes().all(|b| b.is_ascii_digit())
        }),
        _ => false,
    }
}

/// Whether `date` prints one word in this format, which begins with no dash and holds no blank.
fn is_plain_date(format: &str) -> bool {
    let mut chars = format.chars().peekable();
    let begins = chars.peek().is_some_and(|c| *c == '%' || c.is_ascii_alphanumeric());
    let mut plain = true;
    while let Some(c) = chars.next() {
        plain &= match c {
            '%' => chars.next().is_some_and(|c| "YymdHMSsjuwAaBbFTNGVIqUW".contains(c)),
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
        let NodeKind::Command { words, assignments, .. } = &command.kind else { continue };
        let words: Vec<Word<'_>> = words.iter().flat_map(|node| read(node, vars, &mut Expansions::default())).collect();
        stages.push(if assignments.is_empty() { words } else { Vec::new() });
    }
    stages.len() == commands.len()
        && (stages.last().is_some_and(|last| counts(last))
            || stages
                .split_first()
                .is_some_and(|(first, rest)| is_measured(first) && rest.iter().all(|it| selects(it))))
}

/// Commands that print digits whatever they read.
fn counts(words: &[Word<'_>]) -> bool {
    let texts: Vec<&str> = words.iter().map(|word| word.literal().unwrap_or("…")).collect();
    match texts.as_slice() {
        ["wc", "-l" | "-c" | "-w" | "-m"]
        | ["nproc"]
        | ["nproc", "--all"]
        | ["id", "-u" | "-g"]
        | ["grep", "-c" | "-ic" | "-vc" | "-ci" | "-cv", _]
        | ["tr", "-dc" | "-cd", "0-9" | "[:digit:]" | "[0-9]"] => true,
        ["pgrep", "-c" | "-fc" | "-cf" | "-xc" | "-cx", _] => !words[2].may_be_option(),
        ["stat", "-c", "%s" | "%Y" | "%X" | "%Z" | "%u" | "%g", _] => !words[3].may_be_option(),
        ["date", options @ .., "+%s"] => {
            matches!(options, [] | ["-u"] | ["-d" | "-r", _] | ["-u", "-d" | "-r", _])
                && !words.iter().any(|it| it.splits)
        }
        _ => false,
    }
}

/// Files in which the kernel itself writes what it counts; nobody else's text is in them.
const COUNTERS: &[&str] = &[
    "/proc/meminfo",
    "/proc/loadavg",
    "/proc/uptime",
    "/proc/stat",
    "/proc/vmstat",
    "/sys/class/thermal/",
    "/sys/fs/cgroup/memory.",
    "/sys/fs/cgroup/cpu.",
    "/sys/devices/system/cpu/",
    "/proc/sys/kernel/pid_max",
    "/proc/sys/fs/file-",
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/sys/vm/swappiness",
    "/proc/sys/net/netfilter/nf_conntrack_",
];

/// Commands that print what the kernel counts, by themselves or from such files.
fn is_measured(words: &[Word<'_>]) -> bool {
    let Some((name, rest)) = words.split_first() else { return false };
    match name.literal() {
        Some("free" | "nproc" | "uptime") => rest.iter().all(|word| word.value == Value::Known),
        Some("cat") => !rest.is_empty() && rest.iter().all(is_counter),
        Some("awk" | "grep" | "cut" | "head" | "tail") => {
            rest.last().is_some_and(is_counter) && selects(&words[..words.len() - 1])
        }
        _ => false,
    }
}

fn is_counter(word: &Word<'_>) -> bool {
    word.value <= Value::KnownPrefix
        && !word.text.contains("..")
        && COUNTERS.iter().any(|file| word.text.starts_with(file))
}

/// Filters that print a part of what they read and nothing of their own.
fn selects(words: &[Word<'_>]) -> bool {
    let Some(texts) = words.iter().map(Word::literal).collect::<Option<Vec<_>>>() else { return false };
    match texts.as_slice() {
        ["tr", "-d", _] => true,
        ["head" | "tail" | "cut" | "grep", ..] => texts.iter().all(|text| !text.contains(['[', '$'])),
        ["awk", program] | ["awk", "-F", _, program] => {
            program.chars().all(|c| c.is_ascii_alphanumeric() || "/_{}$ ^:=+*-;,%.".contains(c))
        }
        _ => false,
    }
}

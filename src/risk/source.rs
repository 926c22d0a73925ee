//! What a command writes into a pipe, as far as a shell at the other end would execute it.

use rable::{Node, NodeKind};

use super::{
    expansion,
    judge::Input,
    word::{Found, Value, Variables, Word},
};

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
        [url] if argv.iter().all(|word| word.value == Value::Known) => Input::Fetched((*url).to_owned()),
        _ => Input::Opaque,
    }
}

fn text(words: &[Word<'_>]) -> Input {
    if words.iter().any(|word| word.value != Value::Known || word.text.contains('\\')) {
        return Input::Opaque;
    }
    let words: Vec<&str> =
        words.iter().map(|word| word.text.as_ref()).filter(|text| !matches!(*text, "-n" | "-e" | "-E")).collect();
    Input::Text(words.join(" "))
}

/// Whether a command prints digits only: the last of its pipeline counts or filters.
pub fn prints_number(command: &Node, vars: &dyn Variables) -> bool {
    let last = match &command.kind {
        NodeKind::Pipeline { commands, .. } => commands.last(),
        _ => Some(command),
    };
    let Some(Node { kind: NodeKind::Command { words, .. }, .. }) = last else { return false };
    let words: Vec<Word<'_>> =
        words.iter().flat_map(|node| expansion::read(node, vars, &mut Found::default())).collect();
    let texts: Vec<&str> = words.iter().filter_map(Word::literal).collect();
    texts.len() == words.len()
        && matches!(
            texts.as_slice(),
            ["wc", "-l" | "-c" | "-w" | "-m"]
                | ["nproc"]
                | ["id", "-u" | "-g"]
                | ["date", "+%s"]
                | ["grep", "-c" | "-ic" | "-vc", _]
                | ["tr", "-dc" | "-cd", "0-9" | "[:digit:]" | "[0-9]"]
        )
}

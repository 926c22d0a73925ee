//! What a command writes into a pipe, as far as a shell at the other end would execute it.

use super::{
    judge::Input,
    word::{Value, Word},
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

//! What holds for another spelling of the same words: quotes, whole paths, values after a blank.

use crate::{
    corpus::{Line, letter, why},
    properties::{OPEN, begins_with_program},
};
use oikos_risk::{Locus, classify};

/// One command of plain words.
fn plain(line: &&&Line) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || " /._:,@%+-=".contains(c);
    begins_with_program(line) && line.command.chars().all(plain) && !line.command.contains("  ")
}

#[test]
fn another_spelling_of_the_same_words_gets_the_same_class() {
    let escape = |word: &str| word.chars().map(|c| format!("\\{c}")).collect::<String>();
    let hex = |word: &str| format!("$'{}'", word.chars().map(|c| format!("\\x{:02x}", c as u32)).collect::<String>());
    let octal = |word: &str| format!("$'{}'", word.chars().map(|c| format!("\\{:03o}", c as u32)).collect::<String>());
    let halves = |word: &str| format!("'{}'\"{}\"", &word[..word.len() / 2], &word[word.len() / 2..]);
    type Spelling<'a> = (&'a str, &'a dyn Fn(&str) -> String);
    let spellings: [Spelling; 6] = [
        ("single", &|word| format!("'{word}'")),
        ("double", &|word| format!("\"{word}\"")),
        ("backslash", &escape),
        ("halves", &halves),
        ("hex", &hex),
        ("octal", &octal),
    ];
    let (mut tried, mut wrong) = (0, Vec::new());
    for line in OPEN.iter().filter(plain) {
        let usual = classify(&line.command, line.locus);
        let words: Vec<&str> = line.command.split(' ').collect();
        for (name, spell) in spellings {
            let all = words.iter().map(|word| spell(word)).collect::<Vec<_>>().join(" ");
            let one = (0..words.len()).map(|at| {
                let spelled =
                    |(index, word): (usize, &&str)| if index == at { spell(word) } else { (*word).to_owned() };
                words.iter().enumerate().map(spelled).collect::<Vec<_>>().join(" ")
            });
            for text in one.chain([all]) {
                tried += 1;
                let verdict = classify(&text, line.locus);
                // `$'…'` is more to sh than it is to bash.
                let bash_only = line.locus == Locus::Guest && text.contains("$'");
                let same = verdict.risk == usual.risk || bash_only && verdict.risk >= usual.risk;
                if !same || verdict.affected != usual.affected || verdict.flags != usual.flags {
                    wrong.push(format!(
                        "{:?} {name} {text}: {} {}: {}",
                        line.locus,
                        letter(usual.risk),
                        letter(verdict.risk),
                        why(&verdict)
                    ));
                }
            }
        }
    }
    assert!(tried > 10_000, "{tried}");
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_whole_path_of_a_program_is_that_program() {
    let mut wrong = Vec::new();
    for line in OPEN.iter().filter(plain).filter(|line| !line.command.starts_with(['/', '.'])) {
        let usual = classify(&line.command, line.locus);
        for directory in ["/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/", "/usr/bin/../sbin/", "//usr//bin/./"] {
            let text = format!("{directory}{}", line.command);
            let verdict = classify(&text, line.locus);
            if verdict.risk < usual.risk || verdict.affected != usual.affected {
                wrong.push(format!("{:?} {text}: {} {}", line.locus, letter(usual.risk), letter(verdict.risk)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_value_after_a_blank_is_judged_at_least_as_one_after_an_equals_sign() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for line in OPEN.iter().filter(|line| line.command.contains(" --")) {
        let usual = classify(&line.command, line.locus);
        for (at, word) in
            line.command.split(' ').enumerate().filter(|(_, word)| word.starts_with("--") && word.contains('='))
        {
            let mut words: Vec<&str> = line.command.split(' ').collect();
            let split = word.replacen('=', " ", 1);
            words[at] = &split;
            let text = words.join(" ");
            tried += 1;
            let verdict = classify(&text, line.locus);
            if verdict.risk < usual.risk {
                wrong.push(format!("{:?} {text}: {} < {}", line.locus, letter(verdict.risk), letter(usual.risk)));
            }
        }
    }
    assert!(tried > 50, "{tried}");
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

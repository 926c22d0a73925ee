//! `sed` scripts: a harmless filter neither writes files nor executes commands.

use super::general::*;
use crate::{
    Risk, access,
    context::{Findings, Scope},
    invocation::Invocation,
    words::Word,
};

/// `sed`: the script must neither write nor execute.
pub fn sed(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    let mut scripts: Vec<&Word<'_>> = call
        .options
        .iter()
        .filter(|given| matches!(given.opt.name, "e" | "--expression"))
        .filter_map(|given| given.value.as_ref())
        .collect();
    let from_file = call.has("f") || call.has("--file");
    let mut files = 0;
    if scripts.is_empty() && !from_file {
        scripts.extend(call.operands.first());
        files = 1;
    }
    for script in scripts {
        match script.literal() {
            Some(text) => match sed_class(text) {
                Script::Harmless => {}
                Script::Executes | Script::Unreadable => {
                    findings.add(
                        scope,
                        Risk::Destructive,
                        "sed:executes",
                        "the script writes files or executes commands",
                        None,
                    );
                }
            },
            None => {
                findings.add(scope, Risk::Destructive, "sed:computed-code", "what the script does is not known", None)
            }
        }
    }
    let in_place = call.has("i") || call.has("--in-place");
    for file in call.operands.iter().skip(files) {
        if in_place { access::writes(file, "sed", scope, findings) } else { access::reads(file, scope, findings) }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Harmless,
    Executes,
    Unreadable,
}

/// Implementations disagree whether a bracket expression hides the delimiter: both readings count.
fn sed_class(script: &str) -> Script {
    match (sed_script(script, true), sed_script(script, false)) {
        (Script::Executes, _) | (_, Script::Executes) => Script::Executes,
        (Script::Unreadable, Script::Unreadable) => Script::Unreadable,
        _ => Script::Harmless,
    }
}

/// Reads a sed script as far as needed to find commands that write or execute.
fn sed_script(script: &str, brackets: bool) -> Script {
    let chars: Vec<char> = script.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        match chars[at] {
            ' ' | '\t' | '\n' | ';' | '{' | '}' | '!' | ',' | '$' | '+' | '~' | '0'..='9' => at += 1,
            '#' => at = line_end(&chars, at),
            '/' => match delimited(&chars, at + 1, '/', brackets) {
                Some(end) => at = skip_letters(&chars, end, "IM"),
                None => return Script::Unreadable,
            },
            '\\' => match chars.get(at + 1).and_then(|delimiter| delimited(&chars, at + 2, *delimiter, brackets)) {
                Some(end) => at = skip_letters(&chars, end, "IM"),
                None => return Script::Unreadable,
            },
            's' | 'y' => match substitution(&chars, at, brackets) {
                Ok(end) => at = end,
                Err(why) => return why,
            },
            'p' | 'P' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'x' | '=' | 'z' | 'q' | 'Q' | 'l' | 'F' => {
                at += 1
            }
            'b' | 't' | 'T' | ':' | 'v' => at = label_end(&chars, at + 1),
            'a' | 'i' | 'c' | 'r' | 'R' => at = line_end(&chars, at),
            _ => return Script::Executes,
        }
    }
    Script::Harmless
}

/// A label ends at a blank or semicolon in some implementations: what follows is judged as commands.
fn label_end(chars: &[char], from: usize) -> usize {
    let start = from + chars[from..].iter().take_while(|c| **c == ' ').count();
    start + chars[start..].iter().take_while(|c| !matches!(c, ' ' | ';' | '\n' | '}' | '\t')).count()
}

fn line_end(chars: &[char], from: usize) -> usize {
    let end = chars[from..].iter().position(|c| *c == '\n').map_or(chars.len(), |found| from + found);
    // `a\` and `i\` continue on the next line.
    if end > from && end < chars.len() && chars[end - 1] == '\\' { line_end(chars, end + 1) } else { end }
}

fn skip_letters(chars: &[char], mut at: usize, letters: &str) -> usize {
    while chars.get(at).is_some_and(|c| letters.contains(*c)) {
        at += 1;
    }
    at
}

/// The position after the delimiter that ends a text beginning at `from`.
pub fn delimited(chars: &[char], from: usize, delimiter: char, brackets: bool) -> Option<usize> {
    let mut at = from;
    while let Some(&c) = chars.get(at) {
        match c {
            '\\' => at += 1,
            '\n' if delimiter != '\n' => return None,
            '[' if brackets => at = bracket_end(chars, at)?,
            c if c == delimiter => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// The position of the bracket that ends the bracket expression at `at`.
fn bracket_end(chars: &[char], at: usize) -> Option<usize> {
    let mut end = at + 1;
    end += usize::from(chars.get(end) == Some(&'^'));
    end += usize::from(chars.get(end) == Some(&']'));
    loop {
        match chars.get(end)? {
            ']' => return Some(end),
            '[' if matches!(chars.get(end + 1), Some(':' | '.' | '=')) => {
                let kind = chars[end + 1];
                end += 2;
                while !(chars.get(end) == Some(&kind) && chars.get(end + 1) == Some(&']')) {
                    chars.get(end)?;
                    end += 1;
                }
                end += 2;
            }
            '\n' => return None,
            _ => end += 1,
        }
    }
}

/// The position after `s/…/…/flags`, or what makes it no harmless substitution.
fn substitution(chars: &[char], at: usize, brackets: bool) -> Result<usize, Script> {
    let delimiter = chars.get(at + 1).filter(|c| !c.is_alphanumeric() && !matches!(c, '\\' | '\n' | ' '));
    let delimiter = *delimiter.ok_or(Script::Unreadable)?;
    let middle = delimited(chars, at + 2, delimiter, brackets).ok_or(Script::Unreadable)?;
    let end = replacement(chars, middle, delimiter).ok_or(Script::Unreadable)?;
    let end = skip_letters(chars, end, "gpIiMm0123456789");
    match chars.get(end) {
        None | Some(' ' | ';' | '\n' | '}' | '#' | '\t') => Ok(end),
        Some('w' | 'e') => Err(Script::Executes),
        _ => Err(Script::Unreadable),
    }
}

fn replacement(chars: &[char], from: usize, delimiter: char) -> Option<usize> {
    let mut at = from;
    while let Some(&c) = chars.get(at) {
        match c {
            '\\' => at += 1,
            c if c == delimiter => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}

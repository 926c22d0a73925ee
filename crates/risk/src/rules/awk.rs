//! `awk` programs: harmless ones compute and print.

use super::{general::*, sed::delimited};
use crate::{
    Risk, access,
    context::{Findings, Scope},
    invocation::Invocation,
};

/// `awk`: the program must not call, pipe, write or read commands.
pub fn awk(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    if call.has("f") || call.has("--file") {
        return;
    }
    if let Some(program) = call.operands.first() {
        match program.literal() {
            Some(text) => {
                if !program_is_harmless(text) {
                    findings.add(
                        scope,
                        Risk::Destructive,
                        "awk:executes",
                        "the program writes files or executes commands",
                        None,
                    );
                }
            }
            None => {
                findings.add(scope, Risk::Destructive, "awk:computed-code", "what the program does is not known", None)
            }
        }
    }
    for file in call.operands.iter().skip(1) {
        access::reads(file, scope, findings);
    }
}

/// Implementations and positions leave two readings open: whether brackets hide a slash, and whether a slash after
/// `++` divides. A program must be harmless in each; a call of `system` is never.
fn program_is_harmless(program: &str) -> bool {
    let calls =
        program.match_indices("system").any(|(at, name)| program[at + name.len()..].trim_start().starts_with('('));
    !calls
        && [(true, true), (true, false), (false, true), (false, false)]
            .iter()
            .all(|(brackets, divides)| is_harmless(program, *brackets, *divides))
}

/// Whether an awk program only computes and prints. Strings and regular expressions are skipped.
fn is_harmless(program: &str, brackets: bool, divides: bool) -> bool {
    let chars: Vec<char> = program.chars().collect();
    let mut at = 0;
    let mut word = String::new();
    // The last token that is not a blank: decides whether `/` divides or begins an expression.
    let mut last = ' ';
    let mut prints = false;
    let mut reads = false;
    let mut twice = false;
    let mut depth = 0i32;
    while at < chars.len() {
        let c = chars[at];
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c);
            last = c;
            twice = false;
            at += 1;
            continue;
        }
        if !word.is_empty() {
            if matches!(word.as_str(), "system" | "close" | "fflush" | "function" | "func") {
                return false;
            }
            // Alone it reads the next line of the input; `< FILE` reads another one.
            reads |= word == "getline";
            if word.ends_with("print") || word.ends_with("printf") {
                prints = true;
                depth = 0;
            }
            if matches!(word.as_str(), "return" | "in" | "print" | "printf") {
                last = ' ';
            }
            word.clear();
        }
        match c {
            '"' => match skip_string(&chars, at + 1, '"') {
                Some(end) => at = end - 1,
                None => return false,
            },
            '\\' if chars.get(at + 1) == Some(&'\n') => {
                at += 2;
                continue;
            }
            '/' if !(twice && divides
                || last.is_ascii_alphanumeric()
                || matches!(last, '_' | ')' | ']' | '$' | '"')) =>
            {
                match delimited(&chars, at + 1, '/', brackets) {
                    Some(end) => at = end - 1,
                    None => return false,
                }
            }
            '#' => {
                at = chars[at..].iter().position(|c| *c == '\n').map_or(chars.len(), |found| at + found);
                prints = false;
                continue;
            }
            '@' | '`' => return false,
            '|' => {
                if chars.get(at + 1) != Some(&'|') {
                    return false;
                }
                at += 1;
            }
            '(' => depth += 1,
            ')' => depth -= 1,
            '>' if prints && depth <= 0 => return false,
            '<' if reads => return false,
            ';' | '\n' | '}' => (prints, reads) = (false, false),
            _ => {}
        }
        if c != ' ' && c != '\t' {
            twice = matches!(c, '+' | '-') && last == c;
            last = if c == '/' { '"' } else { c };
        }
        at += 1;
    }
    !matches!(word.as_str(), "system" | "close" | "fflush")
}

fn skip_string(chars: &[char], from: usize, delimiter: char) -> Option<usize> {
    let mut at = from;
    while let Some(&c) = chars.get(at) {
        match c {
            '\\' => at += 1,
            '\n' => return None,
            c if c == delimiter => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}

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
    let mut scan = Scan { chars: &chars, brackets, divides, last: ' ', ..Scan::default() };
    while let Some(c) = chars.get(scan.at) {
        if !scan.step(*c) {
            return false;
        }
    }
    !matches!(scan.word.as_str(), "system" | "close" | "fflush")
}

/// What is known at one place of a program. Each step says whether the program may still be harmless.
#[derive(Default)]
struct Scan<'p> {
    chars: &'p [char],
    at: usize,
    /// Whether brackets hide a slash from the end of a regular expression.
    brackets: bool,
    /// Whether a slash after `++` divides.
    divides: bool,
    /// The name or number that is being read.
    word: String,
    /// The last token that is not a blank: decides whether `/` divides or begins an expression.
    last: char,
    /// Within a statement that prints, where `>` writes a file.
    prints: bool,
    /// Within a statement that reads lines, where `<` names a file.
    reads: bool,
    /// After `++` or `--`.
    twice: bool,
    /// Brackets that are open since the statement began to print.
    depth: i32,
    /// After `if`, `while` and the like, whose brackets a statement follows.
    heads: bool,
    /// For each open bracket, whether a statement follows it.
    open: Vec<bool>,
}

impl Scan<'_> {
    fn step(&mut self, c: char) -> bool {
        if c.is_ascii_alphanumeric() || c == '_' {
            self.word.push(c);
            (self.last, self.twice) = (c, false);
            self.at += 1;
            return true;
        }
        self.word_ends() && self.sign(c)
    }

    fn word_ends(&mut self) -> bool {
        let word = std::mem::take(&mut self.word);
        if matches!(word.as_str(), "system" | "close" | "fflush" | "function" | "func") {
            return false;
        }
        // Alone it reads the next line of the input; `< FILE` reads another one.
        self.reads |= word == "getline";
        if word.ends_with("print") || word.ends_with("printf") {
            (self.prints, self.depth) = (true, 0);
        }
        let ends_there = ["return", "in", "print", "printf", "else", "do", "case", "exit", "default", "getline"];
        if ends_there.contains(&word.as_str()) {
            self.last = ' ';
        }
        if !word.is_empty() {
            self.heads = matches!(word.as_str(), "if" | "while" | "for" | "switch");
        }
        true
    }

    fn sign(&mut self, c: char) -> bool {
        let next = self.chars.get(self.at + 1).copied();
        let mut follows = false;
        let mut blank = matches!(c, ' ' | '\t');
        match c {
            '\\' if next == Some('\n') => {
                self.at += 2;
                return true;
            }
            '#' => {
                let end = self.chars[self.at..].iter().position(|c| *c == '\n');
                self.at = end.map_or(self.chars.len(), |found| self.at + found);
                return true;
            }
            '"' => match skip_string(self.chars, self.at + 1, '"') {
                Some(end) => self.at = end - 1,
                None => return false,
            },
            '/' if self.begins_expression() => match delimited(self.chars, self.at + 1, '/', self.brackets) {
                Some(end) => self.at = end - 1,
                None => return false,
            },
            '@' | '`' => return false,
            '|' if next != Some('|') => return false,
            '|' => self.at += 1,
            '(' => {
                self.depth += 1;
                self.open.push(self.heads);
            }
            ')' => {
                self.depth -= 1;
                follows = self.open.pop().unwrap_or(true);
            }
            '>' if self.prints && self.depth <= 0 => return false,
            '<' if self.reads => return false,
            '\n' if matches!(self.last, ',' | '&' | '|' | '?' | ':') => blank = true,
            ';' | '\n' | '}' => (self.prints, self.reads) = (false, false),
            _ => {}
        }
        if !blank {
            self.twice = matches!(c, '+' | '-') && self.last == c;
            self.last = match c {
                _ if follows => ' ',
                '/' => '"',
                c => c,
            };
            self.heads = false;
        }
        self.at += 1;
        true
    }

    /// Whether a slash begins a regular expression here, and does not divide.
    fn begins_expression(&self) -> bool {
        !(self.twice && self.divides || self.last.is_ascii_alphanumeric() || matches!(self.last, '_' | ')' | ']' | '"'))
    }
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

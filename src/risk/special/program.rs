//! Programs in little languages: `sed`, `awk`, `python -c`.

use crate::{
    api::Risk,
    risk::{
        Locus,
        judge::{Input, Judge},
        rule::{Case, general},
        word::{Value, Word},
    },
};

/// `sed`: the script must neither write nor execute.
pub fn sed(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    let mut scripts: Vec<&Word<'_>> = case
        .args
        .given
        .iter()
        .filter(|given| matches!(given.opt.name, "e" | "--expression"))
        .filter_map(|given| given.value.as_ref())
        .collect();
    let from_file = case.has("f") || case.has("--file");
    let mut files = 0;
    if scripts.is_empty() && !from_file {
        scripts.extend(case.args.operands.first());
        files = 1;
    }
    for script in scripts {
        match script.literal() {
            Some(text) => match sed_class(text) {
                Script::Harmless => {}
                Script::Executes | Script::Unreadable => {
                    judge.find(Risk::Destructive, "sed:executes", "the script writes files or executes commands", None);
                }
            },
            None => judge.find(Risk::Destructive, "sed:computed-code", "what the script does is not known", None),
        }
    }
    let in_place = case.has("i") || case.has("--in-place");
    for file in case.args.operands.iter().skip(files) {
        if in_place { judge.writes(file, "sed") } else { judge.reads(file) }
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
            'b' | 't' | 'T' | ':' | 'a' | 'i' | 'c' | 'r' | 'R' | 'v' => at = line_end(&chars, at),
            _ => return Script::Executes,
        }
    }
    Script::Harmless
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
fn delimited(chars: &[char], from: usize, delimiter: char, brackets: bool) -> Option<usize> {
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

/// `awk`: the program must not call, pipe, write or read commands.
pub fn awk(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    if case.has("f") || case.has("--file") {
        let risk = if judge.locus == Locus::Host { Risk::Destructive } else { Risk::ConfigMutation };
        return judge.find(risk, "awk:program-file", "executes a program file", None);
    }
    match case.args.operands.first() {
        Some(program) => match program.literal() {
            Some(text) => {
                if !(awk_is_harmless(text, true) && awk_is_harmless(text, false)) {
                    judge.find(
                        Risk::Destructive,
                        "awk:executes",
                        "the program writes files or executes commands",
                        None,
                    );
                }
            }
            None => judge.find(Risk::Destructive, "awk:computed-code", "what the program does is not known", None),
        },
        None => {}
    }
    for file in case.args.operands.iter().skip(1) {
        judge.reads(file);
    }
}

/// Whether an awk program only computes and prints. Strings and regular expressions are skipped.
fn awk_is_harmless(program: &str, brackets: bool) -> bool {
    let chars: Vec<char> = program.chars().collect();
    let mut at = 0;
    let mut word = String::new();
    // The last token that is not a blank: decides whether `/` divides or begins an expression.
    let mut last = ' ';
    let mut prints = false;
    let mut depth = 0i32;
    while at < chars.len() {
        let c = chars[at];
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c);
            last = c;
            at += 1;
            continue;
        }
        if !word.is_empty() {
            if matches!(word.as_str(), "system" | "getline" | "close" | "fflush" | "function" | "func") {
                return false;
            }
            if matches!(word.as_str(), "print" | "printf") {
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
            '/' if !(last.is_ascii_alphanumeric() || matches!(last, '_' | ')' | ']' | '$' | '"')) => {
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
            ';' | '\n' | '}' => prints = false,
            _ => {}
        }
        if c != ' ' && c != '\t' {
            last = if c == '/' { '"' } else { c };
        }
        at += 1;
    }
    !matches!(word.as_str(), "system" | "getline" | "close" | "fflush")
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

/// What in a program's text shows that it destroys.
const DESTRUCTIVE: &[&str] = &[
    "rmtree",
    "unlink",
    "os.remove",
    "rmdir",
    "shutil.move",
    "rm -",
    "mkfs",
    "wipefs",
    "dd if",
    "zfs destroy",
    "zpool",
    "pct destroy",
    "qm destroy",
    "/dev/sd",
    "/dev/nvme",
    "DROP ",
    "reboot",
    "shutdown",
    "poweroff",
    "b64decode",
    "base64",
    "exec(",
    "eval(",
    "FileUtils.rm",
    "truncate",
];

/// `python3 -c CODE`, `perl -e CODE`, `node FILE`: code in a language that is not judged.
pub fn interpreter(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    let risk = if judge.locus == Locus::Host { Risk::Destructive } else { Risk::ConfigMutation };
    let code =
        case.args.given.iter().filter(|given| matches!(given.opt.name, "c" | "e" | "E" | "r" | "--eval" | "--print"));
    let mut inline = false;
    for given in code {
        inline = true;
        let hostile = given
            .value
            .as_ref()
            .is_none_or(|code| code.value != Value::Known || DESTRUCTIVE.iter().any(|mark| code.text.contains(mark)));
        let risk = if hostile { Risk::Destructive } else { risk };
        judge.find(risk, format!("{}:code", case.name), "executes code that is not judged", None);
    }
    if inline {
        return;
    }
    match case.args.operands.first() {
        Some(_) => {
            judge.find(risk, format!("{}:program-file", case.name), "executes a program that is not judged", None)
        }
        None if case.has("m") => judge.find(risk, format!("{}:module", case.name), "runs a module", None),
        None if case
            .args
            .given
            .iter()
            .any(|given| matches!(given.opt.name, "--version" | "V" | "--help" | "h" | "v")) => {}
        None if judge.input == Input::Closed => {
            judge.flag(crate::risk::effect::Effect { interactive: true, ..crate::risk::effect::Effect::READ });
            judge.find(Risk::ConfigMutation, format!("{}:interactive", case.name), "waits for a person", None);
        }
        None => judge.find(
            Risk::Destructive,
            format!("{}:piped-code", case.name),
            "executes what comes through a pipe",
            None,
        ),
    }
}

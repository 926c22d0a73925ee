//! `$'…'` and `{…}`: small grammars within a word.

use super::MAX_BRACE_WORDS;

/// The alternatives of `a,b` or `1..5`; `None` when nested, quoted or too many.
pub fn brace_choices(inner: &str) -> Option<Vec<String>> {
    if inner.contains(['{', '}', '\'', '"', '\\', '$', '`', '*', '?', '[']) {
        return None;
    }
    if inner.contains(',') {
        return Some(inner.split(',').map(str::to_owned).collect());
    }
    let (from, to) = inner.split_once("..")?;
    let (from, to): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
    let count = from.abs_diff(to) as usize + 1;
    if count > MAX_BRACE_WORDS || inner.starts_with('0') {
        return None;
    }
    let (low, high) = (from.min(to), from.max(to));
    Some((low..=high).map(|n| n.to_string()).collect())
}

/// Decodes `$'…'`; `None` for control characters and escapes whose meaning is not plain text.
pub fn decode_ansi(raw: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next()? {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            c @ ('\\' | '\'' | '"' | '?') => out.push(c),
            'e' | 'E' => out.push('\u{1b}'),
            'x' => out.push(radix(&mut chars, 16, 2, 0)?),
            'u' => out.push(radix(&mut chars, 16, 4, 0)?),
            'U' => out.push(radix(&mut chars, 16, 8, 0)?),
            digit @ '0'..='7' => out.push(radix(&mut chars, 8, 2, digit.to_digit(8)?)?),
            _ => return None,
        }
    }
    Some(out)
}

fn radix(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, base: u32, most: usize, mut value: u32) -> Option<char> {
    for _ in 0..most {
        let Some(digit) = chars.peek().and_then(|c| c.to_digit(base)) else { break };
        value = value * base + digit;
        chars.next();
    }
    // A byte above 127 is half of a character, a zero ends the string: neither is plain text.
    if value == 0 || (128..256).contains(&value) { None } else { char::from_u32(value) }
}

/// A shell word in double quotes that expands to the same as `raw` does in a here-document: quotes outside of
/// substitutions are escaped. `None` when where a substitution ends is not certain.
pub fn as_quoted(raw: &str) -> Option<String> {
    let substitutes = raw.contains("$(") || raw.contains('`') || raw.contains("${");
    if substitutes && (raw.contains("case") || raw.contains('#')) && raw.contains(['"', '\'']) {
        return None;
    }
    let mut out = String::from(": \"");
    let mut closers: Vec<char> = Vec::new();
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        let inside = closers.last().copied();
        match (c, inside) {
            ('\\', _) => {
                out.push(c);
                match chars.next() {
                    // In a here-document a backslash before a quote is a backslash.
                    Some('"') if inside.is_none() => out.push_str("\\\\\""),
                    Some(next) => out.push(next),
                    None => out.push('\\'),
                }
                continue;
            }
            ('"', None) => out.push('\\'),
            ('"', Some('"')) | ('\'', Some('\'')) | (')', Some(')')) | ('}', Some('}')) | ('`', Some('`')) => {
                closers.pop();
            }
            (_, Some('\'')) => {}
            ('\'', Some(')' | '`')) => closers.push('\''),
            ('"', Some(_)) => closers.push('"'),
            ('$', _) if chars.peek() == Some(&'(') => {
                out.push(c);
                chars.next();
                closers.push(')');
                out.push('(');
                continue;
            }
            ('$', _) if chars.peek() == Some(&'{') => {
                out.push(c);
                chars.next();
                closers.push('}');
                out.push('{');
                continue;
            }
            ('(', Some(')')) => closers.push(')'),
            ('`', _) => closers.push('`'),
            _ => {}
        }
        out.push(c);
    }
    out.push('"');
    closers.is_empty().then_some(out)
}

/// Whether a character is read as a quote, a dash or an operator by people, and as a plain letter by the shell.
pub fn looks_like_syntax(c: char, begins: bool) -> bool {
    match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{2e3a}' | '\u{2e3b}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' => begins,
        '\u{ab}' | '\u{bb}' | '\u{2b9}'..='\u{2bd}' | '\u{2018}'..='\u{201f}' | '\u{2032}'..='\u{203a}' => true,
        '\u{ff01}'..='\u{ff5e}' => !c.is_alphanumeric(),
        _ => false,
    }
}

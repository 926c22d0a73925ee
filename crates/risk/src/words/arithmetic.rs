//! Arithmetic texts: bash evaluates a variable's value in them as code, so every name must be known to be a number.

use rable::{Node, NodeKind};

use super::{Binding, Variables, output};

/// Calls `each` for every name in an arithmetic text.
pub fn names(text: &str, each: &mut dyn FnMut(&str)) {
    for name in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|name| is_name(name)) {
        each(name);
    }
}

/// Calls `each` for every name that an arithmetic text sets: `a = 1`, `b += 2`, `c++`.
pub fn assigned(text: &str, each: &mut dyn FnMut(&str)) {
    const OPERATORS: &[&str] = &["+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--", "[", "="];
    let mut rest = text;
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    while let Some(begin) = rest.find(letter) {
        let end = rest[begin..].find(|c| !letter(c)).map_or(rest.len(), |length| begin + length);
        let (name, after) = (&rest[begin..end], rest[end..].trim_start());
        let counted = ["++", "--"].iter().any(|sign| rest[..begin].trim_end().ends_with(sign));
        let sets = !after.starts_with("==") && OPERATORS.iter().any(|operator| after.starts_with(operator));
        if is_name(name) && (sets || counted) {
            each(name);
        }
        rest = &rest[end..];
    }
}

/// Whether a text is arithmetic over digits and names that are numbers, or are set to digits in it first.
pub fn numbers_only(text: &str, vars: &dyn Variables) -> bool {
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b" _+-*/%<>=!&|?:;,()~^\n\t".contains(&b));
    let mut safe = plain;
    names(text, &mut |name| safe &= is_number(name, vars) || set_to_digits(text, name));
    safe
}

/// Whether the only `$((…))` of a word is about numbers, some of which commands may print: `$(( $(date +%s) / 86400 ))`.
pub fn of_numbers(word: &str, vars: &dyn Variables) -> bool {
    let Some((_, rest)) = word.split_once("$((") else { return false };
    let Some((text, after)) = rest.rsplit_once("))") else { return false };
    if after.contains("$((") || text.contains("$((") {
        return false;
    }
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('$') {
        plain.push_str(before);
        let Some(inner) = from.strip_prefix('(') else {
            // `$x` and `${x}` are read as `x`; what `$1` is nobody knows.
            if !from.trim_start_matches('{').starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                return false;
            }
            rest = from;
            continue;
        };
        // What quotes hide from this count is not parsed below.
        let Some(end) = closing(inner) else { return false };
        match rable::parse(&inner[..end], false).as_deref() {
            Ok([command]) if output::prints_number(command, vars) => plain.push('0'),
            _ => return false,
        }
        rest = &inner[end + 1..];
    }
    plain.push_str(rest);
    numbers_only(&plain.replace(['{', '}'], " "), vars)
}

/// Where the bracket closes that stands open before `text`.
fn closing(text: &str) -> Option<usize> {
    let mut open = 1;
    text.bytes().position(|byte| {
        open += i32::from(byte == b'(') - i32::from(byte == b')');
        open == 0
    })
}

/// Whether the first thing that a text does with `name` is to set it to digits: `i=0`.
fn set_to_digits(text: &str, name: &str) -> bool {
    let Some(rest) = text.trim_start().strip_prefix(name) else { return false };
    let Some(value) = rest.trim_start().strip_prefix('=') else { return false };
    let value = value.trim_start();
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let after = value[digits..].trim_start();
    digits > 0 && (after.is_empty() || after.starts_with([';', ',']))
}

/// Arithmetic whose every variable is known to be a number: anything else bash may evaluate as code.
pub fn expression_of_numbers(node: &Node, vars: &dyn Variables) -> bool {
    let all = |nodes: &[&Node]| nodes.iter().all(|node| expression_of_numbers(node, vars));
    match &node.kind {
        NodeKind::ArithNumber { value } => value.bytes().all(|b| b.is_ascii_alphanumeric()),
        NodeKind::ArithEmpty => true,
        NodeKind::ArithVar { name } => is_number(name, vars),
        NodeKind::ParamExpansion { param, op: None, .. } => is_number(param, vars),
        NodeKind::ArithBinaryOp { left, right, .. } | NodeKind::ArithComma { left, right } => all(&[left, right]),
        NodeKind::ArithUnaryOp { operand, .. } => expression_of_numbers(operand, vars),
        NodeKind::ArithTernary { condition, if_true, if_false } => {
            let branches = [if_true, if_false].into_iter().flatten();
            expression_of_numbers(condition, vars) && branches.into_iter().all(|it| expression_of_numbers(it, vars))
        }
        _ => false,
    }
}

/// Whether a variable holds digits only.
pub fn is_number(name: &str, vars: &dyn Variables) -> bool {
    match name {
        "?" | "#" | "$" | "RANDOM" | "SECONDS" | "EPOCHSECONDS" => true,
        _ => match vars.variable(name) {
            Some(Binding::Number) => true,
            Some(Binding::Text(text)) => !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()),
            _ => false,
        },
    }
}

/// Whether `text` is a variable's name.
pub fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

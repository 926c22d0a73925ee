//! Arithmetic texts: bash evaluates a variable's value in them as code, so every name must be known to be a number.

use super::{
    judge::Judge,
    word::{self, Binding, Variables, is_name},
};

/// Calls `each` for every name in an arithmetic text.
pub fn names(text: &str, each: &mut dyn FnMut(&str)) {
    for name in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|name| is_name(name)) {
        each(name);
    }
}

/// Whether a text is arithmetic over digits and names that are numbers, or are set to digits in it first.
pub fn numbers_only(text: &str, vars: &dyn Variables) -> bool {
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b" _+-*/%<>=!&|?:;,()~^\n\t".contains(&b));
    let mut safe = plain;
    names(text, &mut |name| safe &= word::is_number(name, vars) || set_to_digits(text, name));
    safe
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

/// Every name in a text of numbers is a number afterwards.
pub fn assign(text: &str, judge: &mut Judge) {
    let mut found = Vec::new();
    names(text, &mut |name| found.push(name.to_owned()));
    for name in found {
        judge.bind(&name, Binding::Number);
    }
}

//! `$name`, `${name}` and `${name<op>word}`: what is known about their values.

use super::{
    Binding, Value,
    arithmetic::is_name,
    reader::{Reader, is_plain},
};

impl Reader<'_, '_, '_> {
    /// `$param`, or `${param<op>arg}`.
    pub(super) fn parameter(&mut self, param: &str, op: Option<&str>, arg: Option<&str>) {
        let quoted = self.double;
        self.word.expanded = true;
        if param.contains('[') && !matches!(param.rsplit_once('['), Some((_, "@]" | "*]" | "0]" | "1]" | "2]"))) {
            return self.obfuscated("a computed subscript");
        }
        let name = param.split('[').next().unwrap_or(param);
        let special = name.len() == 1 && "?#$!@*-".contains(name) || name.bytes().all(|b| b.is_ascii_digit());
        if !(is_name(name) || special) || name.is_empty() {
            return self.obfuscated("an expansion that is not understood");
        }
        if let Some(op) = op {
            return self.operator(name, op, arg.unwrap_or(""), quoted);
        }
        if name.len() < param.len() {
            self.expansions.bash_only = true;
            return self.unknown(Value::ScriptValue, !quoted || param.ends_with("@]"));
        }
        match name {
            "?" | "#" | "$" | "!" | "RANDOM" | "SECONDS" | "UID" | "EUID" | "PPID" | "LINENO" | "BASHPID"
            | "EPOCHSECONDS" | "COLUMNS" | "LINES" => return self.digits(),
            "HOME" | "PWD" | "OLDPWD" if self.vars.variable(name).is_none() => {
                self.push_str(if name == "HOME" { "/root" } else { "/" });
                return self.unknown(Value::KnownPrefix, false);
            }
            // Its own value is trusted; what is added to it is judged.
            "PATH" if self.vars.variable(name).is_none() => return self.push_str("$PATH"),
            "HOSTNAME" | "USER" | "LOGNAME" if self.vars.variable(name).is_none() => {
                self.push_str("_");
                return self.unknown(Value::KnownPrefix, false);
            }
            _ => {}
        }
        match self.vars.variable(name) {
            Some(Binding::Text(text)) if quoted || (self.vars.plain_splitting() && unsplit(text)) => {
                let text = text.clone();
                self.push_str(&text);
            }
            Some(Binding::Number) => self.digits(),
            Some(Binding::OneWord) => self.unknown(Value::ScriptValue, !quoted && !self.vars.plain_splitting()),
            Some(Binding::Prefix(text)) if quoted || self.vars.plain_splitting() => {
                let text = text.clone();
                self.push_str(&text);
                self.unknown(Value::KnownPrefix, false);
            }
            Some(_) => self.unknown(Value::ScriptValue, !quoted),
            None => self.unknown(Value::Unknown, !quoted || matches!(name, "@")),
        }
    }

    /// `${name<op>arg}`.
    fn operator(&mut self, name: &str, op: &str, arg: &str, quoted: bool) {
        if op.starts_with('@') || name == "!" || name.starts_with('!') {
            return self.obfuscated("an expansion that executes or transforms its value");
        }
        if !(is_name(name) || name.chars().all(|c| c.is_ascii_digit()) || matches!(name, "@" | "*" | "#" | "?")) {
            return self.obfuscated("an expansion that is not understood");
        }
        if arg.contains(['`', '$']) || arg.contains("<(") || arg.contains(">(") {
            self.expansions.nested.push(arg.to_owned());
        }
        match op {
            ":-" | "-" | ":+" | "+" | "%" | "%%" | "#" | "##" | "?" | ":?" => {}
            "=" | ":=" => self.expansions.assigned.push(name.to_owned()),
            "/" | "//" | "/#" | "/%" | "^" | "^^" | "," | ",," => self.expansions.bash_only = true,
            ":" => {
                self.expansions.bash_only = true;
                if !arg.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | '-' | ' ')) {
                    self.expansions.arithmetic = true;
                }
            }
            _ => return self.obfuscated("an expansion that is not understood"),
        }
        let value = match self.vars.variable(name) {
            Some(_) => Value::ScriptValue,
            None => Value::Unknown,
        };
        self.unknown(value, !quoted);
    }
}

/// Whether a variable's text stays one word and holds no pattern when it is expanded without quotes.
fn unsplit(text: &str) -> bool {
    is_plain(text) || text.is_empty()
}

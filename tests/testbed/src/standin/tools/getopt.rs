//! Verbs and options as Proxmox's tools read them: unique prefixes, one dash or two, any case,
//! `--name=value`, options between the positional arguments, `--` as the end of options.

use std::collections::BTreeMap;

use super::{Failure, Host, Outcome};

/// The type of an option's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// 1, 0, on, off, yes, no, true, false; 1 without a value.
    Flag,
    /// Any text.
    Text,
    /// An integer of at least this.
    Integer(i64),
}

/// One option; a name ending in `[n]` stands for the name with any number.
pub type Parameter = (&'static str, Kind);

/// One verb of a tool.
pub struct Verb {
    /// Its full name.
    pub name: &'static str,
    /// Names of its positional arguments; `extra-args` takes all that remain.
    pub positionals: &'static [&'static str],
    /// Its options.
    pub options: &'static [Parameter],
    /// What it does.
    pub run: fn(&Host, &Arguments) -> Outcome,
}

/// Arguments after parsing.
#[derive(Debug, Default)]
pub struct Arguments {
    /// Options by full name; flags are "0" or "1".
    pub options: BTreeMap<String, String>,
    /// Positional arguments.
    pub positionals: Vec<String>,
    /// The verb's usage line, for error texts.
    pub usage: String,
}

impl Arguments {
    /// An option's value.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// Whether a flag is given and true.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name) == Some("1")
    }

    /// The positional argument at `index`; empty when absent, which the parser has excluded.
    pub fn positional(&self, index: usize) -> &str {
        self.positionals.get(index).map_or("", String::as_str)
    }

    /// The first positional argument as a guest's number.
    ///
    /// # Errors
    /// When it is not an integer from 100 to 999999999.
    pub fn vmid(&self) -> Result<u32, Failure> {
        vmid(self.positional(0), &self.usage)
    }
}

/// A guest's number.
///
/// # Errors
/// With the real tools' texts when it is not an integer from 100 to 999999999.
pub fn vmid(text: &str, usage: &str) -> Result<u32, Failure> {
    let refuse = |reason: &str| Failure::parameter("vmid", reason, usage);
    let number: i64 = text.parse().map_err(|_| refuse(&format!("type check ('integer') failed - got '{text}'")))?;
    match u32::try_from(number) {
        Ok(number @ 100..=999_999_999) => Ok(number),
        _ if number < 100 => Err(refuse("value must have a minimum value of 100")),
        _ => Err(refuse("value must have a maximum value of 999999999")),
    }
}

/// Runs the verb that `arguments` name out of `verbs`.
///
/// # Errors
/// As the verb's, and for unknown verbs and options.
pub fn dispatch(tool: &str, verbs: &[Verb], host: &Host, arguments: &[String]) -> Outcome {
    let Some((word, rest)) = arguments.split_first() else {
        return Err(abort(tool, verbs, "no command specified"));
    };
    if word == "help" {
        emit!("{}", usage(tool, verbs).trim_end_matches('\n'));
        return Ok(0);
    }
    let Some(verb) = expand(verbs, word) else {
        return Err(abort(tool, verbs, &format!("unknown command '{tool} {word}'")));
    };
    let usage = usage_line(tool, verb);
    let parsed = parse(verb, &usage, rest)?;
    (verb.run)(host, &parsed)
}

/// The verb itself or the only one that begins with `word`.
fn expand<'a>(verbs: &'a [Verb], word: &str) -> Option<&'a Verb> {
    if let Some(exact) = verbs.iter().find(|verb| verb.name == word) {
        return Some(exact);
    }
    let mut candidates = verbs.iter().filter(|verb| verb.name.starts_with(word));
    let first = candidates.next();
    if candidates.next().is_some() { None } else { first }
}

fn abort(tool: &str, verbs: &[Verb], reason: &str) -> Failure {
    Failure::new(format!("ERROR: {reason}\n{}", usage(tool, verbs).trim_end_matches('\n')))
}

fn usage(tool: &str, verbs: &[Verb]) -> String {
    let mut text = format!("USAGE: {tool} <COMMAND> [ARGS] [OPTIONS]\n\n");
    for verb in verbs {
        text.push_str("       ");
        text.push_str(&usage_line(tool, verb));
        text.push('\n');
    }
    text
}

fn usage_line(tool: &str, verb: &Verb) -> String {
    let mut line = format!("{tool} {}", verb.name);
    for name in verb.positionals {
        let shown = if *name == "extra-args" { " [<extra-args>]".to_owned() } else { format!(" <{name}>") };
        line.push_str(&shown);
    }
    if !verb.options.is_empty() {
        line.push_str(" [OPTIONS]");
    }
    line
}

fn parse(verb: &Verb, usage: &str, words: &[String]) -> Result<Arguments, Failure> {
    let mut parsed = Arguments { usage: usage.to_owned(), ..Arguments::default() };
    let mut words = words.iter().peekable();
    let mut unknown = Vec::new();
    while let Some(word) = words.next() {
        if word == "--" {
            parsed.positionals.extend(words.by_ref().cloned());
            break;
        }
        if !word.starts_with('-') || word == "-" {
            parsed.positionals.push(word.clone());
            continue;
        }
        let bare = word.strip_prefix("--").or_else(|| word.strip_prefix('-')).unwrap_or(word);
        let (name, attached) = match bare.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (bare, None),
        };
        let Some((full, kind)) = find_option(verb.options, name) else {
            unknown.push(format!("Unknown option: {}", name.to_lowercase()));
            continue;
        };
        let value = match (attached, kind) {
            (Some(value), _) => value,
            (None, Kind::Flag) => {
                words.next_if(|next| !next.starts_with('-')).cloned().unwrap_or_else(|| "1".to_owned())
            }
            (None, _) => match words.next() {
                Some(value) => value.clone(),
                None => {
                    unknown.push(format!("Option {full} requires an argument"));
                    continue;
                }
            },
        };
        let value = check(&full, kind, &value, usage)?;
        parsed.options.insert(full, value);
    }
    if !unknown.is_empty() {
        return Err(Failure::new(format!("{}\n400 unable to parse option\n{usage}", unknown.join("\n"))));
    }
    count_positionals(verb, &parsed)?;
    Ok(parsed)
}

fn count_positionals(verb: &Verb, parsed: &Arguments) -> Result<(), Failure> {
    let open = verb.positionals.contains(&"extra-args");
    let needed = verb.positionals.len() - usize::from(open);
    if parsed.positionals.len() < needed {
        return Err(Failure::new(format!("400 not enough arguments\n{}", parsed.usage)));
    }
    if parsed.positionals.len() > needed && !open {
        return Err(Failure::new(format!("400 too many arguments\n{}", parsed.usage)));
    }
    Ok(())
}

/// The option's full name: exact in any case, or the only one beginning with `name`.
fn find_option(options: &[Parameter], name: &str) -> Option<(String, Kind)> {
    let name = name.to_lowercase();
    for (option, kind) in options {
        if let Some(stem) = option.strip_suffix("[n]") {
            let number = name.strip_prefix(stem).unwrap_or_default();
            if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
                return Some((name, *kind));
            }
        } else if option.eq_ignore_ascii_case(&name) {
            return Some(((*option).to_owned(), *kind));
        }
    }
    let mut candidates = options
        .iter()
        .filter(|(option, _)| !name.is_empty() && !option.ends_with("[n]") && option.to_lowercase().starts_with(&name));
    let (option, kind) = candidates.next()?;
    if candidates.next().is_some() { None } else { Some(((*option).to_owned(), *kind)) }
}

fn check(name: &str, kind: Kind, value: &str, usage: &str) -> Result<String, Failure> {
    match kind {
        Kind::Text => Ok(value.to_owned()),
        Kind::Flag => match value.to_lowercase().as_str() {
            "1" | "on" | "yes" | "true" => Ok("1".to_owned()),
            "0" | "off" | "no" | "false" => Ok("0".to_owned()),
            _ => Err(Failure::parameter(name, &format!("type check ('boolean') failed - got '{value}'"), usage)),
        },
        Kind::Integer(minimum) => match value.parse::<i64>() {
            Ok(number) if number >= minimum => Ok(value.to_owned()),
            Ok(_) => Err(Failure::parameter(name, &format!("value must have a minimum value of {minimum}"), usage)),
            Err(_) => Err(Failure::parameter(name, &format!("type check ('integer') failed - got '{value}'"), usage)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: &[Parameter] =
        &[("memory", Kind::Integer(16)), ("force", Kind::Flag), ("forceStop", Kind::Flag), ("net[n]", Kind::Text)];

    fn verb() -> Verb {
        Verb { name: "create", positionals: &["vmid", "ostemplate"], options: OPTIONS, run: |_, _| Ok(0) }
    }

    fn parsed(words: &[&str]) -> Result<Arguments, Failure> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        parse(&verb(), "pct create <vmid> <ostemplate> [OPTIONS]", &words)
    }

    #[test]
    fn options_are_taken_with_one_dash_or_two_in_any_case_abbreviated_and_with_an_equals_sign() {
        let arguments = parsed(&["101", "-MEM", "512", "x", "--net0=name=eth0,ip=dhcp", "--force"]).unwrap();
        assert_eq!(arguments.get("memory"), Some("512"));
        assert_eq!(arguments.get("net0"), Some("name=eth0,ip=dhcp"));
        assert!(arguments.flag("force"));
        assert_eq!(arguments.positionals, ["101", "x"]);
    }

    #[test]
    fn unknown_options_and_wrong_counts_fail_with_the_real_texts() {
        let unknown = parsed(&["101", "x", "--foo"]).unwrap_err();
        assert!(unknown.text.starts_with("Unknown option: foo\n400 unable to parse option\npct create"));
        assert!(parsed(&["101"]).unwrap_err().text.starts_with("400 not enough arguments\n"));
        assert!(parsed(&["1", "2", "3"]).unwrap_err().text.starts_with("400 too many arguments\n"));
    }

    #[test]
    fn a_flag_takes_the_next_word_as_its_value_unless_that_is_an_option() {
        assert!(parsed(&["101", "x", "--force", "off"]).unwrap().get("force") == Some("0"));
        assert!(parsed(&["--force", "--memory", "64", "101", "x"]).unwrap().flag("force"));
    }
}

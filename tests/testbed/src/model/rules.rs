//! Which rule answers a request, and with which values.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use super::{
    scenario::{Capture, Pick, Rule, Scenario, Source, When},
    view::{Turn, View},
};

/// Values for `{{name}}`.
pub type Values = BTreeMap<String, String>;

/// The first rule that fits, by index, with its values. `used` counts how often each rule answered.
pub fn choose<'a>(scenario: &'a Scenario, view: &View, used: &[usize]) -> Option<(usize, &'a Rule, Values)> {
    let facts = Facts::of(scenario, view);
    let mut common = Values::new();
    for (name, capture) in &scenario.capture {
        if let Some(value) = facts.capture(capture) {
            common.insert(name.clone(), value);
        }
    }
    scenario.rules.iter().enumerate().find_map(|(index, rule)| {
        let spent = rule.times.is_some_and(|times| used.get(index).copied().unwrap_or(0) >= times);
        if spent || !facts.satisfy(&rule.when) {
            return None;
        }
        let mut values = common.clone();
        for (name, capture) in &rule.capture {
            values.insert(name.clone(), facts.capture(capture)?);
        }
        Some((index, rule, values))
    })
}

/// What conditions look at.
struct Facts<'a> {
    view: &'a View,
    text: String,
    tool: Option<&'a str>,
    arguments: Option<String>,
    result: Option<&'a str>,
}

impl<'a> Facts<'a> {
    fn of(scenario: &Scenario, view: &'a View) -> Self {
        let last = view.last_result();
        let result = last.map(|(_, result)| match scenario.result_ends.as_deref() {
            Some(end) => result.text.split(end).next().unwrap_or_default(),
            None => result.text.as_str(),
        });
        Self {
            view,
            text: view.text(),
            tool: last.map(|(call, _)| call.name.as_str()),
            arguments: last.map(|(call, _)| call.arguments.to_string()),
            result,
        }
    }

    fn satisfy(&self, when: &When) -> bool {
        let matches = |regex: &Option<String>, text: Option<&str>| match regex {
            None => true,
            Some(regex) => text.is_some_and(|text| is_match(regex, text)),
        };
        let user = match self.view.turns.last() {
            Some(Turn::User(text)) => Some(text.as_str()),
            _ => None,
        };
        when.turn.is_none_or(|turn| turn == self.view.turn())
            && when.last_tool.as_deref().is_none_or(|tool| Some(tool) == self.tool)
            && matches(&when.last_call_matches, self.arguments.as_deref())
            && when.last_result_contains.iter().all(|text| self.result.is_some_and(|result| result.contains(text)))
            && matches(&when.last_result_matches, self.result)
            && matches(&when.last_output_matches, self.result.map(output))
            && when.last_result_lacks.as_deref().is_none_or(|regex| !is_match(regex, self.result.unwrap_or_default()))
            && when.exit_code.is_none_or(|code| self.result.and_then(exit_code) == Some(code))
            && when.request_contains.iter().all(|text| self.text.contains(text))
            && when.request_lacks.iter().all(|text| !self.text.contains(text))
            && matches(&when.last_user_matches, user)
            && when.tools.is_none_or(|tools| tools == self.view.may_call)
    }

    fn capture(&self, capture: &Capture) -> Option<String> {
        let text = match capture.from {
            Source::Request => self.text.as_str(),
            Source::First => match self.view.turns.first()? {
                Turn::User(text) => text,
                _ => return None,
            },
            Source::LastResult => self.result?,
        };
        let regex = Regex::new(&capture.regex).ok()?;
        let mut found = regex.captures_iter(text);
        let found = if capture.pick == Pick::First { found.next() } else { found.last() }?;
        found.get(1).map(|group| group.as_str().to_owned())
    }
}

fn is_match(regex: &str, text: &str) -> bool {
    Regex::new(regex).is_ok_and(|regex| regex.is_match(text))
}

/// What programs wrote: from the line that begins with `stdout`.
fn output(result: &str) -> &str {
    match result.find("\nstdout") {
        Some(at) => &result[at..],
        None => "",
    }
}

fn exit_code(result: &str) -> Option<i32> {
    result.lines().find_map(|line| line.strip_prefix("exit code: ")?.split_whitespace().next()?.parse().ok())
}

/// Puts the values in. An error names the value that is missing.
pub fn fill(text: &str, values: &Values) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        let Some(end) = rest[at..].find("}}") else { break };
        let name = rest[at + 2..at + end].trim();
        let value = values.get(name).ok_or_else(|| format!("nothing was captured for {{{{{name}}}}}"))?;
        out.push_str(&rest[..at]);
        out.push_str(value);
        rest = &rest[at + end + 2..];
    }
    out.push_str(rest);
    Ok(out)
}

/// The same for every text within a value.
pub fn fill_value(value: &Value, values: &Values) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => Value::String(fill(text, values)?),
        Value::Array(list) => Value::Array(list.iter().map(|item| fill_value(item, values)).collect::<Result<_, _>>()?),
        Value::Object(object) => {
            let filled = object.iter().map(|(name, item)| Ok((name.clone(), fill_value(item, values)?)));
            Value::Object(filled.collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    })
}

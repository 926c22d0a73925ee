//! Scenario files: what a scripted model answers, and what it has to have seen for that.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

/// A scenario. For each request the first rule that fits answers; a request that fits none is an error.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Scenario {
    /// The name that answers give as the model's.
    pub model: Option<String>,
    /// The key that requests have to show; any or none is taken when it is absent.
    pub api_key: Option<String>,
    /// Whether calls without `reasoning_content` are refused, as DeepSeek does.
    pub deepseek: bool,
    /// Where in a result the asker's own words begin; what follows is not searched by `lastResult…` conditions.
    pub result_ends: Option<String>,
    /// Values taken from every request where they occur, for `{{name}}` in replies.
    pub capture: BTreeMap<String, Capture>,
    /// The rules, in order.
    pub rules: Vec<Rule>,
}

/// One rule.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Rule {
    /// For records and messages.
    pub name: String,
    /// All of it has to hold.
    pub when: When,
    /// Values to take; a rule does not fit unless all of them are there.
    pub capture: BTreeMap<String, Capture>,
    /// How often the rule may answer; without it, always.
    pub times: Option<usize>,
    /// The answer.
    pub reply: Answer,
}

/// Conditions on a request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct When {
    /// The number of the model's turn, from 1.
    pub turn: Option<usize>,
    /// The tool whose result is newest.
    pub last_tool: Option<String>,
    /// A regular expression on the arguments of the call whose result is newest, as JSON text.
    pub last_call_matches: Option<String>,
    /// Texts that the newest result contains, all of them.
    pub last_result_contains: Vec<String>,
    /// A regular expression on the newest result.
    pub last_result_matches: Option<String>,
    /// A regular expression on the newest result from the line on that begins with `stdout`: what programs wrote.
    pub last_output_matches: Option<String>,
    /// A regular expression that the newest result must not match.
    pub last_result_lacks: Option<String>,
    /// The newest result's first line `exit code: N`.
    pub exit_code: Option<i32>,
    /// Texts that the request contains anywhere but in its system prompt, all of them.
    pub request_contains: Vec<String>,
    /// Texts that the request contains nowhere but in its system prompt.
    pub request_lacks: Vec<String>,
    /// A regular expression on the newest words of a person or controller, when nothing else is newer.
    pub last_user_matches: Option<String>,
    /// Whether tools may be called.
    pub tools: Option<bool>,
}

/// A value to take from a request: group 1 of a regular expression.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Capture {
    /// The expression.
    pub regex: String,
    /// Where to look.
    #[serde(default)]
    pub from: Source,
    /// Which match counts when there are several.
    #[serde(default)]
    pub pick: Pick,
}

/// Where a value is looked for.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// The whole request but its system prompt.
    #[default]
    Request,
    /// The first words of the request.
    First,
    /// The newest result.
    LastResult,
}

/// Which of several matches counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Pick {
    /// The first.
    First,
    /// The last.
    #[default]
    Last,
}

/// An answer. `{{name}}` stands for a captured value in texts and arguments.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Answer {
    /// Words.
    pub text: Option<String>,
    /// Reasoning; the server demands it back unchanged.
    pub reasoning: Option<String>,
    /// Tool calls.
    pub calls: Vec<Call>,
    /// The newest call once more.
    pub repeat: bool,
    /// A refusal with these words.
    pub refusal: Option<String>,
    /// Overrides why the model stopped, in the words of OpenAI's format (`length`, `content_filter` …) or Anthropic's.
    pub stop: Option<String>,
    /// A body to be sent as it is.
    pub raw: Option<String>,
    /// HTTP status; 200 if not given. With another one the body is the format's error object.
    pub status: Option<u16>,
    /// The type of that error.
    pub error_type: Option<String>,
    /// HTTP headers.
    pub headers: BTreeMap<String, String>,
    /// Waits until the test releases this name.
    pub hold: Option<String>,
    /// Closes the connection in the middle of the answer.
    pub drop: bool,
    /// Leaves out the token counts.
    pub without_usage: bool,
}

/// A tool call.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Option<Value>,
    /// Its argument text as it is, for texts that are not JSON. Only OpenAI's format can say such a thing.
    pub raw_arguments: Option<String>,
    /// Its id; a fresh one if not given. May be empty, as some servers do.
    pub id: Option<String>,
}

impl Scenario {
    /// Reads a scenario from YAML text.
    pub fn parse(yaml: &str) -> Result<Self> {
        let scenario: Self = serde_saphyr::from_str(yaml).context("reading the scenario")?;
        scenario.check()?;
        Ok(scenario)
    }

    /// Reads a scenario file.
    pub fn load(path: &Path) -> Result<Self> {
        let yaml = std::fs::read_to_string(path).with_context(|| format!("opening {}", path.display()))?;
        Self::parse(&yaml).with_context(|| format!("in {}", path.display()))
    }

    /// Finds broken expressions before the first request does.
    fn check(&self) -> Result<()> {
        for rule in &self.rules {
            let when = &rule.when;
            let conditions = [
                &when.last_call_matches,
                &when.last_result_matches,
                &when.last_output_matches,
                &when.last_result_lacks,
                &when.last_user_matches,
            ];
            let captures = rule.capture.values().chain(self.capture.values()).map(|capture| &capture.regex);
            for regex in conditions.into_iter().flatten().chain(captures) {
                regex::Regex::new(regex).with_context(|| format!("rule {:?}", rule.name))?;
            }
        }
        Ok(())
    }
}

//! `redis-cli`: its commands by name.

use super::general::{options_only, way_out};
use crate::{
    Risk,
    context::{Findings, Scope},
    invocation::Invocation,
    tables::{Effect, ListName},
    words::Value,
};

/// `redis-cli [OPTIONS] COMMAND …`.
pub fn redis(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    options_only(call, scope, findings);
    let words: Vec<String> = call.operands.iter().map(|word| word.text.to_ascii_lowercase()).collect();
    let known = call.operands.iter().all(|word| word.value <= Value::KnownPrefix);
    let beginnings = || (1..=words.len().min(3)).rev().map(|end| words[..end].join(" "));
    let lists = |list: ListName, word: &str| scope.tables().lists(list, word);
    let feeds = words.first().is_some_and(|word| lists(ListName::RedisFeeds, word));
    let risk = if words.is_empty() {
        let mut reports = scope.tables().members(ListName::RedisReports).iter();
        if reports.any(|option| call.has(option)) { Risk::ReadOnly } else { Risk::Destructive }
    } else if feeds {
        Risk::ReadOnly
    } else if let ["config", "set", name, _] = words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        if lists(ListName::RedisSettings, name) { Risk::ConfigMutation } else { Risk::Destructive }
    } else {
        let class = |command: String| match () {
            () if lists(ListName::RedisChanges, &command) => Some(Risk::ConfigMutation),
            () if lists(ListName::RedisReads, &command) => Some(Risk::ReadOnly),
            () => None,
        };
        beginnings().find_map(class).unwrap_or(Risk::Destructive)
    };
    let secret = |word: &String| ["pass", "auth", "*"].iter().any(|mark| word.contains(mark));
    let asks_secret = words.len() > 2 && words[..2].join(" ") == "config get" && words[2..].iter().any(secret);
    if asks_secret || beginnings().any(|command| lists(ListName::RedisSecrets, &command)) {
        findings.shows_secrets();
    }
    if feeds {
        let feed = Effect { unbounded: true, ..Effect::READ };
        findings.raise_flags(scope, feed);
        findings.add(scope, Risk::ReadOnly, "redis-cli:unbounded", "does not end by itself", way_out(feed));
    }
    let risk = if known { risk } else { risk.max(Risk::ConfigMutation) };
    if risk > Risk::ReadOnly {
        findings.add(scope, risk, "redis-cli:command", "changes or loses data, or is not known", None);
    }
}

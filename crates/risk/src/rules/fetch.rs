//! HTTP clients: what they send, where they write, which method they use.

use super::{general::*, request::address};
use crate::{
    Risk,
    context::{Findings, Scope},
    facts::suspicion,
    invocation::{Given, Invocation},
    tables::{Kind, RequestRule, Takes},
    words::Word,
};

/// `curl URL`: what the options send or write, and whether the server is asked to change something.
pub fn fetch(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    let name = call.name;
    for url in &call.operands {
        address(name, url, scope, findings);
    }
    let local = call.operands.iter().all(is_local);
    let mut values = call.options.iter().filter_map(|given| given.value.as_ref());
    if !local && values.any(|value| value.substituted) {
        let message = "sends a command's output to another system";
        findings.add(scope, Risk::Destructive, format!("{name}:sends-output"), message, Some("write the value out"));
    }
    if !call.options.iter().any(|given| sends(given, call)) {
        return;
    }
    findings.add(scope, Risk::ConfigMutation, format!("{name}:sends"), "sends something to a server", None);
    let mut paths = call.operands.iter().map(|url| path_of(&url.text));
    if let Some(word) = paths.find_map(|path| suspicion::loses(path, true, scope.tables())) {
        findings.add(scope, Risk::Destructive, format!("{name}:loses"), format!("asks a server to {word}"), None);
    }
}

/// `wget URL`: it writes a file unless it is told otherwise.
pub fn download(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    fetch(call, scope, findings);
    if !call.has("--spider") && !to_stdout(call) {
        let hint = "use wget -qO- or curl -fsS to look only";
        findings.add(scope, Risk::ConfigMutation, format!("{}:write", call.name), "writes a file", Some(hint));
    }
}

/// Whether an option makes the request one that may change something at the server.
fn sends(given: &Given<'_, '_>, call: &Invocation<'_, '_, '_>) -> bool {
    let (Takes::Value(Kind::Request(rule)), Some(value)) = (given.opt.takes, &given.value) else { return false };
    match rule {
        RequestRule::Method => !matches!(value.literal(), Some("GET" | "HEAD" | "OPTIONS")),
        // With this option the data becomes a part of the URL.
        RequestRule::Data | RequestRule::DataEncoded => !(call.has("G") || call.has("--get")),
        RequestRule::Body | RequestRule::BodyFile | RequestRule::Form => true,
        RequestRule::Query | RequestRule::Cookie | RequestRule::WriteOut => false,
        RequestRule::Output | RequestRule::Address => false,
    }
}

fn to_stdout(call: &Invocation<'_, '_, '_>) -> bool {
    call.value(&["O", "--output-document"])
        .is_some_and(|word| word.is("-") || word.is("/dev/stdout") || word.is("/dev/null"))
}

/// The path and query of a URL.
fn path_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split_once('/').map_or("", |(_, path)| path)
}

fn is_local(url: &Word<'_>) -> bool {
    let rest = url.text.split_once("://").map_or(url.text.as_ref(), |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or("");
    let host = host.rsplit('@').next().unwrap_or("").rsplit_once(':').map_or(host, |(host, _)| host);
    matches!(host, "127.0.0.1" | "localhost" | "[::1]")
}

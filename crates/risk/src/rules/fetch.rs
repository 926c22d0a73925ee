//! HTTP clients: what they send, where they write, which method they use.

use super::general::*;
use crate::{
    Risk, access,
    context::{Findings, Scope},
    facts::{paths, suspicion},
    invocation::Invocation,
    words::{Value, Word},
};

/// `curl` and `wget`.
pub fn fetch(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    let name = call.name;
    for url in &call.operands {
        scheme(name, url, scope, findings);
    }
    let local = call.operands.iter().all(is_local);
    // Then what would be sent becomes a part of the URL.
    let asks = call.has("G") || call.has("--get");
    let mut changing = false;
    for given in &call.options {
        let Some(value) = &given.value else { continue };
        if value.substituted && !local {
            findings.add(
                scope,
                Risk::Destructive,
                format!("{name}:sends-output"),
                "sends a command's output to another system",
                Some("write the value out"),
            );
        }
        match given.opt.name {
            "--url" => scheme(name, value, scope, findings),
            "X" | "--request" | "--method" => {
                method(name, value, scope, findings);
                changing |= !matches!(value.literal(), Some("GET" | "HEAD" | "OPTIONS"));
            }
            "d" | "--data" | "--data-raw" | "--data-binary" | "--data-urlencode" | "--data-ascii" | "--json" | "F"
            | "--form" | "--variable" | "--url-query" | "T" | "--upload-file" | "--post-file" | "--body-file"
            | "--post-data" | "--body-data" => {
                body(name, given.opt.name, value, scope, findings);
                let query = matches!(given.opt.name, "--variable" | "--url-query");
                changing |= !(query || asks && (given.opt.name == "d" || given.opt.name.starts_with("--data")));
            }
            "w" | "--write-out" if value.text.contains("%output") || value.value != Value::Known => {
                findings.add(scope, Risk::Destructive, "curl:write-out", "may write a file", None);
            }
            // Without `=` it is a file of cookies, which are sent.
            "b" | "--cookie" if !value.text.contains('=') => body(name, "--post-file", value, scope, findings),
            "b" | "--cookie" | "--etag-compare" => access::reads(value, scope, findings),
            "o" | "--output" | "O" | "--output-document" if !value.is("-") => {
                access::writes(value, name, scope, findings)
            }
            _ => {}
        }
    }
    if changing {
        findings.add(scope, Risk::ConfigMutation, format!("{name}:sends"), "sends something to a server", None);
    }
    if changing
        && let Some(word) =
            call.operands.iter().find_map(|url| suspicion::loses(path_of(&url.text), true, scope.tables()))
    {
        findings.add(scope, Risk::Destructive, format!("{name}:loses"), format!("asks a server to {word}"), None);
    }
    if name == "wget" && !call.has("--spider") && !to_stdout(call) {
        findings.add(
            scope,
            Risk::ConfigMutation,
            "wget:write",
            "writes a file",
            Some("use wget -qO- or curl -fsS to look only"),
        );
    }
}

fn to_stdout(call: &Invocation<'_, '_, '_>) -> bool {
    call.value(&["O", "--output-document"])
        .is_some_and(|word| word.is("-") || word.is("/dev/stdout") || word.is("/dev/null"))
}

fn method(name: &str, value: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    match value.literal().map(str::to_ascii_uppercase).as_deref() {
        Some("GET" | "HEAD" | "OPTIONS") => {}
        Some("POST" | "PUT" | "PATCH") => {
            findings.add(
                scope,
                Risk::ConfigMutation,
                format!("{name}:method"),
                "asks a server to change something",
                None,
            );
        }
        _ => {
            findings.add(scope, Risk::Destructive, format!("{name}:method"), "asks a server to delete something", None)
        }
    }
}

/// What is sent: a secret that leaves the system cannot be called back.
fn body(name: &str, option: &str, value: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let text = value.text.as_ref();
    let whole = matches!(option, "T" | "--upload-file" | "--post-file" | "--body-file");
    let encoded = matches!(option, "--data-urlencode" | "--variable" | "--url-query");
    let form = matches!(option, "F" | "--form");
    let text = if form { text.split(';').next().unwrap_or("") } else { text };
    let included = text.split_once("=<").filter(|_| form).map(|(_, file)| file);
    let file = text.split_once('@').filter(|(key, _)| key.is_empty() || key.ends_with('=') || encoded);
    let file = file.map(|(_, file)| file).or(included);
    let file = if whole { Some(text) } else { file };
    if file == Some("-") && findings.secrets_shown_so_far() {
        return findings.add(scope, Risk::Destructive, format!("{name}:sends-secret"), "sends a secret away", None);
    }
    if let Some(file) = file
        && paths::is_secret(file, true, scope.tables())
    {
        findings.shows_secrets();
        findings.add(scope, Risk::Destructive, format!("{name}:sends-secret"), format!("sends {file} away"), None);
    } else if value.value >= Value::ScriptValue {
        findings.add(scope, Risk::ConfigMutation, format!("{name}:sends-unknown"), "what is sent is not known", None);
    }
}

/// Schemes other than HTTP, FTP and files speak to services in their own protocols.
fn scheme(name: &str, url: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let Some((scheme, rest)) = url.text.split_once("://") else { return };
    match scheme.to_ascii_lowercase().as_str() {
        "http" | "https" | "ftp" | "ftps" => {}
        "file" => access::reads(
            &Word { text: format!("/{}", rest.split_once('/').map_or("", |(_, path)| path)).into(), ..url.borrow() },
            scope,
            findings,
        ),
        _ => {
            findings.add(scope, Risk::Destructive, format!("{name}:scheme"), "speaks another protocol than HTTP", None)
        }
    }
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

/// A header of an HTTP request: `@file` reads one.
pub fn header(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if let Some(file) = word.text.strip_prefix('@') {
        findings.add(scope, Risk::ConfigMutation, "curl:header-file", "sends what stands in a file", None);
        if paths::is_secret(file, word.value == Value::Known, scope.tables()) {
            findings.shows_secrets();
            findings.add(scope, Risk::Destructive, "curl:sends-secret", format!("sends {file} away"), None);
        }
    }
    let low = word.text.to_ascii_lowercase();
    if low.starts_with("authorization") || low.contains("token") || low.starts_with("cookie") {
        findings.shows_secrets();
    }
}

/// A Unix socket behind an HTTP request: Docker's takes the machine over, but only by other methods than GET.
pub fn socket(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if word.value != Value::Known {
        findings.add(scope, Risk::ConfigMutation, "curl:socket", "which socket is asked is not known", None);
    }
}

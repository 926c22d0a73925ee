//! Parts of a request to a server: what is asked, what is sent, where the answer goes.

use crate::{
    Risk, access,
    context::{Findings, Scope},
    facts::paths,
    tables::RequestRule,
    words::{Value, Word},
};

/// Judges a part of a request.
pub fn value(rule: RequestRule, name: &str, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    match rule {
        RequestRule::Method => method(name, word, scope, findings),
        RequestRule::Data | RequestRule::Body => data(name, word, scope, findings),
        RequestRule::DataEncoded | RequestRule::Query => encoded(name, word, scope, findings),
        RequestRule::Form => form(name, word, scope, findings),
        RequestRule::BodyFile => body_file(name, word, scope, findings),
        RequestRule::Cookie => cookie(name, word, scope, findings),
        RequestRule::WriteOut => write_out(name, word, scope, findings),
        RequestRule::Output => output(name, word, scope, findings),
        RequestRule::Address => address(name, word, scope, findings),
    }
}

/// The method of a request.
fn method(name: &str, value: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let (risk, message) = match value.literal().map(str::to_ascii_uppercase).as_deref() {
        Some("GET" | "HEAD" | "OPTIONS") => return,
        Some("POST" | "PUT" | "PATCH") => (Risk::ConfigMutation, "asks a server to change something"),
        _ => (Risk::Destructive, "asks a server to delete something"),
    };
    findings.add(scope, risk, format!("{name}:method"), message, None);
}

/// Data that is sent; `@FILE` or `KEY=@FILE` sends a file.
fn data(name: &str, value: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let file = value.text.split_once('@').filter(|(key, _)| key.is_empty() || key.ends_with('='));
    sent(name, file.map(|(_, file)| file), value, scope, findings);
}

/// Data that is sent encoded; `KEY@FILE` sends a file.
fn encoded(name: &str, value: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    sent(name, value.text.split_once('@').map(|(_, file)| file), value, scope, findings);
}

/// A field of a form; `KEY=@FILE;TYPE` and `KEY=<FILE` send a file.
fn form(name: &str, value: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let text = value.text.split(';').next().unwrap_or(&value.text);
    let file = text.split_once('@').filter(|(key, _)| key.is_empty() || key.ends_with('='));
    sent(name, file.or(text.split_once("=<")).map(|(_, file)| file), value, scope, findings);
}

/// A file that is sent as it is.
fn body_file(name: &str, value: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    sent(name, Some(&value.text), value, scope, findings);
}

/// Cookies that are sent; without `=` it is a file of them.
fn cookie(name: &str, value: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if value.text.contains('=') {
        access::reads(value, scope, findings);
    } else {
        body_file(name, value, scope, findings);
    }
}

/// A secret that leaves the system cannot be called back.
fn sent(name: &str, file: Option<&str>, value: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if file == Some("-") && findings.secrets_shown_so_far() {
        return findings.add(scope, Risk::Destructive, format!("{name}:sends-secret"), "sends a secret away", None);
    }
    if let Some(file) = file.filter(|file| paths::is_secret(file, true, scope.tables())) {
        findings.shows_secrets();
        findings.add(scope, Risk::Destructive, format!("{name}:sends-secret"), format!("sends {file} away"), None);
    } else if value.value >= Value::ScriptValue {
        findings.add(scope, Risk::ConfigMutation, format!("{name}:sends-unknown"), "what is sent is not known", None);
    }
}

/// A text that is printed about the request; `%output` writes a file.
fn write_out(name: &str, value: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if value.text.contains("%output") || value.value != Value::Known {
        findings.add(scope, Risk::Destructive, format!("{name}:write-out"), "may write a file", None);
    }
}

/// Where the answer goes; `-` is the standard output.
fn output(name: &str, value: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if !value.is("-") {
        access::writes(value, name, scope, findings);
    }
}

/// Schemes other than HTTP, FTP and files speak to services in their own protocols.
pub fn address(name: &str, url: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let Some((scheme, rest)) = url.text.split_once("://") else { return };
    match scheme.to_ascii_lowercase().as_str() {
        "http" | "https" | "ftp" | "ftps" => {}
        "file" => {
            let path = rest.split_once('/').map_or("", |(_, path)| path);
            access::reads(&url.with_text(format!("/{path}")), scope, findings);
        }
        _ => {
            findings.add(scope, Risk::Destructive, format!("{name}:scheme"), "speaks another protocol than HTTP", None)
        }
    }
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

//! `ping`, copies to other systems, and options of ssh.

use super::{general::*, target};
use crate::{
    Risk, access,
    context::{Findings, Scope},
    invocation::Invocation,
    tables::ListName,
    words::{Input, Value, Word},
};

/// `ping` without a count does not end.
pub fn ping(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    if call.has("f") {
        findings.add(scope, Risk::ConfigMutation, "ping:flood", "floods the network", None);
    }
    if !call.has("c") && !call.has("w") && !call.has("V") {
        findings.does_not_end(scope);
        findings.add(scope, Risk::ReadOnly, "ping:unbounded", "does not end by itself", Some("use ping -c 3"));
    }
}

/// The system in `host:path`.
fn remote_host<'w>(word: &'w Word<'_>) -> Option<&'w str> {
    word.text.split_once(':').filter(|(host, _)| !host.contains('/')).map(|(host, _)| host)
}

/// `rsync`: another system in an operand, a device or protected directory as target.
pub fn rsync(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    for operand in &call.operands {
        if let Some((host, _)) = operand.text.split_once(':').filter(|(host, _)| !host.contains('/')) {
            let host = host.rsplit('@').next().unwrap_or(host).to_owned();
            findings.affects_host(Some(&Word::known(host)));
        }
    }
    let pretends = call.is_dry_run();
    if let Some((target, sources)) = call.operands.split_last() {
        sources
            .iter()
            .filter(|source| remote_host(source).is_none())
            .for_each(|source| access::reads(source, scope, findings));
        if remote_host(target).is_some() && !pretends {
            sources.iter().for_each(|source| target::sent_file(call, source, scope, findings));
        }
    }
    if let Some(target) = call.operands.last().filter(|word| !word.text.contains(':') && !pretends) {
        access::writes(target, "rsync", scope, findings);
    }
}

/// `scp`: a secret that leaves the system cannot be called back.
pub fn copy_away(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    let Some((target, sources)) = call.operands.split_last() else { return };
    for word in &call.operands {
        if let Some(host) = remote_host(word) {
            let host = host.rsplit('@').next().unwrap_or("").to_owned();
            findings.affects_host(Some(&Word::known(host)));
        }
    }
    sources
        .iter()
        .filter(|source| remote_host(source).is_none())
        .for_each(|source| access::reads(source, scope, findings));
    match remote_host(target) {
        Some(_) => sources.iter().for_each(|source| target::sent_file(call, source, scope, findings)),
        None => access::writes(target, call.name, scope, findings),
    }
}

/// `ssh -o NAME=VALUE`: names that execute nothing.
pub fn ssh_option(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let name = word.text.split(['=', ' ']).next().unwrap_or("").to_ascii_lowercase();
    let known_hosts = matches!(word.literal(), Some("UserKnownHostsFile=/dev/null" | "GlobalKnownHostsFile=/dev/null"));
    if !(known_hosts || (scope.tables().lists(ListName::SshOptions, &name) && word.value == Value::Known)) {
        findings.add(
            scope,
            Risk::Destructive,
            "ssh:option",
            format!("-o {} may execute something", word.shown()),
            None,
        );
    }
}

/// Hosts that only pass `ssh` through: `ssh -J user@a,b c`.
pub fn jump(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '@' | ':' | ',' | '[' | ']');
    if word.value != Value::Known || word.text.starts_with('-') || !word.text.chars().all(plain) {
        findings.add(
            scope,
            Risk::Destructive,
            "ssh:option",
            format!("-J {} may execute something", word.shown()),
            None,
        );
    }
}

/// `openssl s_client` sends what it reads.
pub fn s_client(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    let sends = match scope.input() {
        Input::Closed => false,
        Input::Text(text) => text.len() > 64,
        _ => true,
    };
    if sends {
        let risk = if findings.secrets_shown_so_far() { Risk::Destructive } else { Risk::ConfigMutation };
        findings.add(
            scope,
            risk,
            "openssl:sends",
            "sends what it reads to another system",
            Some("give it < /dev/null"),
        );
    }
}

//! What cluster clients are asked for: `kubectl get`, `k3s kubectl`.

use super::{general::*, judge_argv};
use crate::{
    Risk,
    context::{Findings, Scope},
    facts::paths,
    invocation::Invocation,
    words::{Value, Word},
};

/// What `kubectl get` and its like print: whole Secrets hold their values.
pub fn kube_resource(call: &Invocation<'_, '_, '_>, word: &Word<'_>, _scope: &Scope, findings: &mut Findings) {
    let output = call.value(&["o", "--output", "--template"]).map_or("wide", |format| &format.text);
    let kinds = word.text.split('/').next().unwrap_or("");
    let secret = kinds.split(',').any(|kind| matches!(kind.split('.').next(), Some("secret" | "secrets")));
    let secret = secret || word.value != Value::Known;
    if secret && !matches!(output, "wide" | "name") {
        findings.shows_secrets();
    }
}

/// What `kubectl get --raw` asks the API server for.
pub fn kube_path(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if word.text.contains("/secrets") {
        findings.shows_secrets();
    }
    if word.literal().is_none_or(|path| path.contains("/proxy")) {
        findings.add(scope, Risk::ConfigMutation, "kubectl:proxy", "asks another program than the API server", None);
    }
}

/// A kubeconfig may name programs: those of the system are trusted.
pub fn kubeconfig(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let trusted = ["/etc/", "/root/.kube/", "~/.kube/"];
    let path = word.literal().map(paths::normalise).unwrap_or_default();
    if !trusted.iter().any(|begin| path.starts_with(begin)) {
        findings.add(scope, Risk::ConfigMutation, "kubectl:kubeconfig", "a configuration that may run programs", None);
    }
}

/// `k3s kubectl get` is `kubectl get`.
pub fn applet(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    report(call, call.form().effect, None, scope, findings);
    let first = call.argv.get(1).filter(|word| call.verb.is_some_and(|verb| word.is(verb.name)));
    match first {
        Some(_) => judge_argv(&call.argv[1..], scope, findings),
        None => findings.add(scope, Risk::ConfigMutation, call.code("option"), "an option before the program", None),
    }
}

/// A setting on a command line: `name` asks for it, `name=value` sets it.
pub fn setting(call: &Invocation<'_, '_, '_>, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if word.text.contains('=') {
        findings.add(scope, Risk::ConfigMutation, call.code("set"), format!("sets {}", word.shown()), None);
    }
}

/// `kubectl --profile=cpu` writes a file into the present directory.
pub fn profile(call: &Invocation<'_, '_, '_>, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if !word.is("none") {
        findings.add(scope, Risk::ConfigMutation, call.code("profile"), "writes a profile", None);
    }
}

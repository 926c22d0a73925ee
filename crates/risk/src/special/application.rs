//! Applications that a table knows although an interpreter runs them, and what cluster clients are asked for.

use crate::{
    Risk,
    judge::Judge,
    options::borrow,
    paths,
    rule::{Case, options_only, report},
    word::Word,
};

/// The console programs of applications that `php FILE` runs and the tables know.
const CONSOLES: &[&str] = &["occ", "artisan"];

/// `php occ status` is `occ status`; false when the file is none that the tables know.
pub fn php_console(judge: &mut Judge, case: &Case<'_, '_, '_>) -> bool {
    let Some(file) = case.args.operands.first().filter(|_| case.name.starts_with("php")) else { return false };
    let Some(path) = file.literal().filter(|path| !paths::is_temporary(path)) else { return false };
    let Some(name) = CONSOLES.iter().find(|name| path.rsplit('/').next() == Some(**name)) else { return false };
    let Some(at) = case.argv.iter().position(|word| word.text == path) else { return false };
    options_only(judge, case);
    let mut words = vec![Word::known(*name)];
    words.extend(case.argv[at + 1..].iter().map(borrow));
    judge.dispatch(&words);
    true
}

/// What `kubectl get` and its like print: whole Secrets hold their values.
pub fn kube_resource(judge: &mut Judge, case: &Case<'_, '_, '_>, word: &Word<'_>) {
    let output = case.value(&["o", "--output", "--template"]).map_or("wide", |format| &format.text);
    let kinds = word.text.split('/').next().unwrap_or("");
    let secret = kinds.split(',').any(|kind| matches!(kind.split('.').next(), Some("secret" | "secrets")));
    if secret && !matches!(output, "wide" | "name") {
        judge.shows_secrets();
    }
}

/// A setting on a command line: `name` asks for it, `name=value` sets it.
pub fn setting(judge: &mut Judge, case: &Case<'_, '_, '_>, word: &Word<'_>) {
    if word.text.contains('=') {
        judge.find(Risk::ConfigMutation, case.code("set"), format!("sets {}", word.shown()), None);
    }
}

/// What `kubectl get --raw` asks the API server for.
pub fn kube_path(judge: &mut Judge, word: &Word<'_>) {
    if word.text.contains("/secrets") {
        judge.shows_secrets();
    }
    if word.literal().is_none_or(|path| path.contains("/proxy")) {
        judge.find(Risk::ConfigMutation, "kubectl:proxy", "asks another program than the API server", None);
    }
}

/// A kubeconfig may name programs: those of the system are trusted.
pub fn kubeconfig(judge: &mut Judge, word: &Word<'_>) {
    let trusted = ["/etc/", "/root/.kube/", "~/.kube/"];
    let path = word.literal().map(paths::normalise).unwrap_or_default();
    if !trusted.iter().any(|begin| path.starts_with(begin)) {
        judge.find(Risk::ConfigMutation, "kubectl:kubeconfig", "a configuration that may run programs", None);
    }
}

/// The hypervisor of `virsh -c`.
pub fn hypervisor(judge: &mut Judge, word: &Word<'_>) {
    if word.literal().is_none_or(|uri| !uri.contains(":///") || uri.contains('+')) {
        judge.affects_host(Some(word));
        judge.find(Risk::ConfigMutation, "virsh:other-system", "acts on another system", None);
    }
}

/// `k3s kubectl get` is `kubectl get`.
pub fn applet(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    report(judge, case, case.form().effect, None);
    let first = case.argv.get(1).filter(|word| case.args.verb.is_some_and(|verb| word.is(verb.name)));
    match first {
        Some(_) => judge.dispatch(&case.argv[1..]),
        None => judge.find(Risk::ConfigMutation, case.code("option"), "an option before the program", None),
    }
}

/// A line for a router's shell: `show` asks.
pub fn router_line(judge: &mut Judge, word: &Word<'_>) {
    let risk = match word.literal().and_then(|text| text.split_whitespace().next()) {
        Some("show" | "sh" | "sho" | "ping" | "traceroute" | "exit" | "end") => return,
        Some("configure" | "conf" | "write" | "wr" | "router" | "interface" | "ip" | "neighbor" | "exit-vrf") => {
            Risk::ConfigMutation
        }
        _ => Risk::Destructive,
    };
    judge.find(risk, "vtysh:line", format!("{} is not known to change nothing", word.shown()), None);
}

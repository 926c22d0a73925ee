//! Containers of Docker and LXC: what they get of their host, and what runs in them.

use super::{general::*, judge_argv, nested};
use crate::{
    Risk, access,
    context::{Findings, Scope},
    facts::paths,
    invocation::Invocation,
    tables::ListName,
    words::{Value, Word},
};

/// A bind mount of a container.
pub fn bind(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let source = word.text.split("source=").nth(1).or_else(|| word.text.split("src=").nth(1));
    let source = match source {
        Some(rest) => rest.split(',').next().unwrap_or(""),
        None => word.text.split(':').next().unwrap_or(""),
    };
    let path = paths::normalise(source);
    if word.value != Value::Known && path == "/" {
        // A directory below the present one: `$PWD/data`.
        return;
    }
    if source.ends_with("docker.sock")
        || scope.tables().lists(ListName::BindsRefused, path.trim_end_matches('/')) && !path.is_empty()
        || path == "/"
        || paths::is_fatal(&path, scope.locus(), scope.tables())
    {
        findings.add(
            scope,
            Risk::Destructive,
            "docker:bind",
            format!("gives the container {source} of its host"),
            None,
        );
    }
}

/// `docker compose …` is `docker-compose …`.
pub fn compose(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    let at = call.argv.iter().position(|word| word.is("compose")).map_or(1, |at| at + 1);
    let own = &call.argv[..at.min(call.argv.len())];
    options_only(&Invocation::read(call.entry, call.name, own), scope, findings);
    let mut words = vec![Word::known("docker-compose")];
    words.extend(call.argv[at.min(call.argv.len())..].iter().map(Word::borrow));
    judge_argv(&words, scope, findings);
}

/// `lxc-attach -n GUEST -- COMMAND`.
pub fn lxc_attach(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    options_only(call, scope, findings);
    if !call.unlisted.is_empty() {
        findings.add(scope, Risk::Destructive, "lxc-attach:option", "an option that is not known", None);
    }
    let at = call.command.unwrap_or(call.argv.len());
    let words = &call.argv[at..];
    if !call.dashes && words.iter().any(|word| word.is("--")) {
        findings.add(scope, Risk::Destructive, "lxc-attach:dashes", "where the command begins is not certain", None);
    }
    if words.is_empty() {
        findings.needs_a_person();
        return findings.add(scope, Risk::Destructive, "lxc-attach:shell", "opens a shell for a person", None);
    }
    nested::own_process(words, &scope.in_guest(), findings);
}

/// `docker cp`: a file of the host may be written.
pub fn docker_cp(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    if let Some(target) = call.operands.get(1).filter(|word| !word.text.contains(':') && word.text != "-") {
        access::writes(target, "docker", scope, findings);
    }
}

/// `docker inspect -f TEMPLATE`: a template that takes neither everything nor the configuration shows no environment.
pub fn docker_inspect(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    let template = call.value(&["f", "--format"]).and_then(Word::literal).unwrap_or("");
    let rest = template.replace(".HostConfig.", ".").replace(".Config.Image", "").replace(".Config.Hostname", "");
    // A bare dot or `$` is the whole object.
    let whole = rest
        .char_indices()
        .any(|(at, c)| matches!(c, '.' | '$') && !rest[at + 1..].starts_with(|c: char| c.is_ascii_alphabetic()));
    if !template.contains("{{.") && !template.contains(" .") || whole || rest.contains("Config") || rest.contains("Env")
    {
        findings.shows_secrets();
    }
}

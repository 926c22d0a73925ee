//! Containers of Docker and LXC: what they get of their host, and what runs in them.

use crate::{
    Risk,
    effect::Effect,
    judge::Judge,
    options::{borrow, read},
    paths,
    rule::{Case, general, options_only},
    table::Kind,
    word::{Value, Word},
};

/// A bind mount of a container.
pub fn bind(judge: &mut Judge, word: &Word<'_>) {
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
    let system = [
        "/", "/etc", "/root", "/boot", "/dev", "/proc", "/sys", "/usr", "/var", "/home", "/bin", "/lib", "/var/lib",
        "/run", "/var/run",
    ];
    if source.ends_with("docker.sock")
        || system.contains(&path.trim_end_matches('/')) && !path.is_empty()
        || path == "/"
        || paths::is_fatal(&path, judge.locus)
    {
        judge.find(Risk::Destructive, "docker:bind", format!("gives the container {source} of its host"), None);
    }
}

/// `docker compose …` is `docker-compose …`.
pub fn compose(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    let at = case.argv.iter().position(|word| word.is("compose")).map_or(1, |at| at + 1);
    let own = &case.argv[..at.min(case.argv.len())];
    options_only(judge, &Case { entry: case.entry, name: case.name, argv: own, args: read(case.entry, own) });
    let mut words = vec![Word::known("docker-compose")];
    words.extend(case.argv[at.min(case.argv.len())..].iter().map(borrow));
    judge.dispatch(&words);
}

/// `lxc-attach -n GUEST -- COMMAND`.
pub fn lxc_attach(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    options_only(judge, case);
    if !case.args.unlisted.is_empty() {
        judge.find(Risk::Destructive, "lxc-attach:option", "an option that is not known", None);
    }
    let at = case.args.command.unwrap_or(case.argv.len());
    let words = &case.argv[at..];
    if !case.args.dashes && words.iter().any(|word| word.is("--")) {
        judge.find(Risk::Destructive, "lxc-attach:dashes", "where the command begins is not certain", None);
    }
    if words.is_empty() {
        judge.flag(Effect { interactive: true, ..Effect::READ });
        return judge.find(Risk::Destructive, "lxc-attach:shell", "opens a shell for a person", None);
    }
    judge.elsewhere(Some(Kind::Within), |judge| {
        judge.argv_of(words);
        judge.dispatch(words);
    });
}

/// `docker cp`: a file of the host may be written.
pub fn docker_cp(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    if let Some(target) = case.args.operands.get(1).filter(|word| !word.text.contains(':') && word.text != "-") {
        judge.writes(target, "docker");
    }
}

/// `docker inspect -f TEMPLATE`: a template that takes neither everything nor the configuration shows no environment.
pub fn docker_inspect(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    let template = case.value(&["f", "--format"]).and_then(Word::literal).unwrap_or("");
    let rest = template.replace(".HostConfig.", ".").replace(".Config.Image", "").replace(".Config.Hostname", "");
    // A bare dot or `$` is the whole object.
    let whole = rest
        .char_indices()
        .any(|(at, c)| matches!(c, '.' | '$') && !rest[at + 1..].starts_with(|c: char| c.is_ascii_alphabetic()));
    if !template.contains("{{.") && !template.contains(" .") || whole || rest.contains("Config") || rest.contains("Env")
    {
        judge.shows_secrets();
    }
}

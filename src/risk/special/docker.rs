//! Containers of Docker and LXC: what they get of their host, and what runs in them.

use crate::{
    api::Risk,
    risk::{
        effect::Effect,
        judge::Judge,
        options::borrow,
        paths,
        rule::{Case, general},
        table::Kind,
        word::{Value, Word},
    },
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

/// `docker run IMAGE COMMAND`.
pub fn docker_run(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    for given in &case.args.given {
        let shares = matches!(given.opt.name, "--network" | "--net")
            && given.value.as_ref().is_some_and(|word| word.text.starts_with("container:"));
        if shares {
            judge.find(Risk::ConfigMutation, "docker:network", "shares another container's network", None);
        }
    }
}

/// `docker compose [OPTIONS] VERB`.
pub fn compose(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    let at = case.argv.iter().position(|word| word.is("compose")).map_or(1, |at| at + 1);
    let mut words = case.argv[at.min(case.argv.len())..].iter();
    let mut verb = None;
    while let Some(word) = words.next() {
        match word.literal() {
            Some(
                "-f"
                | "--file"
                | "-p"
                | "--project-name"
                | "--profile"
                | "--project-directory"
                | "--env-file"
                | "--ansi"
                | "--progress"
                | "--parallel",
            ) => {
                words.next();
            }
            Some(text) if text.starts_with('-') => {
                if matches!(text, "--version" | "-v" | "--help") {
                    return;
                }
            }
            Some(text) => {
                verb = Some(text);
                break;
            }
            None => break,
        }
    }
    let rest: Vec<&Word<'_>> = words.collect();
    let has = |names: &[&str]| rest.iter().any(|word| names.iter().any(|name| word.is(name)));
    let known = rest.iter().all(|word| word.value == Value::Known);
    match verb {
        Some("ps" | "ls" | "images" | "top" | "config" | "version" | "port" | "stats" | "volumes") if known => {
            let writes = has(&["-o", "--output"]);
            if writes {
                judge.find(Risk::ConfigMutation, "docker:compose-write", "writes a file", None);
            }
        }
        Some("logs") if known => {
            if has(&["-f", "--follow"]) {
                judge.flag(Effect { endless: true, ..Effect::READ });
                judge.find(
                    Risk::ReadOnly,
                    "docker:compose-logs",
                    "does not end by itself",
                    Some("use --tail 200 without -f"),
                );
            }
        }
        Some("down") if !has(&["-v", "--volumes", "--rmi"]) && known => {
            judge.find(Risk::ConfigMutation, "docker:compose-down", "stops and removes the project's containers", None);
        }
        Some(
            "up" | "start" | "stop" | "restart" | "pull" | "build" | "create" | "pause" | "unpause" | "push" | "run"
            | "scale" | "watch" | "cp",
        ) => {
            judge.find(Risk::ConfigMutation, "docker:compose", "changes the project's containers", None);
        }
        Some("exec") => compose_exec(judge, &rest),
        _ => {
            judge.find(Risk::Destructive, "docker:compose", "removes containers or volumes, or is not understood", None)
        }
    }
}

fn compose_exec(judge: &mut Judge, rest: &[&Word<'_>]) {
    let Some(service) = rest.iter().position(|word| !word.text.starts_with('-')) else {
        return judge.find(Risk::Destructive, "docker:compose-exec", "what is executed is not known", None);
    };
    let options = &rest[..service];
    if options.iter().any(|word| !matches!(word.literal(), Some("-T" | "-t" | "-i" | "-it" | "-d" | "--no-TTY"))) {
        return judge.find(Risk::ConfigMutation, "docker:compose-exec", "an option that is not known", None);
    }
    let words: Vec<Word<'_>> = rest[service + 1..].iter().map(|word| borrow(word)).collect();
    if words.is_empty() {
        return judge.find(Risk::Destructive, "docker:compose-exec", "what is executed is not known", None);
    }
    judge.elsewhere(Some(Kind::Container), |judge| {
        judge.argv_of(&words);
        judge.dispatch(&words);
    });
}

/// `lxc-attach -n GUEST -- COMMAND`.
pub fn lxc_attach(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    let at = case.args.command.unwrap_or(case.argv.len());
    for given in &case.args.given {
        if let Some(value) = &given.value
            && matches!(given.opt.name, "n" | "--name")
        {
            judge.affects_guest(Some(value));
        }
        let risk = judge.class(given.opt.effect);
        if risk > Risk::ReadOnly {
            judge.find(risk, "lxc-attach:option", "leaves the container's confinement", None);
        }
    }
    for option in &case.args.unlisted {
        judge.find(Risk::Destructive, "lxc-attach:option", format!("{option} is not known"), None);
    }
    let words = &case.argv[at..];
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

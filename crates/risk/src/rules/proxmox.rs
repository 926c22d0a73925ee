//! Proxmox: API paths, mount points, guest agent commands.

use crate::{
    Risk,
    context::{Findings, Scope},
    facts::units,
    invocation::Invocation,
    tables::{Kind, ListName, Tables},
    words::{Value, Word},
};

/// `pvesh VERB PATH`: the path decides.
pub fn pvesh(call: &Invocation<'_, '_, '_>, scope: &Scope, findings: &mut Findings) {
    let verb = call.verb.map_or("", |verb| verb.name);
    let Some(path) = call.operands.first() else {
        return findings.add(scope, Risk::Destructive, call.code("path"), "which path is meant is not known", None);
    };
    if verb == "get" {
        return get(path, scope, findings);
    }
    affected(path, scope, findings);
    let parts: Vec<&str> = path.text.split('/').filter(|part| !part.is_empty()).collect();
    let known = Some(path).filter(|path| path.value == Value::Known);
    let effect = known.and_then(|path| scope.tables().api_call(verb, &path.text));
    let class = effect.map_or(Risk::Destructive, |effect| scope.class_of(effect));
    let parameters = parameters(call);
    parameters.iter().for_each(|(name, value)| api_parameter(name, value.as_ref(), scope, findings));
    if parts.last().is_some_and(|last| last.ends_with("all")) && !parameters.iter().any(|(name, _)| name == "vms") {
        findings.affects_guest(None);
    }
    if let ["nodes", _, "services", service, "restart"] = parts.as_slice()
        && let Some((risk, why)) = units::class_of(Kind::RestartUnit, &Word::known(*service), false, scope.tables())
    {
        findings.add(scope, risk, call.code("service"), why, None);
    }
    let host_file = |word: &Word<'_>| word.text.starts_with('/') || word.text.contains("=/");
    let dangerous = parts.first() == Some(&"nodes") && call.argv.iter().skip(3).any(host_file)
        || call.argv.iter().skip(2).any(|word| word.value >= Value::ScriptValue)
        || parameters.iter().any(|(name, value)| is_dangerous(name, scope.tables()) && !is_off(name, value.as_ref()));
    match (verb, class, dangerous) {
        ("delete", ..) => {
            findings.add(scope, Risk::Destructive, call.code("delete"), "deletes what the path names", None)
        }
        (_, Risk::Destructive, _) => {
            findings.add(
                scope,
                Risk::Destructive,
                call.code("path"),
                "is not an API call known to be without loss",
                None,
            );
        }
        (_, _, true) => {
            findings.add(
                scope,
                Risk::Destructive,
                call.code("parameter"),
                "a parameter overwrites, deletes or runs code",
                None,
            );
        }
        (_, _, false) => findings.add(scope, class, call.code("change"), "changes the cluster", None),
    }
}

/// The parameters after the path, in any spelling that Getopt takes (one or two dashes, any call), with their values.
fn parameters<'w>(call: &Invocation<'_, 'w, '_>) -> Vec<(String, Option<Word<'w>>)> {
    let words = call.argv.get(2..).unwrap_or_default();
    let option = |word: &Word<'_>| word.text.len() > 1 && word.text.starts_with('-');
    let parameters = words.iter().enumerate().filter(|(_, word)| option(word)).map(|(at, word)| {
        let text = word.text.trim_start_matches('-');
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(Word { text: value.to_owned().into(), ..word.borrow() })),
            None => (text, words.get(at + 1).filter(|next| !option(next)).map(Word::borrow)),
        };
        (name.to_ascii_lowercase(), value)
    });
    parameters.collect()
}

/// What a parameter says about the guests and nodes that the call acts on.
fn api_parameter(name: &str, value: Option<&Word<'_>>, _scope: &Scope, findings: &mut Findings) {
    let is = |known: &str| name.len() > 1 && known.starts_with(name);
    if is("all") || is("pool") {
        findings.affects_guest(None);
    } else if is("vmid") || is("vms") || is("newid") || is("sid") || name == "id" {
        let known = value.and_then(Word::literal).unwrap_or("");
        for part in known.split([',', ';', ' ']) {
            // `vm:104`, `104`, `104-0`; other identifiers name no guest.
            let vmid = part.rsplit(':').next().and_then(|part| part.split('-').next()).unwrap_or("");
            if name != "id" || vmid.parse::<u32>().is_ok() {
                findings.affects_guest(Some(&Word::known(vmid)));
            }
        }
    } else if is("target") {
        findings.affects_host(value);
    }
}

fn is_dangerous(name: &str, tables: &Tables) -> bool {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit());
    !name.is_empty()
        && (tables.members(ListName::PveshDangerous).iter().any(|known| known.starts_with(name))
            || bare.len() < name.len() && tables.lists(ListName::PveshDangerousNumbered, bare))
}

/// Whether a boolean parameter is switched off.
fn is_off(name: &str, value: Option<&Word<'_>>) -> bool {
    matches!(name, "remove" | "force" | "restore") && value.is_some_and(|value| value.is("0") || value.is("no"))
}

/// The guest in the path, or else the node.
fn affected(path: &Word<'_>, _scope: &Scope, findings: &mut Findings) {
    let mut parts = path.text.split('/').filter(|part| !part.is_empty());
    if let (Some("nodes"), Some(node)) = (parts.clone().next(), parts.clone().nth(1))
        && !(matches!(parts.clone().nth(2), Some("lxc" | "qemu")) && parts.clone().nth(3).is_some())
        && node != "localhost"
    {
        findings.affects_host(Some(&Word { text: node.to_owned().into(), ..path.borrow() }));
    }
    while let Some(part) = parts.next() {
        if matches!(part, "lxc" | "qemu")
            && let Some(vmid) = parts.next()
        {
            let vmid = if path.value == Value::Known { Word::known(vmid) } else { Word::partly("", Value::Unknown) };
            findings.affects_guest(Some(&vmid));
        }
    }
}

/// Reading is harmless, except where the node fetches something; the last part of the path tells.
fn get(path: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let end = if path.value == Value::Known { path.text.as_ref() } else { path.ending.as_str() };
    let last = end.trim_end_matches('/').rsplit('/').next().unwrap_or("");
    if last.is_empty() && path.value != Value::Known {
        return findings.add(scope, Risk::ConfigMutation, "pvesh:path", "which path is meant is not known", None);
    }
    if scope.tables().lists(ListName::PveshFetches, last) {
        findings.add(scope, Risk::ConfigMutation, "pvesh:get", "makes the node fetch something", None);
    }
    if scope.tables().lists(ListName::PveshSecrets, last) || path.text.contains("file-restore") {
        findings.shows_secrets();
    }
}

/// `qm guest cmd ID COMMAND`.
pub fn guest_command(call: &Invocation<'_, '_, '_>, scope: &Scope, findings: &mut Findings) {
    let command = call.operands.get(1).and_then(Word::literal).unwrap_or("");
    let risk = match scope.tables() {
        tables if tables.lists(ListName::AgentReads, command) => Risk::ReadOnly,
        tables if tables.lists(ListName::AgentChanges, command) => Risk::ConfigMutation,
        _ => Risk::Destructive,
    };
    if risk > Risk::ReadOnly {
        findings.affects_guest(call.operands.first());
        findings.add(scope, risk, "qm:guest-cmd", format!("{command} acts on the guest"), None);
    }
}

/// `--features`: those that open the host.
pub fn features(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let text = word.text.to_ascii_lowercase();
    if word.value != Value::Known
        || text.contains("mknod=1")
        || text.contains("force_rw_sys=1")
        || text.contains("mount=")
    {
        findings.add(scope, Risk::Destructive, "pct:features", "opens the host to the container", None);
    }
}

/// `--mp0`: a volume of a storage is a change, a path of the host is an exposure.
pub fn mountpoint(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let source = word.text.trim_start_matches("volume=");
    if source.starts_with('/') || word.value != Value::Known || word.text.contains("volume=/") {
        findings.add(scope, Risk::Destructive, "pct:bind-mount", "gives the container a path of the host", None);
    }
}

/// `--delete NAMES`: disks and mount points are lost, other settings are only reset.
pub fn delete(call: &Invocation<'_, '_, '_>, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let harmless = word.value == Value::Known
        && word.text.split([',', ';', ' ']).all(|name| {
            scope.tables().lists(ListName::GuestSettings, name.trim_end_matches(|c: char| c.is_ascii_digit()))
        });
    let risk = if harmless { Risk::ConfigMutation } else { Risk::Destructive };
    findings.add(scope, risk, call.code("delete"), format!("deletes {}", word.shown()), None);
}

/// A disk of a virtual machine: a device of the host is an exposure.
pub fn disk(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let file = word.text.trim_start_matches("file=");
    if word.value != Value::Known || file.starts_with('/') || word.text.contains(",file=/") {
        findings.add(scope, Risk::Destructive, "qm:host-device", "gives the guest a device or file of the host", None);
    }
}

/// `--prune-backups`: everything but keeping all deletes.
pub fn prune(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if !word.is("keep-all=1") {
        findings.add(
            scope,
            Risk::Destructive,
            "vzdump:prune",
            "prunes older backups",
            Some("use --prune-backups keep-all=1"),
        );
    }
}

/// The state that high availability keeps a guest in: all but a running one stops it.
pub fn ha_state(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if !matches!(word.literal(), Some("started" | "enabled" | "ignored")) {
        findings.add(scope, Risk::Destructive, "ha-manager:state", "stops the guest", None);
    }
}

//! Proxmox: API paths, mount points, guest agent commands.

use crate::{
    api::Risk,
    risk::{
        judge::Judge,
        rule::{Case, general},
        word::{Value, Word},
    },
};

/// `pvesh VERB PATH`: the path decides.
pub fn pvesh(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    let verb = case.args.verb.map_or("", |verb| verb.name);
    let Some(path) = case.args.operands.first() else {
        return judge.find(Risk::Destructive, "pvesh:path", "which path is meant is not known", None);
    };
    if verb != "get" {
        affected(judge, path);
    }
    let Some(text) = path.literal() else {
        let risk = if verb == "get" { Risk::ConfigMutation } else { Risk::Destructive };
        return judge.find(risk, "pvesh:path", "which path is meant is not known", None);
    };
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
    let options: Vec<String> =
        case.argv.iter().map(|word| word.text.trim_start_matches('-').to_ascii_lowercase()).collect();
    let has = |name: &str| {
        options
            .iter()
            .any(|option| option.split('=').next().is_some_and(|option| option.len() > 2 && name.starts_with(option)))
    };
    match verb {
        "get" => get(judge, &parts),
        "create" => create(judge, &parts, has("force")),
        "set" => set(judge, &parts, has("delete") || has("revert")),
        _ => judge.find(Risk::Destructive, "pvesh:delete", "deletes what the path names", None),
    }
}

fn affected(judge: &mut Judge, path: &Word<'_>) {
    let mut parts = path.text.split('/').filter(|part| !part.is_empty());
    while let Some(part) = parts.next() {
        if matches!(part, "lxc" | "qemu")
            && let Some(vmid) = parts.next()
        {
            let vmid = if path.value == Value::Known { Word::known(vmid) } else { Word::partly("", Value::Open) };
            judge.affects_guest(Some(&vmid));
        }
    }
}

fn get(judge: &mut Judge, parts: &[&str]) {
    let last = parts.last().copied().unwrap_or("");
    if matches!(last, "query-url-metadata" | "query-oci-repo-tags" | "download") {
        judge.find(Risk::ConfigMutation, "pvesh:get", "makes the node fetch something", None);
    }
    if matches!(last, "file-read" | "file-download")
        || parts.contains(&"file-restore")
        || matches!(last, "ticket" | "termproxy" | "vncwebsocket")
    {
        judge.flag(crate::risk::effect::Effect { sensitive: true, ..crate::risk::effect::Effect::READ });
    }
}

fn create(judge: &mut Judge, parts: &[&str], force: bool) {
    let last = parts.last().copied().unwrap_or("");
    let change = match parts {
        ["nodes", _, "lxc" | "qemu"] => !force,
        ["nodes", _, "lxc" | "qemu", _, "status", verb] => {
            matches!(*verb, "start" | "shutdown" | "reboot" | "resume" | "suspend")
        }
        ["nodes", _, "lxc" | "qemu", _, "snapshot" | "config" | "clone" | "migrate" | "resize"] => true,
        ["nodes", _, "qemu", _, "agent", verb] => {
            matches!(*verb, "ping" | "info" | "fsfreeze-freeze" | "fsfreeze-thaw" | "fstrim")
                || verb.starts_with("get-")
                || verb.starts_with("network-get")
        }
        ["nodes", _, "apt", "update"] | ["nodes", _, "aplinfo"] => true,
        ["nodes", _, "storage", _, "download-url" | "upload" | "content"] => true,
        ["nodes", _, "startall" | "vzdump"] => last != "vzdump",
        ["pools"] => true,
        _ => false,
    };
    let risk = if change && !force { Risk::ConfigMutation } else { Risk::Destructive };
    let message = if change { "changes the cluster" } else { "is not an API call known to be harmless" };
    judge.find(risk, "pvesh:create", message, None);
}

fn set(judge: &mut Judge, parts: &[&str], deletes: bool) {
    let change = matches!(
        parts,
        ["nodes", _, "lxc" | "qemu", _, "config" | "resize"]
            | ["nodes", _, "lxc" | "qemu", _, "snapshot", _, "config"]
            | ["pools", ..]
            | ["cluster", "options"]
            | ["nodes", _, "config"]
    );
    let risk = if change && !deletes { Risk::ConfigMutation } else { Risk::Destructive };
    judge.find(risk, "pvesh:set", if deletes { "deletes settings or volumes" } else { "changes the cluster" }, None);
}

/// `qm guest cmd ID COMMAND`.
pub fn guest_command(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    let command = case.args.operands.get(1).and_then(Word::literal).unwrap_or("");
    let risk = match command {
        "ping" | "info" | "network-get-interfaces" | "fsfreeze-status" => Risk::ReadOnly,
        _ if command.starts_with("get-") => Risk::ReadOnly,
        "fsfreeze-freeze" | "fsfreeze-thaw" | "fstrim" | "shutdown" => Risk::ConfigMutation,
        _ => Risk::Destructive,
    };
    if risk > Risk::ReadOnly {
        judge.affects_guest(case.args.operands.first());
        judge.find(risk, "qm:guest-cmd", format!("{command} acts on the guest"), None);
    }
}

/// `--features`: those that open the host.
pub fn features(judge: &mut Judge, word: &Word<'_>) {
    let text = word.text.to_ascii_lowercase();
    if word.value != Value::Known
        || text.contains("mknod=1")
        || text.contains("force_rw_sys=1")
        || text.contains("mount=")
    {
        judge.find(Risk::Destructive, "pct:features", "opens the host to the container", None);
    }
}

/// `--mp0`: a volume of a storage is a change, a path of the host is an exposure.
pub fn mountpoint(judge: &mut Judge, word: &Word<'_>) {
    let source = word.text.trim_start_matches("volume=");
    if source.starts_with('/') || word.value != Value::Known || word.text.contains("volume=/") {
        judge.find(Risk::Destructive, "pct:bind-mount", "gives the container a path of the host", None);
    }
}

/// `--delete NAMES`: disks and mount points are lost, settings are only reset.
pub fn delete(judge: &mut Judge, case: &Case<'_, '_, '_>, word: &Word<'_>) {
    let _ = general as fn(&mut Judge, &Case<'_, '_, '_>);
    judge.find(Risk::Destructive, case.code("delete"), format!("deletes {}", word.shown()), None);
}

/// `vzdump --remove`: old backups are pruned unless it is 0.
pub fn remove(judge: &mut Judge, word: &Word<'_>) {
    if !matches!(word.literal(), Some("0" | "no" | "off" | "false")) {
        judge.find(Risk::Destructive, "vzdump:remove", "prunes older backups", Some("use --remove 0"));
    }
}

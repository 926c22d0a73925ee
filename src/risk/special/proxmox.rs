//! Proxmox: API paths, mount points, guest agent commands.

use crate::{
    api::Risk,
    risk::{
        judge::Judge,
        rule::Case,
        word::{Value, Word},
    },
};

/// The API calls that only change something, by verb and path; `*` stands for one part of the path.
/// What is not listed destroys, gives access or runs code, or is not known.
const CHANGES: &[(&str, &str)] = &[
    ("create", "nodes/*/lxc"),
    ("create", "nodes/*/qemu"),
    ("create", "nodes/*/lxc/*/status/start"),
    ("create", "nodes/*/lxc/*/status/shutdown"),
    ("create", "nodes/*/lxc/*/status/reboot"),
    ("create", "nodes/*/lxc/*/status/resume"),
    ("create", "nodes/*/lxc/*/status/suspend"),
    ("create", "nodes/*/lxc/*/snapshot"),
    ("create", "nodes/*/lxc/*/clone"),
    ("create", "nodes/*/lxc/*/migrate"),
    ("create", "nodes/*/qemu/*/status/start"),
    ("create", "nodes/*/qemu/*/status/shutdown"),
    ("create", "nodes/*/qemu/*/status/reboot"),
    ("create", "nodes/*/qemu/*/status/resume"),
    ("create", "nodes/*/qemu/*/status/suspend"),
    ("create", "nodes/*/qemu/*/snapshot"),
    ("create", "nodes/*/qemu/*/clone"),
    ("create", "nodes/*/qemu/*/migrate"),
    ("create", "nodes/*/qemu/*/config"),
    ("create", "nodes/*/qemu/*/agent/ping"),
    ("create", "nodes/*/qemu/*/agent/fsfreeze-freeze"),
    ("create", "nodes/*/qemu/*/agent/fsfreeze-thaw"),
    ("create", "nodes/*/qemu/*/agent/fsfreeze-status"),
    ("create", "nodes/*/qemu/*/agent/fstrim"),
    ("create", "nodes/*/qemu/*/move_disk"),
    ("create", "nodes/*/lxc/*/move_volume"),
    ("create", "nodes/*/apt/update"),
    ("create", "nodes/*/aplinfo"),
    ("create", "nodes/*/vzdump"),
    ("create", "nodes/*/startall"),
    ("create", "nodes/*/wakeonlan"),
    ("create", "nodes/*/storage/*/download-url"),
    ("create", "nodes/*/storage/*/upload"),
    ("create", "nodes/*/storage/*/content"),
    ("create", "nodes/*/services/*/start"),
    ("create", "nodes/*/services/*/reload"),
    ("create", "nodes/*/replication/*/schedule_now"),
    ("create", "cluster/backup"),
    ("create", "cluster/ha/resources"),
    ("create", "cluster/ha/groups"),
    ("create", "cluster/ha/rules"),
    ("create", "cluster/ha/resources/*/migrate"),
    ("create", "cluster/ha/resources/*/relocate"),
    ("create", "cluster/replication"),
    ("create", "storage"),
    ("create", "pools"),
    ("set", "nodes/*/lxc/*/config"),
    ("set", "nodes/*/lxc/*/resize"),
    ("set", "nodes/*/lxc/*/snapshot/*/config"),
    ("set", "nodes/*/qemu/*/config"),
    ("set", "nodes/*/qemu/*/resize"),
    ("set", "nodes/*/qemu/*/sendkey"),
    ("set", "nodes/*/qemu/*/cloudinit"),
    ("set", "nodes/*/qemu/*/snapshot/*/config"),
    ("set", "nodes/*/config"),
    ("set", "nodes/*/time"),
    ("set", "cluster/options"),
    ("set", "cluster/backup/*"),
    ("set", "cluster/ha/resources/*"),
    ("set", "cluster/ha/groups/*"),
    ("set", "cluster/ha/rules/*"),
    ("set", "cluster/replication/*"),
    ("set", "pools"),
    ("set", "pools/*"),
];

/// Parameters that make any of those calls destructive.
const DANGEROUS: &[&str] = &[
    "force",
    "delete",
    "revert",
    "args",
    "hookscript",
    "script",
    "restore",
    "archive",
    "prune-backups",
    "maxfiles",
    "forcestop",
    "disable",
    "remove",
    "unlink",
    "skiplock",
    "lxc",
    "entrypoint",
];
/// The same, for numbered parameters: devices of the host.
const DANGEROUS_NUMBERED: &[&str] = &["dev", "hostpci", "usb", "parallel", "mp", "unused"];

/// `pvesh VERB PATH`: the path decides.
pub fn pvesh(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    let verb = case.args.verb.map_or("", |verb| verb.name);
    let Some(path) = case.args.operands.first() else {
        return judge.find(Risk::Destructive, case.code("path"), "which path is meant is not known", None);
    };
    if verb == "get" {
        return get(judge, path);
    }
    affected(judge, path);
    let parts: Vec<&str> = path.text.split('/').filter(|part| !part.is_empty()).collect();
    let listed =
        path.value == Value::Known && CHANGES.iter().any(|(of, template)| *of == verb && matches(template, &parts));
    let host_file = parts.first() == Some(&"nodes")
        && case
            .args
            .operands
            .iter()
            .skip(1)
            .chain(case.argv.iter().skip(3))
            .any(|word| word.text.starts_with('/') || word.text.contains("=/"));
    let dangerous =
        host_file || case.argv.iter().skip(2).any(|word| word.value >= Value::Data || is_dangerous(&word.text));
    match (verb, listed, dangerous) {
        ("delete", ..) => judge.find(Risk::Destructive, case.code("delete"), "deletes what the path names", None),
        (_, false, _) => {
            judge.find(Risk::Destructive, case.code("path"), "is not an API call known to be without loss", None);
        }
        (_, true, true) => {
            judge.find(Risk::Destructive, case.code("parameter"), "a parameter overwrites, deletes or runs code", None);
        }
        (_, true, false) => judge.find(Risk::ConfigMutation, case.code("change"), "changes the cluster", None),
    }
}

fn matches(template: &str, parts: &[&str]) -> bool {
    let mut wanted = template.split('/');
    parts.iter().all(|part| wanted.next().is_some_and(|want| want == "*" || want == *part)) && wanted.next().is_none()
}

/// A parameter, in any spelling that Getopt takes: one or two dashes, any case, a beginning.
fn is_dangerous(word: &str) -> bool {
    let Some(name) = word.strip_prefix('-') else { return false };
    let name = name.trim_start_matches('-').split('=').next().unwrap_or("").to_ascii_lowercase();
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit());
    !name.is_empty()
        && (DANGEROUS.iter().any(|known| known.starts_with(&name))
            || bare.len() < name.len() && DANGEROUS_NUMBERED.contains(&bare))
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

/// Reading is harmless, except where the node fetches something; the last part of the path tells.
fn get(judge: &mut Judge, path: &Word<'_>) {
    let end = if path.value == Value::Known { path.text.as_ref() } else { path.ending.as_str() };
    let last = end.trim_end_matches('/').rsplit('/').next().unwrap_or("");
    if last.is_empty() && path.value != Value::Known {
        return judge.find(Risk::ConfigMutation, "pvesh:path", "which path is meant is not known", None);
    }
    if matches!(last, "query-url-metadata" | "query-oci-repo-tags" | "download") {
        judge.find(Risk::ConfigMutation, "pvesh:get", "makes the node fetch something", None);
    }
    if matches!(last, "file-read" | "ticket" | "termproxy" | "vncwebsocket") || path.text.contains("file-restore") {
        judge.flag(crate::risk::effect::Effect { sensitive: true, ..crate::risk::effect::Effect::READ });
    }
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

/// `--delete NAMES`: disks and mount points are lost, other settings are only reset.
pub fn delete(judge: &mut Judge, case: &Case<'_, '_, '_>, word: &Word<'_>) {
    const RESET: &[&str] = &[
        "description",
        "tags",
        "hostname",
        "name",
        "nameserver",
        "searchdomain",
        "startup",
        "onboot",
        "cpulimit",
        "cpuunits",
        "cores",
        "sockets",
        "memory",
        "swap",
        "balloon",
        "tty",
        "timezone",
        "console",
        "cmode",
        "debug",
        "ciuser",
        "cipassword",
        "sshkeys",
        "citype",
        "ipconfig",
        "net",
        "agent",
        "boot",
        "bootdisk",
        "cpu",
        "vga",
        "keyboard",
        "hotplug",
        "features",
        "affinity",
        "watchdog",
        "audio",
        "rng",
        "serial",
        "ostype",
        "machine",
        "bios",
    ];
    let harmless = word.value == Value::Known
        && word
            .text
            .split([',', ';', ' '])
            .all(|name| RESET.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit())));
    let risk = if harmless { Risk::ConfigMutation } else { Risk::Destructive };
    judge.find(risk, case.code("delete"), format!("deletes {}", word.shown()), None);
}

/// A disk of a virtual machine: a device of the host is an exposure.
pub fn disk(judge: &mut Judge, word: &Word<'_>) {
    let file = word.text.trim_start_matches("file=");
    if word.value != Value::Known || file.starts_with('/') || word.text.contains(",file=/") {
        judge.find(Risk::Destructive, "qm:host-device", "gives the guest a device or file of the host", None);
    }
}

/// `--prune-backups`: everything but keeping all deletes.
pub fn prune(judge: &mut Judge, word: &Word<'_>) {
    if !word.is("keep-all=1") {
        judge.find(Risk::Destructive, "vzdump:prune", "prunes older backups", Some("use --prune-backups keep-all=1"));
    }
}

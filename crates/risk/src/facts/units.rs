//! Services and packages without which a system cannot be reached or does not work.

use super::paths;
use crate::{
    Risk,
    tables::Kind,
    words::{Value, Word},
};

/// Services of a node, or of any system, that carry the way to it.
const ACCESS: &[&str] =
    &["ssh", "sshd", "networking", "systemd-networkd", "NetworkManager", "ifupdown", "dbus", "systemd-logind"];
/// Services that carry a node and its guests.
const NODE: &[&str] = &[
    "pve-cluster",
    "pvedaemon",
    "pveproxy",
    "pvestatd",
    "pve-ha-crm",
    "pve-ha-lrm",
    "pve-firewall",
    "proxmox-firewall",
    "corosync",
    "pve-guests",
    "pvescheduler",
    "spiceproxy",
    "pve-lxc-syscalld",
    "qmeventd",
    "lxc",
    "lxcfs",
    "zfs-zed",
    "zfs-mount",
    "zfs-import-cache",
    "lvm2-monitor",
    "multipathd",
    "iscsid",
    "ceph",
    "rpcbind",
    "nfs-server",
    "chrony",
    "nftables",
    "netfilter-persistent",
    "systemd-udevd",
    "watchdog-mux",
    "lxc-monitord",
    "qemu.slice",
    "lxc.slice",
    "machine.slice",
    "system.slice",
    "frr",
];
/// Beginnings of such names.
const NODE_PREFIX: &[&str] =
    &["pve-container@", "ceph-", "zfs-", "lvm2-", "pve-", "proxmox-", "qemu-", "lxc@", "user@0"];

/// The class of acting on a unit and why, when it is more than a change.
pub fn class_of(kind: Kind, word: &Word<'_>, guest: bool) -> Option<(Risk, String)> {
    if word.value != Value::Known {
        let risk = if kind == Kind::StopUnit { Risk::Destructive } else { Risk::ConfigMutation };
        return Some((risk, "which unit is meant is not known".to_owned()));
    }
    let name = word.text.rsplit_once('.').filter(|(_, kind)| is_unit_kind(kind)).map_or(&*word.text, |(name, _)| name);
    if word.text.contains('/') && (!guest || paths::is_temporary(&word.text)) {
        return Some((Risk::Destructive, format!("{} is a unit file whose content is not known", word.text)));
    }
    let guest_scope = word.text.strip_suffix(".scope").is_some_and(|id| id.bytes().all(|b| b.is_ascii_digit()));
    let access = ACCESS.contains(&name);
    let node = guest_scope
        || NODE.contains(&name)
        || NODE.contains(&&*word.text)
        || NODE_PREFIX.iter().any(|prefix| name.starts_with(prefix));
    let power = [
        "reboot",
        "poweroff",
        "halt",
        "kexec",
        "rescue",
        "emergency",
        "shutdown",
        "exit",
        "suspend",
        "hibernate",
        "ctrl-alt-del",
        "sleep",
    ];
    if power.contains(&name) {
        let risk = if guest { Risk::ConfigMutation } else { Risk::Destructive };
        return Some((risk, format!("{name} takes the system away")));
    }
    let lost = match kind {
        Kind::StopUnit => access || node,
        Kind::RestartUnit => {
            !guest
                && (matches!(
                    name,
                    "networking"
                        | "systemd-networkd"
                        | "NetworkManager"
                        | "corosync"
                        | "pve-cluster"
                        | "lxcfs"
                        | "systemd-logind"
                        | "dbus"
                ) || name.starts_with("pve-container@")
                    || name.starts_with("ceph-"))
        }
        _ => false,
    };
    let target = kind != Kind::Unit && word.text.ends_with(".target");
    let glob = word.text.contains(['*', '?', '[']) && kind != Kind::Unit;
    (lost || target || glob)
        .then(|| (Risk::Destructive, format!("{} carries the way to this system or its guests", word.text)))
}

fn is_unit_kind(kind: &str) -> bool {
    matches!(
        kind,
        "service"
            | "socket"
            | "target"
            | "timer"
            | "mount"
            | "path"
            | "slice"
            | "scope"
            | "swap"
            | "device"
            | "automount"
    )
}

const PACKAGES: &[&str] = &[
    "proxmox-ve",
    "pve-manager",
    "pve-kernel",
    "proxmox-kernel",
    "openssh-server",
    "ssh",
    "systemd",
    "libc6",
    "dpkg",
    "apt",
    "bash",
    "ifupdown2",
    "ifupdown",
    "zfsutils-linux",
    "lvm2",
    "pve-cluster",
    "corosync",
    "qemu-server",
    "pve-container",
    "grub",
    "udev",
    "network-manager",
    "sudo",
    "linux-image",
    "init",
    "login",
    "coreutils",
    "util-linux",
    "netplan.io",
    "iproute2",
];

/// Whether removing a package breaks the system or the way to it.
pub fn is_critical_package(name: &str) -> bool {
    PACKAGES.contains(&name)
        || ["proxmox-kernel", "pve-", "linux-image", "libc6", "grub-", "proxmox-"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

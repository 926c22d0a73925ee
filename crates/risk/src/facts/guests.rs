//! The guests that a word names without a Proxmox tool: by their volumes, files, units and processes.
//!
//! Owns the names that Proxmox gives to what belongs to a guest; must not know any command.

use std::borrow::Cow;

use crate::{
    Affected,
    words::{Value, Word},
};

/// What stands right before a VMID, and what may stand right after it.
const MARKS: &[(&str, &str)] = &[
    // Volumes: `vm-104-disk-0`, `subvol-101-disk-0`; the device mapper doubles their dashes.
    ("vm-", "-"),
    ("base-", "-"),
    ("subvol-", "-"),
    ("basevol-", "-"),
    // Configurations, images, mounted containers, cgroups.
    ("/lxc/", "./"),
    ("/qemu-server/", "./"),
    ("/images/", "/"),
    ("/private/", "/"),
    ("/firewall/", "."),
    ("/lxc/pve-config-", "."),
    ("/lxc/lock/pve-config-", "."),
    ("/qemu-server/lock-", "."),
    ("qemu.slice/", "."),
    // Units and processes.
    ("pve-container@", "."),
    ("pve-container-debug@", "."),
    ("lxc@", "."),
    ("-id ", " $'\""),
    // Interfaces on the node's side of a guest's network card.
    ("tap", "i"),
    ("veth", "i"),
    ("fwbr", "i"),
    ("fwln", "io"),
    ("fwpr", "p"),
];

/// Which bytes begin a mark: most words are done with this.
const MARK_BEGINS: [bool; 256] = {
    let mut begins = [false; 256];
    let mut at = 0;
    while at < MARKS.len() {
        begins[MARKS[at].0.as_bytes()[0] as usize] = true;
        at += 1;
    }
    begins
};

/// What the command lines of a guest's processes hold, when a pattern looks for them.
const PROCESSES: &[&str] = &["lxc-start", "lxc monitor", "kvm"];

/// What the word names, if it belongs to guests: each VMID, or something unknown where one is computed.
pub fn named(word: &Word<'_>) -> Vec<Affected> {
    let mut out = Vec::new();
    named_in(&word.text, word.value != Value::Known, &mut out);
    if word.value != Value::Known {
        named_in(&word.ending, false, &mut out);
    }
    out
}

/// Whether a word is about the processes of a guest, and not about its configuration.
pub fn names_processes(word: &Word<'_>) -> bool {
    !(word.text.contains("/etc/pve/") || word.text.ends_with(".conf"))
}

/// Whether a program's name, or a pattern for one, is that of every guest's process.
pub fn is_any_process(name: &str) -> bool {
    ["kvm", "qemu-system", "lxc-start"].iter().any(|process| name.contains(process)) && !has_vmid(name)
}

/// What a command names by more than one word: `lxc-info -n 104`, `pidof kvm`.
pub fn of_command(argv: &[Word<'_>]) -> Option<Affected> {
    let (head, rest) = argv.split_first()?;
    let name = head.text.rsplit('/').next()?;
    if matches!(name, "pidof" | "pgrep") {
        return rest.iter().any(|word| is_any_process(&word.text)).then_some(Affected::Unknown);
    }
    name.strip_prefix("lxc-")?;
    let number = |word: &Word<'_>| {
        vmid(word.text.trim_start_matches("--name=").trim_start_matches("-n")).filter(|_| word.value == Value::Known)
    };
    rest.iter().find_map(number).map(Affected::Vmid)
}

fn named_in(text: &str, open: bool, out: &mut Vec<Affected>) {
    if matches!(text, "qemu.slice" | "lxc.slice" | "machine.slice") {
        out.push(Affected::Unknown);
    }
    if !(open || has_vmid(text) || text.contains(['*', '?', '['])) {
        return;
    }
    let text = if text.as_bytes().windows(2).any(|pair| pair == b"--") {
        Cow::Owned(text.replace("--", "-"))
    } else {
        text.into()
    };
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        if !MARK_BEGINS[usize::from(*byte)] {
            continue;
        }
        let begins = at == 0 || !bytes[at - 1].is_ascii_alphanumeric() || *byte == b'/';
        for (mark, after) in MARKS.iter().filter(|(mark, _)| begins && bytes[at..].starts_with(mark.as_bytes())) {
            out.extend(guest(&text[at + mark.len()..], after, open));
        }
    }
    if text.contains([' ', '*']) && PROCESSES.iter().any(|process| text.contains(process)) {
        let numbers = text.split(|c: char| !c.is_ascii_alphanumeric()).filter_map(vmid);
        out.extend(numbers.map(Affected::Vmid));
    }
    if let Some(vmid) = text.strip_suffix(".scope").and_then(vmid) {
        out.push(Affected::Vmid(vmid));
    }
}

/// Whether three digits stand together, as in every VMID: most words are done with this.
fn has_vmid(text: &str) -> bool {
    let mut digits = 0;
    text.bytes().any(|byte| {
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        digits == 3
    })
}

/// The guest whose VMID begins `rest`.
fn guest(rest: &str, after: &str, open: bool) -> Option<Affected> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let next = rest[digits..].chars().next();
    match next {
        _ if digits == 0 && (rest.starts_with(['*', '?', '[']) || rest.is_empty() && open) => Some(Affected::Unknown),
        Some('*' | '?' | '[') => Some(Affected::Unknown),
        None if open => Some(Affected::Unknown),
        None => vmid(rest).map(Affected::Vmid),
        Some(c) if after.contains(c) => vmid(&rest[..digits]).map(Affected::Vmid),
        Some(_) => None,
    }
}

/// VMIDs have three to nine digits.
fn vmid(text: &str) -> Option<u32> {
    ((3..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_a_guest_names_it() {
        for (text, vmid) in [
            ("pve/vm-104-disk-0", 104),
            ("rpool/data/subvol-101-disk-0@daily", 101),
            ("/dev/mapper/pve-vm--154--disk--0", 154),
            ("local-lvm:vm-104-cloudinit", 104),
            ("/etc/pve/lxc/101.conf", 101),
            ("/etc/pve/nodes/pve1/qemu-server/104.conf", 104),
            ("/var/lib/lxc/146/rootfs/etc/fix.conf", 146),
            ("/var/lib/vz/images/259/vm-259-disk-0.qcow2", 259),
            ("/run/qemu-server/135.pid", 135),
            ("/sys/fs/cgroup/lxc/112/cgroup.kill", 112),
            ("pve-container@163", 163),
            ("262.scope", 262),
            ("^/usr/bin/kvm -id 136 ", 136),
            ("-id 104", 104),
            ("qemu.slice/104.scope", 104),
            ("/sys/fs/cgroup/qemu.slice/104.scope/cgroup.kill", 104),
            ("tap104i0", 104),
            ("fwpr104p0", 104),
            ("fwbr104i0", 104),
            ("fwln104i0", 104),
            ("veth104i0", 104),
        ] {
            let found = named(&Word::known(text));
            assert!(!found.is_empty() && found.iter().all(|it| *it == Affected::Vmid(vmid)), "{text}: {found:?}");
        }
    }

    #[test]
    fn a_computed_vmid_is_unknown_and_other_names_are_none() {
        for text in ["rpool/data/subvol-", "/etc/pve/lxc/", "pve/vm-10"] {
            assert_eq!(named(&Word::partly(text, Value::KnownPrefix)), [Affected::Unknown], "{text}");
        }
        assert_eq!(named(&Word::known("/etc/pve/lxc/*.conf")), [Affected::Unknown]);
        for text in [
            "/etc/lxc/default.conf",
            "vm-tools-1",
            "/srv/images/cat.png",
            "ceph-osd@3",
            "/proc/104/fd",
            "a.scope",
            "vzdump-lxc-101-2026.tar.zst",
        ] {
            assert_eq!(named(&Word::known(text)), [], "{text}");
        }
    }
}

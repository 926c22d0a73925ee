//! `pvesm`: storages and what is on them.

use super::getopt::Kind::{Flag, Integer, Text};
use super::getopt::{Arguments, Verb, dispatch};
use super::{Failure, Host, Outcome, inventory, storage};

const VERBS: &[Verb] = &[
    Verb { name: "add", positionals: &["type", "storage"], options: &[], run: not_here },
    Verb { name: "alloc", positionals: &["storage", "vmid", "filename", "size"], options: &[], run: not_here },
    Verb { name: "apiinfo", positionals: &[], options: &[], run: not_here },
    Verb { name: "export", positionals: &["volume", "format", "filename"], options: &[], run: not_here },
    Verb { name: "extractconfig", positionals: &["volume"], options: &[], run: not_here },
    Verb { name: "free", positionals: &["volume"], options: &[], run: not_here },
    Verb { name: "import", positionals: &["volume", "format", "filename"], options: &[], run: not_here },
    Verb { name: "list", positionals: &["storage"], options: &[("content", Text), ("vmid", Integer(100))], run: list },
    Verb { name: "path", positionals: &["volume"], options: &[], run: path },
    Verb { name: "prune-backups", positionals: &["storage"], options: &[], run: not_here },
    Verb { name: "remove", positionals: &["storage"], options: &[], run: not_here },
    Verb { name: "scan", positionals: &["type"], options: &[], run: not_here },
    Verb { name: "set", positionals: &["storage"], options: &[], run: not_here },
    Verb {
        name: "status",
        positionals: &[],
        options: &[("content", Text), ("enabled", Flag), ("format", Flag), ("storage", Text), ("target", Text)],
        run: status,
    },
];

/// Runs `pvesm`.
pub fn run(host: &Host, arguments: &[String]) -> Outcome {
    dispatch("pvesm", VERBS, host, arguments)
}

fn not_here(_: &Host, arguments: &Arguments) -> Outcome {
    let verb = arguments.usage.split(' ').nth(1).unwrap_or_default();
    Err(Failure::new(format!("the Proxmox stand-in does not carry out 'pvesm {verb}'")))
}

fn status(host: &Host, arguments: &Arguments) -> Outcome {
    let (only, content) = (arguments.get("storage"), arguments.get("content"));
    if let Some(name) = only {
        storage::find(name)?;
    }
    let (total, used, available) = storage::space(host);
    let percent = if total == 0 { 0.0 } else { used as f64 * 100.0 / total as f64 };
    emit!(
        "{:<15} {:>11} {:>10} {:>15} {:>15} {:>15} {:>10}",
        "Name",
        "Type",
        "Status",
        "Total (KiB)",
        "Used (KiB)",
        "Available (KiB)",
        "%"
    );
    for store in &storage::STORAGES {
        let wanted = only.is_none_or(|name| name == store.name)
            && content.is_none_or(|kinds| kinds.split(',').any(|kind| store.content.contains(&kind)));
        if wanted {
            emit!(
                "{:<15} {:>11} {:>10} {total:>15} {used:>15} {available:>15} {:>10}",
                store.name,
                store.kind,
                "active",
                format!("{percent:.2}%")
            );
        }
    }
    Ok(0)
}

fn list(host: &Host, arguments: &Arguments) -> Outcome {
    let store = storage::find(arguments.positional(0))?;
    let wanted = |kind: &str| arguments.get("content").is_none_or(|content| content == kind);
    let mut rows: Vec<(String, &str, &str, u64, String)> = Vec::new();
    if store.name == "local" && wanted("vztmpl") {
        for (name, bytes) in storage::templates(host) {
            let format = if name.ends_with(".zst") { "tzst" } else { "tgz" };
            rows.push((format!("local:vztmpl/{name}"), format, "vztmpl", bytes, String::new()));
        }
    }
    if store.name == "local-lvm" && wanted("rootdir") {
        for guest in inventory::containers(host) {
            let Some(volume) = guest.config.current.get("rootfs") else { continue };
            let (volume, size) = volume.split_once(",size=").unwrap_or((volume, "0G"));
            let bytes = size.trim_end_matches('G').parse::<u64>().unwrap_or(0) << 30;
            rows.push((volume.to_owned(), "raw", "rootdir", bytes, guest.vmid.to_string()));
        }
    }
    if let Some(vmid) = arguments.get("vmid") {
        rows.retain(|row| row.4 == vmid);
    }
    if rows.is_empty() {
        return Ok(0);
    }
    let width = rows.iter().map(|row| row.0.len()).max().unwrap_or(5);
    emit!("{:<width$} {:<7} {:<9} {:>15} VMID", "Volid", "Format", "Type", "Size");
    for (volume, format, kind, bytes, vmid) in rows {
        emit!("{volume:<width$} {format:<7} {kind:<9} {bytes:>15} {vmid}");
    }
    Ok(0)
}

fn path(_: &Host, arguments: &Arguments) -> Outcome {
    emit!("{}", storage::path(arguments.positional(0))?);
    Ok(0)
}

//! The two storages of a fresh Proxmox host: `local` for templates, `local-lvm` for disks.

use std::fs;
use std::path::PathBuf;

use super::super::catalogue;
use super::super::fault::FaultKind;
use super::{Failure, Host};

/// One storage.
pub struct Storage {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: &'static str,
    /// What it may hold.
    pub content: &'static [&'static str],
}

/// All storages, in the order of `pvesm status`.
pub const STORAGES: [Storage; 2] = [
    Storage { name: "local", kind: "dir", content: &["iso", "vztmpl", "backup"] },
    Storage { name: "local-lvm", kind: "lvmthin", content: &["rootdir", "images"] },
];

/// A storage by name.
///
/// # Errors
/// With the real text when there is none.
pub fn find(name: &str) -> Result<&'static Storage, Failure> {
    STORAGES
        .iter()
        .find(|storage| storage.name == name)
        .ok_or_else(|| Failure::with_code(format!("storage '{name}' does not exist"), 2))
}

/// A volume id taken apart.
///
/// # Errors
/// With the real text when it is none.
pub fn split_volume(volume: &str) -> Result<(&str, &str), Failure> {
    volume
        .split_once(':')
        .filter(|(storage, name)| !storage.is_empty() && !name.is_empty())
        .ok_or_else(|| Failure::new(format!("unable to parse volume ID '{volume}'")))
}

/// Templates on storage `local` with their sizes in bytes; none while a fault hides them.
pub fn templates(host: &Host) -> Vec<(String, u64)> {
    let Ok(files) = fs::read_dir(host.layout.templates()) else { return Vec::new() };
    let mut found: Vec<(String, u64)> = files
        .flatten()
        .filter_map(|file| Some((file.file_name().into_string().ok()?, file.metadata().ok()?.len())))
        .filter(|(name, _)| [".tar.gz", ".tar.xz", ".tar.zst"].iter().any(|end| name.ends_with(end)))
        .filter(|(name, _)| !hidden(host, name))
        .collect();
    found.sort();
    found
}

/// Whether a fault hides this template.
pub fn hidden(host: &Host, template: &str) -> bool {
    host.faults.active().iter().any(|entry| {
        entry.fault.kind == FaultKind::TemplateMissing
            && entry.fault.pattern.as_deref().is_none_or(|pattern| super::super::fault::contains(template, pattern))
    })
}

/// Where a template of storage `local` is, or would be.
pub fn template_path(host: &Host, template: &str) -> PathBuf {
    host.layout.templates().join(template)
}

/// The path of a volume as `pvesm path` prints it.
///
/// # Errors
/// With the real texts for malformed ids and unknown storages.
pub fn path(volume: &str) -> Result<String, Failure> {
    let (storage, name) = split_volume(volume)?;
    let storage = find(storage)?;
    match (storage.name, name.split_once('/')) {
        ("local", Some(("vztmpl", file))) => Ok(format!("/var/lib/vz/template/cache/{file}")),
        ("local", Some(("iso", file))) => Ok(format!("/var/lib/vz/template/iso/{file}")),
        ("local", Some(("backup", file))) => Ok(format!("/var/lib/vz/dump/{file}")),
        ("local-lvm", None) if name.starts_with("vm-") => Ok(format!("/dev/pve/{name}")),
        ("local-lvm", _) => Err(Failure::new(format!("unable to parse lvm volume name '{name}'"))),
        _ => Err(Failure::new(format!("unable to parse directory volume name '{name}'"))),
    }
}

/// Total, used and available space of a storage in KiB: that of the disk it really is on.
pub fn space(host: &Host) -> (u64, u64, u64) {
    let Ok(status) = rustix::fs::statvfs(host.layout.root()) else { return (0, 0, 0) };
    let unit = status.f_frsize / 1024;
    let total = status.f_blocks.saturating_mul(unit);
    let available = status.f_bavail.saturating_mul(unit);
    (total, total.saturating_sub(status.f_bfree.saturating_mul(unit)), available)
}

/// Whether the archive is whole: every obtainable template is the same Debian 13.
pub fn is_whole(host: &Host, template: &str) -> bool {
    catalogue::find(template).is_some_and(|appliance| appliance.obtainable)
        && fs::metadata(template_path(host, template)).is_ok_and(|file| file.len() == host.settings.template_bytes)
}

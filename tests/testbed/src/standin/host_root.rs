//! The simulated host's file tree: an overlay over the machine's own root in a mount namespace of its own.
//!
//! Programs are the machine's, but every write lands in the stand-in's directory, so that no step of
//! a plan can change the machine; `/usr/sbin/pct` and `/etc/pve` exist here and nowhere else; and all
//! mounts vanish with the namespace's last process, however it dies.

use std::ffi::CString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive, mount_change, unmount,
};

use super::error::{Error, Result};
use super::layout::{Layout, Settings};
use super::template::Template;

/// Names under which the multi-call binary stands in for Proxmox's tools.
pub const TOOLS: [&str; 6] = ["pct", "pvesh", "pveam", "pvesm", "pveversion", "qm"];

/// Fills the overlay's upper layer and the directories that will be bound; runs outside the namespace.
///
/// # Errors
/// When a file cannot be written.
pub fn prepare(layout: &Layout, settings: &Settings) -> Result<()> {
    for directory in [
        "host/upper/usr/sbin",
        "host/upper/etc/pve",
        "host/upper/var/lib/vz",
        "host/upper/var/log/pve",
        "host/work",
        "host/root",
        "host/home",
        "host/tmp",
        "host/merged",
        "pve/lxc",
        "pve/qemu-server",
        "pve/nodes",
        "vz/template/cache",
        "vz/dump",
        "vz/template/iso",
        "log/tasks",
        "log/lxc",
        "locks",
        "guests",
        "lxc",
        "base",
        "faults",
        "www",
    ] {
        let path = layout.join(directory);
        fs::create_dir_all(&path).map_err(Error::file("create", &path))?;
    }
    let set_mode = |path: &str, mode: u32| {
        let path = layout.join(path);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).map_err(Error::file("change the mode of", &path))
    };
    set_mode("host/root", 0o700)?;
    set_mode("host/tmp", 0o1777)?;
    for tool in TOOLS {
        let link = layout.join("host/upper/usr/sbin").join(tool);
        symlink(layout.program(), &link).map_err(Error::file("link", &link))?;
    }
    let node = &settings.node;
    let link = layout.join("pve/nodes").join(node);
    symlink("..", &link).map_err(Error::file("link", &link))?;
    for (path, text) in [
        ("host/upper/etc/hostname", format!("{node}\n")),
        ("host/upper/etc/hosts", format!("127.0.0.1 localhost\n{} {node}.lan {node}\n", settings.gateway())),
        ("host/upper/etc/resolv.conf", fs::read_to_string("/etc/resolv.conf").unwrap_or_default()),
        ("pve/storage.cfg", STORAGE_CONFIGURATION.to_owned()),
        ("host/root/.bashrc", "# ~/.bashrc: executed by bash(1) for non-login shells.\n".to_owned()),
        ("archive.tar.zst", String::new()),
    ] {
        let path = layout.join(path);
        fs::write(&path, text).map_err(Error::file("write", &path))?;
    }
    Ok(())
}

const STORAGE_CONFIGURATION: &str = "\
dir: local
\tpath /var/lib/vz
\tcontent iso,vztmpl,backup

lvmthin: local-lvm
\tthinpool data
\tvgname pve
\tcontent rootdir,images
";

/// Builds the tree and makes it the calling process's root. The process must be alone in a fresh
/// mount and UTS namespace: every failure leaves a half-built tree that only its end removes.
///
/// # Errors
/// When a mount fails; on the overlay this mostly means that the directory is not on a disk file system.
pub fn enter(layout: &Layout, settings: &Settings, template: &Template) -> Result<()> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|error| mount_failed("/", error))?;
    rustix::system::sethostname(settings.node.as_bytes()).map_err(|error| mount_failed("the host name", error))?;
    let merged = layout.join("host/merged");
    let upper = layout.join("host/upper");
    let options = format!("lowerdir=/,upperdir={},workdir={}", upper.display(), layout.join("host/work").display());
    mount_overlay(&options, &merged)?;
    for directory in ["proc", "sys", "dev"] {
        let target = merged.join(directory);
        mount_bind_recursive(Path::new("/").join(directory), &target)
            .map_err(|error| mount_failed(&target.display().to_string(), error))?;
    }
    mount("tmpfs", merged.join("run"), "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=755")
        .map_err(|error| mount_failed("/run", error))?;
    for (source, target) in [
        ("pve", "etc/pve"),
        ("vz", "var/lib/vz"),
        ("log", "var/log/pve"),
        ("host/root", "root"),
        ("host/home", "home"),
        ("host/tmp", "tmp"),
        ("locks", "run/lock/lxc"),
    ] {
        let target = merged.join(target);
        fs::create_dir_all(&target).map_err(Error::file("create", &target))?;
        bind(&layout.join(source), &target)?;
    }
    fs::create_dir_all(merged.join("run/sshd")).map_err(Error::file("create", Path::new("/run/sshd")))?;
    let own: PathBuf = merged.join(layout.root().strip_prefix("/").unwrap_or(layout.root()));
    fs::create_dir_all(&own).map_err(Error::file("create", &own))?;
    bind(layout.root(), &own)?;
    bind(&template.tree, &own.join("base"))?;
    bind(&template.archive, &own.join("archive.tar.zst"))?;
    become_root(&merged)
}

fn become_root(merged: &Path) -> Result<()> {
    let old = merged.join(".old");
    fs::create_dir_all(&old).map_err(Error::file("create", &old))?;
    rustix::process::pivot_root(merged, &old).map_err(|error| mount_failed("the new root", error))?;
    std::env::set_current_dir("/").map_err(Error::file("enter", Path::new("/")))?;
    unmount("/.old", UnmountFlags::DETACH).map_err(|error| mount_failed("/.old", error))?;
    fs::remove_dir("/.old").map_err(Error::file("remove", Path::new("/.old")))
}

fn bind(source: &Path, target: &Path) -> Result<()> {
    mount_bind(source, target).map_err(|error| mount_failed(&target.display().to_string(), error))
}

/// Mounts an overlay with the given options.
///
/// # Errors
/// When the kernel refuses, with a hint where the upper layer must be.
pub fn mount_overlay(options: &str, target: &Path) -> Result<()> {
    let data = CString::new(options).map_err(|_| Error::Machine("a path holds a NUL byte".to_owned()))?;
    mount("overlay", target, "overlay", MountFlags::empty(), data.as_c_str()).map_err(|error| {
        Error::Machine(format!(
            "mounting an overlay at {} failed: {error}; OIKOS_STANDIN_DIR must name a directory on a disk file \
             system such as ext4 or xfs",
            target.display()
        ))
    })
}

fn mount_failed(what: &str, error: rustix::io::Errno) -> Error {
    Error::Machine(format!("mounting {what} failed: {error}"))
}

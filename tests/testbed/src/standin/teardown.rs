//! Removing everything of one stand-in, in any state: whole, half built, or left by a crash.
//!
//! Processes are known by their root: an overlay whose upper layer lies in the stand-in's directory.
//! That holds for the host's processes and for every process of a container, whoever started it, and
//! for nothing else on the machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::error::{Error, Result};
use super::layout::{CGROUP_PREFIX, Layout};
use super::{network, slot};

const ROUNDS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(25);

/// How long `down` waits for a living supervisor to take its stand-in down.
const PATIENCE: Duration = Duration::from_secs(60);

/// Removes the stand-in in `directory`: ends its supervisor if it lives, and whatever a dead one left.
///
/// # Errors
/// When the directory is not a stand-in's, or when something resists.
pub fn down(directory: &Path) -> Result<()> {
    let begin = Instant::now();
    loop {
        match slot::find(directory)? {
            slot::DirectoryOwner::Dead(slot) => return take_down(directory, slot),
            slot::DirectoryOwner::Alive if begin.elapsed() < PATIENCE => end_supervisor(directory),
            slot::DirectoryOwner::Alive => {
                let reason = format!("the one in {} does not end", directory.display());
                return Err(Error::Supervisor(reason));
            }
            slot::DirectoryOwner::Nobody if directory.exists() => {
                let _register = slot::lock_register()?;
                return remove_unslotted(directory);
            }
            slot::DirectoryOwner::Nobody => return Ok(()),
        }
        std::thread::sleep(PAUSE);
    }
}

/// The slot is held, so the supervisor lives and its process id is its own.
fn end_supervisor(directory: &Path) {
    let text = fs::read_to_string(Layout::new(directory).supervisor_pid()).unwrap_or_default();
    if let Some(pid) = text.trim().parse().ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::TERM);
    }
}

fn remove_unslotted(directory: &Path) -> Result<()> {
    if !Layout::new(directory).marker().exists() {
        return Err(Error::ForeignDirectory(directory.to_owned()));
    }
    end_processes(directory)?;
    remove_directory(directory)
}

/// Removes a stand-in whose slot the caller holds, and gives the slot back.
///
/// # Errors
/// When something resists; the slot then still names the directory, and a later start tries again.
pub fn take_down(directory: &Path, slot: slot::Slot) -> Result<()> {
    let _register = slot::lock_register()?;
    remove(directory, slot.number)?;
    slot.release()
}

/// Ends the processes, removes network, control groups and the directory itself.
///
/// # Errors
/// [`Error::ForeignDirectory`] when the directory has no marker; else when something resists.
pub fn remove(root: &Path, slot_number: u8) -> Result<()> {
    let layout = Layout::new(root);
    if root.exists() && !layout.marker().exists() {
        return Err(Error::ForeignDirectory(root.to_owned()));
    }
    end_processes(root)?;
    network::remove(root, slot_number)?;
    network::restore_forwarding(slot_number)?;
    remove_control_groups(slot_number);
    remove_directory(root)
}

/// Kills every process of the stand-in and waits until none is left.
///
/// # Errors
/// When some survive five seconds of SIGKILL (uninterruptible sleep).
pub fn end_processes(root: &Path) -> Result<()> {
    for _ in 0..ROUNDS {
        let processes = processes(root);
        if processes.is_empty() {
            return Ok(());
        }
        for process in processes {
            // Gone already is as good.
            let _ = kill_process(process, Signal::KILL);
        }
        std::thread::sleep(PAUSE);
    }
    Err(Error::Supervisor(format!("processes of {} do not end", root.display())))
}

/// The stand-in's processes, containers included; never one in the caller's own mount namespace.
pub fn processes(root: &Path) -> Vec<Pid> {
    let mark = format!("upperdir={}/", root.display());
    let own = fs::read_link("/proc/self/ns/mnt").ok();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let namespace = fs::read_link(entry.path().join("ns/mnt")).ok()?;
            if Some(namespace) == own {
                return None;
            }
            let mounts = fs::read_to_string(entry.path().join("mountinfo")).ok()?;
            // The fifth field is the mount point: only a process whose root is ours is ours.
            let ours = mounts.lines().any(|line| line.split(' ').nth(4) == Some("/") && line.contains(&mark));
            if ours { Pid::from_raw(pid) } else { None }
        })
        .collect()
}

/// How many guests of all stand-ins run on this machine.
pub fn running_guests() -> usize {
    let mut most = 0;
    for hierarchy in hierarchies() {
        let Ok(entries) = fs::read_dir(hierarchy) else { continue };
        let count: usize = entries
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(CGROUP_PREFIX))
            .filter_map(|entry| fs::read_dir(entry.path()).ok())
            .map(|groups| {
                let groups = groups.flatten();
                groups.filter(|group| group.file_name().to_string_lossy().starts_with("guest-")).count()
            })
            .sum();
        most = most.max(count);
    }
    most
}

fn hierarchies() -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("/sys/fs/cgroup")];
    if let Ok(entries) = fs::read_dir("/sys/fs/cgroup") {
        found.extend(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()));
    }
    found
}

fn remove_control_groups(slot_number: u8) {
    for hierarchy in hierarchies() {
        remove_group(&hierarchy.join(format!("{CGROUP_PREFIX}{slot_number}")));
    }
}

/// Removes an empty control group with its children; the kernel refuses while processes remain.
pub fn remove_group(group: &Path) {
    if let Ok(children) = fs::read_dir(group) {
        for child in children.flatten().filter(|child| child.path().is_dir()) {
            remove_group(&child.path());
        }
        let _ = fs::remove_dir(group);
    }
}

/// Removes the control groups that a stopped guest left in every hierarchy.
pub fn remove_guest_groups(parent: &str, vmid: u32) {
    for hierarchy in hierarchies() {
        for name in [format!("guest-{vmid}"), format!("monitor-{vmid}")] {
            remove_group(&hierarchy.join(parent).join(name));
        }
    }
}

fn remove_directory(root: &Path) -> Result<()> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let below = format!("{}/", root.display());
    if let Some(line) = mounts.lines().find(|line| line.split(' ').nth(4).is_some_and(|path| path.starts_with(&below)))
    {
        return Err(Error::Supervisor(format!("something is still mounted below {}: {line}", root.display())));
    }
    // The last process is gone, but the kernel may release its mounts a moment later.
    let mut result = Ok(());
    for _ in 0..ROUNDS {
        result = match fs::remove_dir_all(root) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => return Ok(()),
        };
        std::thread::sleep(PAUSE);
    }
    result.map_err(Error::file("remove", root))
}

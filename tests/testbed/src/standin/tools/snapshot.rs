//! Snapshots: real copies of a container's writable layer beside its configuration of that time.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::super::command;
use super::getopt::Arguments;
use super::guest_config::GuestConfig;
use super::power::{self, locked};
use super::task::{self, now};
use super::{Failure, Host, Outcome, container};

fn copy_path(host: &Host, vmid: u32, name: &str) -> PathBuf {
    host.layout.guest(vmid).join("snapshots").join(name)
}

/// `pct snapshot`.
pub fn create(host: &Host, arguments: &Arguments) -> Outcome {
    let (vmid, name) = (arguments.vmid()?, arguments.positional(1));
    check_name(name, arguments)?;
    task::run(host, "vzsnapshot", &vmid.to_string(), |task| {
        locked(host, vmid, || {
            let mut config = GuestConfig::load(host, vmid)?;
            config.check_lock()?;
            if config.snapshots.contains_key(name) {
                return Err(Failure::new(format!("snapshot name '{name}' already used")));
            }
            host.delay(Some(vmid));
            copy_frozen(host, vmid, name)?;
            let mut values = config.current.clone();
            values.insert("snaptime".to_owned(), now().to_string());
            if let Some(description) = arguments.get("description") {
                values.insert("description".to_owned(), description.to_owned());
            }
            config.snapshots.insert(name.to_owned(), values);
            config.current.insert("parent".to_owned(), name.to_owned());
            config.save(host, vmid)?;
            let _ = task.say(&format!("  Logical volume \"snap_vm-{vmid}-disk-0_{name}\" created."));
            Ok(())
        })
    })?;
    Ok(0)
}

fn check_name(name: &str, arguments: &Arguments) -> Result<(), Failure> {
    let well_formed = name.len() >= 2
        && name.len() <= 40
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if !well_formed {
        let reason = "invalid format - invalid configuration ID '".to_owned() + name + "'";
        return Err(Failure::parameter("snapname", &reason, &arguments.usage));
    }
    if ["current", "vzdump", "pending"].contains(&name) {
        return Err(Failure::new(format!("unable to use snapshot name '{name}' (reserved name)")));
    }
    Ok(())
}

/// Copies the writable layer while nothing in the container runs.
fn copy_frozen(host: &Host, vmid: u32, name: &str) -> Result<(), Failure> {
    let running = container::running(host, vmid);
    if running {
        command::run(&mut container::lxc(host, "lxc-freeze", vmid))?;
    }
    let target = copy_path(host, vmid, name);
    let copied = fs::create_dir_all(target.parent().unwrap_or(&target))
        .map_err(Failure::from)
        .and_then(|()| copy(&host.layout.upper(vmid), &target));
    if running {
        command::run(&mut container::lxc(host, "lxc-unfreeze", vmid))?;
    }
    copied
}

/// A copy with everything that an overlay's layer carries: owners, devices, extended attributes.
fn copy(source: &std::path::Path, target: &std::path::Path) -> Result<(), Failure> {
    command::run(Command::new("cp").args(["-a", "--reflink=auto", "-T"]).arg(source).arg(target))?;
    Ok(())
}

/// `pct rollback`: kills a running container, as the real tool does.
pub fn rollback(host: &Host, arguments: &Arguments) -> Outcome {
    let (vmid, name) = (arguments.vmid()?, arguments.positional(1));
    task::run(host, "vzrollback", &vmid.to_string(), |_| {
        locked(host, vmid, || {
            let mut config = GuestConfig::load(host, vmid)?;
            config.check_lock()?;
            let values = find(&config, name)?;
            host.delay(Some(vmid));
            if container::running(host, vmid) {
                container::kill(host, vmid)?;
            }
            container::release(host, vmid);
            let guest = host.layout.guest(vmid);
            let (upper, draft) = (host.layout.upper(vmid), guest.join("upper.rollback"));
            copy(&copy_path(host, vmid, name), &draft)?;
            fs::remove_dir_all(&upper)?;
            fs::rename(&draft, &upper)?;
            // An overlay's work directory belongs to the upper layer that it was used with.
            let _ = fs::remove_dir_all(guest.join("work"));
            fs::create_dir_all(guest.join("work"))?;
            config.current = values;
            config.current.remove("snaptime");
            config.current.insert("parent".to_owned(), name.to_owned());
            config.pending.clear();
            config.deleted.clear();
            config.save(host, vmid)
        })
    })?;
    if arguments.flag("start") { power::start_task(host, vmid) } else { Ok(0) }
}

/// `pct delsnapshot`.
pub fn delete(host: &Host, arguments: &Arguments) -> Outcome {
    let (vmid, name) = (arguments.vmid()?, arguments.positional(1));
    task::run(host, "vzdelsnapshot", &vmid.to_string(), |task| {
        locked(host, vmid, || {
            let mut config = GuestConfig::load(host, vmid)?;
            config.check_lock()?;
            let parent = find(&config, name)?.get("parent").cloned();
            config.snapshots.remove(name);
            let adopt = |values: &mut std::collections::BTreeMap<String, String>| {
                if values.get("parent").is_some_and(|current| current == name) {
                    values.remove("parent");
                    values.extend(parent.clone().map(|parent| ("parent".to_owned(), parent)));
                }
            };
            config.snapshots.values_mut().for_each(adopt);
            adopt(&mut config.current);
            fs::remove_dir_all(copy_path(host, vmid, name))?;
            config.save(host, vmid)?;
            let _ = task.say(&format!("  Logical volume \"snap_vm-{vmid}-disk-0_{name}\" successfully removed."));
            Ok(())
        })
    })?;
    Ok(0)
}

fn find(config: &GuestConfig, name: &str) -> Result<std::collections::BTreeMap<String, String>, Failure> {
    config.snapshots.get(name).cloned().ok_or_else(|| Failure::new(format!("snapshot '{name}' does not exist")))
}

/// `pct listsnapshot`: the tree, `current` last.
pub fn list(host: &Host, arguments: &Arguments) -> Outcome {
    let config = GuestConfig::load(host, arguments.vmid()?)?;
    print_children(&config, None, 0);
    Ok(0)
}

fn print_children(config: &GuestConfig, parent: Option<&str>, depth: usize) {
    let mut children: Vec<_> =
        config.snapshots.iter().filter(|(_, values)| values.get("parent").map(String::as_str) == parent).collect();
    children.sort_by_key(|(_, values)| values.get("snaptime").cloned());
    for (name, values) in children {
        let time = values.get("snaptime").and_then(|text| text.parse().ok()).map_or_else(String::new, local_time);
        let description = values.get("description").map_or("no-description", String::as_str);
        print_row(depth, name, &time, description);
        print_children(config, Some(name), depth + 1);
    }
    if config.current.get("parent").map(String::as_str) == parent {
        print_row(depth, "current", "", "You are here!");
    }
}

fn print_row(depth: usize, name: &str, time: &str, description: &str) {
    let branch = format!("{}`-> {name}", " ".repeat(depth));
    emit!("{branch:<30} {time:<23} {description}");
}

fn local_time(seconds: u64) -> String {
    let mut date = Command::new("date");
    date.args(["-d", &format!("@{seconds}"), "+%Y-%m-%d %H:%M:%S"]);
    command::run(&mut date).map(|text| text.trim().to_owned()).unwrap_or_default()
}

//! Starting, stopping and destroying containers, and the lock that every change takes.

use std::fs::{self, File};
use std::io::Write;
use std::time::{Duration, Instant};

use super::getopt::Arguments;
use super::guest_config::GuestConfig;
use super::task::{self, Task};
use super::{Failure, Host, Outcome, container, create};

/// How long a change waits for the configuration's lock file.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// Runs `body` while holding the lock file of container `vmid`.
///
/// # Errors
/// With the real text when another process holds the lock for ten seconds; else as `body`.
pub fn locked<T>(host: &Host, vmid: u32, body: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let file = File::create(host.layout.locks().join(format!("pve-config-{vmid}.lock")))?;
    if file.try_lock().is_err() {
        let mut stderr = std::io::stderr();
        let _ = write!(stderr, "trying to acquire lock...");
        let begin = Instant::now();
        while file.try_lock().is_err() {
            if begin.elapsed() > LOCK_WAIT {
                let _ = writeln!(stderr);
                return Err(Failure::new(format!(
                    "can't lock file '/run/lock/lxc/pve-config-{vmid}.lock' - got timeout"
                )));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let _ = writeln!(stderr, " OK");
    }
    body()
}

/// `pct start`.
pub fn start(host: &Host, arguments: &Arguments) -> Outcome {
    start_task(host, arguments.vmid()?)
}

/// Starts a container as a task.
pub fn start_task(host: &Host, vmid: u32) -> Outcome {
    GuestConfig::load(host, vmid)?;
    if container::running(host, vmid) {
        return Err(Failure::new(format!("CT {vmid} already running")));
    }
    task::run(host, "vzstart", &vmid.to_string(), |_| {
        host.delay(Some(vmid));
        locked(host, vmid, || start_locked(host, vmid))
    })?;
    Ok(0)
}

fn start_locked(host: &Host, vmid: u32) -> Result<(), Failure> {
    let mut config = GuestConfig::load(host, vmid)?;
    config.check_lock()?;
    if container::running(host, vmid) {
        return Err(Failure::new(format!("CT {vmid} already running")));
    }
    if config.current.get("template").is_some_and(|value| value == "1") {
        return Err(Failure::new("you can't start a CT if it's a template"));
    }
    // A guest that halted by itself left its root mounted, and below a mount nothing may be written.
    container::release(host, vmid);
    if !config.pending.is_empty() || !config.deleted.is_empty() {
        config.apply_pending();
        config.save(host, vmid)?;
    }
    create::write_guest_files(host, vmid, &config)?;
    container::start(host, vmid, &config)
}

/// `pct stop`: kills.
pub fn stop(host: &Host, arguments: &Arguments) -> Outcome {
    let vmid = running_guest(host, arguments, "CT")?;
    let skip_lock = arguments.flag("skiplock");
    task::run(host, "vzstop", &vmid.to_string(), |_| {
        host.delay(Some(vmid));
        locked(host, vmid, || {
            if !skip_lock {
                GuestConfig::load(host, vmid)?.check_lock()?;
            }
            container::kill(host, vmid)
        })
    })?;
    Ok(0)
}

/// `pct shutdown`: asks, and kills after the timeout only with `--forceStop 1`.
pub fn shutdown(host: &Host, arguments: &Arguments) -> Outcome {
    let vmid = running_guest(host, arguments, "CT")?;
    task::run(host, "vzshutdown", &vmid.to_string(), |_| {
        locked(host, vmid, || {
            GuestConfig::load(host, vmid)?.check_lock()?;
            shut_down(host, vmid, arguments, arguments.flag("forceStop"))
        })
    })?;
    Ok(0)
}

/// `pct reboot`: shuts down, kills at the timeout, starts with pending changes applied.
pub fn reboot(host: &Host, arguments: &Arguments) -> Outcome {
    let vmid = running_guest(host, arguments, "VM")?;
    task::run(host, "vzreboot", &vmid.to_string(), |_| {
        locked(host, vmid, || {
            GuestConfig::load(host, vmid)?.check_lock()?;
            shut_down(host, vmid, arguments, true)?;
            start_locked(host, vmid)
        })
    })?;
    Ok(0)
}

fn shut_down(host: &Host, vmid: u32, arguments: &Arguments, force: bool) -> Result<(), Failure> {
    let seconds = arguments.get("timeout").and_then(|text| text.parse().ok()).unwrap_or(60);
    if container::shut_down(host, vmid, seconds) {
        Ok(())
    } else if force {
        container::kill(host, vmid)
    } else {
        Err(Failure::new("container did not stop"))
    }
}

fn running_guest(host: &Host, arguments: &Arguments, what: &str) -> Result<u32, Failure> {
    let vmid = arguments.vmid()?;
    GuestConfig::load(host, vmid)?;
    if container::running(host, vmid) { Ok(vmid) } else { Err(Failure::new(format!("{what} {vmid} not running"))) }
}

/// `pct destroy`.
pub fn destroy(host: &Host, arguments: &Arguments) -> Outcome {
    let vmid = arguments.vmid()?;
    let force = arguments.flag("force");
    let check = || {
        let config = GuestConfig::load(host, vmid)?;
        config.check_lock()?;
        if config.current.get("protection").is_some_and(|value| value == "1") {
            return Err(Failure::new(format!("can't remove CT {vmid} - protection mode enabled")));
        }
        if container::running(host, vmid) && !force {
            return Err(Failure::new(format!("unable to destroy CT {vmid} - container is running")));
        }
        Ok(())
    };
    check()?;
    task::run(host, "vzdestroy", &vmid.to_string(), |task| {
        host.delay(Some(vmid));
        locked(host, vmid, || {
            check()?;
            destroy_locked(host, task, vmid, arguments.flag("purge"))
        })
    })?;
    let _ = fs::remove_file(host.layout.locks().join(format!("pve-config-{vmid}.lock")));
    Ok(0)
}

fn destroy_locked(host: &Host, task: &mut Task, vmid: u32, purge: bool) -> Result<(), Failure> {
    if container::running(host, vmid) {
        task.say(&format!("forced to stop CT {vmid} before destroying!"))?;
        container::kill(host, vmid)?;
    }
    if purge {
        task.say(&format!("purging CT {vmid} from related configurations.."))?;
    }
    create::remove(host, vmid);
    // The container is gone; that nobody reads this line any more changes nothing.
    let _ = task.say(&format!("  Logical volume \"vm-{vmid}-disk-0\" successfully removed."));
    Ok(())
}

/// `pct unlock`.
pub fn unlock(host: &Host, arguments: &Arguments) -> Outcome {
    let vmid = arguments.vmid()?;
    locked(host, vmid, || {
        let mut config = GuestConfig::load(host, vmid)?;
        if config.current.remove("lock").is_none() {
            return Err(Failure::new("no lock found trying to remove any lock"));
        }
        config.save(host, vmid)
    })?;
    Ok(0)
}

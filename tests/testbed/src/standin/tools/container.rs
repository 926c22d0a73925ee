//! Real containers behind the configuration files: overlay, LXC configuration, start, stop.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::mount::{UnmountFlags, unmount};

use super::super::fault::Entry;
use super::super::guest_fault::{self, init_of};
use super::super::{command, host_root, teardown};
use super::guest_config::{GuestConfig, properties};
use super::{Failure, Host};

/// Running containers of all stand-ins on one machine; the kernel's default of 128 inotify
/// instances gives out a little above it.
const MOST_RUNNING: usize = 15;

/// Whether container `vmid` runs.
pub fn running(host: &Host, vmid: u32) -> bool {
    init_of(&host.layout, vmid).is_some()
}

/// The container's address on the bridge: the static one of `net0`, else one of its own from the subnet.
pub fn address(host: &Host, vmid: u32, config: &GuestConfig) -> Option<String> {
    let network = config.current.get("net0")?;
    match properties(network, "name").get("ip").copied().unwrap_or("manual") {
        "dhcp" => leased(host, vmid).map(|octet| format!("{}.{octet}/24", host.settings.subnet)),
        "manual" => None,
        fixed => Some(fixed.to_owned()),
    }
}

/// The last octet that the container holds, taking a free one at first.
fn leased(host: &Host, vmid: u32) -> Option<u8> {
    let own = host.layout.guest(vmid).join("address");
    let read = |path: &Path| fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u8>().ok());
    if let Some(octet) = read(&own) {
        return Some(octet);
    }
    let taken: Vec<u8> = fs::read_dir(host.layout.join("guests"))
        .ok()?
        .flatten()
        .filter_map(|guest| read(&guest.path().join("address")))
        .collect();
    let preferred = u8::try_from(vmid % 200).ok()?.saturating_add(20);
    let octet = std::iter::once(preferred).chain(20..=250).find(|octet| !taken.contains(octet))?;
    fs::write(own, octet.to_string()).ok()?;
    Some(octet)
}

/// Mounts the container's root file system, unless it is mounted.
fn mount_root(host: &Host, vmid: u32) -> Result<(), Failure> {
    let target = host.layout.rootfs(vmid);
    if is_mounted(&target) {
        return Ok(());
    }
    let guest = host.layout.guest(vmid);
    let options = format!(
        "lowerdir={},upperdir={},workdir={}",
        host.layout.base().display(),
        host.layout.upper(vmid).display(),
        guest.join("work").display()
    );
    Ok(host_root::mount_overlay(&options, &target)?)
}

/// Unmounts the root file system and removes what LXC leaves behind. The container must be stopped.
pub fn release(host: &Host, vmid: u32) {
    let target = host.layout.rootfs(vmid);
    if is_mounted(&target) {
        let _ = unmount(&target, UnmountFlags::DETACH);
    }
    teardown::remove_guest_groups(&host.settings.cgroup(), vmid);
}

fn is_mounted(path: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let path = path.to_string_lossy();
    mounts.lines().any(|line| line.split(' ').nth(4) == Some(&*path))
}

/// Starts the container and returns when LXC says that it runs, before its services do.
///
/// # Errors
/// With LXC's condensed messages and Proxmox's last line.
pub fn start(host: &Host, vmid: u32, config: &GuestConfig) -> Result<(), Failure> {
    let failed = |causes: &str| Failure::new(format!("{causes}startup for container '{vmid}' failed"));
    if teardown::running_guests() >= MOST_RUNNING {
        return Err(failed("the stand-ins on this machine run no more than 15 containers at once\n"));
    }
    if let Some(network) = config.current.get("net0") {
        let bridge = properties(network, "name").get("bridge").copied().unwrap_or("vmbr0");
        if bridge != "vmbr0" {
            return Err(failed(
                "lxc_create_network_priv: 3466 Failed to create network device\n\
                 lxc_spawn: 1837 Failed to create the network\n\
                 __lxc_start: 2114 Failed to spawn container\n",
            ));
        }
    }
    mount_root(host, vmid)?;
    let directory = host.layout.lxc().join(vmid.to_string());
    fs::create_dir_all(&directory)?;
    fs::write(directory.join("config"), lxc_configuration(host, vmid, config))?;
    let log = host.layout.join(format!("log/lxc/{vmid}.log"));
    let _ = fs::remove_file(&log);
    let mut start = lxc(host, "lxc-start", vmid);
    start.args(["-d", "-l", "ERROR", "-o"]).arg(&log);
    if let Err(error) = command::run(&mut start) {
        release(host, vmid);
        let log = fs::read_to_string(&log).unwrap_or_default();
        let causes: String = log.lines().rev().take(6).map(|line| format!("{line}\n")).collect();
        return Err(failed(&format!("{causes}{error}\n")));
    }
    settle_faults(host, vmid, None);
    Ok(())
}

/// Makes the running container agree with the faults in force, see [`guest_fault::settle`].
pub fn settle_faults(host: &Host, vmid: u32, struck: Option<&Entry>) {
    if let Some(init) = init_of(&host.layout, vmid) {
        guest_fault::settle(&host.layout, &host.settings, vmid, init, struck);
    }
}

/// Ends the faults that waited for this command, in all running containers.
pub fn end_faults(host: &Host) {
    let ended = host.faults.command_succeeded(&host.command_line);
    let refused: Vec<u16> = ended.iter().filter_map(|fault| fault.port).collect();
    for (vmid, init) in guest_fault::running_guests(&host.layout) {
        guest_fault::settle(&host.layout, &host.settings, vmid, init, None);
        for port in &refused {
            guest_fault::accept_connections(init, *port);
        }
    }
}

/// Kills the container at once.
///
/// # Errors
/// When LXC cannot.
pub fn kill(host: &Host, vmid: u32) -> Result<(), Failure> {
    command::run(lxc(host, "lxc-stop", vmid).arg("-k"))?;
    release(host, vmid);
    Ok(())
}

/// Asks the container to shut down; whether it did within `seconds`.
pub fn shut_down(host: &Host, vmid: u32, seconds: u64) -> bool {
    let mut stop = lxc(host, "lxc-stop", vmid);
    stop.args(["--nokill", "-t", &seconds.to_string()]);
    let _ = command::output(&mut stop);
    let stopped = !running(host, vmid);
    if stopped {
        release(host, vmid);
    }
    stopped
}

/// One of LXC's programs for container `vmid`.
pub fn lxc(host: &Host, program: &str, vmid: u32) -> Command {
    let mut command = Command::new(program);
    command.arg("-P").arg(host.layout.lxc()).args(["-n", &vmid.to_string()]);
    command
}

fn lxc_configuration(host: &Host, vmid: u32, config: &GuestConfig) -> String {
    let (settings, cgroup) = (&host.settings, host.settings.cgroup());
    let mut text = format!(
        "lxc.uts.name = {}\n\
         lxc.rootfs.path = dir:{}\n\
         lxc.apparmor.profile = unconfined\n\
         lxc.mount.auto = proc:mixed sys:mixed\n\
         lxc.mount.entry = cgroup2 sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,create=dir 0 0\n\
         lxc.cgroup.dir.container = {cgroup}/guest-{vmid}\n\
         lxc.cgroup.dir.monitor = {cgroup}/monitor-{vmid}\n\
         lxc.autodev = 1\n\
         lxc.pty.max = 1024\n\
         lxc.tty.max = 2\n\
         lxc.init.cmd = /sbin/init\n",
        config.hostname(vmid),
        host.layout.rootfs(vmid).display(),
    );
    let Some(network) = config.current.get("net0") else {
        text.push_str("lxc.net.0.type = empty\n");
        return text;
    };
    let network = properties(network, "name");
    let name = network.get("name").copied().unwrap_or("eth0");
    text.push_str(&format!(
        "lxc.net.0.type = veth\n\
         lxc.net.0.link = {}\n\
         lxc.net.0.veth.pair = s{}v{vmid}i0\n\
         lxc.net.0.flags = up\n\
         lxc.net.0.name = {name}\n\
         lxc.net.0.mtu = {}\n",
        settings.bridge(),
        settings.slot,
        settings.mtu
    ));
    if let Some(hardware) = network.get("hwaddr") {
        text.push_str(&format!("lxc.net.0.hwaddr = {hardware}\n"));
    }
    if let Some(address) = address(host, vmid, config) {
        text.push_str(&format!("lxc.net.0.ipv4.address = {address}\n"));
        let leased = network.get("ip") == Some(&"dhcp");
        let gateway = network.get("gw").map(|gateway| (*gateway).to_owned());
        if let Some(gateway) = gateway.or_else(|| leased.then(|| settings.gateway())) {
            text.push_str(&format!("lxc.net.0.ipv4.gateway = {gateway}\n"));
        }
    }
    text
}

//! What is on the host: containers, fake virtual machines, the node itself.

use std::fs;

use serde_json::{Value, json};

use super::super::guest_fault::{init_of, vmids};
use super::getopt::Arguments;
use super::guest_config::GuestConfig;
use super::{Host, Outcome, container, storage};

const VERSION: &str = "9.0.3";
/// Size of the unpacked template as the tools report it.
const TEMPLATE_BYTES: u64 = 522_782_720;
const REPOSITORY: &str = "025864202ebb6109";

/// A container as found.
pub struct Container {
    /// Its number.
    pub vmid: u32,
    /// Whether it runs.
    pub running: bool,
    /// Its configuration.
    pub config: GuestConfig,
}

impl Container {
    /// `running` or `stopped`.
    pub fn status(&self) -> &'static str {
        if self.running { "running" } else { "stopped" }
    }
}

/// A virtual machine that exists on paper only: `pve/qemu-server/<vmid>.conf`, running if a file
/// `<vmid>.running` lies beside it.
pub struct Machine {
    /// Its number.
    pub vmid: u32,
    /// Its name.
    pub name: String,
    /// Its memory in MiB.
    pub memory: u64,
    /// Whether it is said to run.
    pub running: bool,
    /// Its configuration lines.
    pub config: GuestConfig,
}

/// All containers by number.
pub fn containers(host: &Host) -> Vec<Container> {
    vmids(&host.layout.guest_configs())
        .into_iter()
        .filter_map(|vmid| {
            // Destroyed between the listing and the reading.
            let config = GuestConfig::load(host, vmid).ok()?;
            Some(Container { vmid, running: container::running(host, vmid), config })
        })
        .collect()
}

/// All virtual machines by number.
pub fn machines(host: &Host) -> Vec<Machine> {
    let directory = host.layout.pve().join("qemu-server");
    vmids(&directory)
        .into_iter()
        .filter_map(|vmid| {
            let text = fs::read_to_string(directory.join(format!("{vmid}.conf"))).ok()?;
            let config = GuestConfig::from_text(&text);
            let value = |key: &str| config.current.get(key).cloned();
            Some(Machine {
                vmid,
                name: value("name").unwrap_or_else(|| format!("VM {vmid}")),
                memory: value("memory").and_then(|text| text.parse().ok()).unwrap_or(512),
                running: directory.join(format!("{vmid}.running")).exists(),
                config,
            })
        })
        .collect()
}

/// Who has this number, in the words of the real message: `CT 101` or `VM 101`.
pub fn holder_of(host: &Host, vmid: u32) -> Option<String> {
    if host.layout.guest_config(vmid).exists() {
        return Some(format!("CT {vmid}"));
    }
    let machine = host.layout.pve().join(format!("qemu-server/{vmid}.conf"));
    machine.exists().then(|| format!("VM {vmid}"))
}

/// The lowest free number; it is not reserved.
pub fn next_id(host: &Host) -> u32 {
    (100..1_000_000).find(|vmid| holder_of(host, *vmid).is_none()).unwrap_or(1_000_000)
}

/// A container's entry in the lists, with usage where it can be read.
pub fn container_status(host: &Host, guest: &Container) -> Value {
    let number =
        |key: &str, default: u64| guest.config.current.get(key).and_then(|text| text.parse().ok()).unwrap_or(default);
    let init = init_of(&host.layout, guest.vmid);
    let mut entry = json!({
        "vmid": guest.vmid,
        "name": guest.config.hostname(guest.vmid),
        "status": guest.status(),
        "type": "lxc",
        "cpus": number("cores", 2),
        "cpu": 0,
        "maxmem": number("memory", 512) << 20,
        "maxswap": number("swap", 512) << 20,
        "mem": init.map_or(0, resident_bytes),
        "swap": 0,
        "maxdisk": disk_bytes(&guest.config),
        "disk": if guest.running { TEMPLATE_BYTES } else { 0 },
        "diskread": 0, "diskwrite": 0, "netin": 0, "netout": 0,
        "uptime": init.map_or(0, uptime_seconds),
    });
    if let Some(fields) = entry.as_object_mut() {
        for key in ["lock", "tags"] {
            if let Some(value) = guest.config.current.get(key) {
                fields.insert(key.to_owned(), json!(value));
            }
        }
        if let Some(init) = init {
            fields.insert("pid".to_owned(), json!(init));
        }
    }
    entry
}

fn disk_bytes(config: &GuestConfig) -> u64 {
    let size =
        config.current.get("rootfs").and_then(|volume| volume.rsplit_once("size=")).map_or("0G", |(_, size)| size);
    size.trim_end_matches('G').parse::<u64>().unwrap_or(0) << 30
}

fn resident_bytes(pid: u32) -> u64 {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

fn uptime_seconds(pid: u32) -> u64 {
    let read = |path: String| fs::read_to_string(path).unwrap_or_default();
    let boot: f64 = read("/proc/uptime".to_owned()).split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0.0);
    let stat = read(format!("/proc/{pid}/stat"));
    let ticks: f64 = stat
        .rsplit_once(')')
        .and_then(|(_, rest)| rest.split_whitespace().nth(19))
        .and_then(|text| text.parse().ok())
        .unwrap_or(0.0);
    (boot - ticks / 100.0).max(0.0) as u64
}

/// The rows of `/cluster/resources`.
pub fn resources(host: &Host) -> Vec<Value> {
    let node = &host.settings.node;
    let mut rows = Vec::new();
    for guest in containers(host) {
        let mut row = container_status(host, &guest);
        if let Some(fields) = row.as_object_mut() {
            let cpus = fields.remove("cpus").unwrap_or_default();
            for key in ["swap", "maxswap", "pid"] {
                fields.remove(key);
            }
            fields.insert("id".to_owned(), json!(format!("lxc/{}", guest.vmid)));
            fields.insert("node".to_owned(), json!(node));
            fields.insert("maxcpu".to_owned(), cpus);
            fields.insert("template".to_owned(), json!(0));
        }
        rows.push(row);
    }
    for machine in machines(host) {
        let status = if machine.running { "running" } else { "stopped" };
        rows.push(json!({
            "id": format!("qemu/{}", machine.vmid), "type": "qemu", "vmid": machine.vmid, "name": machine.name,
            "node": node, "status": status, "template": 0, "maxmem": machine.memory << 20, "mem": 0, "cpu": 0,
            "maxcpu": 1, "disk": 0, "maxdisk": 0, "diskread": 0, "diskwrite": 0, "netin": 0, "netout": 0, "uptime": 0,
        }));
    }
    let mut own = node_status(host);
    if let Some(fields) = own.as_object_mut() {
        let take = |value: &Value, key: &str| value.get(key).cloned().unwrap_or_default();
        let (memory, root) = (fields.remove("memory").unwrap_or_default(), fields.remove("rootfs").unwrap_or_default());
        let cpus = fields.remove("cpuinfo").map_or(json!(1), |info| take(&info, "cpus"));
        rows.push(json!({
            "id": format!("node/{node}"), "type": "node", "node": node, "status": "online", "level": "",
            "cpu": take(&own, "cpu"), "maxcpu": cpus, "mem": take(&memory, "used"), "maxmem": take(&memory, "total"),
            "disk": take(&root, "used"), "maxdisk": take(&root, "total"), "uptime": take(&own, "uptime"),
            "cgroup-mode": 2,
        }));
    }
    let (total, used, _) = storage::space(host);
    for store in &storage::STORAGES {
        rows.push(json!({
            "id": format!("storage/{node}/{}", store.name), "type": "storage", "storage": store.name, "node": node,
            "status": "available", "plugintype": store.kind, "content": store.content.join(","), "shared": 0,
            "disk": used << 10, "maxdisk": total << 10,
        }));
    }
    rows
}

/// `/nodes/<node>/status`: the machine's own figures.
pub fn node_status(host: &Host) -> Value {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let meminfo = read("/proc/meminfo");
    let memory = |key: &str| -> u64 {
        let line = meminfo.lines().find(|line| line.starts_with(key)).unwrap_or_default();
        line.split_whitespace().nth(1).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) << 10
    };
    let (total, available) = (memory("MemTotal:"), memory("MemAvailable:"));
    let load: Vec<String> = read("/proc/loadavg").split_whitespace().take(3).map(str::to_owned).collect();
    let (disk, used, free) = storage::space(host);
    let kernel = read("/proc/sys/kernel/osrelease").trim().to_owned();
    let uptime: f64 = read("/proc/uptime").split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0.0);
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    json!({
        "cpu": 0, "cpuinfo": {"cpus": cpus, "cores": cpus, "sockets": 1},
        "current-kernel": {"sysname": "Linux", "release": kernel, "machine": "x86_64"},
        "kversion": format!("Linux {kernel}"),
        "loadavg": load,
        "memory": {"total": total, "used": total.saturating_sub(available), "free": available},
        "rootfs": {"total": disk << 10, "used": used << 10, "avail": free << 10, "free": free << 10},
        "swap": {"total": 0, "used": 0, "free": 0},
        "pveversion": format!("pve-manager/{VERSION}/{REPOSITORY}"),
        "uptime": uptime as u64,
    })
}

/// `pveversion`.
pub fn version(_: &Host, arguments: &[String]) -> Outcome {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned();
    if arguments.iter().any(|word| word.trim_start_matches('-').starts_with('v')) {
        emit!("proxmox-ve: 9.0.0 (running kernel: {kernel})");
        emit!("pve-manager: {VERSION} (running version: {VERSION}/{REPOSITORY})");
        for package in ["lxc-pve: 6.0.5-2", "lxcfs: 6.0.4-pve1", "pve-container: 6.1.10", "qemu-server: 9.2.6"] {
            emit!("{package}");
        }
    } else {
        emit!("pve-manager/{VERSION}/{REPOSITORY} (running kernel: {kernel})");
    }
    Ok(0)
}

/// `pct df`: the root disk, with the configured size and the real usage of the file tree.
pub fn disk_free(host: &Host, arguments: &Arguments) -> Outcome {
    let vmid = arguments.vmid()?;
    let config = GuestConfig::load(host, vmid)?;
    config.check_lock()?;
    let volume = config.current.get("rootfs").and_then(|text| text.split(',').next()).unwrap_or_default().to_owned();
    let mut usage = std::process::Command::new("du");
    usage.args(["-sxB1"]).arg(host.layout.upper(vmid));
    let text = super::super::command::output(&mut usage)?.stdout;
    let written =
        String::from_utf8_lossy(&text).split_whitespace().next().and_then(|text| text.parse().ok()).unwrap_or(0u64);
    let (size, used) = (disk_bytes(&config), written + TEMPLATE_BYTES);
    let gibibytes = |bytes: u64| format!("{:.1}G", bytes as f64 / f64::from(1 << 30));
    let percent = used as f64 / size.max(1) as f64;
    let width = volume.len() + 1;
    emit!("{:<6} {:<width$} {:>5} {:>5} {:>5} {:>5} Path", "MP", "Volume", "Size", "Used", "Avail", "Use%");
    emit!(
        "{:<6} {volume:<width$} {:>5} {:>5} {:>5} {percent:>5.1} /",
        "rootfs",
        gibibytes(size),
        gibibytes(used),
        gibibytes(size.saturating_sub(used))
    );
    Ok(0)
}

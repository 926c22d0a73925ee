//! `pct create`: the checks in the real order, then the worker that makes disk and configuration.

use std::fs;
use std::io::Read;
use std::path::Path;

use super::super::fault::FaultKind;
use super::super::guest_fault::resolver_configuration;
use super::getopt::Arguments;
use super::guest_config::{GuestConfig, properties};
use super::task::{self, Task};
use super::{Failure, Host, Outcome, container, inventory, power, settings, storage};

/// Options that steer the creation and are not part of the configuration.
const NOT_CONFIGURED: [&str; 10] = [
    "storage",
    "start",
    "force",
    "restore",
    "unique",
    "password",
    "ssh-public-keys",
    "pool",
    "ignore-unpack-errors",
    "bwlimit",
];

/// Creates a container.
pub fn create(host: &Host, arguments: &Arguments) -> Outcome {
    let vmid = arguments.vmid()?;
    if let Some(holder) = inventory::holder_of(host, vmid) {
        return Err(Failure::new(format!("{holder} already exists on node '{}'", host.settings.node)));
    }
    settings::check_values(arguments)?;
    let template = check_template(host, arguments.positional(1))?;
    let (volume_storage, size) = root_volume(arguments)?;
    let lost_race = simulate_lost_race(host, vmid)?;
    task::run(host, "vzcreate", &vmid.to_string(), |task| {
        let reason =
            |failure: Failure| Failure { text: format!("unable to create CT {vmid} - {}", failure.text), ..failure };
        if lost_race || !claim(host, vmid)? {
            let node = &host.settings.node;
            return Err(reason(Failure::new(format!("CT {vmid} already exists on node '{node}'"))));
        }
        work(host, task, vmid, &template, (volume_storage, size), arguments).map_err(|failure| {
            remove(host, vmid);
            reason(failure)
        })
    })?;
    if arguments.flag("start") {
        power::start_task(host, vmid)?;
    }
    Ok(0)
}

/// The fault of a lost race: by the time the worker runs, somebody else's container has the number.
fn simulate_lost_race(host: &Host, vmid: u32) -> Result<bool, Failure> {
    if host.faults.strike(FaultKind::VmidTaken, Some(vmid), &host.command_line).is_none() {
        return Ok(false);
    }
    let mut other = GuestConfig::default();
    for (key, value) in
        [("arch", "amd64"), ("hostname", "taken"), ("ostype", "debian"), ("memory", "512"), ("swap", "512")]
    {
        other.current.insert(key.to_owned(), value.to_owned());
    }
    other.current.insert("rootfs".to_owned(), format!("local-lvm:vm-{vmid}-disk-0,size=4G"));
    for directory in [host.layout.upper(vmid), host.layout.guest(vmid).join("work"), host.layout.rootfs(vmid)] {
        fs::create_dir_all(directory)?;
    }
    other.save(host, vmid)?;
    Ok(true)
}

/// Puts a configuration with a lock in place; false when another create was first.
fn claim(host: &Host, vmid: u32) -> Result<bool, Failure> {
    use std::io::Write;
    match fs::File::create_new(host.layout.guest_config(vmid)) {
        Ok(mut file) => Ok(writeln!(file, "lock: create").map(|()| true)?),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The template's file name, checked as the real tool checks the volume.
fn check_template(host: &Host, volume: &str) -> Result<String, Failure> {
    if !volume.contains(':') {
        let path = Path::new(volume);
        if path.is_absolute() && path.exists() {
            return Ok(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        }
        return Err(Failure::with_code(format!("can't find file '{volume}'"), 2));
    }
    let (store, name) = storage::split_volume(volume)?;
    storage::find(store)?;
    let Some(file) = name.strip_prefix("vztmpl/").filter(|_| store == "local") else {
        return Err(Failure::new(format!("unable to use volume {volume} - content type needs to be 'vztmpl'")));
    };
    if !storage::template_path(host, file).exists() || storage::hidden(host, file) {
        return Err(Failure::with_code(format!("volume '{volume}' does not exist"), 2));
    }
    Ok(file.to_owned())
}

/// Storage and size in GiB of the root disk.
fn root_volume(arguments: &Arguments) -> Result<(&'static str, f64), Failure> {
    let default = arguments.get("storage").unwrap_or("local");
    let text = arguments.get("rootfs").map_or_else(|| format!("{default}:4"), str::to_owned);
    let given = properties(&text, "volume").get("volume").map_or_else(String::new, |volume| (*volume).to_owned());
    let (store, size) = match given.split_once(':') {
        Some((store, size)) => (store.to_owned(), size.to_owned()),
        None => (default.to_owned(), given),
    };
    let found = storage::find(&store)?;
    if !found.content.contains(&"rootdir") {
        return Err(Failure::parameter(
            "storage",
            &format!("storage '{store}' does not support container directories"),
            &arguments.usage,
        ));
    }
    match size.parse::<f64>() {
        Ok(gibibytes) if gibibytes > 0.0 => Ok((found.name, gibibytes)),
        _ => Err(Failure::new(format!("unable to parse lvm volume name '{size}'"))),
    }
}

fn work(
    host: &Host,
    task: &mut Task,
    vmid: u32,
    template: &str,
    (store, gibibytes): (&str, f64),
    arguments: &Arguments,
) -> Result<(), Failure> {
    host.delay(Some(vmid));
    for directory in [host.layout.upper(vmid), host.layout.guest(vmid).join("work"), host.layout.rootfs(vmid)] {
        fs::create_dir_all(directory)?;
    }
    task.say(&format!("  Logical volume \"vm-{vmid}-disk-0\" created."))?;
    let blocks = (gibibytes * 262_144.0) as u64;
    task.say(&format!("Creating filesystem with {blocks} 4k blocks and {} inodes", blocks / 4))?;
    task.say(&format!("Filesystem UUID: {}", random_uuid()))?;
    task.say("Superblock backups stored on blocks: ")?;
    task.say("\t32768, 98304, 163840, 229376, 294912, 819200, 884736")?;
    task.say(&format!("extracting archive '/var/lib/vz/template/cache/{template}'"))?;
    if !storage::is_whole(host, template) {
        return Err(Failure::new(format!(
            "command 'lxc-usernsexec -m u:0:100000:65536 -m g:0:100000:65536 -- tar xpf - --zstd --totals \
             --one-file-system -p --sparse --numeric-owner --acls --xattrs '--xattrs=user.*' \
             '--xattrs=security.capability' '--warning=no-file-ignored' '--warning=no-xattr-write' -C \
             /var/lib/lxc/{vmid}/rootfs --skip-old-files --anchored --exclude './dev/*'' failed: exit code 2"
        )));
    }
    task.say("Total bytes read: 522782720 (499MiB, 254MiB/s)")?;
    task.say("Detected container architecture: amd64")?;
    let config = configuration(vmid, store, gibibytes, arguments)?;
    write_guest_files(host, vmid, &config)?;
    config.save(host, vmid)
}

fn configuration(vmid: u32, store: &str, gibibytes: f64, arguments: &Arguments) -> Result<GuestConfig, Failure> {
    let mut config = GuestConfig::default();
    let mut set = |key: &str, value: String| drop(config.current.insert(key.to_owned(), value));
    set("arch", "amd64".to_owned());
    set("ostype", "debian".to_owned());
    set("memory", "512".to_owned());
    set("swap", "512".to_owned());
    set("hostname", format!("CT{vmid}"));
    set("unprivileged", "1".to_owned());
    for (key, value) in &arguments.options {
        if !NOT_CONFIGURED.contains(&key.as_str()) {
            set(key, value.clone());
        }
    }
    set("rootfs", format!("{store}:vm-{vmid}-disk-0,size={gibibytes}G"));
    let networks: Vec<(String, String)> = config
        .current
        .iter()
        .filter(|(key, _)| key.starts_with("net") && key[3..].parse::<u8>().is_ok())
        .map(|(key, value)| (key.clone(), complete_network(value)))
        .collect();
    config.current.extend(networks);
    Ok(config)
}

/// A network's properties in the order of the real file, with a hardware address and a type.
pub fn complete_network(text: &str) -> String {
    let mut given = properties(text, "name");
    let address = random_hardware_address();
    given.entry("hwaddr").or_insert(&address);
    given.insert("type", "veth");
    let name = given.remove("name").unwrap_or("eth0");
    given.iter().fold(format!("name={name}"), |text, (key, value)| format!("{text},{key}={value}"))
}

/// What the real tool's set-up writes into a new Debian guest.
pub fn write_guest_files(host: &Host, vmid: u32, config: &GuestConfig) -> Result<(), Failure> {
    let hostname = config.hostname(vmid);
    let short = hostname.split('.').next().unwrap_or(&hostname);
    let nameservers = config.current.get("nameserver").map_or_else(
        || resolver_configuration(&host.settings),
        |servers| {
            servers.split([' ', ',', ';']).filter(|s| !s.is_empty()).map(|s| format!("nameserver {s}\n")).collect()
        },
    );
    let hosts = format!(
        "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n127.0.1.1\t{hostname}{}\n",
        if short == hostname { String::new() } else { format!(" {short}") }
    );
    for (path, text) in [
        ("etc/hostname", format!("{short}\n")),
        ("etc/hosts", hosts),
        ("etc/resolv.conf", nameservers),
        // LXC has set the address by the time that the guest looks.
        ("etc/network/interfaces", "auto lo\niface lo inet loopback\n\nauto eth0\niface eth0 inet manual\n".to_owned()),
    ] {
        write_guest_file(host, vmid, path, &text)?;
    }
    if !host.settings.apt_configuration.is_empty() {
        write_guest_file(host, vmid, "etc/apt/apt.conf.d/01proxy", &host.settings.apt_configuration)?;
    }
    Ok(())
}

/// Writes into the writable layer. Only while the container is stopped.
pub fn write_guest_file(host: &Host, vmid: u32, path: &str, text: &str) -> Result<(), Failure> {
    let target = host.layout.upper(vmid).join(path);
    if let Some(directory) = target.parent() {
        fs::create_dir_all(directory)?;
    }
    Ok(fs::write(target, text)?)
}

/// Removes every trace of a container that does not run.
pub fn remove(host: &Host, vmid: u32) {
    container::release(host, vmid);
    let _ = fs::remove_dir_all(host.layout.guest(vmid));
    let _ = fs::remove_dir_all(host.layout.lxc().join(vmid.to_string()));
    let _ = fs::remove_file(host.layout.guest_config(vmid));
}

fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0u8; N];
    if let Ok(mut source) = fs::File::open("/dev/urandom") {
        let _ = source.read_exact(&mut bytes);
    }
    bytes
}

/// An address under Proxmox's own prefix.
fn random_hardware_address() -> String {
    let [a, b, c] = random_bytes::<3>();
    format!("BC:24:11:{a:02X}:{b:02X}:{c:02X}")
}

fn random_uuid() -> String {
    fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default().trim().to_owned()
}

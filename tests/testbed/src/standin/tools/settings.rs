//! `pct config`, `pending`, `set` and `resize`: a container's configuration and its pending changes.

use super::create::complete_network;
use super::getopt::Arguments;
use super::guest_config::{GuestConfig, properties};
use super::power::locked;
use super::{Failure, Host, Outcome, container, task};

/// Keys that a running container takes over at once; all others wait for the next start.
const HOT: [&str; 13] = [
    "cores",
    "cpulimit",
    "cpuunits",
    "description",
    "hookscript",
    "hostname",
    "lock",
    "memory",
    "onboot",
    "protection",
    "startup",
    "swap",
    "tags",
];

/// Refuses values that the real schema refuses.
///
/// # Errors
/// With the real three-part text.
pub fn check_values(arguments: &Arguments) -> Result<(), Failure> {
    let refuse = |key: &str, reason: &str| {
        Failure::parameter(key, &format!("invalid format - format error\n{reason}"), &arguments.usage)
    };
    for (key, value) in &arguments.options {
        if key.strip_prefix("net").is_some_and(|number| number.parse::<u8>().is_ok()) {
            let network = properties(value, "name");
            if !network.contains_key("name") {
                return Err(refuse(key, &format!("{key}.name: property is missing and it is not optional\n")));
            }
            let address = network.get("ip").copied().unwrap_or("manual");
            if !is_network_address(address) {
                let reason = "invalid format - value does not look like a valid ipv4 network configuration";
                return Err(refuse(key, &format!("{key}.ip: {reason}\n")));
            }
        }
        if key == "hostname" && !is_dns_name(value) {
            let reason = format!("invalid format - value does not look like a valid DNS name\n{}", arguments.usage);
            return Err(Failure::new(format!("400 Parameter verification failed.\nhostname: {reason}")));
        }
    }
    Ok(())
}

fn is_network_address(text: &str) -> bool {
    matches!(text, "dhcp" | "manual")
        || text.split_once('/').is_some_and(|(address, length)| {
            address.parse::<std::net::Ipv4Addr>().is_ok() && length.parse::<u8>().is_ok_and(|length| length <= 32)
        })
}

fn is_dns_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 255
        && text.split('.').all(|label| {
            let inner = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
            inner && !label.is_empty() && !label.starts_with('-') && !label.ends_with('-')
        })
}

/// `pct config`: with pending changes unless `--current 1`.
pub fn config(host: &Host, arguments: &Arguments) -> Outcome {
    let vmid = arguments.vmid()?;
    let config = GuestConfig::load(host, vmid)?;
    let values = match arguments.get("snapshot") {
        Some(name) => config
            .snapshots
            .get(name)
            .cloned()
            .ok_or_else(|| Failure::new(format!("snapshot '{name}' does not exist")))?,
        None if arguments.flag("current") => config.current,
        None => config.effective(),
    };
    for (key, value) in values {
        emit!("{key}: {value}");
    }
    Ok(0)
}

/// `pct pending`.
pub fn pending(host: &Host, arguments: &Arguments) -> Outcome {
    let config = GuestConfig::load(host, arguments.vmid()?)?;
    for (key, value) in &config.current {
        emit!("cur {key}: {value}");
        if let Some(new) = config.pending.get(key) {
            emit!("new {key}: {new}");
        }
        if config.deleted.contains(key) {
            emit!("del {key}: {value}");
        }
    }
    for (key, value) in config.pending.iter().filter(|(key, _)| !config.current.contains_key(*key)) {
        emit!("new {key}: {value}");
    }
    Ok(0)
}

/// `pct set`.
pub fn set(host: &Host, arguments: &Arguments) -> Outcome {
    let vmid = arguments.vmid()?;
    if arguments.options.is_empty() {
        return Err(Failure::new("no options specified"));
    }
    if arguments.get("unprivileged").is_some() {
        return Err(Failure::new("unable to modify read-only option: 'unprivileged'"));
    }
    check_values(arguments)?;
    locked(host, vmid, || change(host, vmid, arguments))?;
    Ok(0)
}

fn change(host: &Host, vmid: u32, arguments: &Arguments) -> Result<(), Failure> {
    let mut config = GuestConfig::load(host, vmid)?;
    config.check_lock()?;
    let running = container::running(host, vmid);
    let names = |key: &str| -> Vec<String> {
        let list = arguments.get(key).unwrap_or_default();
        list.split([',', ' ', ';']).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    for key in names("revert") {
        config.pending.remove(&key);
        config.deleted.retain(|deleted| *deleted != key);
    }
    for key in names("delete") {
        config.pending.remove(&key);
        if running && !HOT.contains(&key.as_str()) {
            config.deleted.push(key);
        } else {
            config.current.remove(&key);
        }
    }
    for (key, value) in &arguments.options {
        if ["delete", "revert", "digest"].contains(&key.as_str()) {
            continue;
        }
        let value = if key.starts_with("net") { complete_network(value) } else { value.clone() };
        config.deleted.retain(|deleted| deleted != key);
        if running && !HOT.contains(&key.as_str()) {
            config.pending.insert(key.clone(), value);
        } else {
            config.current.insert(key.clone(), value);
        }
    }
    config.save(host, vmid)
}

/// `pct resize`: grows the number in the configuration; exit status 0 even when the task fails.
pub fn resize(host: &Host, arguments: &Arguments) -> Outcome {
    let vmid = arguments.vmid()?;
    let mut config = GuestConfig::load(host, vmid)?;
    let disk = arguments.positional(1);
    let volume = config.current.get(disk).cloned().ok_or_else(|| Failure::new(format!("no such volume '{disk}'")))?;
    let (rest, old) = volume.rsplit_once("size=").unwrap_or((&volume, "0G"));
    let number = |text: &str| text.trim_start_matches('+').trim_end_matches('G').parse::<f64>().unwrap_or(0.0);
    let size = arguments.positional(2);
    let new = if size.starts_with('+') { number(old) + number(size) } else { number(size) };
    if new < number(old) {
        return Err(Failure::new("unable to shrink disk size"));
    }
    if new <= number(old) {
        return Err(Failure::new("disk is already at specified size"));
    }
    task::run_unchecked(host, "resize", &vmid.to_string(), |task| {
        locked(host, vmid, || {
            task.say(&format!("  Size of logical volume pve/vm-{vmid}-disk-0 changed from {old} to {new}G."))?;
            config.current.insert(disk.to_owned(), format!("{rest}size={new}G"));
            config.save(host, vmid)
        })
    })?;
    Ok(0)
}

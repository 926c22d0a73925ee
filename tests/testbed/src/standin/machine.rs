//! What the stand-in needs of the machine it runs on, and what it takes over from it:
//! packages, package sources, nameservers, the default route's MTU.
//!
//! Reads only; nothing on the machine is changed here.

use std::path::Path;
use std::process::Command;

use super::command;
use super::error::{Error, Result};

/// Debian packages that must be present, each with a program that proves it.
///
/// Install them without recommends: LXC's would bring some 190 packages that are not needed.
pub const PACKAGES: [(&str, &str); 7] = [
    ("lxc", "lxc-start"),
    ("mmdebstrap", "mmdebstrap"),
    ("openssh-server", "sshd"),
    ("openssh-client", "ssh"),
    ("nftables", "nft"),
    ("iproute2", "ip"),
    ("zstd", "zstd"),
];

const SEARCH_PATH: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
const DEBIAN_KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Refuses machines on which the stand-in cannot run.
///
/// # Errors
/// [`Error::Machine`] with everything that is missing at once and the line that installs it.
pub fn check() -> Result<()> {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let debian_like = release
        .lines()
        .filter_map(|line| line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE=")))
        .any(|value| value.contains("debian") || value.contains("ubuntu"));
    if !debian_like {
        return Err(Error::Machine("it needs Debian or Ubuntu (apt, LXC, mmdebstrap)".to_owned()));
    }
    if !rustix::process::geteuid().is_root() {
        return Err(Error::Machine(
            "it needs root, for containers, a bridge and packet filter rules; run it with sudo".to_owned(),
        ));
    }
    if debian_mirror(&source_addresses()).is_none() {
        return Err(Error::Machine(
            "apt's sources name no Debian mirror, as on Ubuntu; set OIKOS_DEBIAN_MIRROR to the address of one, ending in \
             /debian"
                .to_owned(),
        ));
    }
    let mut missing: Vec<&str> =
        PACKAGES.iter().filter(|(_, program)| !has_program(program)).map(|(package, _)| *package).collect();
    if !Path::new(DEBIAN_KEYRING).exists() {
        missing.push("debian-archive-keyring");
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::Machine(format!(
        "packages are missing; install them with: apt-get install -y --no-install-recommends {}",
        missing.join(" ")
    )))
}

fn has_program(name: &str) -> bool {
    SEARCH_PATH.iter().any(|directory| Path::new(directory).join(name).exists())
}

/// Sources for Debian 13 from the machine's own mirror, one `deb` line each.
///
/// The machine may run another release: only the mirror's address is taken over.
/// `OIKOS_DEBIAN_MIRROR` overrides it.
pub fn debian_13_sources() -> Vec<String> {
    let addresses = source_addresses();
    let main = debian_mirror(&addresses).unwrap_or_default(); // `check` refuses a machine without one
    let mut lines = vec![format!("deb {main} trixie main"), format!("deb {main} trixie-updates main")];
    if let Some(security) = addresses.iter().find(|address| address.trim_end_matches('/').ends_with("debian-security"))
    {
        lines.push(format!("deb {security} trixie-security main"));
    }
    lines
}

fn debian_mirror(addresses: &[String]) -> Option<String> {
    let named = || addresses.iter().find(|address| address.trim_end_matches('/').ends_with("/debian")).cloned();
    std::env::var("OIKOS_DEBIAN_MIRROR").ok().or_else(named)
}

/// Every repository address in apt's configuration, in apt's order.
fn source_addresses() -> Vec<String> {
    let mut files = vec![std::path::PathBuf::from("/etc/apt/sources.list")];
    if let Ok(entries) = std::fs::read_dir("/etc/apt/sources.list.d") {
        files.extend(entries.flatten().map(|entry| entry.path()));
    }
    files.sort();
    let mut addresses = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        for line in text.lines().map(str::trim) {
            let words = if let Some(rest) = line.strip_prefix("URIs:") {
                rest
            } else if line.starts_with("deb ") {
                line
            } else {
                continue;
            };
            addresses.extend(words.split_whitespace().filter(|word| word.starts_with("http")).map(str::to_owned));
        }
    }
    addresses
}

/// The proxy that apt uses for `scheme` (`http` or `https`) on this machine, if any.
pub fn apt_proxy(scheme: &str) -> Option<String> {
    let key = format!("Acquire::{scheme}::Proxy");
    let mut query = Command::new("apt-config");
    query.args(["shell", "proxy", &key]);
    let configured = command::run(&mut query)
        .ok()
        .and_then(|text| text.trim().strip_prefix("proxy=").map(|value| value.trim_matches('\'').to_owned()));
    configured
        .or_else(|| std::env::var(format!("{scheme}_proxy")).ok())
        .filter(|value| !value.is_empty() && value != "DIRECT")
}

/// The machine's nameservers. On a machine with systemd-resolved these are the real ones and
/// not the loopback stub, which no guest could reach.
pub fn nameservers() -> Vec<String> {
    let read = |path: &str| -> Vec<String> {
        std::fs::read_to_string(path)
            .unwrap_or_default()
            .lines()
            .filter_map(|line| line.strip_prefix("nameserver"))
            .map(|address| address.trim().to_owned())
            .filter(|address| address.parse::<std::net::Ipv4Addr>().is_ok())
            .collect()
    };
    let servers = read("/etc/resolv.conf");
    if servers.iter().all(|server| server.starts_with("127.")) {
        let real = read("/run/systemd/resolve/resolv.conf");
        if !real.is_empty() {
            return real;
        }
    }
    servers
}

/// MTU of the default route's device; 1500 when there is none.
pub fn mtu() -> u32 {
    let route = command::run(&mut command::words(["ip", "-4", "route", "show", "default"])).unwrap_or_default();
    let mut words = route.split_whitespace().skip_while(|word| *word != "dev");
    words
        .nth(1)
        .and_then(|device| std::fs::read_to_string(format!("/sys/class/net/{device}/mtu")).ok())
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(1500)
}

/// The IPv4 networks that the machine routes or holds, as (address, prefix length).
pub fn networks() -> Vec<(u32, u8)> {
    let routes = command::run(&mut command::words(["ip", "-4", "route", "show", "table", "all"])).unwrap_or_default();
    routes
        .split_whitespace()
        .filter_map(|word| {
            let (address, length) = word.split_once('/').unwrap_or((word, "32"));
            let address: std::net::Ipv4Addr = address.parse().ok()?;
            Some((u32::from(address), length.parse().ok()?))
        })
        .filter(|(_, length)| *length > 0)
        .collect()
}

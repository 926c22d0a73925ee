//! The one description of a container to be created: its fields, their defaults and limits, and which values make sense
//! before any host is asked. The API's schema, the agent's tool and the creation on the host all use it. Pure.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Proxmox VE's numbers of guests.
pub const VMID: RangeInclusive<u32> = 100..=999_999_999;
/// Size of the root file system in GiB.
pub const DISK_GIB: RangeInclusive<u32> = 1..=65_536;
/// Memory in MiB; `pct create --memory` takes 16 or more.
pub const MEMORY_MIB: RangeInclusive<u32> = 16..=16_777_216;
/// Processor cores, as `pct create --cores` documents them.
pub const CORES: RangeInclusive<u32> = 1..=8192;

/// Size of the root file system in GiB when none is given.
pub const DEFAULT_DISK_GIB: u32 = 8;
/// Memory in MiB when none is given.
pub const DEFAULT_MEMORY_MIB: u32 = 1024;
/// Processor cores when none are given.
pub const DEFAULT_CORES: u32 = 1;
/// Bridge when none is given: the one that the installer of Proxmox VE makes.
pub const DEFAULT_BRIDGE: &str = "vmbr0";
/// Address when none is given.
pub const DEFAULT_ADDRESS: &str = "dhcp";

/// A hostname is one label of a DNS name.
pub const LONGEST_HOSTNAME: usize = 63;
/// A volume id or a file's name.
pub const LONGEST_TEMPLATE: usize = 255;
/// The name of a storage.
pub const LONGEST_STORAGE: usize = 100;
/// Linux allows names of network interfaces of this many bytes.
pub const LONGEST_BRIDGE: usize = 15;
/// An address with its prefix, a gateway or a name server.
pub const LONGEST_ADDRESS: usize = 64;

/// A hostname, its length apart.
pub const HOSTNAME_PATTERN: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// The name of a storage, as Proxmox VE has it, its length apart.
pub const STORAGE_PATTERN: &str = "^[A-Za-z][-A-Za-z0-9_.]*[A-Za-z0-9]$";
/// The name of a bridge, its length apart.
pub const BRIDGE_PATTERN: &str = "^[A-Za-z0-9][-A-Za-z0-9_.]*$";
/// The shape of an address; [`ContainerSpec::check`] also looks at the numbers.
pub const ADDRESS_PATTERN: &str = "^(dhcp|manual|([0-9]{1,3}[.]){3}[0-9]{1,3}/[0-9]{1,2})$";
/// The shape of a gateway's address.
pub const GATEWAY_PATTERN: &str = "^([0-9]{1,3}[.]){3}[0-9]{1,3}$";
/// The characters of a name server's address, IPv4 or IPv6.
pub const NAMESERVER_PATTERN: &str = "^[0-9A-Fa-f:.]+$";

/// An LXC container to be created and started as one step. Nothing is installed in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerSpec {
    /// The container's hostname; `lxc:<hostname>` is its target afterwards.
    #[schemars(length(min = 1, max = LONGEST_HOSTNAME), regex(pattern = HOSTNAME_PATTERN))]
    pub hostname: String,
    /// The VMID to use. Without one the next free one is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = *VMID.start(), max = *VMID.end()))]
    pub vmid: Option<u32>,
    /// The template: a volume id (`local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst`), the file's name, or the
    /// beginning of one (`debian-13`), of which the newest is taken. Without one the newest Debian template on the node
    /// is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = LONGEST_TEMPLATE))]
    pub template: Option<String>,
    /// The storage of the root file system. Without one the active storage for container disks with the most free
    /// space is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = LONGEST_STORAGE), regex(pattern = STORAGE_PATTERN))]
    pub storage: Option<String>,
    /// Size of the root file system in GiB; 8 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = *DISK_GIB.start(), max = *DISK_GIB.end()))]
    pub disk_gib: Option<u32>,
    /// Memory in MiB; 1024 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = *MEMORY_MIB.start(), max = *MEMORY_MIB.end()))]
    pub memory_mib: Option<u32>,
    /// Number of processor cores; 1 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = *CORES.start(), max = *CORES.end()))]
    pub cores: Option<u32>,
    /// The bridge of the first network interface; vmbr0 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = LONGEST_BRIDGE), regex(pattern = BRIDGE_PATTERN))]
    pub bridge: Option<String>,
    /// IPv4 address: `dhcp` (the default), address and prefix length, as in `192.0.2.10/24`, or `manual` for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = LONGEST_ADDRESS), regex(pattern = ADDRESS_PATTERN))]
    pub address: Option<String>,
    /// IPv4 gateway; needed with a fixed address that has to reach other networks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = LONGEST_ADDRESS), regex(pattern = GATEWAY_PATTERN))]
    pub gateway: Option<String>,
    /// DNS server; the node's own if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = LONGEST_ADDRESS), regex(pattern = NAMESERVER_PATTERN))]
    pub nameserver: Option<String>,
    /// Whether root in the container is an ordinary user of the node; true if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unprivileged: Option<bool>,
    /// Whether systemd and containers may nest inside; true if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nesting: Option<bool>,
    /// Whether the keyctl system call is allowed, as Docker wants; false if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyctl: Option<bool>,
    /// Whether the container starts with the node; false if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_boot: Option<bool>,
}

/// A field of a container whose value makes no sense on any host.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{field} has to be {rule}, not {value:?}")]
pub struct InvalidContainer {
    /// Name of the field in the API.
    pub field: &'static str,
    /// What its value has to be.
    pub rule: String,
    /// What its value is.
    pub value: String,
}

/// What the container gets where its author left the choice open.
impl ContainerSpec {
    /// Size of the root file system in GiB.
    pub fn disk_gib(&self) -> u32 {
        self.disk_gib.unwrap_or(DEFAULT_DISK_GIB)
    }

    /// Memory in MiB.
    pub fn memory_mib(&self) -> u32 {
        self.memory_mib.unwrap_or(DEFAULT_MEMORY_MIB)
    }

    /// Processor cores.
    pub fn cores(&self) -> u32 {
        self.cores.unwrap_or(DEFAULT_CORES)
    }

    /// Bridge of the first network interface.
    pub fn bridge(&self) -> &str {
        self.bridge.as_deref().unwrap_or(DEFAULT_BRIDGE)
    }

    /// IPv4 address of the first network interface.
    pub fn address(&self) -> &str {
        self.address.as_deref().unwrap_or(DEFAULT_ADDRESS)
    }

    /// Whether root in the container is an ordinary user of the node.
    pub fn unprivileged(&self) -> bool {
        self.unprivileged.unwrap_or(true)
    }

    /// Whether containers may nest inside; systemd of today needs it.
    pub fn nesting(&self) -> bool {
        self.nesting.unwrap_or(true)
    }

    /// Whether the keyctl system call is allowed.
    pub fn keyctl(&self) -> bool {
        self.keyctl.unwrap_or(false)
    }

    /// Whether the container starts with the node.
    pub fn on_boot(&self) -> bool {
        self.on_boot.unwrap_or(false)
    }

    /// Whether its values make sense before any host is asked.
    ///
    /// # Errors
    /// The first field whose value does not, with its rule.
    pub fn check(&self) -> Result<(), InvalidContainer> {
        let label = "made of at most 63 lower-case letters, digits and dashes, with no dash at either end";
        check_text("hostname", Some(&self.hostname), label, is_hostname)?;
        check_number("vmid", self.vmid, &VMID)?;
        check_text("template", self.template.as_ref(), "1 to 255 characters long", is_template)?;
        check_text("storage", self.storage.as_ref(), "the name of a storage, such as local-lvm", is_storage)?;
        check_number("diskGib", self.disk_gib, &DISK_GIB)?;
        check_number("memoryMib", self.memory_mib, &MEMORY_MIB)?;
        check_number("cores", self.cores, &CORES)?;
        check_text("bridge", self.bridge.as_ref(), "the name of a bridge, at most 15 characters long", is_bridge)?;
        let address = "dhcp, manual, or an IPv4 address with its prefix length, as in 192.0.2.10/24";
        check_text("address", self.address.as_ref(), address, is_address)?;
        check_text("gateway", self.gateway.as_ref(), "an IPv4 address", |text| text.parse::<Ipv4Addr>().is_ok())?;
        check_text("nameserver", self.nameserver.as_ref(), "an IP address", |text| text.parse::<IpAddr>().is_ok())
    }
}

fn check_number(field: &'static str, value: Option<u32>, range: &RangeInclusive<u32>) -> Result<(), InvalidContainer> {
    match value.filter(|value| !range.contains(value)) {
        None => Ok(()),
        Some(value) => Err(InvalidContainer {
            field,
            rule: format!("a whole number from {} to {}", range.start(), range.end()),
            value: value.to_string(),
        }),
    }
}

fn check_text(
    field: &'static str,
    value: Option<&String>,
    rule: &str,
    holds: impl Fn(&str) -> bool,
) -> Result<(), InvalidContainer> {
    match value.filter(|value| !holds(value)) {
        None => Ok(()),
        Some(value) => Err(InvalidContainer { field, rule: rule.to_owned(), value: value.clone() }),
    }
}

fn is_hostname(name: &str) -> bool {
    let fits = (1..=LONGEST_HOSTNAME).contains(&name.len()) && !name.starts_with('-') && !name.ends_with('-');
    fits && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

fn is_template(name: &str) -> bool {
    (1..=LONGEST_TEMPLATE).contains(&name.chars().count())
}

fn is_storage(name: &str) -> bool {
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic());
    let ends = name.ends_with(|last: char| last.is_ascii_alphanumeric());
    begins && ends && (2..=LONGEST_STORAGE).contains(&name.len()) && name.bytes().all(is_name_byte)
}

fn is_bridge(name: &str) -> bool {
    let begins = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    begins && name.len() <= LONGEST_BRIDGE && name.bytes().all(is_name_byte)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)
}

fn is_address(address: &str) -> bool {
    if matches!(address, "dhcp" | "manual") {
        return true;
    }
    let Some((ip, prefix)) = address.split_once('/') else { return false };
    let digits = (1..=2).contains(&prefix.len()) && prefix.bytes().all(|byte| byte.is_ascii_digit());
    digits && ip.parse::<Ipv4Addr>().is_ok() && prefix.parse::<u8>().is_ok_and(|prefix| prefix <= 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_make_sense_on_no_host_are_refused_with_the_field() {
        let with = |change: fn(&mut ContainerSpec)| {
            let mut container = ContainerSpec { hostname: "web".into(), ..ContainerSpec::default() };
            change(&mut container);
            container.check().map_err(|error| error.field)
        };
        assert_eq!(with(|_| {}), Ok(()));
        assert_eq!(with(|container| container.hostname = "a_b".into()), Err("hostname"));
        assert_eq!(with(|container| container.hostname = "Web".into()), Err("hostname"));
        assert_eq!(with(|container| container.hostname = String::new()), Err("hostname"));
        assert_eq!(with(|container| container.vmid = Some(99)), Err("vmid"));
        assert_eq!(with(|container| container.template = Some(String::new())), Err("template"));
        assert_eq!(with(|container| container.disk_gib = Some(0)), Err("diskGib"));
        assert_eq!(with(|container| container.memory_mib = Some(8)), Err("memoryMib"));
        assert_eq!(with(|container| container.memory_mib = Some(16_777_217)), Err("memoryMib"));
        assert_eq!(with(|container| container.cores = Some(8193)), Err("cores"));
        assert_eq!(with(|container| container.bridge = Some("vmbr0,x=1".into())), Err("bridge"));
        assert_eq!(with(|container| container.bridge = Some("a".repeat(16))), Err("bridge"));
        assert_eq!(with(|container| container.address = Some("manual".into())), Ok(()));
        assert_eq!(with(|container| container.address = Some("192.0.2.8".into())), Err("address"));
        assert_eq!(with(|container| container.address = Some("192.0.2.8/33".into())), Err("address"));
        assert_eq!(with(|container| container.gateway = Some("gw,ip=1".into())), Err("gateway"));
        assert_eq!(with(|container| container.storage = Some("a:b".into())), Err("storage"));
        assert_eq!(with(|container| container.nameserver = Some("2001:db8::53".into())), Ok(()));
        assert_eq!(with(|container| container.nameserver = Some("dns.example".into())), Err("nameserver"));
    }

    #[test]
    fn the_error_says_what_the_value_has_to_be() {
        let container = ContainerSpec { hostname: "web".into(), cores: Some(0), ..ContainerSpec::default() };
        let error = container.check().unwrap_err().to_string();
        assert_eq!(error, r#"cores has to be a whole number from 1 to 8192, not "0""#);
    }

    #[test]
    fn a_container_of_which_only_the_name_is_given_is_small_and_unprivileged() {
        let web = ContainerSpec { hostname: "web".into(), ..ContainerSpec::default() };
        assert_eq!((web.disk_gib(), web.memory_mib(), web.cores()), (8, 1024, 1));
        assert_eq!((web.bridge(), web.address()), ("vmbr0", "dhcp"));
        assert_eq!((web.unprivileged(), web.nesting(), web.keyctl(), web.on_boot()), (true, true, false, false));
    }
}

//! What to create, and the `pct` commands for it: pure text.

use std::time::Duration;

use thiserror::Error;

use crate::steps::script::{quote, quote_all};

/// A container to create on a host. Fields that are `None` are chosen on the host or left to Proxmox VE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerRequest {
    /// DNS name, at most 63 characters; must not be in use by another guest of the node.
    pub hostname: String,
    /// Volume id (`local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst`), file name, or beginning of one
    /// (`debian-13`); the newest match. `None`: the newest Debian standard template.
    pub template: Option<String>,
    /// Number of the container. `None`: the next free one.
    pub vmid: Option<u32>,
    /// Storage of the root disk. `None`: the active one for container disks with the most space.
    pub storage: Option<String>,
    /// Storage to look for templates in. `None`: all active ones for templates.
    pub template_storage: Option<String>,
    /// Size of the root disk in GiB.
    pub disk_gib: u32,
    /// Memory in MiB, at least 16.
    pub memory_mib: u32,
    /// Swap in MiB; `None`: 512.
    pub swap_mib: Option<u32>,
    /// Processor cores.
    pub cores: u32,
    /// Bridge of the one network device `eth0`.
    pub bridge: String,
    /// IPv4 address with prefix length, `dhcp` or `manual`. `None`: `dhcp`.
    pub address: Option<String>,
    /// IPv4 gateway; needed for anything beyond the local network when the address is static.
    pub gateway: Option<String>,
    /// VLAN tag, 1..=4094.
    pub vlan: Option<u16>,
    /// Name server; `None`: the host's.
    pub nameserver: Option<String>,
    /// Whether root in the container is an ordinary user outside. `None`: yes.
    pub unprivileged: Option<bool>,
    /// Whether it may nest containers; systemd of today needs it. `None`: yes.
    pub nesting: Option<bool>,
    /// Whether it may use kernel keyrings, which Docker needs when unprivileged. `None`: left out.
    pub keyctl: Option<bool>,
    /// Start it after creation and wait until commands can be run in it.
    pub start: bool,
    /// Start it when the host starts. `None`: left out.
    pub onboot: Option<bool>,
    /// Tags: lower-case letters, digits and `-_+.`.
    pub tags: Vec<String>,
    /// Public keys for root, one per entry.
    pub ssh_public_keys: Vec<String>,
    /// The host refuses a `pct create` that would start later than this from the call. Starting the container is part
    /// of the same step and not bound to it.
    pub start_within: Duration,
}

impl Default for ContainerRequest {
    /// A small Debian: 8 GiB disk, 1 GiB memory, 2 cores, DHCP on vmbr0, started.
    fn default() -> Self {
        Self {
            hostname: String::new(),
            template: None,
            vmid: None,
            storage: None,
            template_storage: None,
            disk_gib: 8,
            memory_mib: 1024,
            swap_mib: None,
            cores: 2,
            bridge: "vmbr0".into(),
            address: None,
            gateway: None,
            vlan: None,
            nameserver: None,
            unprivileged: None,
            nesting: None,
            keyctl: None,
            start: true,
            onboot: None,
            tags: Vec::new(),
            ssh_public_keys: Vec::new(),
            start_within: Duration::from_secs(30),
        }
    }
}

/// A request that no host could carry out.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{field}: {rule}, not {value:?}")]
pub struct InvalidRequest {
    /// Field of the request.
    pub field: &'static str,
    /// What it must be.
    pub rule: &'static str,
    /// What it is.
    pub value: String,
}

impl ContainerRequest {
    /// Whether the request makes sense before any host is asked.
    ///
    /// # Errors
    /// The first field that does not, with its rule.
    pub fn check(&self) -> Result<(), InvalidRequest> {
        let rules: [(&'static str, &'static str, String, bool); 12] = [
            (
                "hostname",
                "must be a DNS name of at most 63 letters, digits and '-'",
                self.hostname.clone(),
                is_label(&self.hostname),
            ),
            (
                "vmid",
                "must be 100..=999999999",
                shown(self.vmid),
                self.vmid.is_none_or(|id| (100..=999_999_999).contains(&id)),
            ),
            ("diskGiB", "must be 1..=65536", self.disk_gib.to_string(), (1..=65536).contains(&self.disk_gib)),
            ("memoryMiB", "must be 16 or more", self.memory_mib.to_string(), self.memory_mib >= 16),
            ("cores", "must be 1..=8192", self.cores.to_string(), (1..=8192).contains(&self.cores)),
            ("bridge", "must be the name of a bridge", self.bridge.clone(), is_word(&self.bridge)),
            ("vlan", "must be 1..=4094", shown(self.vlan), self.vlan.is_none_or(|tag| (1..=4094).contains(&tag))),
            (
                "address",
                "must be dhcp, manual or A.B.C.D/NN",
                shown(self.address.as_ref()),
                self.address.as_deref().is_none_or(is_address),
            ),
            (
                "gateway",
                "must be an IPv4 address",
                shown(self.gateway.as_ref()),
                self.gateway.as_deref().is_none_or(|gateway| gateway.parse::<std::net::Ipv4Addr>().is_ok()),
            ),
            (
                "storage",
                "must be the name of a storage",
                shown(self.storage.as_ref()),
                self.storage.as_deref().is_none_or(is_word),
            ),
            (
                "templateStorage",
                "must be the name of a storage",
                shown(self.template_storage.as_ref()),
                self.template_storage.as_deref().is_none_or(is_word),
            ),
            (
                "nameserver",
                "must be an IP address",
                shown(self.nameserver.as_ref()),
                self.nameserver.as_deref().is_none_or(|server| server.parse::<std::net::IpAddr>().is_ok()),
            ),
        ];
        for (field, rule, value, holds) in rules {
            if !holds {
                return Err(InvalidRequest { field, rule, value });
            }
        }
        if let Some(tag) = self.tags.iter().find(|tag| !is_tag(tag)) {
            return Err(InvalidRequest {
                field: "tags",
                rule: "must be lower-case letters, digits and -_+.",
                value: tag.clone(),
            });
        }
        if let Some(key) = self.ssh_public_keys.iter().find(|key| key.contains('\n') || key.split(' ').count() < 2) {
            return Err(InvalidRequest {
                field: "sshPublicKeys",
                rule: "must be one public key per entry",
                value: key.clone(),
            });
        }
        Ok(())
    }

    /// The network device.
    fn net0(&self) -> String {
        let mut device = format!("name=eth0,bridge={},ip={}", self.bridge, self.address.as_deref().unwrap_or("dhcp"));
        if let Some(gateway) = &self.gateway {
            device += &format!(",gw={gateway}");
        }
        if let Some(tag) = self.vlan {
            device += &format!(",tag={tag}");
        }
        device
    }

    fn features(&self) -> String {
        let mut features = Vec::new();
        if self.nesting.unwrap_or(true) {
            features.push("nesting=1");
        }
        if self.keyctl == Some(true) {
            features.push("keyctl=1");
        }
        features.join(",")
    }

    /// The command that creates the container. `marker` is found again in its description.
    pub(crate) fn create_command(&self, vmid: u32, template: &str, storage: &str, marker: &str) -> String {
        let flag = |value: bool| if value { "1" } else { "0" }.to_owned();
        let mut options = vec![
            ("--hostname", self.hostname.clone()),
            ("--rootfs", format!("{storage}:{}", self.disk_gib)),
            ("--memory", self.memory_mib.to_string()),
            ("--swap", self.swap_mib.unwrap_or(512).to_string()),
            ("--cores", self.cores.to_string()),
            ("--net0", self.net0()),
            ("--unprivileged", flag(self.unprivileged.unwrap_or(true))),
            ("--description", marker.to_owned()),
        ];
        let features = self.features();
        if !features.is_empty() {
            options.push(("--features", features));
        }
        if let Some(onboot) = self.onboot {
            options.push(("--onboot", flag(onboot)));
        }
        if let Some(nameserver) = &self.nameserver {
            options.push(("--nameserver", nameserver.clone()));
        }
        if !self.tags.is_empty() {
            options.push(("--tags", self.tags.join(";")));
        }
        let vmid = vmid.to_string();
        let words = ["pct", "create", &vmid, template];
        let words = words.into_iter().chain(options.iter().flat_map(|(name, value)| [*name, value.as_str()]));
        let command = quote_all(words);
        if self.ssh_public_keys.is_empty() {
            return command;
        }
        // pct takes the keys from a file only.
        let keys = quote(&self.ssh_public_keys.join("\n"));
        format!(
            "keys=$(mktemp) && printf '%s\\n' {keys} >\"$keys\" || exit\n{command} --ssh-public-keys \"$keys\"\ncode=$?\n\
             rm -f \"$keys\"\nexit $code"
        )
    }
}

/// Text by which a container is known to be the work of an attempt.
pub(crate) fn marker(attempt_id: &str) -> String {
    format!("Created by oikos, attempt {attempt_id}")
}

fn shown<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn is_label(name: &str) -> bool {
    let fits = (1..=63).contains(&name.len()) && !name.starts_with('-') && !name.ends_with('-');
    fits && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_word(name: &str) -> bool {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    first && name.len() <= 100 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn is_tag(tag: &str) -> bool {
    let first =
        tag.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    first && tag.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_+.".contains(&byte))
}

fn is_address(address: &str) -> bool {
    if matches!(address, "dhcp" | "manual") {
        return true;
    }
    let Some((ip, prefix)) = address.split_once('/') else { return false };
    ip.parse::<std::net::Ipv4Addr>().is_ok() && prefix.parse::<u8>().is_ok_and(|prefix| prefix <= 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn web() -> ContainerRequest {
        ContainerRequest { hostname: "web".into(), ..ContainerRequest::default() }
    }

    #[test]
    fn the_create_command_names_every_option_and_quotes_once() {
        let template = "local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst";
        assert_eq!(
            web().create_command(101, template, "local-lvm", "Created by oikos, attempt a-1"),
            "'pct' 'create' '101' 'local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst' '--hostname' 'web' '--rootfs' \
             'local-lvm:8' '--memory' '1024' '--swap' '512' '--cores' '2' '--net0' 'name=eth0,bridge=vmbr0,ip=dhcp' \
             '--unprivileged' '1' '--description' 'Created by oikos, attempt a-1' '--features' 'nesting=1'"
        );
        let request = ContainerRequest {
            address: Some("192.0.2.8/24".into()),
            gateway: Some("192.0.2.1".into()),
            vlan: Some(7),
            nesting: Some(false),
            unprivileged: Some(false),
            onboot: Some(true),
            tags: vec!["web".into(), "demo".into()],
            nameserver: Some("192.0.2.53".into()),
            ..web()
        };
        let command = request.create_command(7000, template, "local", "m");
        for part in [
            "'name=eth0,bridge=vmbr0,ip=192.0.2.8/24,gw=192.0.2.1,tag=7'",
            "'--unprivileged' '0'",
            "'--onboot' '1'",
            "'--tags' 'web;demo'",
            "'--nameserver' '192.0.2.53'",
        ] {
            assert!(command.contains(part), "{part} in {command}");
        }
        assert!(!command.contains("--features"));
    }

    #[test]
    fn keys_go_through_a_file_that_is_removed_and_the_exit_code_is_that_of_pct() {
        let request = ContainerRequest { ssh_public_keys: vec!["ssh-ed25519 AAAA it's".into()], ..web() };
        let command = request.create_command(101, "t", "s", "m");
        assert!(command.starts_with("keys=$(mktemp) && printf '%s\\n' 'ssh-ed25519 AAAA it'\\''s' >\"$keys\""));
        assert!(command.ends_with("code=$?\nrm -f \"$keys\"\nexit $code"));
    }

    #[test]
    fn requests_that_no_host_could_carry_out_are_refused_with_the_field() {
        let with = |change: fn(&mut ContainerRequest)| {
            let mut request = web();
            change(&mut request);
            request.check().map_err(|error| error.field)
        };
        assert_eq!(with(|_| {}), Ok(()));
        assert_eq!(with(|request| request.hostname = "a_b".into()), Err("hostname"));
        assert_eq!(with(|request| request.hostname = String::new()), Err("hostname"));
        assert_eq!(with(|request| request.vmid = Some(99)), Err("vmid"));
        assert_eq!(with(|request| request.disk_gib = 0), Err("diskGiB"));
        assert_eq!(with(|request| request.memory_mib = 8), Err("memoryMiB"));
        assert_eq!(with(|request| request.bridge = "vmbr0,x=1".into()), Err("bridge"));
        assert_eq!(with(|request| request.address = Some("192.0.2.8".into())), Err("address"));
        assert_eq!(with(|request| request.gateway = Some("gw,ip=1".into())), Err("gateway"));
        assert_eq!(with(|request| request.storage = Some("a:b".into())), Err("storage"));
        assert_eq!(with(|request| request.tags = vec!["A;b".into()]), Err("tags"));
        assert_eq!(with(|request| request.ssh_public_keys = vec!["nonsense".into()]), Err("sshPublicKeys"));
    }
}

//! What to create, and the `pct` commands for it: pure text.

use std::time::Duration;

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
    /// Limit of `pct create` on the host, TERM at this time. Extracting a template on slow disks takes minutes.
    pub timeout: Duration,
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
            timeout: Duration::from_secs(900),
        }
    }
}

impl ContainerRequest {
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
}

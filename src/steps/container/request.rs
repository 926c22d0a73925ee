//! What to create, and the `pct` commands for it: pure text.

use std::time::Duration;

use thiserror::Error;

use crate::container::{ContainerSpec, InvalidContainer};
use crate::steps::script::quote_all;

/// Swap in MiB: what Proxmox VE gives a container when it is asked for nothing.
const SWAP_MIB: u32 = 512;

/// A container to create on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerRequest {
    /// What it looks like. Its hostname must not be in use by another guest of the node.
    pub container: ContainerSpec,
    /// Tags: lower-case letters, digits and `-_+.`.
    pub tags: Vec<String>,
    /// The host refuses a `pct create` that would start later than this from the call. Starting the container is part
    /// of the same step and not bound to it.
    pub start_within: Duration,
    /// Limit of `pct create` on the host, TERM at this time. Extracting a template on slow disks takes minutes.
    pub timeout: Duration,
}

/// A request that no host could carry out.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum InvalidRequest {
    /// A field of the container.
    #[error(transparent)]
    Container(#[from] InvalidContainer),
    /// A tag that Proxmox VE does not take.
    #[error("tag {0:?} has to be made of lower-case letters, digits and -_+. and must not begin with -, + or .")]
    Tag(String),
}

impl ContainerRequest {
    /// Whether the request makes sense before any host is asked.
    ///
    /// # Errors
    /// The first value that does not, with its rule.
    pub fn check(&self) -> Result<(), InvalidRequest> {
        self.container.check()?;
        match self.tags.iter().find(|tag| !is_tag(tag)) {
            Some(tag) => Err(InvalidRequest::Tag(tag.clone())),
            None => Ok(()),
        }
    }

    /// The network device.
    fn net0(&self) -> String {
        let mut device = format!("name=eth0,bridge={},ip={}", self.container.bridge(), self.container.address());
        if let Some(gateway) = &self.container.gateway {
            device += &format!(",gw={gateway}");
        }
        device
    }

    fn features(&self) -> String {
        let features = [("nesting=1", self.container.nesting()), ("keyctl=1", self.container.keyctl())];
        features.into_iter().filter(|(_, wanted)| *wanted).map(|(feature, _)| feature).collect::<Vec<_>>().join(",")
    }

    /// The command that creates the container. `marker` is found again in its description.
    pub(crate) fn create_command(&self, vmid: u32, template: &str, storage: &str, marker: &str) -> String {
        let flag = |value: bool| if value { "1" } else { "0" }.to_owned();
        let container = &self.container;
        let mut options = vec![
            ("--hostname", container.hostname.clone()),
            ("--rootfs", format!("{storage}:{}", container.disk_gib())),
            ("--memory", container.memory_mib().to_string()),
            ("--swap", SWAP_MIB.to_string()),
            ("--cores", container.cores().to_string()),
            ("--net0", self.net0()),
            ("--unprivileged", flag(container.unprivileged())),
            ("--description", marker.to_owned()),
        ];
        let features = self.features();
        if !features.is_empty() {
            options.push(("--features", features));
        }
        if let Some(on_boot) = container.on_boot {
            options.push(("--onboot", flag(on_boot)));
        }
        if let Some(nameserver) = &container.nameserver {
            options.push(("--nameserver", nameserver.clone()));
        }
        if !self.tags.is_empty() {
            options.push(("--tags", self.tags.join(";")));
        }
        let vmid = vmid.to_string();
        let words = ["pct", "create", &vmid, template];
        quote_all(words.into_iter().chain(options.iter().flat_map(|(name, value)| [*name, value.as_str()])))
    }
}

fn is_tag(tag: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    tag.bytes().next().is_some_and(is_plain) && tag.bytes().all(|byte| is_plain(byte) || b"-+.".contains(&byte))
}

/// Text by which a container is known to be the work of an attempt.
pub(crate) fn marker(attempt_id: &str) -> String {
    format!("Created by oikos, attempt {attempt_id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(container: ContainerSpec, tags: &[&str]) -> ContainerRequest {
        ContainerRequest {
            container: ContainerSpec { hostname: "web".into(), ..container },
            tags: tags.iter().map(ToString::to_string).collect(),
            start_within: Duration::from_secs(30),
            timeout: Duration::from_secs(900),
        }
    }

    #[test]
    fn the_create_command_names_every_option_and_quotes_once() {
        let template = "local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst";
        let web = request(ContainerSpec::default(), &[]);
        assert_eq!(
            web.create_command(101, template, "local-lvm", "Created by oikos, attempt a-1"),
            "'pct' 'create' '101' 'local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst' '--hostname' 'web' '--rootfs' \
             'local-lvm:8' '--memory' '1024' '--swap' '512' '--cores' '1' '--net0' 'name=eth0,bridge=vmbr0,ip=dhcp' \
             '--unprivileged' '1' '--description' 'Created by oikos, attempt a-1' '--features' 'nesting=1'"
        );
        let container = ContainerSpec {
            address: Some("192.0.2.8/24".into()),
            gateway: Some("192.0.2.1".into()),
            nesting: Some(false),
            unprivileged: Some(false),
            on_boot: Some(true),
            nameserver: Some("192.0.2.53".into()),
            ..ContainerSpec::default()
        };
        let command = request(container, &["web", "demo"]).create_command(7000, template, "local", "m");
        for part in [
            "'name=eth0,bridge=vmbr0,ip=192.0.2.8/24,gw=192.0.2.1'",
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
    fn requests_that_no_host_could_carry_out_are_refused() {
        assert_eq!(request(ContainerSpec::default(), &["web", "a_b-1+.x"]).check(), Ok(()));
        for tag in ["A;b", "", "-a", "a b"] {
            assert_eq!(request(ContainerSpec::default(), &[tag]).check(), Err(InvalidRequest::Tag(tag.into())));
        }
        let large = ContainerSpec { cores: Some(9000), ..ContainerSpec::default() };
        assert!(matches!(request(large, &[]).check(), Err(InvalidRequest::Container(_))));
    }
}

//! What a container to be created looks like.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An LXC container to be created and started as one step. Nothing is installed in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerSpec {
    /// The container's hostname; `lxc:<hostname>` is its target afterwards.
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub hostname: String,
    /// The VMID to use. Without one the next free one is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100, max = 999_999_999))]
    pub vmid: Option<u32>,
    /// The template, as a volume id (`local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst`) or the file's name.
    /// Without one the newest Debian template on the node is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub template: Option<String>,
    /// The storage of the root file system. Without one the first that holds containers is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub storage: Option<String>,
    /// Size of the root file system in GiB; 8 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_536))]
    pub disk_gib: Option<u32>,
    /// Memory in MiB; 1024 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 16, max = 16_777_216))]
    pub memory_mib: Option<u32>,
    /// Number of processor cores; 1 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub cores: Option<u32>,
    /// The bridge of the first network interface; vmbr0 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 15))]
    pub bridge: Option<String>,
    /// IPv4 address: `dhcp` (the default) or address and prefix length, as in `192.0.2.10/24`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub address: Option<String>,
    /// IPv4 gateway; needed with a fixed address that has to reach other networks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub gateway: Option<String>,
    /// DNS server; the node's own if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
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

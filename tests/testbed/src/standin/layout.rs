//! Where a stand-in keeps what: the one place that knows the shape of its directory.
//!
//! The same paths hold inside and outside the stand-in's mount namespace, because the
//! directory is bound at its own path there.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Marks a directory as made by a stand-in; without it nothing is ever removed.
pub const MARKER: &str = ".oikos-standin";

/// What a stand-in was started with; written once, read by every tool call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Settings {
    /// Name of the simulated node, as in UPIDs and `pvesh get /nodes`.
    pub node: String,
    /// Number of this stand-in on the machine; bridge, subnet and cgroup derive from it.
    pub slot: u8,
    /// First three octets of the guests' /24.
    pub subnet: String,
    /// MTU of the guests' interfaces, that of the machine's default route.
    pub mtu: u32,
    /// Nameservers written into new guests.
    pub nameservers: Vec<String>,
    /// Lines for the guests' apt configuration; empty on a machine without an HTTPS proxy.
    pub apt_configuration: String,
    /// Size in bytes of the real template archive; another size is a corrupt download.
    pub template_bytes: u64,
    /// Digest of the template, hexadecimal SHA-256, as the catalogue gives it.
    pub template_sha256: String,
}

impl Settings {
    /// The machine's bridge that plays `vmbr0`.
    pub fn bridge(&self) -> String {
        format!("oikospve{}", self.slot)
    }

    /// Address of the bridge: the guests' gateway and HTTP shim.
    pub fn gateway(&self) -> String {
        format!("{}.1", self.subnet)
    }

    /// Name of the nft table; its comment is the stand-in's directory.
    pub fn table(&self) -> String {
        format!("oikos_standin_{}", self.slot)
    }

    /// Parent of the guests' control groups in every hierarchy.
    pub fn cgroup(&self) -> String {
        format!("{}{}", CGROUP_PREFIX, self.slot)
    }
}

/// Every stand-in's control group begins like this; the count of running guests relies on it.
pub const CGROUP_PREFIX: &str = "oikos-standin-";

/// The directory of one stand-in.
#[derive(Debug, Clone)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// A layout over `root`, which need not exist yet and must be absolute.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path below the directory.
    pub fn join(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// The marker file, see [`MARKER`].
    pub fn marker(&self) -> PathBuf {
        self.join(MARKER)
    }

    /// [`Settings`] as JSON.
    pub fn settings(&self) -> PathBuf {
        self.join("settings.json")
    }

    /// What the supervisor printed when the stand-in answered.
    pub fn ready(&self) -> PathBuf {
        self.join("ready.json")
    }

    /// Process id of the supervisor.
    pub fn supervisor_pid(&self) -> PathBuf {
        self.join("supervisor.pid")
    }

    /// The copy of the multi-call binary that this stand-in runs.
    pub fn program(&self) -> PathBuf {
        self.join("bin/pve-standin")
    }

    /// What the host shows as `/etc/pve`.
    pub fn pve(&self) -> PathBuf {
        self.join("pve")
    }

    /// Configuration files of the containers, `<vmid>.conf`.
    pub fn guest_configs(&self) -> PathBuf {
        self.join("pve/lxc")
    }

    /// Configuration file of one container.
    pub fn guest_config(&self, vmid: u32) -> PathBuf {
        self.guest_configs().join(format!("{vmid}.conf"))
    }

    /// Disk, snapshots and address of one container.
    pub fn guest(&self, vmid: u32) -> PathBuf {
        self.join(format!("guests/{vmid}"))
    }

    /// Mount point of a container's root file system.
    pub fn rootfs(&self, vmid: u32) -> PathBuf {
        self.guest(vmid).join("rootfs")
    }

    /// Writable layer of a container's root file system.
    pub fn upper(&self, vmid: u32) -> PathBuf {
        self.guest(vmid).join("upper")
    }

    /// LXC's own directory (`-P`); absolute, or LXC starts the container under another identity.
    pub fn lxc(&self) -> PathBuf {
        self.join("lxc")
    }

    /// Mount point of the unpacked template, the lower layer of every container.
    pub fn base(&self) -> PathBuf {
        self.join("base")
    }

    /// Template archives of storage `local`.
    pub fn templates(&self) -> PathBuf {
        self.join("vz/template/cache")
    }

    /// Mount point of the cached real archive, the source of `pveam download`.
    pub fn archive(&self) -> PathBuf {
        self.join("archive.tar.zst")
    }

    /// Task logs, `<last hex digit of starttime>/<UPID>`, and their index.
    pub fn tasks(&self) -> PathBuf {
        self.join("log/tasks")
    }

    /// Lock files of the guests' configurations.
    pub fn locks(&self) -> PathBuf {
        self.join("locks")
    }

    /// Faults, one JSON file each.
    pub fn faults(&self) -> PathBuf {
        self.join("faults")
    }

    /// Keys and configuration of the SSH server.
    pub fn ssh(&self) -> PathBuf {
        self.join("ssh")
    }

    /// Files that the HTTP shim serves at the bridge's address.
    pub fn site(&self) -> PathBuf {
        self.join("www")
    }
}

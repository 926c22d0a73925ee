//! The command tables: what each command, option and verb does, as data.
//!
//! Owns the format of `*.risk`, which `README.md` here describes, and the lookup; must not know the shell. A row that
//! is not understood, or that names a rule or kind that does not exist, is a fault, and a test allows none.

mod effect;
mod entry;
mod list;
mod pattern;
mod reader;
mod rule;

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

pub use effect::Effect;
pub use entry::{Entry, Form, Kind, KnownArguments, Opt, Style, Takes, Verb, Wrapper};
pub use list::{ListName, PathTemplate, Prints};
pub use pattern::{Argument, Pattern};
pub use rule::{CallRule, RequestRule, Rule, ValueRule, WordRule};

/// An example line of a table: the verdict on a host and in a guest, and the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// `R`, `C` or `D` on a host.
    pub host: char,
    /// `R`, `C` or `D` in a guest.
    pub guest: char,
    /// The flags, and what is acted on: `sensitive`, `unbounded`, `interactive`, a VMID, `unknown`, a host's name.
    pub marks: Vec<&'static str>,
    /// The command line.
    pub command: String,
    /// The table and line it stands in.
    pub place: (&'static str, usize),
}

/// All tables, read.
#[derive(Clone)]
pub struct Tables {
    pub(super) entries: Vec<Arc<Entry>>,
    pub(super) names: Arc<HashMap<&'static str, usize, Fnv>>,
    /// The named lists, by their names.
    pub(super) lists: Vec<Arc<Vec<&'static str>>>,
    /// Calls of an API whose class is known.
    pub(super) paths: Arc<Vec<PathTemplate>>,
    /// Calls of which it is known what they print.
    pub(super) prints: Arc<Vec<(Prints, Pattern)>>,
    /// The examples, for the test.
    pub examples: Vec<Example>,
    /// Lines that could not be read, for the test: `file:line: why`.
    pub faults: Vec<String>,
}

/// The tables of this build.
pub static TABLES: LazyLock<Tables> = LazyLock::new(|| Tables::read(SOURCES));

/// A fast hasher for names.
pub type Fnv = std::hash::BuildHasherDefault<FnvHasher>;

/// A short hash for short names.
#[derive(Default)]
pub struct FnvHasher(u64);

impl std::hash::Hasher for FnvHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

impl Tables {
    /// The entry of a command.
    pub fn command(&self, name: &str) -> Option<&Entry> {
        self.names.get(name).and_then(|at| self.entries.get(*at)).map(Arc::as_ref)
    }

    /// Every entry, in the order of the tables.
    #[cfg(test)]
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().map(Arc::as_ref)
    }
}

/// Name and text of each table.
pub static SOURCES: &[(&str, &str)] = &[
    ("coreutils", include_str!("coreutils.risk")),
    ("find", include_str!("find.risk")),
    ("paths", include_str!("paths.risk")),
    ("logs", include_str!("logs.risk")),
    ("units", include_str!("units.risk")),
    ("suspicion", include_str!("suspicion.risk")),
    ("environment", include_str!("environment.risk")),
    ("shell", include_str!("shell.risk")),
    ("text", include_str!("text.risk")),
    ("wrappers", include_str!("wrappers.risk")),
    ("interpreters", include_str!("interpreters.risk")),
    ("systemd", include_str!("systemd.risk")),
    ("packages", include_str!("packages.risk")),
    ("apt-options", include_str!("apt-options.risk")),
    ("containers", include_str!("containers.risk")),
    ("printed", include_str!("printed.risk")),
    ("network", include_str!("network.risk")),
    ("network-tools", include_str!("network-tools.risk")),
    ("storage", include_str!("storage.risk")),
    ("zfs", include_str!("zfs.risk")),
    ("databases", include_str!("databases.risk")),
    ("services", include_str!("services.risk")),
    ("system", include_str!("system.risk")),
    ("proxmox-guests", include_str!("proxmox-guests.risk")),
    ("proxmox-api", include_str!("proxmox-api.risk")),
    ("proxmox-nodes", include_str!("proxmox-nodes.risk")),
    ("mail", include_str!("mail.risk")),
    ("directory", include_str!("directory.risk")),
    ("queues", include_str!("queues.risk")),
    ("orchestration", include_str!("orchestration.risk")),
    ("clusters", include_str!("clusters.risk")),
    ("clouds", include_str!("clouds.risk")),
    ("backup", include_str!("backup.risk")),
    ("applications", include_str!("applications.risk")),
    ("names", include_str!("names.risk")),
    ("media", include_str!("media.risk")),
    ("development", include_str!("development.risk")),
    ("packages-elsewhere", include_str!("packages-elsewhere.risk")),
    ("database-tools", include_str!("database-tools.risk")),
    ("secrets", include_str!("secrets.risk")),
    ("monitoring", include_str!("monitoring.risk")),
    ("schedulers", include_str!("schedulers.risk")),
    ("hardware", include_str!("hardware.risk")),
    ("management", include_str!("management.risk")),
    ("raid", include_str!("raid.risk")),
    ("diagnostics", include_str!("diagnostics.risk")),
    ("audit", include_str!("audit.risk")),
    ("filesystems", include_str!("filesystems.risk")),
    ("volumes", include_str!("volumes.risk")),
    ("images", include_str!("images.risk")),
    ("ceph", include_str!("ceph.risk")),
    ("netdiag", include_str!("netdiag.risk")),
    ("tracking", include_str!("tracking.risk")),
    ("crypto", include_str!("crypto.risk")),
    ("archives", include_str!("archives.risk")),
    ("macros", include_str!("macros.risk")),
];

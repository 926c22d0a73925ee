//! The tables, one file for each family of commands.

/// Name and text of each table.
pub static SOURCES: &[(&str, &str)] = &[
    ("coreutils", include_str!("coreutils.risk")),
    ("shell", include_str!("shell.risk")),
    ("text", include_str!("text.risk")),
    ("wrappers", include_str!("wrappers.risk")),
    ("interpreters", include_str!("interpreters.risk")),
    ("systemd", include_str!("systemd.risk")),
    ("packages", include_str!("packages.risk")),
    ("containers", include_str!("containers.risk")),
    ("network", include_str!("network.risk")),
    ("storage", include_str!("storage.risk")),
    ("databases", include_str!("databases.risk")),
    ("services", include_str!("services.risk")),
    ("system", include_str!("system.risk")),
    ("proxmox-guests", include_str!("proxmox-guests.risk")),
    ("proxmox-nodes", include_str!("proxmox-nodes.risk")),
];

//! The appliance catalogue that `pveam available` shows, and what of it the stand-in really has.

/// The template that is on storage `local` from the start.
pub const DEFAULT_TEMPLATE: &str = "debian-13-standard_13.1-2_amd64.tar.zst";

/// One template of the catalogue.
#[derive(Debug, Clone, Copy)]
pub struct Appliance {
    /// Section: `system`, `mail` or `turnkeylinux`.
    pub section: &'static str,
    /// File name.
    pub template: &'static str,
    /// Whether the stand-in can give it: all that can are the same Debian 13.
    pub obtainable: bool,
}

/// The catalogue, in the order of `pveam available`.
pub const APPLIANCES: [Appliance; 8] = [
    system("alpine-3.22-default_20250617_amd64.tar.xz", false),
    system("archlinux-base_20250815-1_amd64.tar.zst", false),
    system("debian-12-standard_12.12-1_amd64.tar.zst", false),
    system("debian-13-standard_13.1-1_amd64.tar.zst", true),
    system(DEFAULT_TEMPLATE, true),
    system("ubuntu-24.04-standard_24.04-2_amd64.tar.zst", false),
    Appliance { section: "mail", template: "proxmox-mail-gateway-9.0-standard_9.0-1_amd64.tar.zst", obtainable: false },
    Appliance { section: "turnkeylinux", template: "debian-12-turnkey-core_18.0-1_amd64.tar.gz", obtainable: false },
];

const fn system(template: &'static str, obtainable: bool) -> Appliance {
    Appliance { section: "system", template, obtainable }
}

/// The catalogue's entry for `template`.
pub fn find(template: &str) -> Option<&'static Appliance> {
    APPLIANCES.iter().find(|appliance| appliance.template == template)
}

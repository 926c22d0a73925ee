//! The guests' network: one bridge, one packet filter table, address translation to the outside.
//!
//! Everything carries the stand-in's directory as a mark and only what carries it is removed.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::command::{self, words};
use super::error::{Error, Result};
use super::layout::{Layout, Settings};
use super::slot;

const FORWARD_SWITCH: &str = "/proc/sys/net/ipv4/ip_forward";

/// Ports of the gateway's listeners on the bridge's address.
#[derive(Debug, Clone, Copy)]
pub struct GatewayPorts {
    /// HTTP shim.
    pub http: u16,
    /// Name service forwarder, UDP and TCP.
    pub dns: u16,
}

/// Makes the bridge with its address.
///
/// # Errors
/// When `ip` fails.
pub fn create_bridge(layout: &Layout, settings: &Settings) -> Result<()> {
    let bridge = settings.bridge();
    let mark = mark(layout.root());
    command::run(&mut words(["ip", "link", "add", &bridge, "mtu", &settings.mtu.to_string(), "type", "bridge"]))?;
    command::run(&mut words(["ip", "link", "set", "dev", &bridge, "alias", &mark]))?;
    let address = format!("{}/24", settings.gateway());
    command::run(&mut words(["ip", "address", "add", &address, "dev", &bridge]))?;
    command::run(&mut words(["ip", "link", "set", &bridge, "up"]))?;
    Ok(())
}

/// Loads the rules: guests reach the outside through address translation, their plain HTTP goes
/// through the shim and their name service through the forwarder, both unseen by the guest.
///
/// # Errors
/// When `nft` refuses the rules or `ip_forward` cannot be set.
pub fn load_rules(layout: &Layout, settings: &Settings, ports: GatewayPorts) -> Result<()> {
    let (table, bridge, subnet) = (settings.table(), settings.bridge(), &settings.subnet);
    let (mark, gateway) = (mark(layout.root()), settings.gateway());
    let (http, dns) = (ports.http, ports.dns);
    let rules = format!(
        r#"table ip {table} {{
  comment "{mark}"
  chain prerouting {{
    type nat hook prerouting priority dstnat;
    iifname "{bridge}" tcp dport 53 redirect to :{dns}
    iifname "{bridge}" udp dport 53 redirect to :{dns}
    iifname "{bridge}" ip daddr {gateway} tcp dport 80 redirect to :{http}
    iifname "{bridge}" ip daddr != {subnet}.0/24 tcp dport 80 redirect to :{http}
  }}
  chain postrouting {{
    type nat hook postrouting priority srcnat;
    ip saddr {subnet}.0/24 ip daddr != {subnet}.0/24 masquerade
  }}
  chain forward {{
    type filter hook forward priority filter; policy accept;
    iifname "{bridge}" accept
    oifname "{bridge}" accept
  }}
}}
"#
    );
    command::run_with_input(Command::new("nft").args(["-f", "-"]), &rules)?;
    enable_forwarding()
}

/// Removes rules and bridge, when they are this stand-in's, and restores `ip_forward` when no
/// other stand-in lives. Harmless when nothing is there.
///
/// # Errors
/// When something of ours is there and cannot be removed.
pub fn remove(layout_root: &Path, slot_number: u8) -> Result<()> {
    let mark = mark(layout_root);
    let table = format!("oikos_standin_{slot_number}");
    let listing = command::output(&mut words(["nft", "list", "table", "ip", &table]))?;
    if String::from_utf8_lossy(&listing.stdout).contains(&mark) {
        command::run(&mut words(["nft", "delete", "table", "ip", &table]))?;
    }
    let bridge = format!("oikospve{slot_number}");
    let alias = fs::read_to_string(format!("/sys/class/net/{bridge}/ifalias")).unwrap_or_default();
    if alias.trim() == mark {
        command::run(&mut words(["ip", "link", "delete", &bridge, "type", "bridge"]))?;
    }
    Ok(())
}

fn enable_forwarding() -> Result<()> {
    let _register = slot::lock_register()?;
    let now = fs::read_to_string(FORWARD_SWITCH).map_err(Error::file("read", Path::new(FORWARD_SWITCH)))?;
    if now.trim() == "1" {
        return Ok(());
    }
    let saved = saved_forwarding();
    fs::write(&saved, now.trim()).map_err(Error::file("write", &saved))?;
    fs::write(FORWARD_SWITCH, "1").map_err(Error::file("write", Path::new(FORWARD_SWITCH)))
}

/// Restores `ip_forward` to what the first stand-in found, if no stand-in but `leaving` lives.
/// The caller holds the register's lock.
///
/// # Errors
/// When the switch cannot be written.
pub fn restore_forwarding(leaving: u8) -> Result<()> {
    let saved = saved_forwarding();
    let Ok(value) = fs::read_to_string(&saved) else { return Ok(()) };
    if slot::others_alive(leaving) {
        return Ok(());
    }
    fs::write(FORWARD_SWITCH, value.trim()).map_err(Error::file("write", Path::new(FORWARD_SWITCH)))?;
    fs::remove_file(&saved).map_err(Error::file("remove", &saved))
}

fn saved_forwarding() -> std::path::PathBuf {
    slot::base_directory().join("slots/ip_forward.before")
}

/// The mark on bridge and table: tells whose they are. An alias holds 255 bytes.
fn mark(root: &Path) -> String {
    let text = format!("oikos stand-in {}", root.display());
    text.chars().take(120).collect()
}

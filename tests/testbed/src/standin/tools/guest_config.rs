//! A container's configuration file: `key: value` lines, pending changes and snapshots as sections.

use std::collections::BTreeMap;
use std::fs;

use super::{Failure, Host};

/// Name of the section that holds changes for the next start.
const PENDING: &str = "pve:pending";

/// One container's configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GuestConfig {
    /// What is in force.
    pub current: BTreeMap<String, String>,
    /// What comes into force at the next start.
    pub pending: BTreeMap<String, String>,
    /// Keys that the next start removes.
    pub deleted: Vec<String>,
    /// Snapshots by name, each with the configuration of its time.
    pub snapshots: BTreeMap<String, BTreeMap<String, String>>,
}

impl GuestConfig {
    /// Reads the configuration of container `vmid`.
    ///
    /// # Errors
    /// With the real text when there is none.
    pub fn load(host: &Host, vmid: u32) -> Result<Self, Failure> {
        let text = fs::read_to_string(host.layout.guest_config(vmid)).map_err(|_| {
            Failure::with_code(
                format!("Configuration file 'nodes/{}/lxc/{vmid}.conf' does not exist", host.settings.node),
                2,
            )
        })?;
        Ok(Self::from_text(&text))
    }

    /// Writes it, all or nothing.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, host: &Host, vmid: u32) -> Result<(), Failure> {
        let path = host.layout.guest_config(vmid);
        let draft = path.with_extension(format!("conf.tmp.{}", std::process::id()));
        fs::write(&draft, self.text())?;
        Ok(fs::rename(&draft, &path)?)
    }

    /// Why the container is locked, if it is.
    pub fn lock(&self) -> Option<&str> {
        self.current.get("lock").map(String::as_str)
    }

    /// Refuses a locked container with the real text.
    ///
    /// # Errors
    /// When there is a lock.
    pub fn check_lock(&self) -> Result<(), Failure> {
        self.lock().map_or(Ok(()), |lock| Err(Failure::new(format!("CT is locked ({lock})"))))
    }

    /// The host name; Proxmox's default when none is set.
    pub fn hostname(&self, vmid: u32) -> String {
        self.current.get("hostname").cloned().unwrap_or_else(|| format!("CT{vmid}"))
    }

    /// Puts pending changes into force.
    pub fn apply_pending(&mut self) {
        for key in std::mem::take(&mut self.deleted) {
            self.current.remove(&key);
        }
        self.current.append(&mut self.pending);
    }

    /// Current values with pending changes on top: what `pct config` shows.
    pub fn effective(&self) -> BTreeMap<String, String> {
        let mut all = self.current.clone();
        for key in &self.deleted {
            all.remove(key);
        }
        all.extend(self.pending.clone());
        all
    }

    /// Parses a configuration file's text; lines that are none are skipped.
    pub fn from_text(text: &str) -> Self {
        let mut config = Self::default();
        let mut section = String::new();
        for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = name.to_owned();
                if section != PENDING {
                    config.snapshots.entry(section.clone()).or_default();
                }
                continue;
            }
            let Some((key, value)) = line.split_once(':') else { continue };
            let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
            match section.as_str() {
                "" => drop(config.current.insert(key, value)),
                PENDING if key == "delete" => {
                    config.deleted.extend(value.split(',').map(|name| name.trim().to_owned()))
                }
                PENDING => drop(config.pending.insert(key, value)),
                name => drop(config.snapshots.entry(name.to_owned()).or_default().insert(key, value)),
            }
        }
        config
    }

    fn text(&self) -> String {
        let lines = |map: &BTreeMap<String, String>| -> String {
            map.iter().map(|(key, value)| format!("{key}: {value}\n")).collect()
        };
        let mut text = lines(&self.current);
        if !self.pending.is_empty() || !self.deleted.is_empty() {
            text.push_str(&format!("\n[{PENDING}]\n"));
            if !self.deleted.is_empty() {
                text.push_str(&format!("delete: {}\n", self.deleted.join(",")));
            }
            text.push_str(&lines(&self.pending));
        }
        for (name, values) in &self.snapshots {
            text.push_str(&format!("\n[{name}]\n{}", lines(values)));
        }
        text
    }
}

/// A property string like `name=eth0,bridge=vmbr0,ip=dhcp` as pairs; a part without `=` is under `default`.
pub fn properties<'a>(text: &'a str, default: &'a str) -> BTreeMap<&'a str, &'a str> {
    text.split(',')
        .filter(|part| !part.is_empty())
        .map(|part| part.split_once('=').unwrap_or((default, part)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_reads_back_as_written() {
        let mut config = GuestConfig::default();
        config.current.insert("hostname".to_owned(), "web".to_owned());
        config.pending.insert("memory".to_owned(), "1024".to_owned());
        config.deleted.push("swap".to_owned());
        config.snapshots.insert("before".to_owned(), BTreeMap::from([("hostname".to_owned(), "old".to_owned())]));
        assert_eq!(GuestConfig::from_text(&config.text()), config);
    }
}

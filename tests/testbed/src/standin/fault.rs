//! Faults on demand: files in the stand-in's directory, so that tests and the shell set them alike.
//!
//! A fault lasts until its `times` are used up, its `seconds` (counted from the file's modification
//! time) have passed or a command containing `until` has succeeded, whichever comes first; with none
//! of them until it is removed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::error::{Error, Result};
use super::layout::Layout;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// `pveam list` does not show the templates and `pct create` finds no such volume.
    /// Without `until`, a successful `pveam download` ends it.
    TemplateMissing,
    /// `pct create` loses the race: another container appears under the number it wanted.
    VmidTaken,
    /// A process named apt-get holds dpkg's frontend lock in the guest.
    AptLock,
    /// Plain HTTP requests of guests are answered with `status`; each request counts once.
    HttpError,
    /// Connections to `port` of the guest are refused: the first `times` ones, or for `seconds`
    /// after something listens there.
    ServiceNotReady,
    /// The guest's resolver configuration names a server that answers nothing.
    NoDns,
    /// A tool waits `delay` milliseconds inside its task before it acts.
    Slow,
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What goes wrong.
    pub kind: FaultKind,
    /// How often it strikes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// How long it lasts, from when it was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// Text in a tool's command line, whose success ends it; `*` stands for anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Only for this guest; every guest when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<u32>,
    /// Only where this text occurs: in the URL for HTTP errors, in the command line for slow tools;
    /// `*` stands for anything.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// HTTP status, 500 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// TCP port of a service that is not ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Milliseconds that a slow tool waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<u64>,
}

impl Fault {
    /// A fault of `kind` that strikes always and everywhere.
    pub fn new(kind: FaultKind) -> Self {
        Self {
            kind,
            times: None,
            seconds: None,
            until: None,
            guest: None,
            pattern: None,
            status: None,
            port: None,
            delay: None,
        }
    }

    /// The first `times` times only.
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// For `seconds` only.
    pub fn seconds(mut self, seconds: u64) -> Self {
        self.seconds = Some(seconds);
        self
    }

    /// Until a command containing `pattern` succeeded.
    pub fn until(mut self, pattern: impl Into<String>) -> Self {
        self.until = Some(pattern.into());
        self
    }

    /// Only where `pattern` occurs, see [`Fault::pattern`].
    pub fn matching(mut self, pattern: impl Into<String>) -> Self {
        self.pattern = Some(pattern.into());
        self
    }

    /// Only for guest `vmid`.
    pub fn guest(mut self, vmid: u32) -> Self {
        self.guest = Some(vmid);
        self
    }

    /// On this TCP port.
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    fn ends_on(&self, command_line: &str) -> bool {
        match (&self.until, self.kind) {
            (Some(pattern), _) => contains(command_line, pattern),
            (None, FaultKind::TemplateMissing) => contains(command_line, "pveam download"),
            _ => false,
        }
    }
}

/// The faults of one stand-in.
#[derive(Debug, Clone)]
pub struct Faults {
    directory: PathBuf,
}

/// A fault with its file.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its file.
    pub path: PathBuf,
    /// What the file says.
    pub fault: Fault,
    /// When it was set.
    pub since: SystemTime,
}

impl Faults {
    /// The faults of the stand-in at `layout`.
    pub fn new(layout: &Layout) -> Self {
        Self { directory: layout.faults() }
    }

    /// Adds a fault.
    ///
    /// # Errors
    /// When its file cannot be written.
    pub fn set(&self, fault: &Fault) -> Result<PathBuf> {
        let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let path = self.directory.join(format!("{nanos}-{}.json", std::process::id()));
        write(&path, fault)?;
        Ok(path)
    }

    /// Removes every fault.
    pub fn clear(&self) {
        for entry in self.entries() {
            let _ = fs::remove_file(entry.path);
        }
    }

    /// The faults in force, oldest first. Files that are no fault are ignored.
    pub fn active(&self) -> Vec<Entry> {
        let now = SystemTime::now();
        self.entries()
            .into_iter()
            .filter(|entry| entry.fault.times != Some(0))
            .filter(|entry| {
                // For a service the seconds begin when it listens; the supervisor ends it.
                entry.fault.kind == FaultKind::ServiceNotReady
                    || entry.fault.seconds.is_none_or(|seconds| {
                        now.duration_since(entry.since).unwrap_or_default() < Duration::from_secs(seconds)
                    })
            })
            .collect()
    }

    /// The first fault of `kind` in force that applies to `guest`.
    pub fn find(&self, kind: FaultKind, guest: Option<u32>) -> Option<Entry> {
        self.active().into_iter().find(|entry| {
            entry.fault.kind == kind && (entry.fault.guest.is_none() || guest.is_none() || entry.fault.guest == guest)
        })
    }

    /// Lets a fault of `kind` strike once if one is in force and `text` matches its pattern.
    pub fn strike(&self, kind: FaultKind, guest: Option<u32>, text: &str) -> Option<Entry> {
        let lock = File::create(self.directory.join(".lock")).ok()?;
        lock.lock().ok()?;
        let entry = self.active().into_iter().find(|entry| {
            let fault = &entry.fault;
            fault.kind == kind
                && (fault.guest.is_none() || fault.guest == guest)
                && fault.pattern.as_deref().is_none_or(|pattern| contains(text, pattern))
        })?;
        if let Some(times) = entry.fault.times {
            let left = Fault { times: Some(times.saturating_sub(1)), ..entry.fault.clone() };
            write(&entry.path, &left).ok()?;
            File::options().write(true).open(&entry.path).and_then(|file| file.set_modified(entry.since)).ok()?;
        }
        Some(entry)
    }

    /// Whether the success of this command line would end a fault.
    pub fn awaits(&self, command_line: &str) -> bool {
        self.entries().iter().any(|entry| entry.fault.ends_on(command_line))
    }

    /// Ends the faults that waited for this command line, and gives them.
    pub fn command_succeeded(&self, command_line: &str) -> Vec<Fault> {
        let ended: Vec<Entry> = self.entries().into_iter().filter(|entry| entry.fault.ends_on(command_line)).collect();
        for entry in &ended {
            let _ = fs::remove_file(&entry.path);
        }
        ended.into_iter().map(|entry| entry.fault).collect()
    }

    fn entries(&self) -> Vec<Entry> {
        let Ok(files) = fs::read_dir(&self.directory) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = files
            .flatten()
            .map(|file| file.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .collect();
        paths.sort();
        paths
            .into_iter()
            .filter_map(|path| {
                let since = fs::metadata(&path).and_then(|metadata| metadata.modified()).ok()?;
                let fault = serde_json::from_str(&fs::read_to_string(&path).ok()?).ok()?;
                Some(Entry { path, fault, since })
            })
            .collect()
    }
}

fn write(path: &Path, fault: &Fault) -> Result<()> {
    let text = serde_json::to_string(fault).map_err(|error| Error::Supervisor(error.to_string()))?;
    let draft = path.with_extension("draft");
    fs::write(&draft, text).map_err(Error::file("write", &draft))?;
    fs::rename(&draft, path).map_err(Error::file("rename", &draft))
}

/// Whether `pattern` occurs anywhere in `text`; `*` in it stands for any text.
pub fn contains(text: &str, pattern: &str) -> bool {
    let mut rest = text;
    pattern.split('*').all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_found_anywhere_and_its_star_spans_any_text() {
        assert!(contains("pct exec 101 -- rm -f /var/lib/dpkg/lock", "rm*lock"));
        assert!(!contains("pct exec 101 -- rm -f /etc/x", "rm*lock"));
        assert!(contains("anything", ""));
    }

    #[test]
    fn a_fault_strikes_as_often_as_it_says_and_only_where_it_matches() {
        let directory = std::env::temp_dir().join(format!("oikos-faults-{}", std::process::id()));
        let layout = Layout::new(&directory);
        fs::create_dir_all(layout.faults()).unwrap();
        let faults = Faults::new(&layout);
        faults.set(&Fault::new(FaultKind::HttpError).times(2).matching("debian/dists")).unwrap();
        assert!(faults.strike(FaultKind::HttpError, None, "mirror/debian/pool/x.deb").is_none());
        assert!(faults.strike(FaultKind::HttpError, None, "mirror/debian/dists/trixie").is_some());
        assert!(faults.strike(FaultKind::HttpError, None, "mirror/debian/dists/trixie").is_some());
        assert!(faults.strike(FaultKind::HttpError, None, "mirror/debian/dists/trixie").is_none());
        fs::remove_dir_all(directory).unwrap();
    }
}

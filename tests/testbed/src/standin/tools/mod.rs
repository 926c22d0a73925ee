//! The stand-ins for Proxmox's command line tools: one binary, the name it is called by decides.
//!
//! They know nothing of SSH and tests: they read and write the stand-in's directory and drive LXC,
//! with the syntax, texts, streams and exit codes of the real tools.

use std::path::PathBuf;

use super::error::{Error, Result};
use super::fault::{FaultKind, Faults};
use super::layout::{Layout, Settings};

/// Prints a line; a reader that has gone away is no reason to fail, let alone to panic.
macro_rules! emit {
    ($($part:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stdout(), $($part)*);
    }};
}

mod container;
mod create;
mod exec;
mod getopt;
mod guest_config;
mod inventory;
mod pct;
mod power;
mod pveam;
mod pvesh;
mod pvesm;
mod qm;
mod settings;
mod snapshot;
mod storage;
mod task;

/// What every tool works on.
#[derive(Debug, Clone)]
pub struct Host {
    /// The stand-in's directory.
    pub layout: Layout,
    /// What it was started with.
    pub settings: Settings,
    /// Faults set on it.
    pub faults: Faults,
    /// The command line, words joined by blanks, that faults are matched against.
    pub command_line: String,
}

/// Why a tool ends with something other than success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// For standard error, without the final newline; nothing is printed when empty.
    pub text: String,
    /// Exit status.
    pub code: u8,
}

impl Failure {
    /// The usual failure of a Proxmox tool: the reason and status 255.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), code: 255 }
    }

    /// A failure with a status of its own.
    pub fn with_code(text: impl Into<String>, code: u8) -> Self {
        Self { text: text.into(), code }
    }

    /// Wrong parameters: the three-part text of the real tools.
    pub fn parameter(name: &str, reason: &str, usage: &str) -> Self {
        Self::new(format!("400 Parameter verification failed.\n{name}: {reason}\n{usage}"))
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(error.to_string())
    }
}

/// What a tool's verb gives back: its exit status, or why it failed.
pub type Outcome = std::result::Result<u8, Failure>;

/// Reads what the stand-in in `layout` was started with.
///
/// # Errors
/// When the file is missing or unreadable.
pub fn read_settings(layout: &Layout) -> Result<Settings> {
    let path = layout.settings();
    let text = std::fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    serde_json::from_str(&text).map_err(|error| Error::Supervisor(format!("{}: {error}", path.display())))
}

/// Runs `tool` with `arguments` and gives its exit status; `None` when it is no tool's name.
pub fn run(tool: &str, arguments: &[String]) -> Option<u8> {
    let body: fn(&Host, &[String]) -> Outcome = match tool {
        "pct" => pct::run,
        "qm" => qm::run,
        "pvesh" => pvesh::run,
        "pveam" => pveam::run,
        "pvesm" => pvesm::run,
        "pveversion" => inventory::version,
        _ => return None,
    };
    let outcome = host(tool, arguments).and_then(|host| {
        let outcome = body(&host, arguments)?;
        if outcome == 0 && host.faults.awaits(&host.command_line) {
            container::end_faults(&host);
        }
        Ok(outcome)
    });
    Some(match outcome {
        Ok(code) => code,
        Err(failure) => {
            if !failure.text.is_empty() {
                use std::io::Write;
                let _ = writeln!(std::io::stderr(), "{}", failure.text);
            }
            failure.code
        }
    })
}

/// The stand-in that this binary was copied into: its directory is two levels up.
fn host(tool: &str, arguments: &[String]) -> std::result::Result<Host, Failure> {
    let program = std::env::current_exe()?;
    let root: PathBuf = program.ancestors().nth(2).unwrap_or(&program).to_owned();
    let layout = Layout::new(root);
    let settings = read_settings(&layout)?;
    let faults = Faults::new(&layout);
    let command_line = format!("{tool} {}", arguments.join(" "));
    let host = Host { layout, settings, faults, command_line };
    Ok(host)
}

impl Host {
    /// Waits if a fault makes this command slow. Called inside tasks, before the effect.
    fn delay(&self, vmid: Option<u32>) {
        if let Some(entry) = self.faults.strike(FaultKind::Slow, vmid, &self.command_line) {
            std::thread::sleep(std::time::Duration::from_millis(entry.fault.delay.unwrap_or(1000)));
        }
    }
}

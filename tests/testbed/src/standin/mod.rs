//! A stand-in Proxmox host: a real OpenSSH server in front of `pct`, `pvesh`, `pveam`, `pvesm`, `qm` and
//! `pveversion` look-alikes that drive real LXC containers.
//!
//! [`Standin`] is what a test holds. The work is done by a supervisor process, `pve-standin up`, that
//! takes everything down when its owner ends, in whatever way. The host's file tree is an overlay over
//! the machine's, so nothing that is run on it can change the machine.
//!
//! Invariants: containers, bridges, rules and processes that no stand-in made are never touched; the
//! machine's own SSH server, `/root` and `/etc` stay out of it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

pub mod catalogue;
mod command;
pub mod error;
pub mod fault;
mod gateway;
mod guest_fault;
mod host_root;
pub mod layout;
mod machine;
mod network;
mod program;
pub mod setup;
mod slot;
mod ssh_server;
pub mod supervisor;
pub mod teardown;
pub mod template;
pub mod tools;

pub use error::{Error, Result};
pub use fault::{Fault, FaultKind, Faults};
pub use layout::Layout;
pub use machine::PACKAGES;
pub use supervisor::Ready;

/// A running stand-in; dropping it removes everything that it made.
#[derive(Debug)]
pub struct Standin {
    ready: Ready,
    layout: Layout,
    supervisor: Mutex<Supervisor>,
}

#[derive(Debug)]
struct Supervisor {
    process: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<std::process::ChildStdout>,
}

/// A container as its configuration file and LXC know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestState {
    /// Its number.
    pub vmid: u32,
    /// Its host name.
    pub hostname: String,
    /// Whether its init runs.
    pub running: bool,
}

impl Standin {
    /// Starts a stand-in for a node named `pve`.
    ///
    /// # Errors
    /// See [`Standin::start_as`].
    pub fn start() -> Result<Self> {
        Self::start_as("pve")
    }

    /// Starts a stand-in for a node of the given name, in a directory of its own. Blocks: some seconds,
    /// or a minute more when the template must be built first.
    ///
    /// # Errors
    /// [`Error::Supervisor`] with the supervisor's own words, for example which packages are missing.
    pub fn start_as(node: &str) -> Result<Self> {
        Self::start_program(&program::find()?, node)
    }

    /// Like [`Standin::start_as`], with a `pve-standin` binary of the caller's: nothing is built.
    ///
    /// # Errors
    /// See [`Standin::start_as`].
    pub fn start_program(program: &Path, node: &str) -> Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("run-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let directory = slot::base_directory().join(name);
        let mut command = Command::new(program);
        command
            .args(["up", "--node", node, "--dir"])
            .arg(&directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A Ctrl-C ends the test; the end of stdin then ends the supervisor in good order.
            .process_group(0);
        let mut process = command.spawn().map_err(|error| Error::Supervisor(error.to_string()))?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (process.stdin.take(), process.stdout.take(), process.stderr.take())
        else {
            return Err(Error::Supervisor("it has no streams".to_owned()));
        };
        let words = pass_on(stderr);
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        let _ = stdout.read_line(&mut line);
        let Ok(ready) = serde_json::from_str::<Ready>(&line) else {
            let _ = process.wait();
            return Err(Error::Supervisor(words.join().unwrap_or_default()));
        };
        let supervisor = Mutex::new(Supervisor { process, stdin: Some(stdin), stdout });
        Ok(Self { layout: Layout::new(&ready.directory), ready, supervisor })
    }

    /// Host name or address of the SSH server: loopback.
    pub fn address(&self) -> &str {
        &self.ready.address
    }

    /// Port of the SSH server.
    pub fn port(&self) -> u16 {
        self.ready.port
    }

    /// The account to log in to.
    pub fn user(&self) -> &str {
        &self.ready.user
    }

    /// Name of the node.
    pub fn node(&self) -> &str {
        &self.ready.node
    }

    /// The guests' gateway; files in [`Layout::site`] are served at `http://<gateway>/`.
    pub fn gateway(&self) -> &str {
        &self.ready.gateway
    }

    /// Process id of the supervisor, for tests of its end.
    pub fn supervisor_pid(&self) -> u32 {
        self.supervisor.lock().map_or(0, |supervisor| supervisor.process.id())
    }

    /// The stand-in's directory.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The current host key as a line for `known_hosts`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn known_hosts_line(&self) -> Result<String> {
        ssh_server::known_hosts_line(&self.layout, self.port())
    }

    /// Path of the private key that opens the account.
    pub fn private_key_path(&self) -> &Path {
        &self.ready.private_key
    }

    /// That key's text in OpenSSH's format.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn private_key_openssh(&self) -> Result<String> {
        let path = self.private_key_path();
        std::fs::read_to_string(path).map_err(Error::file("read", path))
    }

    /// Sets a fault, see [`fault`].
    ///
    /// # Errors
    /// When its file cannot be written.
    pub fn set_fault(&self, fault: &Fault) -> Result<()> {
        Faults::new(&self.layout).set(fault).map(drop)
    }

    /// Ends all faults.
    pub fn clear_faults(&self) {
        Faults::new(&self.layout).clear();
    }

    /// The containers on the host, by number.
    pub fn guests(&self) -> Vec<GuestState> {
        guest_fault::vmids(&self.layout.guest_configs())
            .into_iter()
            .map(|vmid| {
                let text = std::fs::read_to_string(self.layout.guest_config(vmid)).unwrap_or_default();
                let hostname = text.lines().find_map(|line| line.strip_prefix("hostname: ")).unwrap_or_default();
                let running = guest_fault::init_of(&self.layout, vmid).is_some();
                GuestState { vmid, hostname: hostname.to_owned(), running }
            })
            .collect()
    }

    /// Runs a command line on the host through the real `ssh` client, stdin closed.
    ///
    /// # Errors
    /// When the client cannot be started; the command's own status is in the output.
    pub fn ssh(&self, command_line: &str) -> Result<Output> {
        command::output(self.ssh_command()?.arg(command_line))
    }

    /// The `ssh` client with key, port and pinned host key, waiting for a command line.
    ///
    /// # Errors
    /// When the host key cannot be written for the client.
    pub fn ssh_command(&self) -> Result<Command> {
        let known_hosts: PathBuf = self.layout.ssh().join("known_hosts");
        let line = format!("{}\n", self.known_hosts_line()?);
        std::fs::write(&known_hosts, line).map_err(Error::file("write", &known_hosts))?;
        let mut ssh = Command::new("ssh");
        ssh.args(["-F", "none", "-T", "-p", &self.port().to_string(), "-i"]).arg(self.private_key_path());
        for option in ["BatchMode=yes", "IdentitiesOnly=yes", "StrictHostKeyChecking=yes", "ConnectTimeout=10"] {
            ssh.args(["-o", option]);
        }
        ssh.arg("-o").arg(format!("UserKnownHostsFile={}", known_hosts.display()));
        ssh.arg(format!("{}@{}", self.user(), self.address()));
        Ok(ssh)
    }

    /// Gives the host another key, as after a reinstallation; the new line for `known_hosts`.
    ///
    /// # Errors
    /// When the server does not come back.
    pub fn rotate_host_key(&self) -> Result<String> {
        self.send_command("rotate-host-key")
    }

    /// Stops the SSH server and cuts its connections; what they started lives on.
    ///
    /// # Errors
    /// When the supervisor cannot.
    pub fn stop_sshd(&self) -> Result<()> {
        self.send_command("stop-sshd").map(drop)
    }

    /// Starts the SSH server again on its port.
    ///
    /// # Errors
    /// When it does not come back.
    pub fn start_sshd(&self) -> Result<()> {
        self.send_command("start-sshd").map(drop)
    }

    /// Cuts the connections; the server goes on to accept new ones.
    ///
    /// # Errors
    /// When the supervisor cannot.
    pub fn kill_sessions(&self) -> Result<()> {
        self.send_command("kill-sessions").map(drop)
    }

    /// Gives up ownership as a crash would: the pipe closes, nobody waits. For tests of the supervisor.
    pub fn abandon(self) {
        if let Ok(mut supervisor) = self.supervisor.lock() {
            supervisor.stdin = None;
        }
        std::mem::forget(self);
    }

    fn send_command(&self, line: &str) -> Result<String> {
        let lost = |reason: &str| Error::Supervisor(reason.to_owned());
        let mut supervisor =
            self.supervisor.lock().map_err(|_| lost("another thread panicked while speaking to it"))?;
        let stdin = supervisor.stdin.as_mut().ok_or_else(|| lost("it has ended"))?;
        writeln!(stdin, "{line}").map_err(|error| lost(&error.to_string()))?;
        let mut answer = String::new();
        supervisor.stdout.read_line(&mut answer).map_err(|error| lost(&error.to_string()))?;
        let answer: supervisor::Answer = serde_json::from_str(&answer).map_err(|error| lost(&error.to_string()))?;
        match answer.error {
            Some(reason) => Err(Error::Supervisor(reason)),
            None => Ok(answer.known_hosts),
        }
    }
}

impl Drop for Standin {
    fn drop(&mut self) {
        let Ok(supervisor) = self.supervisor.get_mut() else { return };
        supervisor.stdin = None;
        let _ = supervisor.process.wait();
        // A supervisor that was killed has left things behind.
        if self.layout.root().exists()
            && let Err(error) = teardown::down(self.layout.root())
        {
            eprintln!("stand-in: {} could not be removed: {error}", self.layout.root().display());
        }
    }
}

/// Copies the supervisor's standard error to our own and keeps its last words.
fn pass_on(stderr: std::process::ChildStderr) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut last = String::new();
        for line in BufReader::new(stderr).lines().map_while(std::result::Result::ok) {
            eprintln!("{line}");
            last = line;
        }
        last
    })
}

//! The process that owns one stand-in: sets it up, obeys its owner's lines on stdin, and takes
//! everything down when stdin ends, which it also does when the owner is killed.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncBufReadExt;
use tokio::signal::unix::{SignalKind, signal};

use super::error::{Error, Result};
use super::layout::{Layout, Settings};
use super::template::{self, Template};
use super::{gateway, guest_fault, host_root, machine, network, slot, ssh_server, teardown};

const TICK: Duration = Duration::from_millis(100);

/// What the supervisor prints as one JSON line when the stand-in answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ready {
    /// Where the SSH server listens: loopback.
    pub address: String,
    /// Its port.
    pub port: u16,
    /// The account that the key opens.
    pub user: String,
    /// Path of the private key, OpenSSH format, no passphrase.
    pub private_key: PathBuf,
    /// The host key as a line for `known_hosts`.
    pub known_hosts: String,
    /// Name of the node.
    pub node: String,
    /// The guests' gateway; `http://<gateway>/` serves the files in `<directory>/www`.
    pub gateway: String,
    /// The guests' network.
    pub subnet: String,
    /// The stand-in's directory.
    pub directory: PathBuf,
}

/// An answer to one line on stdin.
#[derive(Debug, Serialize, Deserialize)]
pub struct Answer {
    /// The host key after the command, as a line for `known_hosts`.
    pub known_hosts: String,
    /// Why the command failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A stand-in that is up, owned by this process.
struct Running {
    layout: Layout,
    settings: Settings,
    holder: Child,
    server: Option<Child>,
    port: u16,
}

/// Runs a stand-in in `directory` until stdin ends or SIGTERM or SIGINT arrives, then removes it.
///
/// # Errors
/// When it cannot be set up; what was set up until then is removed.
pub async fn up(directory: &Path, node: &str) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| Error::Supervisor(error.to_string()))?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| Error::Supervisor(error.to_string()))?;
    machine::check()?;
    check_directory(directory)?;
    let template = template::prepare()?;
    if let Some(slot) = slot::claim_dead(directory)? {
        take_down(directory, slot)?;
    }
    claim_directory(directory)?;
    let slot = slot::take(directory, |number, dead| teardown::remove(dead, number))?;
    let started = set_up(directory, node, &slot, &template).await;
    let (served, running) = match started {
        Ok(mut running) => (serve(&mut running, &mut terminate, &mut interrupt).await, Some(running)),
        Err(error) => (Err(error), None),
    };
    let removed = take_down(directory, slot);
    if let Some(running) = running {
        running.collect();
    }
    served.and(removed)
}

/// Removes what a dead stand-in left in `directory`.
///
/// # Errors
/// When one is alive there, when the directory is not a stand-in's, or when something resists.
pub fn down(directory: &Path) -> Result<()> {
    match slot::claim_dead(directory)? {
        Some(slot) => take_down(directory, slot),
        None if directory.exists() => {
            if !Layout::new(directory).marker().exists() {
                return Err(Error::ForeignDirectory(directory.to_owned()));
            }
            teardown::end_processes(directory)?;
            fs::remove_dir_all(directory).map_err(Error::file("remove", directory))
        }
        None => Ok(()),
    }
}

fn take_down(directory: &Path, slot: slot::Slot) -> Result<()> {
    let _register = slot::lock_register()?;
    teardown::remove(directory, slot.number)?;
    slot.release()
}

/// Paths end up in mount options, unit files and shell lines: only plain ones are taken.
fn check_directory(directory: &Path) -> Result<()> {
    let plain = directory.to_str().is_some_and(|text| {
        text.starts_with('/') && text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
    });
    if plain { Ok(()) } else { Err(Error::Machine(format!("{} is not a plain absolute path", directory.display()))) }
}

fn claim_directory(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).map_err(Error::file("create", directory))?;
    let layout = Layout::new(directory);
    let mut entries = fs::read_dir(directory).map_err(Error::file("read", directory))?;
    if entries.next().is_some() {
        return Err(Error::ForeignDirectory(directory.to_owned()));
    }
    let marker = layout.marker();
    fs::write(&marker, "made by pve-standin; removed with everything in it\n").map_err(Error::file("write", &marker))
}

async fn set_up(directory: &Path, node: &str, slot: &slot::Slot, template: &Template) -> Result<Running> {
    let layout = Layout::new(directory);
    let mut settings = Settings {
        node: node.to_owned(),
        slot: slot.number,
        subnet: slot.subnet.clone(),
        mtu: machine::mtu(),
        nameservers: guest_nameservers(&slot.subnet),
        apt_configuration: String::new(),
        template_bytes: template.bytes,
        template_sha256: template.sha256.clone(),
    };
    host_root::prepare(&layout, &settings)?;
    copy_program(&layout)?;
    copy_template(&layout, template)?;
    ssh_server::create_keys(&layout)?;
    network::create_bridge(&layout, &settings)?;
    let gateway = gateway::start(&layout, &settings).await?;
    network::load_rules(&layout, &settings, gateway.ports)?;
    settings.apt_configuration = gateway.apt_configuration;
    let path = layout.settings();
    let text = serde_json::to_string_pretty(&settings).map_err(|error| Error::Supervisor(error.to_string()))?;
    fs::write(&path, text).map_err(Error::file("write", &path))?;
    let holder = hold_namespaces(&layout, template)?;
    let (server, port) = start_server(&layout, holder.id())?;
    Ok(Running { layout, settings, holder, server: Some(server), port })
}

/// A resolver on loopback is reached through the forwarder on the bridge.
fn guest_nameservers(subnet: &str) -> Vec<String> {
    machine::nameservers()
        .into_iter()
        .map(|server| if server.starts_with("127.") { format!("{subnet}.1") } else { server })
        .collect()
}

/// The running binary is copied: a build during the run must not change the tools.
fn copy_program(layout: &Layout) -> Result<()> {
    let (source, target) = (Path::new("/proc/self/exe"), layout.program());
    let directory = layout.join("bin");
    fs::create_dir_all(&directory).map_err(Error::file("create", &directory))?;
    fs::copy(source, &target).map_err(Error::file("copy to", &target)).map(drop)
}

fn copy_template(layout: &Layout, template: &Template) -> Result<()> {
    let target = layout.templates().join(super::catalogue::DEFAULT_TEMPLATE);
    fs::copy(&template.archive, &target).map_err(Error::file("copy to", &target)).map(drop)
}

/// Starts the process that keeps the namespaces alive while no server runs.
fn hold_namespaces(layout: &Layout, template: &Template) -> Result<Child> {
    let mut holder = Command::new("unshare");
    holder
        .args(["--mount", "--uts", "--propagation", "private"])
        .arg(layout.program())
        .args(["hold", "--dir"])
        .arg(layout.root())
        .arg("--tree")
        .arg(&template.tree)
        .arg("--archive")
        .arg(&template.archive)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0);
    let mut child =
        holder.spawn().map_err(|error| Error::Program { program: "unshare".to_owned(), reason: error.to_string() })?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.as_mut() {
        let _ = BufReader::new(stdout).read_line(&mut line);
    }
    if line.trim() == "held" {
        return Ok(child);
    }
    let _ = child.wait();
    Err(Error::Machine(format!("the host's namespaces could not be made: {}", line.trim())))
}

/// The namespace holder's own part: builds the tree, says so, and waits for its supervisor's end.
///
/// # Errors
/// When the tree cannot be built.
pub fn hold(directory: &Path, template: &Template) -> Result<()> {
    let layout = Layout::new(directory);
    let settings = super::tools::read_settings(&layout)?;
    let built = host_root::enter(&layout, &settings, template);
    let mut stdout = std::io::stdout();
    let said = match &built {
        Ok(()) => writeln!(stdout, "held"),
        Err(error) => writeln!(stdout, "{error}"),
    };
    if built.is_ok() && said.and_then(|()| stdout.flush()).is_ok() {
        // Nothing is ever written to it: this ends with the supervisor.
        let _ = std::io::stdin().lines().next();
    }
    built
}

fn start_server(layout: &Layout, holder: u32) -> Result<(Child, u16)> {
    let mut last = None;
    // Another process may take the port between the look and the bind.
    for _ in 0..5 {
        let port = ssh_server::free_port()?;
        ssh_server::configure(layout, port)?;
        match ssh_server::start(layout, holder, port) {
            Ok(server) => return Ok((server, port)),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| Error::Supervisor("no port is free".to_owned())))
}

async fn serve(
    running: &mut Running,
    terminate: &mut tokio::signal::unix::Signal,
    interrupt: &mut tokio::signal::unix::Signal,
) -> Result<()> {
    say(&running.ready()?)?;
    let mut lines = tokio::io::BufReader::new(tokio::io::stdin()).lines();
    let mut tick = tokio::time::interval(TICK);
    let mut watch = guest_fault::Watch::default();
    loop {
        tokio::select! {
            line = lines.next_line() => match line {
                Ok(Some(line)) => running.obey(line.trim())?,
                _ => return Ok(()),
            },
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
            _ = tick.tick() => watch.step(&running.layout, &running.settings),
        }
    }
}

impl Running {
    fn ready(&self) -> Result<Ready> {
        Ok(Ready {
            address: "127.0.0.1".to_owned(),
            port: self.port,
            user: "root".to_owned(),
            private_key: self.layout.ssh().join("client"),
            known_hosts: ssh_server::known_hosts_line(&self.layout, self.port)?,
            node: self.settings.node.clone(),
            gateway: self.settings.gateway(),
            subnet: format!("{}.0/24", self.settings.subnet),
            directory: self.layout.root().to_owned(),
        })
    }

    fn obey(&mut self, command: &str) -> Result<()> {
        let done = match command {
            "" => return Ok(()),
            "stop-sshd" => self.stop_server(),
            "start-sshd" => self.start_server(),
            "kill-sessions" => self.kill_sessions(),
            "rotate-host-key" => self
                .stop_server()
                .and_then(|()| ssh_server::rotate_host_key(&self.layout))
                .and_then(|()| self.start_server()),
            other => Err(Error::Supervisor(format!("unknown command {other:?}"))),
        };
        say(&Answer {
            known_hosts: ssh_server::known_hosts_line(&self.layout, self.port)?,
            error: done.err().map(|error| error.to_string()),
        })
    }

    /// Listener and connections end at once; what the connections started lives on.
    fn stop_server(&mut self) -> Result<()> {
        let Some(server) = self.server.as_mut() else { return Ok(()) };
        let sessions = ssh_server::sessions(server.id())?;
        let _ = server.kill();
        let _ = server.wait();
        self.server = None;
        kill_all(&sessions);
        Ok(())
    }

    fn start_server(&mut self) -> Result<()> {
        if self.server.is_none() {
            self.server = Some(ssh_server::start(&self.layout, self.holder.id(), self.port)?);
        }
        Ok(())
    }

    /// Takes the exit statuses of processes that the teardown has ended.
    fn collect(mut self) {
        let _ = self.holder.wait();
        if let Some(mut server) = self.server {
            let _ = server.wait();
        }
    }

    fn kill_sessions(&self) -> Result<()> {
        if let Some(server) = &self.server {
            kill_all(&ssh_server::sessions(server.id())?);
        }
        Ok(())
    }
}

fn kill_all(processes: &[u32]) {
    for process in processes {
        if let Some(pid) = i32::try_from(*process).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

fn say(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(value).map_err(|error| Error::Supervisor(error.to_string()))?;
    let mut stdout = std::io::stdout().lock();
    // An owner that no longer reads is gone; end of stdin says so too.
    let _ = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
    Ok(())
}

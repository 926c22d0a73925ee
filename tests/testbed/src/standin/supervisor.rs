//! The process that owns one stand-in: sets it up, obeys its owner's lines on stdin, and takes
//! everything down when stdin ends, which it also does when the owner is killed.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, Lines};
use tokio::signal::unix::{SignalKind, signal};

use super::error::{Error, Result};
use super::layout::{Layout, Settings};
use super::{guest_fault, machine, setup, slot, ssh_server, teardown, template};

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
pub(super) struct Running {
    pub(super) layout: Layout,
    pub(super) settings: Settings,
    pub(super) holder: Child,
    pub(super) server: Option<Child>,
    pub(super) port: u16,
}

/// What tells the supervisor that its stand-in is no longer wanted, besides SIGTERM and SIGINT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The end of stdin; until then stdin's lines are commands.
    Stdin,
    /// Nothing: only a signal, such as that of `down`, ends it.
    Signals,
}

/// Runs a stand-in in `directory` until its owner ends or SIGTERM or SIGINT arrives, then removes it.
///
/// # Errors
/// When it cannot be set up; what was set up until then is removed.
pub async fn up(directory: &Path, node: &str, owner: Owner) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| Error::Supervisor(error.to_string()))?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| Error::Supervisor(error.to_string()))?;
    machine::check()?;
    setup::check_directory(directory)?;
    let template = template::prepare()?;
    match slot::find(directory)? {
        slot::DirectoryOwner::Dead(slot) => teardown::take_down(directory, slot)?,
        slot::DirectoryOwner::Alive => {
            return Err(Error::Supervisor(format!("a stand-in is running in {} already", directory.display())));
        }
        slot::DirectoryOwner::Nobody => {}
    }
    setup::claim_directory(directory)?;
    let slot = slot::take(directory, |number, dead| teardown::remove(dead, number))?;
    let started = setup::set_up(directory, node, &slot, &template).await;
    let (served, running) = match started {
        Ok(mut running) => (serve(&mut running, owner, &mut terminate, &mut interrupt).await, Some(running)),
        Err(error) => (Err(error), None),
    };
    let removed = teardown::take_down(directory, slot);
    if let Some(running) = running {
        running.collect();
    }
    served.and(removed)
}

async fn serve(
    running: &mut Running,
    owner: Owner,
    terminate: &mut tokio::signal::unix::Signal,
    interrupt: &mut tokio::signal::unix::Signal,
) -> Result<()> {
    let ready = running.ready()?;
    let path = running.layout.ready();
    let text = serde_json::to_string(&ready).map_err(|error| Error::Supervisor(error.to_string()))?;
    fs::write(&path, text).map_err(Error::file("write", &path))?;
    say(&ready);
    let mut lines = (owner == Owner::Stdin).then(|| tokio::io::BufReader::new(tokio::io::stdin()).lines());
    let mut tick = tokio::time::interval(TICK);
    let mut watch = guest_fault::Watch::default();
    loop {
        tokio::select! {
            line = next_line(&mut lines) => match line {
                Some(line) => running.carry_out(line.trim())?,
                None => return Ok(()),
            },
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
            _ = tick.tick() => watch.step(&running.layout, &running.settings),
        }
    }
}

/// The next line of stdin, `None` at its end; never, when stdin is nobody's voice.
async fn next_line(lines: &mut Option<Lines<tokio::io::BufReader<tokio::io::Stdin>>>) -> Option<String> {
    match lines {
        Some(lines) => lines.next_line().await.ok().flatten(),
        None => std::future::pending().await,
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

    fn carry_out(&mut self, command: &str) -> Result<()> {
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
        });
        Ok(())
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

fn say(value: &impl Serialize) {
    let mut stdout = std::io::stdout().lock();
    // An owner that no longer reads is gone, and the end of stdin says so too.
    let _ = serde_json::to_writer(&mut stdout, value).map(|()| writeln!(stdout).and_then(|()| stdout.flush()));
}

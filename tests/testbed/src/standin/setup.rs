//! Setting a stand-in up: directory, keys, network, namespaces, server, in this order.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::error::{Error, Result};
use super::layout::{Layout, Settings};
use super::supervisor::Running;
use super::template::Template;
use super::{catalogue, gateway, host_root, machine, network, slot, ssh_server, tools};

/// Paths end up in mount options and shell lines: only plain absolute ones are taken.
///
/// # Errors
/// For any other.
pub fn check_directory(directory: &Path) -> Result<()> {
    let plain = directory.to_str().is_some_and(|text| {
        text.starts_with('/') && text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
    });
    if plain { Ok(()) } else { Err(Error::Machine(format!("{} is not a plain absolute path", directory.display()))) }
}

/// Makes the directory and marks it as ours.
///
/// # Errors
/// When it holds something already.
pub fn claim_directory(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).map_err(Error::file("create", directory))?;
    let layout = Layout::new(directory);
    let mut entries = fs::read_dir(directory).map_err(Error::file("read", directory))?;
    if entries.next().is_some() {
        return Err(Error::ForeignDirectory(directory.to_owned()));
    }
    let marker = layout.marker();
    fs::write(&marker, "made by pve-standin; removed with everything in it\n").map_err(Error::file("write", &marker))
}

/// Sets everything up and starts the SSH server. What a failure leaves behind is the caller's to remove.
///
/// # Errors
/// When any part fails.
pub(super) async fn set_up(directory: &Path, node: &str, slot: &slot::Slot, template: &Template) -> Result<Running> {
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
    let pid = layout.supervisor_pid();
    fs::write(&pid, std::process::id().to_string()).map_err(Error::file("write", &pid))?;
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
    let target = layout.templates().join(catalogue::DEFAULT_TEMPLATE);
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
    let settings = tools::read_settings(&layout)?;
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

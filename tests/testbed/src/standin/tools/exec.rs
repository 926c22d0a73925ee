//! `pct exec`, `enter`, `push` and `pull`: what crosses into a running container.

use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::Command;

use super::super::fault::FaultKind;
use super::super::guest_fault::init_of;
use super::getopt::Arguments;
use super::guest_config::GuestConfig;
use super::{Failure, Host, Outcome, container, task};

/// What the real tools' command line handler sets, and `pct exec --keep-env 1` hands on.
const TOOL_PATH: &str = "/sbin:/bin:/usr/sbin:/usr/bin";

/// `pct exec`: becomes `lxc-attach`, so that streams and exit status are the command's own.
pub fn exec(host: &Host, arguments: &Arguments) -> Outcome {
    let vmid = arguments.vmid()?;
    GuestConfig::load(host, vmid)?;
    let words = arguments.positionals.get(1..).unwrap_or_default();
    if words.is_empty() {
        return Err(Failure::new("missing command at /usr/share/perl5/PVE/CLI/pct.pm line 254."));
    }
    let keep = arguments.get("keep-env") != Some("0");
    attach(host, vmid, keep, words)
}

/// `pct enter`: a shell in the container.
pub fn enter(host: &Host, arguments: &Arguments) -> Outcome {
    let vmid = arguments.vmid()?;
    GuestConfig::load(host, vmid)?;
    attach(host, vmid, arguments.get("keep-env") != Some("0"), &[])
}

fn attach(host: &Host, vmid: u32, keep_environment: bool, words: &[String]) -> Outcome {
    if !container::running(host, vmid) {
        return Err(Failure::new(format!("container '{vmid}' not running!")));
    }
    let packages = ["apt", "dpkg"].iter().any(|word| host.command_line.contains(word));
    let struck = if packages { host.faults.strike(FaultKind::AptLock, Some(vmid), &host.command_line) } else { None };
    container::settle_faults(host, vmid, struck.as_ref());

    let mut attach = container::lxc(host, "lxc-attach", vmid);
    if keep_environment {
        attach.arg("--keep-env").env("PATH", TOOL_PATH);
        attach.env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR");
    } else {
        attach.arg("--clear-env");
    }
    if !words.is_empty() {
        attach.arg("--").args(words);
    }
    if host.faults.awaits(&host.command_line) {
        return wait(&mut attach);
    }
    Err(Failure::new(format!("exec lxc-attach failed: {}", attach.exec())))
}

/// Runs to the end, for a command whose success ends a fault.
fn wait(command: &mut Command) -> Outcome {
    let status = command.status()?;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(255);
    Ok(u8::try_from(code).unwrap_or(255))
}

/// `pct push`: exit status 0 even when the task fails, as in the real tool.
pub fn push(host: &Host, arguments: &Arguments) -> Outcome {
    let vmid = arguments.vmid()?;
    let (source, target) = (arguments.positional(1), arguments.positional(2));
    let init = running_init(host, vmid, "push files to")?;
    task::run_unchecked(host, "push_file", &vmid.to_string(), |_| {
        let bytes = fs::read(source).map_err(|_| Failure::new(format!("failed to open {source} for reading")))?;
        let mut write = guest(init);
        write.args(["sh", "-c", "cat > \"$1\" && chmod \"$2\" \"$1\" && chown \"$3\" \"$1\"", "sh", target]);
        let owner = format!("{}:{}", arguments.get("user").unwrap_or("0"), arguments.get("group").unwrap_or("0"));
        write.args([arguments.get("perms").unwrap_or("0644"), &owner]);
        feed(&mut write, &bytes, target)
    })?;
    Ok(0)
}

/// `pct pull`: exit status 0 even when the task fails, as in the real tool.
pub fn pull(host: &Host, arguments: &Arguments) -> Outcome {
    let vmid = arguments.vmid()?;
    let (source, target) = (arguments.positional(1), arguments.positional(2));
    let init = running_init(host, vmid, "pull files from")?;
    task::run_unchecked(host, "pull_file", &vmid.to_string(), |_| {
        let read = guest(init).args(["cat", "--", source]).output()?;
        if !read.status.success() {
            return Err(Failure::new(format!("failed to open {source}: No such file or directory")));
        }
        fs::write(Path::new(target), &read.stdout)
            .map_err(|error| Failure::new(format!("failed to create file {target}: {error}")))
    })?;
    Ok(0)
}

fn running_init(host: &Host, vmid: u32, what: &str) -> Result<u32, Failure> {
    GuestConfig::load(host, vmid)?;
    init_of(&host.layout, vmid).ok_or_else(|| Failure::new(format!("can only {what} a running CT")))
}

/// A command in the file tree of the guest whose init is `init`.
fn guest(init: u32) -> Command {
    let mut nsenter = Command::new("nsenter");
    nsenter.args(["-t", &init.to_string(), "-m", "-r", "-w", "--"]);
    nsenter
}

fn feed(command: &mut Command, bytes: &[u8], target: &str) -> Result<(), Failure> {
    use std::io::Write;
    use std::process::Stdio;
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that ended early says why by its status.
        let _ = stdin.write_all(bytes);
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Failure::new(format!("failed to create file '{target}': {reason}")))
}

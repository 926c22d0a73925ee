//! The stand-in's own OpenSSH server: keys, configuration, and the process itself.
//!
//! It never touches a server that the machine runs: own port on loopback, own files, own process.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::command::{self, words};
use super::error::{Error, Result};
use super::layout::Layout;

/// Client key and first host key, and an `authorized_keys` that admits the client key.
///
/// # Errors
/// When `ssh-keygen` fails.
pub fn create_keys(layout: &Layout) -> Result<()> {
    let directory = layout.ssh();
    fs::create_dir_all(&directory).map_err(Error::file("create", &directory))?;
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o700))
        .map_err(Error::file("change the mode of", &directory))?;
    generate(&directory.join("client"))?;
    rotate_host_key(layout)?;
    let (public, authorized) = (directory.join("client.pub"), directory.join("authorized_keys"));
    fs::copy(&public, &authorized).map_err(Error::file("copy", &public)).map(drop)
}

/// Replaces the host key; a running server keeps the old one until it is started again.
///
/// # Errors
/// When `ssh-keygen` fails.
pub fn rotate_host_key(layout: &Layout) -> Result<()> {
    generate(&layout.ssh().join("host_key"))
}

fn generate(path: &Path) -> Result<()> {
    for old in [path.to_owned(), path.with_extension("pub")] {
        if old.exists() {
            fs::remove_file(&old).map_err(Error::file("remove", &old))?;
        }
    }
    let mut keygen = Command::new("ssh-keygen");
    keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "oikos stand-in", "-f"]).arg(path);
    command::run(&mut keygen).map(drop)
}

/// The host's line for a `known_hosts` file.
///
/// # Errors
/// When the public key cannot be read.
pub fn known_hosts_line(layout: &Layout, port: u16) -> Result<String> {
    let path = layout.ssh().join("host_key.pub");
    let text = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    let key: Vec<&str> = text.split_whitespace().take(2).collect();
    Ok(format!("[127.0.0.1]:{port} {}", key.join(" ")))
}

/// A port of 127.0.0.1 that nothing listens on right now.
///
/// # Errors
/// When none can be bound.
pub fn free_port() -> Result<u16> {
    TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| Error::Supervisor(format!("finding a free port: {error}")))
}

/// Writes the server's configuration for `port`.
///
/// # Errors
/// When the file cannot be written.
pub fn configure(layout: &Layout, port: u16) -> Result<()> {
    let ssh = layout.ssh();
    let ssh = ssh.display();
    let text = format!(
        "Port {port}\n\
         ListenAddress 127.0.0.1\n\
         HostKey {ssh}/host_key\n\
         AuthorizedKeysFile {ssh}/authorized_keys\n\
         PidFile none\n\
         PermitRootLogin prohibit-password\n\
         PasswordAuthentication no\n\
         KbdInteractiveAuthentication no\n\
         UsePAM no\n\
         StrictModes no\n\
         UseDNS no\n\
         PrintMotd no\n\
         MaxSessions 10\n\
         MaxStartups 10:30:100\n\
         AcceptEnv LANG LC_*\n\
         Subsystem sftp internal-sftp\n\
         SetEnv PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
    );
    let path = layout.ssh().join("sshd_config");
    fs::write(&path, text).map_err(Error::file("write", &path))
}

/// Starts the server inside the namespaces of process `holder`.
///
/// # Errors
/// When it cannot be started or does not accept connections.
pub fn start(layout: &Layout, holder: u32, port: u16) -> Result<Child> {
    let log_path = layout.join("log/sshd.log");
    let log =
        fs::OpenOptions::new().create(true).append(true).open(&log_path).map_err(Error::file("open", &log_path))?;
    let mut server = Command::new("nsenter");
    server
        .args(["--mount", "--uts", "--root", "--target", &holder.to_string(), "--"])
        .args(["/usr/sbin/sshd", "-D", "-e", "-f"])
        .arg(layout.ssh().join("sshd_config"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        // A Ctrl-C meant for the supervisor is not for the server: the supervisor ends it in order.
        .process_group(0);
    let mut child =
        server.spawn().map_err(|error| Error::Program { program: "sshd".to_owned(), reason: error.to_string() })?;
    for _ in 0..200 {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Ok(child);
        }
        if let Ok(Some(status)) = child.try_wait() {
            let log = fs::read_to_string(&log_path).unwrap_or_default();
            let reason = log.lines().last().unwrap_or("no message").to_owned();
            return Err(Error::Program { program: "sshd".to_owned(), reason: format!("{status}: {reason}") });
        }
        std::thread::sleep(std::time::Duration::from_millis(25));
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(Error::Program { program: "sshd".to_owned(), reason: "it accepts no connections".to_owned() })
}

/// Process ids of the server's connections, children of the listener.
///
/// # Errors
/// When `ps` cannot be run.
pub fn sessions(listener: u32) -> Result<Vec<u32>> {
    let output = command::output(&mut words(["ps", "-o", "pid=", "--ppid", &listener.to_string()]))?;
    Ok(String::from_utf8_lossy(&output.stdout).split_whitespace().filter_map(|pid| pid.parse().ok()).collect())
}

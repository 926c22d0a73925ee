//! A real sshd on loopback with its own keys, directories and a small `pct`, and a proxy in front that can be cut.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use oikos::steps::{HostAccess, SecretText};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

static COUNTER: AtomicU32 = AtomicU32::new(0);

/// Guests: 101 runs, 102 is stopped, 103 has an lxc-attach that exits 0 whatever the command did; no other exists.
const PCT: &str = r#"#!/bin/sh
[ "$1 $3 $4 $5" = "exec --keep-env 0 --" ] || { echo "ERROR: unexpected call: $*" >&2; exit 255; }
guest=$2; shift 5
enter() { env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin container=lxc OIKOS_RUNS=DIR/guest-$guest "$@"; }
case $guest in
101) enter "$@" ;;
102) echo "container '102' not running!" >&2; exit 255 ;;
103) enter "$@"; exit 0 ;;
*) echo "Configuration file 'nodes/pve/lxc/$guest.conf' does not exist" >&2; exit 2 ;;
esac
"#;

pub struct Sshd {
    pub dir: PathBuf,
    pub port: u16,
    process: Child,
    host_key: String,
    client_key: String,
}

impl Sshd {
    pub async fn start() -> Self {
        Self::start_with("").await
    }

    /// `config`: further lines of sshd_config.
    pub async fn start_with(config: &str) -> Self {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("oikos-steps-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join("bin")).unwrap();
        fs::create_dir_all("/run/sshd").unwrap();
        keygen(&dir.join("host"));
        keygen(&dir.join("client"));
        fs::copy(dir.join("client.pub"), dir.join("authorized")).unwrap();
        script(&dir.join("bin/pct"), &PCT.replace("DIR", &dir.display().to_string()));
        let (port, process) = launch(&dir, config).await;
        let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap();
        let (host_key, client_key) = (read("host.pub"), read("client"));
        Self { port, process, host_key, client_key, dir }
    }

    pub fn access(&self) -> HostAccess {
        HostAccess {
            name: format!("host-{}", self.port),
            address: "127.0.0.1".into(),
            port: self.port,
            user: "root".into(),
            known_hosts: vec![format!("[127.0.0.1]:{} {}", self.port, self.host_key)],
            private_key: SecretText::new(self.client_key.clone()),
        }
    }

    pub fn through(&self, proxy: &Proxy) -> HostAccess {
        HostAccess { port: proxy.port, ..self.access() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Run directories of the host itself.
    pub fn runs(&self) -> PathBuf {
        self.path("runs")
    }

    /// Makes sshd read its configuration again; connections that stand are not touched.
    pub async fn reload(&self) {
        let before = self.read("log").matches("Server listening").count();
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
        while self.read("log").matches("Server listening").count() == before {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub fn add_tool(&self, name: &str, text: &str) {
        script(&self.path("bin").join(name), text);
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Access to a port on which nothing listens.
pub struct HostAccessWithoutHost;

impl HostAccessWithoutHost {
    pub fn access() -> HostAccess {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("oikos-steps-key-{}-{number}", std::process::id()));
        keygen(&path);
        let private_key = SecretText::new(fs::read_to_string(&path).unwrap());
        let known_hosts = vec![fs::read_to_string(path.with_extension("pub")).unwrap()];
        fs::remove_file(path.with_extension("pub")).unwrap();
        fs::remove_file(path).unwrap();
        // Port 1 (tcpmux) is served nowhere.
        HostAccess {
            name: "nobody".into(),
            address: "127.0.0.1".into(),
            port: 1,
            user: "root".into(),
            known_hosts,
            private_key,
        }
    }
}

/// Another key than the one a host shows.
pub fn other_public_key() -> String {
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("oikos-steps-key-{}-{number}", std::process::id()));
    keygen(&path);
    let public = path.with_extension("pub");
    let key = fs::read_to_string(&public).unwrap();
    fs::remove_file(path).unwrap();
    fs::remove_file(public).unwrap();
    key
}

fn keygen(path: &Path) {
    let _ = fs::remove_file(path);
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path).status().unwrap();
    assert!(made.success());
}

fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

async fn launch(dir: &Path, more: &str) -> (u16, Child) {
    // Another process may take the port between our look and sshd's bind: then try the next.
    for _ in 0..10 {
        let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let place = dir.display();
        fs::write(
            dir.join("config"),
            format!(
                "Port {port}\nListenAddress 127.0.0.1\nHostKey {place}/host\nPidFile {place}/pid\n\
                 AuthorizedKeysFile {place}/authorized\nPermitRootLogin prohibit-password\n\
                 PasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nStrictModes no\n\
                 MaxStartups 100:30:200\n\
                 SetEnv PATH={place}/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME={place} SHLVL=1 OIKOS_RUNS={place}/runs\n\
                 {more}\n"
            ),
        )
        .unwrap();
        let mut process = Command::new("/usr/sbin/sshd")
            .args(["-D", "-e", "-f"])
            .arg(dir.join("config"))
            .stdin(Stdio::null())
            .stderr(fs::File::create(dir.join("log")).unwrap())
            .spawn()
            .unwrap();
        while process.try_wait().unwrap().is_none() {
            if TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
                return (port, process);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    panic!("sshd does not start: {}", fs::read_to_string(dir.join("log")).unwrap());
}

/// What a proxy does with its connections.
#[derive(Clone, Copy, PartialEq)]
enum Passing {
    All,
    /// Keeps what clients send.
    Held,
    Nothing,
}

/// Passes connections on to a port, until it is cut or told to hold what clients send.
pub struct Proxy {
    pub port: u16,
    passing: watch::Sender<Passing>,
}

impl Proxy {
    pub async fn start(target: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (passing, state) = watch::channel(Passing::All);
        tokio::spawn(async move {
            while let Ok((from, _)) = listener.accept().await {
                tokio::spawn(pass(from, target, state.clone()));
            }
        });
        Self { port, passing }
    }

    /// Ends all connections and refuses new ones.
    pub fn cut(&self) {
        self.passing.send_replace(Passing::Nothing);
    }

    /// From now on what clients send waits here.
    pub fn hold(&self) {
        self.passing.send_replace(Passing::Held);
    }

    /// Passes everything again, also what was held.
    pub fn mend(&self) {
        self.passing.send_replace(Passing::All);
    }
}

async fn pass(mut from: TcpStream, target: u16, mut state: watch::Receiver<Passing>) {
    if *state.borrow() == Passing::Nothing {
        return;
    }
    let mut to = TcpStream::connect(("127.0.0.1", target)).await.unwrap();
    let (mut client_out, mut client_in) = from.split();
    let (mut server_out, mut server_in) = to.split();
    let mut gate = state.clone();
    let upwards = async {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = client_out.read(&mut buffer).await {
            let _ = gate.wait_for(|passing| *passing != Passing::Held).await;
            if server_in.write_all(&buffer[..length]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = upwards => {}
        _ = tokio::io::copy(&mut server_out, &mut client_in) => {}
        _ = state.wait_for(|passing| *passing == Passing::Nothing) => {}
    }
}

//! `oikos controller` as a process of its own: started, watched by its log and health endpoints, ended.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::watch,
    time::{sleep, timeout},
};

/// How long the process may take to answer or to end.
const LIMIT: Duration = Duration::from_secs(30);

/// A running controller. It is killed with the thread that started it, whatever happens.
pub struct Controller {
    process: Child,
    log: Log,
}

#[derive(Clone)]
struct Log {
    lines: Arc<Mutex<Vec<String>>>,
    count: Arc<watch::Sender<usize>>,
}

impl Controller {
    /// Starts one for `namespace`; it is not ready yet when this returns.
    pub fn start(kubeconfig: &Path, namespace: &str) -> Self {
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", env!("CARGO_BIN_EXE_oikos"), "controller", "--namespace", namespace])
            .args(["--own-namespace", testbed::chart::SYSTEM, "--health-address", "127.0.0.1:0"])
            .env("KUBECONFIG", kubeconfig)
            .env("RUST_LOG", "info,oikos=debug")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let log = Log { lines: Arc::default(), count: Arc::new(watch::Sender::new(0)) };
        let (stderr, written) = (process.stderr.take().unwrap(), log.clone());
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                written.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
                written.count.send_modify(|count| *count += 1);
            }
        });
        Self { process, log }
    }

    /// Waits for a line of the log with this text in it.
    pub async fn logged(&self, text: &str) -> String {
        let mut count = self.log.count.subscribe();
        let found = async {
            loop {
                let line = self.log.text().lines().find(|line| line.contains(text)).map(str::to_owned);
                if let Some(line) = line {
                    return line;
                }
                count.changed().await.unwrap();
            }
        };
        timeout(LIMIT, found).await.unwrap_or_else(|_| panic!("the controller never said {text:?}"))
    }

    /// Waits until every watch has listed its objects and the guard was tried.
    pub async fn ready(&self) {
        self.logged("ready guarded=").await;
    }

    /// Status and body of a health endpoint.
    pub async fn get(&self, path: &str) -> (u16, String) {
        let line = self.logged("health endpoints address=").await;
        let address: SocketAddr = line.rsplit('=').next().unwrap().trim().parse().unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("GET {path} HTTP/1.0\r\nhost: oikos\r\n\r\n").as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// Asks until the endpoint answers with this status and a body that contains `text`.
    pub async fn answers(&self, path: &str, status: u16, text: &str) -> String {
        let asked = async {
            loop {
                let (code, body) = self.get(path).await;
                if code == status && body.contains(text) {
                    return body;
                }
                sleep(Duration::from_millis(50)).await;
            }
        };
        match timeout(LIMIT, asked).await {
            Ok(body) => body,
            Err(_) => panic!("{path} is not {status} with {text:?}: {:?}", self.get(path).await),
        }
    }

    /// `kill -9`.
    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// SIGTERM; how it ended.
    pub async fn terminate(mut self) -> ExitStatus {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let ended = async {
            loop {
                if let Some(status) = self.process.try_wait().unwrap() {
                    return status;
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(LIMIT, ended).await.expect("SIGTERM ends the controller")
    }
}

impl Log {
    fn text(&self) -> String {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            eprintln!("---- the controller's log\n{}\n----", self.log.text());
        }
    }
}

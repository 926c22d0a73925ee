//! etcd, kube-apiserver and kube-controller-manager: their flags, their start and their readiness.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail};
use tokio::{
    task::spawn_blocking,
    time::{Instant, sleep},
};

use super::{
    access::Access,
    audit,
    binaries::{Tool, binary},
    credentials::{Credentials, User},
    run_directory::RunDirectory,
    supervisor::Supervisor,
};

const ETCD: &str = Tool::Etcd.name();
const APISERVER: &str = Tool::KubeApiserver.name();
const CONTROLLER_MANAGER: &str = Tool::KubeControllerManager.name();

/// Those that act on what our tests look at. The aggregation one fills the roles `view`, `edit` and `admin`,
/// the status one type-checks admission policies.
const CONTROLLERS: [&str; 5] = [
    "clusterrole-aggregation-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "validatingadmissionpolicy-status-controller",
];
/// Ready takes about five seconds; a machine busy with other builds takes longer.
const READY_LIMIT: Duration = Duration::from_secs(120);
/// A free port may be taken between the moment we look and the moment the server binds.
const PORT_ATTEMPTS: u32 = 5;
const POLL: Duration = Duration::from_millis(100);

/// The running servers of one control plane.
#[derive(Debug)]
pub struct Servers {
    supervisor: Arc<Mutex<Supervisor>>,
    directory: PathBuf,
    apiserver: Vec<String>,
    url: String,
}

impl Servers {
    /// Starts the servers; the API server answers as ready when this returns, and the kubeconfig files are written.
    pub async fn start(
        run_directory: &Arc<RunDirectory>,
        credentials: &Credentials,
        controller_manager: bool,
    ) -> Result<Self> {
        let directory = run_directory.path().to_owned();
        let etcd = binary(Tool::Etcd).await?;
        let apiserver = binary(Tool::KubeApiserver).await?;
        binary(Tool::Kubectl).await?; // now, and not in the middle of the caller's work
        let manager = if controller_manager { Some(binary(Tool::KubeControllerManager).await?) } else { None };

        fs::write(directory.join("audit-policy.yaml"), audit::POLICY)?;
        let mut servers = Self {
            supervisor: Arc::new(Mutex::new(Supervisor::start(&directory)?)),
            directory,
            apiserver: Vec::new(),
            url: String::new(),
        };
        let store = servers.start_etcd(&etcd).await?;
        servers.start_apiserver(&apiserver, &store, credentials).await?;
        if let Some(manager) = manager {
            let arguments = controller_manager_arguments(&manager, &servers.directory, credentials);
            servers.launch(CONTROLLER_MANAGER, arguments).await?;
        }
        Ok(servers)
    }

    /// The API server's address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Stops the API server and starts it again on its port.
    pub async fn restart_apiserver(&self, credentials: &Credentials) -> Result<()> {
        let supervisor = self.supervisor.clone();
        spawn_blocking(move || lock(&supervisor)?.stop_server(APISERVER)).await??;
        let mut last = anyhow!("not tried");
        for _ in 0..PORT_ATTEMPTS {
            self.launch(APISERVER, self.apiserver.clone()).await?;
            match self.wait_until_ready(credentials).await {
                Ok(()) => return Ok(()),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Kills the servers and removes their data.
    pub async fn stop(self) -> Result<()> {
        let Self { supervisor, .. } = self;
        spawn_blocking(move || drop(supervisor)).await?;
        Ok(())
    }

    async fn start_etcd(&self, program: &Path) -> Result<String> {
        let mut last = anyhow!("not tried");
        for _ in 0..PORT_ATTEMPTS {
            let url = format!("http://127.0.0.1:{}", free_port()?);
            self.launch(ETCD, etcd_arguments(program, &self.directory, &url)).await?;
            match self.wait_for_log(ETCD, "ready to serve client requests").await {
                Ok(()) => return Ok(url),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn start_apiserver(&mut self, program: &Path, store: &str, credentials: &Credentials) -> Result<()> {
        let mut last = anyhow!("not tried");
        for _ in 0..PORT_ATTEMPTS {
            let port = free_port()?;
            self.url = format!("https://127.0.0.1:{port}");
            self.apiserver = apiserver_arguments(program, &self.directory, port, store, credentials);
            self.launch(APISERVER, self.apiserver.clone()).await?;
            match self.wait_until_ready(credentials).await {
                Ok(()) => return Ok(()),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn launch(&self, name: &'static str, arguments: Vec<String>) -> Result<()> {
        let supervisor = self.supervisor.clone();
        spawn_blocking(move || lock(&supervisor)?.start_server(name, &arguments)).await?
    }

    /// Whether the server still runs; else an error with the end of its log.
    fn check_alive(&self, name: &str) -> Result<()> {
        match lock(&self.supervisor)?.exit_code(name) {
            None => Ok(()),
            Some(code) => bail!("{name} ended with exit code {code}:\n{}", self.log_tail(name)),
        }
    }

    async fn wait_for_log(&self, name: &str, text: &str) -> Result<()> {
        let deadline = Instant::now() + READY_LIMIT;
        while !self.log(name).contains(text) {
            self.check_alive(name)?;
            if Instant::now() > deadline {
                bail!("{name} is not ready after {READY_LIMIT:?}:\n{}", self.log_tail(name));
            }
            sleep(POLL).await;
        }
        // A server of an earlier attempt writes to the same log.
        self.check_alive(name)
    }

    /// Asks with the administrator's token over TLS against the server's own CA, so that no other server can answer.
    async fn wait_until_ready(&self, credentials: &Credentials) -> Result<()> {
        let deadline = Instant::now() + READY_LIMIT;
        loop {
            self.check_alive(APISERVER)?;
            match self.ask_readyz(credentials).await {
                Ok(()) => return Ok(()),
                Err(error) if Instant::now() > deadline => {
                    let tail = self.log_tail(APISERVER);
                    return Err(error.context(format!("{APISERVER} is not ready after {READY_LIMIT:?}:\n{tail}")));
                }
                Err(_) => sleep(POLL).await,
            }
        }
    }

    async fn ask_readyz(&self, credentials: &Credentials) -> Result<()> {
        let authority = fs::read_to_string(certificates(&self.directory).join("apiserver.crt"))?;
        credentials.write_kubeconfigs(&self.url, &authority)?;
        let admin = Access::new(User::Admin.name(), &credentials.kubeconfig(User::Admin));
        let request = http::Request::get("/readyz").body(Vec::new())?;
        admin.client().await?.request_text(request).await?;
        Ok(())
    }

    fn log(&self, name: &str) -> String {
        fs::read(self.directory.join(format!("{name}.log")))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    fn log_tail(&self, name: &str) -> String {
        let log = self.log(name);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }
}

fn lock(supervisor: &Mutex<Supervisor>) -> Result<MutexGuard<'_, Supervisor>> {
    supervisor.lock().map_err(|_| anyhow!("the supervisor's lock is poisoned"))
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on loopback")?;
    Ok(listener.local_addr()?.port())
}

fn certificates(directory: &Path) -> PathBuf {
    directory.join("certificates")
}

fn words(program: &Path, flags: Vec<String>) -> Vec<String> {
    [program.display().to_string()].into_iter().chain(flags).collect()
}

fn etcd_arguments(program: &Path, directory: &Path, url: &str) -> Vec<String> {
    let flags = vec![
        format!("--data-dir={}", directory.join("etcd").display()),
        format!("--listen-client-urls={url}"),
        format!("--advertise-client-urls={url}"),
        "--listen-peer-urls=http://127.0.0.1:0".to_owned(),
        // The data does not outlive the process, so it need not reach the disk.
        "--unsafe-no-fsync".to_owned(),
    ];
    words(program, flags)
}

fn apiserver_arguments(
    program: &Path,
    directory: &Path,
    port: u16,
    store: &str,
    credentials: &Credentials,
) -> Vec<String> {
    let flags = vec![
        format!("--etcd-servers={store}"),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        // Its own CA and certificate are made here at the first start.
        format!("--cert-dir={}", certificates(directory).display()),
        "--advertise-address=127.0.0.1".to_owned(),
        // Loopback may not be an endpoint of the kubernetes Service, and nothing here uses it.
        "--endpoint-reconciler-type=none".to_owned(),
        "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        "--anonymous-auth=false".to_owned(),
        format!("--token-auth-file={}", credentials.token_table().display()),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={}", credentials.checking_key().display()),
        format!("--service-account-signing-key-file={}", credentials.signing_key().display()),
        format!("--audit-policy-file={}", directory.join("audit-policy.yaml").display()),
        format!("--audit-log-path={}", directory.join(audit::LOG).display()),
        // Megabytes; one file holds any run of the tests.
        "--audit-log-maxsize=2000".to_owned(),
        // At once, so that an answered request is in the file.
        "--audit-log-mode=blocking".to_owned(),
        "--shutdown-delay-duration=0s".to_owned(),
    ];
    words(program, flags)
}

fn controller_manager_arguments(program: &Path, directory: &Path, credentials: &Credentials) -> Vec<String> {
    let flags = vec![
        format!("--kubeconfig={}", credentials.kubeconfig(User::Admin).display()),
        format!("--controllers={}", CONTROLLERS.join(",")),
        "--leader-elect=false".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        // It serves no API, so there is nothing to wait for.
        "--secure-port=0".to_owned(),
        format!("--cert-dir={}", directory.join("controller-manager").display()),
    ];
    words(program, flags)
}

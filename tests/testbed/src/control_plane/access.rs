//! The cluster as one account sees it: a kubeconfig file, a client, kubectl and helm.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use tokio::{
    io::AsyncWriteExt,
    process::Command,
    time::{Instant, sleep, timeout},
};

use super::binaries::{Tool, binary};

/// No command of the tests waits longer for the API server.
const COMMAND_LIMIT: Duration = Duration::from_secs(120);
/// How long the authorizer may take to see a new binding.
const RBAC_LIMIT: Duration = Duration::from_secs(20);

/// What one account can reach the cluster with.
#[derive(Clone, Debug)]
pub struct Access {
    username: String,
    kubeconfig: PathBuf,
}

/// How a command ended.
#[derive(Clone, Debug)]
pub struct Output {
    /// The exit code; None when a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Output {
    /// Whether it exited with 0.
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }

    /// Its standard output, or an error with both streams when it failed.
    pub fn ok(self) -> Result<String> {
        if self.success() {
            return Ok(self.stdout);
        }
        bail!("exit code {:?}\n{}{}", self.code, self.stdout, self.stderr)
    }
}

impl Access {
    pub(super) fn new(username: &str, kubeconfig: &Path) -> Self {
        Self { username: username.to_owned(), kubeconfig: kubeconfig.to_owned() }
    }

    /// The name that admission and audit see.
    pub fn username(&self) -> &str {
        &self.username
    }

    /// The kubeconfig file.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A client of the calling runtime. It does not repeat failed requests by itself, so that a test counts what the
    /// code under test sent.
    pub async fn client(&self) -> Result<Client> {
        let file = Kubeconfig::read_from(&self.kubeconfig)?;
        let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
        config.default_retry = false;
        Ok(Client::try_from(config)?)
    }

    /// Waits until RBAC lets this account do this. The API server's authorizer follows a new binding a moment later.
    pub async fn wait_until_allowed(&self, verb: &str, resource: &str, namespace: &str) -> Result<()> {
        let deadline = Instant::now() + RBAC_LIMIT;
        loop {
            let answer = self.kubectl(&["auth", "can-i", verb, resource, "-n", namespace]).await?;
            if answer.success() {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("{} may not {verb} {resource} in {namespace}: {}", self.username, answer.stderr);
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Runs kubectl as this account.
    pub async fn kubectl(&self, arguments: &[&str]) -> Result<Output> {
        self.run(Tool::Kubectl, arguments, "").await
    }

    /// Runs kubectl as this account with `input` on its standard input, as in `apply -f -`.
    pub async fn kubectl_with_input(&self, arguments: &[&str], input: &str) -> Result<Output> {
        self.run(Tool::Kubectl, arguments, input).await
    }

    /// Runs helm as this account.
    pub async fn helm(&self, arguments: &[&str]) -> Result<Output> {
        self.run(Tool::Helm, arguments, "").await
    }

    async fn run(&self, tool: Tool, arguments: &[&str], input: &str) -> Result<Output> {
        // Beside the kubeconfig, so that the caches end with the control plane and never mix two clusters.
        let home = self.kubeconfig.with_extension("home");
        let mut child = Command::new(binary(tool).await?)
            .args(arguments)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", home.join("kube"))
            .env("HELM_CACHE_HOME", home.join("helm-cache"))
            .env("HELM_CONFIG_HOME", home.join("helm-config"))
            .env("HELM_DATA_HOME", home.join("helm-data"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} did not start", tool.name()))?;
        let mut stdin = child.stdin.take().context("no standard input")?;
        let feed = async move {
            // A tool that ends without reading its input is not an error of ours.
            let _ = stdin.write_all(input.as_bytes()).await;
        };
        let both = async { tokio::join!(feed, child.wait_with_output()).1 };
        let output = timeout(COMMAND_LIMIT, both)
            .await
            .with_context(|| format!("{} {arguments:?} took more than {COMMAND_LIMIT:?}", tool.name()))??;
        Ok(Output {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

//! The demo's cluster: oikos's chart in it, and kubectl as its people use it.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};

use super::{NAMESPACE, Options, PLAN, output, parts::Parts};
use crate::control_plane::{Tool, binary};

const SYSTEM: &str = "oikos-system";

/// Access to the demo's cluster.
pub struct Cluster {
    kubectl: PathBuf,
    admin: PathBuf,
    operator: PathBuf,
    controller: PathBuf,
}

impl Cluster {
    /// Applies the rendered chart, makes the namespace, and gives the operator and the controller their rights.
    pub async fn install(options: &Options, parts: &Parts) -> Result<Self> {
        let path = |value: &Value| {
            value.as_str().map(PathBuf::from).context("the control plane did not say where its files are")
        };
        let cluster = Self {
            kubectl: path(&parts.plane["kubectl"])?,
            admin: path(&parts.plane["kubeconfigs"]["admin"])?,
            operator: path(&parts.plane["kubeconfigs"]["operator"])?,
            controller: options.dir.join("controller.kubeconfig"),
        };
        let helm = binary(Tool::Helm).await?;
        let chart = options.tree.join("charts/oikos");
        let secrets = format!("rbac.secretNamespaces={{{NAMESPACE}}}");
        let render = ["-n", SYSTEM, "--set", &secrets];
        let rendered = output(Command::new(helm).arg("template").arg("oikos").arg(chart).args(render))?;
        cluster.admin(&["create", "namespace", SYSTEM])?;
        cluster.admin(&["create", "namespace", NAMESPACE])?;
        cluster.apply(&rendered)?;
        cluster.admin(&["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"])?;
        // The operator may write plans, describe the fleet, keep its keys, and approve; nobody else may approve.
        for role in ["edit", "oikos-fleet", "oikos-approver"] {
            let (name, role) = (format!("operator-{role}"), format!("--clusterrole={role}"));
            cluster.admin(&["-n", NAMESPACE, "create", "rolebinding", &name, &role, "--user=operator"])?;
        }
        cluster.write_controller_kubeconfig()?;
        let may = ["-n", NAMESPACE, "auth", "can-i", "create", "plans.oikos.dev"];
        cluster.retry(|| cluster.operator(&may).map(drop)).await?;
        Ok(cluster)
    }

    fn write_controller_kubeconfig(&self) -> Result<()> {
        let token = self.admin(&["-n", SYSTEM, "create", "token", "oikos", "--duration=24h"])?;
        let view = self.admin(&["config", "view", "--raw", "-o", "json"])?;
        let mut config: Value = serde_json::from_str(&view)?;
        config["users"][0]["user"] = json!({"token": token.trim()});
        config["contexts"][0]["context"]["namespace"] = json!(SYSTEM);
        std::fs::write(&self.controller, serde_json::to_string_pretty(&config)?)?;
        Ok(())
    }

    fn kubectl(&self, kubeconfig: &Path, arguments: &[&str]) -> Result<String> {
        output(Command::new(&self.kubectl).env("KUBECONFIG", kubeconfig).args(arguments))
    }

    fn admin(&self, arguments: &[&str]) -> Result<String> {
        self.kubectl(&self.admin, arguments)
    }

    /// kubectl as the operator.
    pub fn operator(&self, arguments: &[&str]) -> Result<String> {
        self.kubectl(&self.operator, arguments)
    }

    fn apply(&self, manifests: &str) -> Result<()> {
        let mut child = Command::new(&self.kubectl)
            .env("KUBECONFIG", &self.admin)
            .args(["apply", "--server-side", "-f", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        let mut input = child.stdin.take().context("kubectl takes no input")?;
        std::io::Write::write_all(&mut input, manifests.as_bytes())?;
        drop(input);
        if !child.wait()?.success() {
            bail!("kubectl apply of the chart failed");
        }
        Ok(())
    }

    /// Tries until it works; at most a minute.
    pub async fn retry(&self, mut attempt: impl FnMut() -> Result<()>) -> Result<()> {
        let begun = Instant::now();
        loop {
            match attempt() {
                Ok(()) => return Ok(()),
                Err(error) if begun.elapsed() > Duration::from_secs(60) => return Err(error),
                Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        }
    }

    /// A field of the plan, once it is as wanted; at most a minute.
    pub async fn wait_for(&self, field: &str, wanted: impl Fn(&str) -> bool) -> Result<String> {
        self.wait(field, wanted, Duration::from_secs(60)).await
    }

    /// As [`Self::wait_for`], for as long as a person may take: an hour.
    pub async fn wait_long(&self, field: &str, wanted: impl Fn(&str) -> bool) -> Result<String> {
        self.wait(field, wanted, Duration::from_secs(3600)).await
    }

    async fn wait(&self, field: &str, wanted: impl Fn(&str) -> bool, patience: Duration) -> Result<String> {
        let begun = Instant::now();
        let path = format!("jsonpath={field}");
        loop {
            let text = self.operator(&["-n", NAMESPACE, "get", "plan", PLAN, "-o", &path])?;
            if wanted(&text) {
                return Ok(text);
            }
            if begun.elapsed() > patience {
                bail!("plan {PLAN} does not show {field} as awaited after {} s; it shows {text:?}", patience.as_secs());
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// A client with the operator's rights.
    pub async fn client(&self) -> Result<Client> {
        let kubeconfig = Kubeconfig::read_from(&self.operator)?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Ok(Client::try_from(config)?)
    }

    /// The operator's kubeconfig file.
    pub fn kubeconfig(&self) -> String {
        self.operator.display().to_string()
    }

    /// Where kubectl is.
    pub fn kubectl_dir(&self) -> String {
        self.kubectl.parent().unwrap_or(Path::new("/")).display().to_string()
    }

    /// The controller's kubeconfig file.
    pub fn controller_kubeconfig(&self) -> String {
        self.controller.display().to_string()
    }
}

//! Where the real binaries are: built once from the pinned Go modules by `tests/control-plane/build.sh`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use tokio::{process::Command, sync::OnceCell};

/// A binary of the control plane or for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The store.
    Etcd,
    /// The API server.
    KubeApiserver,
    /// The built-in controllers.
    KubeControllerManager,
    /// The command line.
    Kubectl,
    /// The chart's installer.
    Helm,
}

impl Tool {
    /// The file's name.
    pub const fn name(self) -> &'static str {
        match self {
            Tool::Etcd => "etcd",
            Tool::KubeApiserver => "kube-apiserver",
            Tool::KubeControllerManager => "kube-controller-manager",
            Tool::Kubectl => "kubectl",
            Tool::Helm => "helm",
        }
    }
}

/// The path of a binary, built first when the cache lacks it (minutes, said on standard error).
///
/// Fails with the build's own words on standard error when Go is missing, too old, or the build fails.
pub async fn binary(tool: Tool) -> Result<PathBuf> {
    static FOUND: [OnceCell<PathBuf>; 5] = [const { OnceCell::const_new() }; 5];
    FOUND[tool as usize].get_or_try_init(|| ask(tool)).await.cloned()
}

async fn ask(tool: Tool) -> Result<PathBuf> {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../control-plane/build.sh");
    let output = Command::new("bash")
        .arg(&script)
        .arg(tool.name())
        .stderr(std::process::Stdio::inherit())
        .kill_on_drop(true)
        .output()
        .await
        .with_context(|| format!("{} did not start", script.display()))?;
    if !output.status.success() {
        bail!("{} is not available: {} {} ended with {}", tool.name(), script.display(), tool.name(), output.status);
    }
    let answer = String::from_utf8(output.stdout)?;
    answer
        .lines()
        .find_map(|line| line.strip_prefix(tool.name())?.strip_prefix(' '))
        .map(PathBuf::from)
        .with_context(|| format!("{} did not say where {} is", script.display(), tool.name()))
}

//! A real Kubernetes control plane on loopback: etcd and kube-apiserver, on demand kube-controller-manager.
//!
//! Owns the servers' processes and their data from start to end: free ports, a data directory of its own, RBAC on,
//! real tokens, an audit log. Everything ends with the owner, by whatever way the owner ends.
//!
//! Invariant: knows nothing of oikos's resources; what is installed into the cluster is the caller's business.

mod access;
mod audit;
mod binaries;
mod credentials;
mod run_directory;
mod servers;
mod supervisor;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ObjectMeta, PostParams};
use tokio::sync::OnceCell;

pub use access::{Access, Output};
pub use audit::AuditEntry;
pub use binaries::{Tool, binary};
pub use credentials::User;
pub use run_directory::{is_running, remove, signal, wait_until_gone};

use credentials::Credentials;
use run_directory::RunDirectory;
use servers::Servers;

/// How a control plane is started.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where its data goes; it is removed at the end. None: a directory of its own under the system's temporary one.
    pub directory: Option<PathBuf>,
    /// Also run kube-controller-manager with the garbage collector, the namespace, the ServiceAccount and the role
    /// aggregation controllers. Without it deleted owners leave their children, deleted namespaces stay Terminating,
    /// and the roles `view`, `edit` and `admin` are empty.
    pub controller_manager: bool,
}

/// A running control plane. Dropping it, or the end of the process, ends the servers and removes their data.
///
/// It holds nothing of a tokio runtime, so one may serve all tests of a process, each with its own runtime.
pub struct ControlPlane {
    // Declared first, so dropped first: the servers are gone before the directory's lock is given up.
    servers: Servers,
    credentials: Credentials,
    run_directory: Arc<RunDirectory>,
    namespaces: AtomicU64,
}

impl ControlPlane {
    /// A control plane without controllers, ready to serve; about five seconds once the binaries are built.
    pub async fn start() -> Result<Self> {
        Self::start_with(Options::default()).await
    }

    /// A control plane with all that `options` ask for, ready to serve. Builds missing binaries first, which takes
    /// minutes the first time and is said on standard error.
    pub async fn start_with(options: Options) -> Result<Self> {
        let run_directory = Arc::new(match &options.directory {
            Some(directory) => RunDirectory::claim(directory)?,
            None => RunDirectory::temporary()?,
        });
        let credentials = Credentials::generate(run_directory.path())?;
        let servers = Servers::start(&run_directory, &credentials, options.controller_manager).await?;
        Ok(Self { servers, credentials, run_directory, namespaces: AtomicU64::new(0) })
    }

    /// The one control plane of this process, started at the first call, with the controllers of [`Options`].
    pub async fn shared() -> Result<&'static Self> {
        static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
        SHARED.get_or_try_init(|| Self::start_with(Options { directory: None, controller_manager: true })).await
    }

    /// The API server's address, `https://127.0.0.1:<port>`.
    pub fn url(&self) -> &str {
        self.servers.url()
    }

    /// Where the servers keep their data and logs (`<server>.log`).
    pub fn directory(&self) -> &Path {
        self.run_directory.path()
    }

    /// What one of the fixed users can reach the cluster with.
    pub fn user(&self, user: User) -> Access {
        Access::new(user.name(), &self.credentials.kubeconfig(user))
    }

    /// The cluster's administrator, member of `system:masters`: RBAC does not bind it, admission does.
    pub fn admin(&self) -> Access {
        self.user(User::Admin)
    }

    /// The operator, member of `operators`: no rights until the caller binds some.
    pub fn operator(&self) -> Access {
        self.user(User::Operator)
    }

    /// A second person, member of `viewers`: no rights until the caller binds some.
    pub fn viewer(&self) -> Access {
        self.user(User::Viewer)
    }

    /// Access with a real token of an existing ServiceAccount, signed by the API server, valid for a day.
    pub async fn service_account(&self, namespace: &str, name: &str) -> Result<Access> {
        let kubeconfig = self.service_account_kubeconfig(namespace, name).await?;
        Ok(Access::new(&format!("system:serviceaccount:{namespace}:{name}"), &kubeconfig))
    }

    /// A kubeconfig file with a real token of an existing ServiceAccount, valid for a day.
    pub async fn service_account_kubeconfig(&self, namespace: &str, name: &str) -> Result<PathBuf> {
        self.credentials
            .service_account_kubeconfig(&self.admin().client().await?, namespace, name)
            .await
            .with_context(|| format!("no token for the ServiceAccount {namespace}/{name}"))
    }

    /// A new namespace for one test, `<prefix>-<number>`.
    pub async fn namespace(&self, prefix: &str) -> Result<String> {
        let name = format!("{prefix}-{}", self.namespaces.fetch_add(1, Ordering::Relaxed));
        let namespaces: Api<Namespace> = Api::all(self.admin().client().await?);
        let metadata = ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() };
        namespaces.create(&PostParams::default(), &Namespace { metadata, ..Namespace::default() }).await?;
        Ok(name)
    }

    /// Every request so far, in the order in which they were answered; watches count when they are opened.
    ///
    /// A request that this process got an answer to before the call is contained.
    pub async fn audit(&self) -> Result<Vec<AuditEntry>> {
        audit::read(&self.run_directory.path().join(audit::LOG), &self.admin()).await
    }

    /// Stops kube-apiserver and starts it anew on the same port with the same data; ready when this returns.
    pub async fn restart_apiserver(&self) -> Result<()> {
        self.servers.restart_apiserver(&self.credentials).await
    }

    /// Ends the servers and removes their data.
    pub async fn stop(self) -> Result<()> {
        let Self { servers, run_directory, .. } = self;
        servers.stop().await?;
        drop(run_directory);
        Ok(())
    }
}

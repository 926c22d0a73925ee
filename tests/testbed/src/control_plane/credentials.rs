//! Who may talk to the cluster: users with static tokens, ServiceAccounts with signed ones. All made at run time.

use std::{
    fs::{self, File},
    io::{Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Context, Result};
use k8s_openapi::api::{
    authentication::v1::{TokenRequest, TokenRequestSpec},
    core::v1::ServiceAccount,
};
use kube::{
    Client,
    api::{Api, PostParams},
};
use serde_json::json;

const DAY_SECONDS: i64 = 24 * 60 * 60;

/// The people of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// `admin`, member of `system:masters`.
    Admin,
    /// `operator`, member of `operators`, without rights of its own.
    Operator,
    /// `viewer`, member of `viewers`, without rights of its own.
    Viewer,
}

impl User {
    /// All of them.
    pub const ALL: [User; 3] = [User::Admin, User::Operator, User::Viewer];

    /// The name that admission and audit see.
    pub fn name(self) -> &'static str {
        match self {
            User::Admin => "admin",
            User::Operator => "operator",
            User::Viewer => "viewer",
        }
    }

    fn group(self) -> &'static str {
        match self {
            User::Admin => "system:masters",
            User::Operator => "operators",
            User::Viewer => "viewers",
        }
    }
}

/// The secrets of one control plane, in files that only its user may read.
#[derive(Debug)]
pub struct Credentials {
    directory: PathBuf,
    tokens: Vec<(User, String)>,
    /// Address and CA of the API server, known once it serves.
    server: Mutex<Option<(String, String)>>,
}

impl Credentials {
    /// Makes the users' tokens and the key that signs ServiceAccount tokens.
    pub fn generate(directory: &Path) -> Result<Self> {
        let mut tokens = Vec::new();
        let mut table = String::new();
        for user in User::ALL {
            let token = random_token()?;
            table += &format!("{token},{},{},{}\n", user.name(), user.name(), user.group());
            tokens.push((user, token));
        }
        let credentials = Self { directory: directory.to_owned(), tokens, server: Mutex::new(None) };
        write_private(&credentials.token_table(), &table)?;
        let key = rcgen::KeyPair::generate().context("no key for ServiceAccount tokens")?;
        write_private(&credentials.signing_key(), &key.serialize_pem())?;
        write_private(&credentials.checking_key(), &key.public_key_pem())?;
        Ok(credentials)
    }

    /// The file for `--token-auth-file`.
    pub fn token_table(&self) -> PathBuf {
        self.directory.join("tokens.csv")
    }

    /// The public key, in PEM, that checks ServiceAccount tokens.
    pub fn checking_key(&self) -> PathBuf {
        self.directory.join("service-accounts.pub")
    }

    /// The private key, PKCS#8 in PEM, that signs ServiceAccount tokens.
    pub fn signing_key(&self) -> PathBuf {
        self.directory.join("service-accounts.key")
    }

    /// The kubeconfig file of a user; it exists once the server is known.
    pub fn kubeconfig(&self, user: User) -> PathBuf {
        self.directory.join(format!("{}.kubeconfig", user.name()))
    }

    /// Writes the users' kubeconfig files for a server with this address and this CA (PEM).
    pub fn write_kubeconfigs(&self, url: &str, authority: &str) -> Result<()> {
        if let Ok(mut server) = self.server.lock() {
            *server = Some((url.to_owned(), authority.to_owned()));
        }
        for (user, token) in &self.tokens {
            write_private(&self.kubeconfig(*user), &kubeconfig(user.name(), url, authority, token)?)?;
        }
        Ok(())
    }

    /// Asks the API server for a token of a ServiceAccount and writes a kubeconfig file with it.
    pub async fn service_account_kubeconfig(&self, admin: &Client, namespace: &str, name: &str) -> Result<PathBuf> {
        let request = TokenRequest {
            spec: TokenRequestSpec { expiration_seconds: Some(DAY_SECONDS), ..TokenRequestSpec::default() },
            ..TokenRequest::default()
        };
        let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), namespace);
        let answer = accounts.create_token_request(name, &PostParams::default(), &request).await?;
        let token = answer.status.context("the answer has no token")?.token;
        let server = self.server.lock().ok().and_then(|server| server.clone());
        let (url, authority) = server.context("the API server is not known yet")?;
        let path = self.directory.join(format!("{namespace}.{name}.kubeconfig"));
        write_private(&path, &kubeconfig(name, &url, &authority, &token)?)?;
        Ok(path)
    }
}

/// A kubeconfig as JSON, which is YAML too.
fn kubeconfig(user: &str, url: &str, authority: &str, token: &str) -> Result<String> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": user,
        "clusters": [{"name": "oikos", "cluster": {"server": url, "certificate-authority-data": base64(authority)}}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": user, "context": {"cluster": "oikos", "user": user, "namespace": "default"}}],
    });
    Ok(serde_json::to_string_pretty(&config)?)
}

fn base64(text: &str) -> serde_json::Value {
    // ByteString serialises as base64; it saves a dependency.
    serde_json::to_value(k8s_openapi::ByteString(text.as_bytes().to_vec())).unwrap_or_default()
}

fn random_token() -> Result<String> {
    let mut bytes = [0; 24];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Writes a file that only its owner may read, at once or not at all.
fn write_private(path: &Path, text: &str) -> Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let fresh = path.with_added_extension(format!("{}.new", NEXT.fetch_add(1, Ordering::Relaxed)));
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&fresh, path).with_context(|| format!("{} cannot be written", path.display()))
}

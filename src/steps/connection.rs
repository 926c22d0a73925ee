//! One SSH connection to a host: handshake with the pinned key, login, lanes for its channels.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use russh::client::{self, AuthResult, Handle};
use russh::keys::{PrivateKey, PrivateKeyWithHashAlg};
use russh::{MethodSet, Preferred};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::access::HostAccess;
use super::error::ConnectError;
use super::host_key::{HostKeyCheck, Pins, fingerprint};

/// Sessions per connection: sshd allows 10 (MaxSessions), we use 8. Two of them are kept for cancelling, which must
/// find a way through when all others wait for long steps.
pub(crate) const STEP_CHANNELS: usize = 6;
pub(crate) const CANCEL_CHANNELS: usize = 2;

const CONNECT_LIMIT: Duration = Duration::from_secs(10);
const LOGIN_LIMIT: Duration = Duration::from_secs(30);

/// What a channel is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lane {
    Step,
    Cancel,
}

pub(crate) struct Connection {
    pub(crate) handle: Handle<HostKeyCheck>,
    steps: Arc<Semaphore>,
    cancels: Arc<Semaphore>,
}

impl Connection {
    pub(crate) fn lane(&self, lane: Lane) -> Arc<Semaphore> {
        match lane {
            Lane::Step => self.steps.clone(),
            Lane::Cancel => self.cancels.clone(),
        }
    }

    /// Connects and logs in. The key of the host is checked before anything of ours is shown to it.
    pub(crate) async fn open(access: &HostAccess) -> Result<Self, ConnectError> {
        let unreachable =
            |detail: String| ConnectError::Unreachable { host: access.name.clone(), address: access.socket(), detail };
        let key = private_key(access)?;
        let pins = Pins::read(access)?;
        let (check, refused) = HostKeyCheck::new(pins.clone());
        let tcp = timeout(CONNECT_LIMIT, TcpStream::connect((access.address.as_str(), access.port)))
            .await
            .map_err(|_| unreachable(format!("no answer within {} s", CONNECT_LIMIT.as_secs())))?
            .map_err(|error| unreachable(error.to_string()))?;
        tcp.set_nodelay(true).map_err(|error| unreachable(error.to_string()))?;
        let handshake = client::connect_stream(Arc::new(config(&pins)), tcp, check);
        let mut handle = timeout(LOGIN_LIMIT, handshake)
            .await
            .map_err(|_| unreachable(format!("no SSH handshake within {} s", LOGIN_LIMIT.as_secs())))?
            .map_err(|error| refused.error(access, &pins).unwrap_or_else(|| unreachable(describe(&error))))?;
        timeout(LOGIN_LIMIT, log_in(access, &mut handle, key))
            .await
            .map_err(|_| unreachable(format!("no answer to the login within {} s", LOGIN_LIMIT.as_secs())))?
            .map_err(|error| match error {
                LoginError::Refused(error) => error,
                LoginError::Broken(error) => unreachable(describe(&error)),
            })?;
        Ok(Self {
            handle,
            steps: Arc::new(Semaphore::new(STEP_CHANNELS)),
            cancels: Arc::new(Semaphore::new(CANCEL_CHANNELS)),
        })
    }
}

fn config(pins: &Pins) -> client::Config {
    let preferred = Preferred::default();
    client::Config {
        preferred: Preferred { key: Cow::Owned(pins.algorithms(&preferred.key)), ..preferred },
        nodelay: true,
        // A silent host is known within 60 s. No inactivity limit: a step may be quiet for as long as it likes.
        keepalive_interval: Some(Duration::from_secs(15)),
        keepalive_max: 3,
        inactivity_timeout: None,
        ..client::Config::default()
    }
}

fn private_key(access: &HostAccess) -> Result<PrivateKey, ConnectError> {
    let bad = |detail: &str| ConnectError::BadKey { host: access.name.clone(), detail: detail.into() };
    // The library's own error texts are not passed on: none of the key may end up in a message.
    let key =
        PrivateKey::from_openssh(access.private_key.reveal().trim()).map_err(|_| bad("it is not in OpenSSH format"))?;
    if key.is_encrypted() {
        return Err(bad("it is protected by a passphrase"));
    }
    Ok(key)
}

enum LoginError {
    Refused(ConnectError),
    Broken(russh::Error),
}

async fn log_in(access: &HostAccess, handle: &mut Handle<HostKeyCheck>, key: PrivateKey) -> Result<(), LoginError> {
    let shown = fingerprint(key.public_key());
    let hash = if key.algorithm().is_rsa() {
        handle.best_supported_rsa_hash().await.map_err(LoginError::Broken)?.flatten()
    } else {
        None
    };
    let signer = PrivateKeyWithHashAlg::new(Arc::new(key), hash);
    match handle.authenticate_publickey(&access.user, signer).await.map_err(LoginError::Broken)? {
        AuthResult::Success => Ok(()),
        AuthResult::Failure { remaining_methods, .. } => Err(LoginError::Refused(ConnectError::AuthFailed {
            host: access.name.clone(),
            user: access.user.clone(),
            key: shown,
            methods: names(&remaining_methods),
        })),
    }
}

fn names(methods: &MethodSet) -> String {
    let names: Vec<&str> = methods.iter().map(Into::into).collect();
    names.join(", ")
}

/// A close before the banner is what sshd does to a source it penalises, not a dead host.
fn describe(error: &russh::Error) -> String {
    match error {
        russh::Error::HUP | russh::Error::Disconnect => {
            "the server closed the connection during the handshake (it may be throttling this source, or be starting)"
                .into()
        }
        other => other.to_string(),
    }
}

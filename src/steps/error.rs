//! Why a host or a guest could not be talked to, in words that say what to do about it.

use thiserror::Error;

/// No step was sent: nothing can have been started.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ConnectError {
    /// No TCP connection, or the SSH handshake did not come to an end.
    #[error("connecting to host {host} at {address}: {detail}")]
    Unreachable {
        /// Name of the host.
        host: String,
        /// Address and port.
        address: String,
        /// The network's or the protocol's own words.
        detail: String,
    },
    /// The host shows a key that is not one of its pinned keys.
    #[error(
        "host {host} at {address} offers the key {offered}, pinned is {}; nothing was sent. If the host was \
         reinstalled, check the new fingerprint on its console (ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub) and \
         replace its known host keys; otherwise another machine answers at this address", expected.join(", ")
    )]
    HostKeyMismatch {
        /// Name of the host.
        host: String,
        /// Address and port.
        address: String,
        /// SHA-256 fingerprints of the pinned keys.
        expected: Vec<String>,
        /// SHA-256 fingerprint of the key that was offered.
        offered: String,
    },
    /// No key is pinned, so no key can be trusted.
    #[error(
        "host {host} at {address} has no pinned key and offers {offered}; nothing was sent. Check that fingerprint on \
         the host's console (ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub) and add the key to its known host keys"
    )]
    UnknownHostKey {
        /// Name of the host.
        host: String,
        /// Address and port.
        address: String,
        /// SHA-256 fingerprint of the key that was offered.
        offered: String,
    },
    /// An entry of the known host keys cannot be read.
    #[error("reading known host key {entry:?} of host {host}: {detail}")]
    BadHostKeyEntry {
        /// Name of the host.
        host: String,
        /// The entry as given.
        entry: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The host refuses the user or the key.
    #[error(
        "logging in to host {host} as {user}: the key {key} was refused (the server accepts: {methods}); add its \
         public half to that user's authorized_keys, or give the right key in the credential"
    )]
    AuthFailed {
        /// Name of the host.
        host: String,
        /// Login user.
        user: String,
        /// SHA-256 fingerprint of our key.
        key: String,
        /// Authentication methods that the server still offers.
        methods: String,
    },
    /// The private key is not usable.
    #[error("reading the private key for host {host}: {detail}; an OpenSSH private key without a passphrase is needed")]
    BadKey {
        /// Name of the host.
        host: String,
        /// What is wrong with it, without any of its text.
        detail: String,
    },
    /// The host has no `pct`.
    #[error("host {host} has no pct command: {detail}; it is not a Proxmox VE node, or pct is not in the login's PATH")]
    PctMissing {
        /// Name of the host.
        host: String,
        /// What the host said.
        detail: String,
    },
    /// The guest is not running, does not exist or is not on this host.
    #[error("entering guest {vmid} on host {host}: {detail}")]
    GuestUnavailable {
        /// Name of the host.
        host: String,
        /// The container's id.
        vmid: u32,
        /// What pct said.
        detail: String,
    },
    /// Something answered, but no POSIX shell.
    #[error("starting a shell on host {host}: no answer from sh -s; it said: {detail}")]
    ShellUnusable {
        /// Name of the host.
        host: String,
        /// What came instead.
        detail: String,
    },
}

impl ConnectError {
    /// Stable CamelCase label for status, events and metrics.
    pub fn category(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "HostUnreachable",
            Self::HostKeyMismatch { .. } => "HostKeyMismatch",
            Self::UnknownHostKey { .. } => "UnknownHostKey",
            Self::BadHostKeyEntry { .. } => "BadHostKeyEntry",
            Self::AuthFailed { .. } => "AuthFailed",
            Self::BadKey { .. } => "BadKey",
            Self::PctMissing { .. } => "PctMissing",
            Self::GuestUnavailable { .. } => "GuestUnavailable",
            Self::ShellUnusable { .. } => "ShellUnusable",
        }
    }

    /// Whether trying again soon is pointless, or punished by the server, until somebody changed something.
    pub(crate) fn needs_a_person(&self) -> bool {
        !matches!(self, Self::Unreachable { .. } | Self::GuestUnavailable { .. } | Self::ShellUnusable { .. })
    }
}

/// Why a part of a step's output could not be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ReadOutputError {
    /// The target could not be asked.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// There is no such run directory: a read-only step, an id that never ran, or output that was cleaned away.
    #[error(
        "reading output of attempt {0}: the target keeps none; a read-only step leaves none, and output is removed after a week"
    )]
    Absent(String),
    /// The attempt id cannot name a run directory.
    #[error("reading output: {0}")]
    AttemptId(String),
    /// The connection broke or the answer made no sense.
    #[error("reading output of attempt {attempt_id}: {detail}")]
    Incomplete {
        /// The attempt asked for.
        attempt_id: String,
        /// What came back.
        detail: String,
    },
}

impl ReadOutputError {
    /// Stable CamelCase label for status, events and metrics.
    pub fn category(&self) -> &'static str {
        match self {
            Self::Connect(error) => error.category(),
            Self::Absent(_) => "OutputAbsent",
            Self::AttemptId(_) => "InvalidStep",
            Self::Incomplete { .. } => "OutputIncomplete",
        }
    }
}

//! How to reach a host: address, user, pinned keys and the private key.

use std::fmt;

/// Text that must not be shown: its `Debug` is a placeholder and it has no `Display`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SecretText(String);

impl SecretText {
    /// Takes the text over.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that uses it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[redacted]")
    }
}

/// A host as the operator described it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostAccess {
    /// Name of the host, used in messages and as the key of its warm connection.
    pub name: String,
    /// DNS name or IP address.
    pub address: String,
    /// TCP port of its SSH server.
    pub port: u16,
    /// Login user; Proxmox VE tools need root.
    pub user: String,
    /// The host's public keys, one per entry: OpenSSH known_hosts lines or `<type> <base64>`. All of them are pins of
    /// this host, whatever name stands in front; `@revoked` lines forbid a key; an empty list means no connection.
    pub known_hosts: Vec<String>,
    /// Private key in OpenSSH PEM, without a passphrase.
    pub private_key: SecretText,
}

impl HostAccess {
    /// Address and port as one word.
    pub(crate) fn socket(&self) -> String {
        if self.address.contains(':') {
            format!("[{}]:{}", self.address, self.port)
        } else {
            format!("{}:{}", self.address, self.port)
        }
    }
}

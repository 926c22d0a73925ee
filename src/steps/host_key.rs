//! The pin of a host: which public keys it may show. No trust on first use, no wildcard, no certificate authority.

use std::sync::{Arc, Mutex, PoisonError};

use russh::client;
use russh::keys::{Algorithm, HashAlg, PublicKey, PublicKeyOrCertificate};

use super::access::HostAccess;
use super::error::ConnectError;

/// The keys a host may show.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pins {
    accepted: Vec<Pin>,
    revoked: Vec<Pin>,
}

/// A key, by its type and its fingerprint.
#[derive(Clone, Debug)]
struct Pin {
    algorithm: Algorithm,
    /// `SHA256:` and unpadded base64.
    fingerprint: String,
}

impl Pins {
    /// Reads the known host keys of `access`; blank lines and comments are skipped.
    pub(crate) fn read(access: &HostAccess) -> Result<Self, ConnectError> {
        let mut pins = Self::default();
        for line in access.known_hosts.iter().flat_map(|entry| entry.lines()) {
            pins.add(line.trim()).map_err(|detail| ConnectError::BadHostKeyEntry {
                host: access.name.clone(),
                entry: line.chars().take(60).collect(),
                detail,
            })?;
        }
        Ok(pins)
    }

    fn add(&mut self, line: &str) -> Result<(), String> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let revoked = words.first() == Some(&"@revoked");
        match words.first() {
            Some(&"@cert-authority") => return Err("certificate authorities are not supported, pin the key".into()),
            Some(&"@revoked") => drop(words.remove(0)),
            _ => {}
        }
        // `<type> <base64>`, `<names> <type> <base64> [comment]`, or `<type> SHA256:<fingerprint>`.
        let is_key = |word: &str| word.starts_with("AAAA") || word.starts_with("SHA256:");
        let Some([kind, data]) = words.windows(2).take(2).find(|pair| is_key(pair[1])) else {
            return Err("expected `<type> <base64>` or a known_hosts line".into());
        };
        let pin = Pin::read(kind, data)?;
        if revoked {
            self.revoked.push(pin)
        } else {
            self.accepted.push(pin)
        }
        Ok(())
    }

    fn accept(&self, offered: &PublicKey) -> bool {
        let offered = offered.fingerprint(HashAlg::Sha256).to_string();
        let holds = |pins: &[Pin]| pins.iter().any(|pin| pin.fingerprint == offered);
        holds(&self.accepted) && !holds(&self.revoked)
    }

    /// Host key algorithms to ask for: those of the pins first, or a server with several keys would show another one.
    pub(crate) fn algorithms(&self, all: &[Algorithm]) -> Vec<Algorithm> {
        let is_pinned = |algorithm: &&Algorithm| {
            self.accepted.iter().any(|pin| match (&pin.algorithm, algorithm) {
                (Algorithm::Rsa { .. }, Algorithm::Rsa { .. }) => true,
                (pinned, algorithm) => *pinned == **algorithm,
            })
        };
        let (mut pinned, others): (Vec<&Algorithm>, Vec<&Algorithm>) = all.iter().partition(is_pinned);
        pinned.extend(others);
        pinned.into_iter().cloned().collect()
    }

    fn fingerprints(&self) -> Vec<String> {
        self.accepted.iter().map(|pin| format!("{} {}", pin.algorithm.as_str(), pin.fingerprint)).collect()
    }
}

impl Pin {
    fn read(kind: &str, data: &str) -> Result<Self, String> {
        if data.starts_with("SHA256:") {
            let algorithm = kind.parse::<Algorithm>().map_err(|error| error.to_string())?;
            return Ok(Self { algorithm, fingerprint: data.to_owned() });
        }
        let key = PublicKey::from_openssh(&format!("{kind} {data}")).map_err(|error| error.to_string())?;
        Ok(Self { algorithm: key.algorithm(), fingerprint: key.fingerprint(HashAlg::Sha256).to_string() })
    }
}

pub(crate) fn fingerprint(key: &PublicKey) -> String {
    format!("{} {}", key.algorithm().as_str(), key.fingerprint(HashAlg::Sha256))
}

/// Checks the host's key during the handshake and remembers the one it refused.
pub(crate) struct HostKeyCheck {
    pins: Pins,
    refused: Refused,
}

/// The key that was refused, if any.
#[derive(Clone, Default)]
pub(crate) struct Refused(Arc<Mutex<Option<PublicKey>>>);

impl HostKeyCheck {
    pub(crate) fn new(pins: Pins) -> (Self, Refused) {
        let refused = Refused::default();
        (Self { pins, refused: refused.clone() }, refused)
    }
}

impl Refused {
    /// The error that names both fingerprints, if a key was refused.
    pub(crate) fn error(&self, access: &HostAccess, pins: &Pins) -> Option<ConnectError> {
        let key = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let (host, address) = (access.name.clone(), access.socket());
        let (expected, offered) = (pins.fingerprints(), fingerprint(&key));
        Some(if expected.is_empty() {
            ConnectError::UnknownHostKey { host, address, offered }
        } else {
            ConnectError::HostKeyMismatch { host, address, expected, offered }
        })
    }
}

impl client::Handler for HostKeyCheck {
    type Error = russh::Error;

    async fn check_server_key(&mut self, offered: &PublicKeyOrCertificate) -> Result<bool, Self::Error> {
        let key = offered.public_key();
        // A certificate is never asked for; one that comes all the same is not a pinned key.
        let accepted = offered.certificate().is_none() && self.pins.accept(&key);
        if !accepted {
            *self.refused.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(key);
        }
        Ok(accepted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::SecretText;

    const ED25519: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8JE/wsQ7E3bN9TuJ6yJQ3Qm1dWxkCz3s0Y3vEmoWW3";

    fn access(lines: &[&str]) -> HostAccess {
        HostAccess {
            name: "strong".into(),
            address: "192.0.2.1".into(),
            port: 22,
            user: "root".into(),
            known_hosts: lines.iter().map(ToString::to_string).collect(),
            private_key: SecretText::new(""),
        }
    }

    #[test]
    fn keys_are_read_from_known_hosts_lines_and_bare_keys() {
        for line in [
            ED25519.to_string(),
            format!("strong,192.0.2.1 {ED25519} root@strong"),
            format!("[192.0.2.1]:2222 {ED25519}"),
            format!("|1|c2FsdA==|aGFzaA== {ED25519}"),
        ] {
            let pins = Pins::read(&access(&["# comment", "", &line])).unwrap();
            assert_eq!(pins.accepted.len(), 1, "{line}");
            assert!(pins.accept(&PublicKey::from_openssh(ED25519).unwrap()));
        }
    }

    #[test]
    fn a_fingerprint_stands_for_its_key_and_for_no_other() {
        let key = PublicKey::from_openssh(ED25519).unwrap();
        let pinned = Pins::read(&access(&[&fingerprint(&key)])).unwrap();
        assert!(pinned.accept(&key));
        let other = Pins::read(&access(&[&format!("ssh-ed25519 SHA256:{}", "a".repeat(43))])).unwrap();
        assert!(!other.accept(&key));
        assert!(Pins::read(&access(&["no-such-type SHA256:x"])).is_err());
    }

    #[test]
    fn a_revoked_key_is_never_accepted() {
        let pins = Pins::read(&access(&[ED25519, &format!("@revoked * {ED25519}")])).unwrap();
        assert!(!pins.accept(&PublicKey::from_openssh(ED25519).unwrap()));
    }

    #[test]
    fn entries_that_are_no_keys_are_errors_that_name_the_host() {
        for line in ["strong", "ssh-ed25519 AAAAnonsense", &format!("@cert-authority * {ED25519}")] {
            let error = Pins::read(&access(&[line])).unwrap_err();
            assert_eq!(error.category(), "BadHostKeyEntry");
            assert!(error.to_string().contains("strong"));
        }
    }
}

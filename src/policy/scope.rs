//! What a step acts on, as Hosts and Guests of the namespace.

use std::collections::{BTreeMap, BTreeSet};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD},
};
use oikos_risk::Affected;
use sha2::{Digest, Sha256};

use crate::api::{Agent, Guest, Host, ResolvedTarget, SecretKeyRef, Target, TargetKind};

/// The Hosts and Guests that the namespace knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// By the Host object's name.
    pub hosts: BTreeMap<String, KnownHost>,
    /// By target.
    pub guests: BTreeMap<Target, KnownGuest>,
    /// By the Agent object's name.
    pub agents: BTreeMap<String, KnownAgent>,
}

/// A Host, as far as decisions need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownHost {
    /// The uid of the object.
    pub uid: String,
    /// The address that it is reached at.
    pub address: String,
    /// The port of its SSH server.
    pub port: u16,
    /// The login name there.
    pub user: String,
    /// The keys by which it is recognised, as `<type> SHA256:<fingerprint>`.
    pub keys: BTreeSet<String>,
    /// The Secret that holds the private key to log in with.
    pub credential: SecretKeyRef,
    /// VMIDs that no plan may touch.
    pub protected: BTreeSet<u32>,
}

impl KnownHost {
    /// What decisions need of a Host.
    pub fn of(host: &Host) -> Self {
        let spec = &host.spec;
        Self {
            uid: host.metadata.uid.clone().unwrap_or_default(),
            address: spec.address.clone(),
            port: spec.port,
            user: spec.user.clone(),
            keys: spec.known_host_keys.iter().flat_map(|entry| entry.lines()).filter_map(key_fingerprint).collect(),
            credential: spec.credential_secret_ref.clone(),
            protected: spec.protected_guests.iter().copied().collect(),
        }
    }

    /// The place on it, as a claim records it: the guest of this VMID, or the host itself.
    pub fn resolved(&self, name: &str, vmid: Option<u32>) -> ResolvedTarget {
        ResolvedTarget {
            host: name.to_owned(),
            address: self.address.clone(),
            port: self.port,
            user: self.user.clone(),
            host_keys: self.keys.iter().cloned().collect(),
            credential_secret_ref: self.credential.clone(),
            vmid,
        }
    }

    /// Whether the two are one machine, as far as that can be known: one address, or a host key in common.
    pub fn is_same_machine(&self, other: &Self) -> bool {
        let accepted = |key: &&String| !key.starts_with('@');
        self.address == other.address || self.keys.iter().filter(accepted).any(|key| other.keys.contains(key))
    }
}

/// The type and the fingerprint of the public key in a line, as OpenSSH writes them: `<type> SHA256:<base64>`, after
/// `@revoked` if it is. A line that holds no key stands for itself; a blank one or a comment for nothing.
fn key_fingerprint(line: &str) -> Option<String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let pair = words.windows(2).find(|pair| pair[1].starts_with("AAAA"));
    let key = pair.and_then(|pair| Some((pair[0], STANDARD.decode(pair[1]).ok()?)));
    let Some((kind, key)) = key else { return Some(line.to_owned()) };
    let revoked = if words.first() == Some(&"@revoked") { "@revoked " } else { "" };
    Some(format!("{revoked}{kind} SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(key))))
}

/// A Guest, as far as decisions need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownGuest {
    /// The uid of the object.
    pub uid: String,
    /// Its Host's name.
    pub host: String,
    /// Its number there.
    pub vmid: u32,
}

impl KnownGuest {
    /// What decisions need of a Guest.
    pub fn of(guest: &Guest) -> Self {
        Self {
            uid: guest.metadata.uid.clone().unwrap_or_default(),
            host: guest.spec.host_ref.name.clone(),
            vmid: guest.spec.vmid,
        }
    }
}

/// An Agent, as far as decisions need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownAgent {
    /// The wire format.
    pub provider: String,
    /// The server.
    pub base_url: String,
    /// The model's name there.
    pub model: String,
    /// Where its API key is.
    pub credential: Option<SecretKeyRef>,
    /// The text that replaces the built-in instructions.
    pub soul: Option<String>,
}

impl KnownAgent {
    /// What decisions need of an Agent.
    pub fn of(agent: &Agent) -> Self {
        let spec = &agent.spec;
        Self {
            provider: format!("{:?}", spec.provider),
            base_url: spec.base_url.clone(),
            model: spec.model.clone(),
            credential: spec.api_key_secret_ref.clone(),
            soul: spec.soul.clone(),
        }
    }
}

impl Inventory {
    /// Whether a step could run there at all.
    pub fn knows(&self, target: &Target) -> bool {
        match target.kind() {
            TargetKind::Host => self.hosts.contains_key(target.name()),
            TargetKind::Lxc | TargetKind::Vm => {
                self.guests.get(target).is_some_and(|guest| self.hosts.contains_key(&guest.host))
            }
        }
    }

    /// The name of the Host that a step on this target goes through.
    pub fn host_of(&self, target: &Target) -> Option<&str> {
        match target.kind() {
            TargetKind::Host => self.hosts.get_key_value(target.name()).map(|(name, _)| name.as_str()),
            TargetKind::Lxc | TargetKind::Vm => self.guests.get(target).map(|guest| guest.host.as_str()),
        }
    }

    /// What a target stands for, as a step that is claimed now finds it; `None` when it is not registered.
    pub fn resolve(&self, target: &Target) -> Option<ResolvedTarget> {
        let name = self.host_of(target)?;
        Some(self.hosts.get(name)?.resolved(name, self.guests.get(target).map(|guest| guest.vmid)))
    }

    /// Also protects these guests, by the name of their Host.
    #[must_use]
    pub fn protecting(mut self, guests: &BTreeMap<String, BTreeSet<u32>>) -> Self {
        for (name, vmids) in guests {
            if let Some(host) = self.hosts.get_mut(name) {
                host.protected.extend(vmids);
            }
        }
        self
    }

    /// Whether the guest is on its host's protected list.
    pub fn protects(&self, target: &Target) -> bool {
        self.guests
            .get(target)
            .and_then(|guest| self.hosts.get(&guest.host).map(|host| host.protected.contains(&guest.vmid)))
            .unwrap_or(false)
    }

    fn guest_by_vmid(&self, host: &str, vmid: u32) -> Option<&Target> {
        self.guests.iter().find(|(_, guest)| guest.host == host && guest.vmid == vmid).map(|(target, _)| target)
    }

    fn host_by_name_or_address(&self, text: &str) -> Option<Target> {
        let name = text.rsplit('@').next().unwrap_or(text);
        let (found, _) = self.hosts.iter().find(|(host, known)| *host == name || known.address == name)?;
        Target::new(TargetKind::Host, found).ok()
    }
}

/// Something that a step acts on and for which the namespace has no Host or Guest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unknown {
    /// What it is, in words.
    pub what: String,
    /// Whether it is a guest on its host's protected list although no Guest object names it.
    pub protected: bool,
}

/// Where a step runs and what it acts on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// What it acts on: what the command names, or else the place where it runs.
    pub acts_on: BTreeSet<Target>,
    /// What it acts on, and the place where it runs.
    pub touches: BTreeSet<Target>,
    /// What it acts on and has no Host or Guest object.
    pub unknown: BTreeSet<Unknown>,
}

/// Resolves what the classifier found in the text of a command that runs on `place`.
pub fn resolve_scope(place: &Target, affected: &BTreeSet<Affected>, inventory: &Inventory) -> Scope {
    let mut scope = Scope::default();
    let mut unknown = |what: String, protected| scope.unknown.insert(Unknown { what, protected });
    if !inventory.knows(place) {
        unknown(place.to_string(), false);
    }
    for thing in affected {
        match thing {
            Affected::Vmid(vmid) => {
                let host = inventory.host_of(place).unwrap_or_default();
                match inventory.guest_by_vmid(host, *vmid) {
                    Some(target) => {
                        scope.acts_on.insert(target.clone());
                    }
                    None => {
                        let protected = inventory.hosts.get(host).is_some_and(|host| host.protected.contains(vmid));
                        unknown(format!("guest {vmid} of host:{host}"), protected);
                    }
                }
            }
            Affected::Host(name) => match inventory.host_by_name_or_address(name) {
                Some(target) => {
                    scope.acts_on.insert(target);
                }
                None => {
                    unknown(format!("the system {name:?}"), false);
                }
            },
            Affected::Unknown => {
                unknown("something that cannot be known from the command's text".to_owned(), false);
            }
        }
    }
    if affected.is_empty() {
        scope.acts_on.insert(place.clone());
    }
    scope.touches = scope.acts_on.clone();
    scope.touches.insert(place.clone());
    scope
}

//! What a step acts on, as Hosts and Guests of the namespace.

use std::collections::{BTreeMap, BTreeSet};

use oikos_risk::Affected;

use crate::api::{Target, TargetKind};

/// The Hosts and Guests that the namespace knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// By the Host object's name.
    pub hosts: BTreeMap<String, KnownHost>,
    /// By target.
    pub guests: BTreeMap<Target, KnownGuest>,
}

/// A Host, as far as decisions need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownHost {
    /// The address that it is reached at.
    pub address: String,
    /// VMIDs that no plan may touch.
    pub protected: BTreeSet<u32>,
}

/// A Guest, as far as decisions need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownGuest {
    /// Its Host's name.
    pub host: String,
    /// Its number there.
    pub vmid: u32,
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

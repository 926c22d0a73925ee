//! Host and Guest: the places where steps run.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{
    CustomResource, KubeSchema,
    core::{Message, Rule},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NameRef, SecretKeyRef, limits, target};

fn target_name_rule() -> Rule {
    let longest = limits::LONGEST_LABEL;
    Rule::new(format!("self.metadata.name.matches('^{}$')", target::NAME_PATTERN)).message(Message::Message(format!(
        "the name is part of targets: lower-case letters, digits and dashes, at most {longest}"
    )))
}

/// A Proxmox VE node and how to reach it.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "oikos.dev",
    version = "v1alpha1",
    kind = "Host",
    plural = "hosts",
    namespaced,
    category = "oikos",
    status = "HostStatus",
    derive = "PartialEq",
    doc = "A Proxmox VE node and how to reach it over SSH. Its target is host:<name>.",
    validation = target_name_rule(),
    printcolumn(name = "Address", type_ = "string", json_path = ".spec.address"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type=='Ready')].status"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].message",
        priority = "1"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct HostSpec {
    /// Host name or IP address to connect to.
    #[schemars(length(min = 1, max = 253))]
    pub address: String,
    /// SSH port; 22 if not given.
    #[serde(default = "default_port")]
    #[schemars(range(min = 1, max = 65_535))]
    pub port: u16,
    /// Login name; root if not given. The Proxmox tools need root.
    #[serde(default = "default_user")]
    #[schemars(length(min = 1, max = limits::LONGEST_LOGIN))]
    pub user: String,
    /// The public keys by which the host is recognised, one per entry: `<type> <base64>`, as `ssh-keyscan` prints them after the name.
    /// A host without a matching key is never connected to.
    #[schemars(length(min = 1, max = limits::MOST_HOST_KEYS), inner(length(min = 1, max = 2048)))]
    pub known_host_keys: Vec<String>,
    /// The private key to log in with, in OpenSSH format.
    pub credential_secret_ref: SecretKeyRef,
    /// VMIDs of guests that no plan may touch, whatever was approved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::MOST_PROTECTED_GUESTS))]
    pub protected_guests: Vec<u32>,
}

fn default_port() -> u16 {
    22
}

fn default_user() -> String {
    "root".to_owned()
}

/// What the controller knows about a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostStatus {
    /// The condition `Ready` says whether the host answers with one of its known keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::MOST_CONDITIONS))]
    pub conditions: Vec<Condition>,
    /// The generation of the spec that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The Proxmox VE version that it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A container or virtual machine.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "oikos.dev",
    version = "v1alpha1",
    kind = "Guest",
    plural = "guests",
    namespaced,
    category = "oikos",
    status = "GuestStatus",
    derive = "PartialEq",
    doc = "A container or virtual machine on a Host. Its target is lxc:<name> or vm:<name>.",
    validation = ("self.spec == oldSelf.spec", "a Guest's spec never changes"),
    validation = target_name_rule(),
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.type"),
    printcolumn(name = "VMID", type_ = "integer", json_path = ".spec.vmid"),
    printcolumn(name = "Host", type_ = "string", json_path = ".spec.hostRef.name"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct GuestSpec {
    /// The Host on which it lives.
    pub host_ref: NameRef,
    /// Its VMID on that host.
    #[schemars(range(min = 100, max = 999_999_999))]
    pub vmid: u32,
    /// Whether it is a container or a virtual machine.
    #[serde(rename = "type")]
    pub kind: GuestKind,
}

/// Whether a guest is a container or a virtual machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum GuestKind {
    /// An LXC container.
    #[serde(rename = "LXC")]
    Lxc,
    /// A QEMU virtual machine.
    #[serde(rename = "VM")]
    Vm,
}

/// What the controller knows about a guest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuestStatus {
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::MOST_CONDITIONS))]
    pub conditions: Vec<Condition>,
}

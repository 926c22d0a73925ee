//! The target on which a step runs: `host:<Host>`, `lxc:<Guest>` or `vm:<Guest>`.

use std::{borrow::Cow, fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::limits::{LONGEST_LABEL, LONGEST_TARGET};

/// The name in a target, as a regular expression without anchors: a label of at most 63 characters.
pub(super) const NAME_PATTERN: &str = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";

/// What kind of thing a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TargetKind {
    /// A Proxmox VE node, named by its Host object.
    Host,
    /// An LXC container, named by its Guest object.
    Lxc,
    /// A virtual machine, named by its Guest object.
    Vm,
}

impl TargetKind {
    /// The prefix in the target's text.
    pub fn prefix(self) -> &'static str {
        match self {
            TargetKind::Host => "host",
            TargetKind::Lxc => "lxc",
            TargetKind::Vm => "vm",
        }
    }
}

/// The target on which a step runs. This is the only parser of target strings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Target {
    kind: TargetKind,
    name: String,
}

/// Why a text is not a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The prefix is missing or not one of the three.
    #[error("target {0:?} does not start with host:, lxc: or vm:")]
    Prefix(String),
    /// The name is not an RFC 1123 label of at most 63 characters.
    #[error("target {0:?} needs a name of lower-case letters, digits and dashes, at most 63 long")]
    Name(String),
}

impl Target {
    /// A target of this kind and name; the name must be an RFC 1123 label.
    pub fn new(kind: TargetKind, name: &str) -> Result<Self, TargetError> {
        if is_label(name) {
            Ok(Self { kind, name: name.to_owned() })
        } else {
            Err(TargetError::Name(format!("{}:{name}", kind.prefix())))
        }
    }

    /// Host, container or virtual machine.
    pub fn kind(&self) -> TargetKind {
        self.kind
    }

    /// The name of the Host or Guest object.
    pub fn name(&self) -> &str {
        &self.name
    }
}

fn is_label(name: &str) -> bool {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.len() <= LONGEST_LABEL
        && name.starts_with(word)
        && name.ends_with(word)
        && name.chars().all(|c| word(c) || c == '-')
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let (prefix, name) = text.split_once(':').ok_or_else(|| TargetError::Prefix(text.to_owned()))?;
        let kind = match prefix {
            "host" => TargetKind::Host,
            "lxc" => TargetKind::Lxc,
            "vm" => TargetKind::Vm,
            _ => return Err(TargetError::Prefix(text.to_owned())),
        };
        Self::new(kind, name)
    }
}

impl TryFrom<String> for Target {
    type Error = TargetError;

    fn try_from(text: String) -> Result<Self, TargetError> {
        text.parse()
    }
}

impl From<Target> for String {
    fn from(target: Target) -> String {
        target.to_string()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.prefix(), self.name)
    }
}

impl JsonSchema for Target {
    fn schema_name() -> Cow<'static, str> {
        "Target".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "maxLength": LONGEST_TARGET,
            "pattern": format!("^(host|lxc|vm):{NAME_PATTERN}$"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_survives_a_round_trip_through_its_text() {
        for text in ["host:strong", "lxc:web-01", "vm:a"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn anything_else_is_refused_with_the_reason() {
        for text in ["strong", "pod:web", "host:", "host:-a", "lxc:A", "lxc:a/b", "host:a b", "lxc:a\n"] {
            assert!(text.parse::<Target>().is_err(), "{text:?}");
        }
    }
}

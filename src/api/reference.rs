//! References to other objects of the same namespace.

use kube::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits;

/// An object of the same namespace, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NameRef {
    /// The object's name.
    #[schemars(length(min = 1, max = limits::LONGEST_NAME))]
    pub name: String,
}

/// One particular object of the same namespace: a re-created object of the same name is another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectRef {
    /// The object's name.
    #[schemars(length(min = 1, max = limits::LONGEST_NAME))]
    pub name: String,
    /// The object's uid.
    #[schemars(length(min = 1, max = limits::LONGEST_UID))]
    pub uid: String,
}

impl ObjectRef {
    /// The reference to an object as the API server gave it.
    pub fn of(object: &impl Resource) -> Self {
        let meta = object.meta();
        Self { name: meta.name.clone().unwrap_or_default(), uid: meta.uid.clone().unwrap_or_default() }
    }
}

/// A key of a Secret of the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretKeyRef {
    /// The Secret's name.
    #[schemars(length(min = 1, max = limits::LONGEST_NAME))]
    pub name: String,
    /// The key within the Secret.
    #[schemars(length(min = 1, max = limits::LONGEST_NAME))]
    pub key: String,
}

//! The API calls that change objects.

use std::fmt::Debug;

use kube::{
    Api, Resource,
    api::{Patch, PatchParams, PostParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

use super::error::{ControllerError, call};
use crate::api::AutonomyWindow;

/// Creates an object. If one of that name exists, the same effect was decided twice, and that is no error.
pub async fn create<K>(api: &Api<K>, what: &'static str, object: &K) -> Result<(), ControllerError>
where
    K: Resource + Clone + Serialize + DeserializeOwned + Debug,
{
    match call(what, api.create(&PostParams::default(), object)).await {
        Err(error) if error.is_already_exists() => Ok(()),
        other => other.map(|_| ()),
    }
}

/// Writes an object's status if nobody wrote since it was read; else the error is a conflict. A claim counts only
/// because of that.
pub async fn replace_status<K>(api: &Api<K>, what: &'static str, object: &K) -> Result<K, ControllerError>
where
    K: Resource + Clone + Serialize + DeserializeOwned + Debug,
{
    let name = object.meta().name.as_deref().ok_or(ControllerError::Nameless)?;
    call(what, api.replace_status(name, &PostParams::default(), object)).await
}

/// Revokes a window; one that is gone needs no revoking.
pub async fn revoke(api: &Api<AutonomyWindow>, name: &str) -> Result<(), ControllerError> {
    let patch = Patch::Merge(json!({"spec": {"revoked": true}}));
    match call("revoking a window", api.patch(name, &PatchParams::default(), &patch)).await {
        Err(error) if error.is_not_found() => Ok(()),
        other => other.map(|_| ()),
    }
}

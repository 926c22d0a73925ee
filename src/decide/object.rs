//! What every decision asks of an object's metadata.

use kube::Resource;

use crate::api::Plan;

/// The namespace; empty if absent, which it never is in objects from the API server.
pub(super) fn namespace(object: &impl Resource) -> &str {
    object.meta().namespace.as_deref().unwrap_or_default()
}

/// The name; empty if absent, which it never is in objects from the API server.
pub(super) fn name(object: &impl Resource) -> &str {
    object.meta().name.as_deref().unwrap_or_default()
}

/// The uid; empty if absent, which it never is in objects from the API server.
pub(super) fn uid(object: &impl Resource) -> &str {
    object.meta().uid.as_deref().unwrap_or_default()
}

/// The value of an annotation.
pub(super) fn annotation<'a>(object: &'a impl Resource, key: &str) -> Option<&'a str> {
    object.meta().annotations.as_ref()?.get(key).map(String::as_str)
}

/// Whether a person wants the plan to end: it is cancelled, or is being deleted while something holds it back.
pub(super) fn is_cancelled(plan: &Plan) -> bool {
    plan.spec.cancelled || plan.metadata.deletion_timestamp.is_some()
}

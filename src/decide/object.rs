//! What every decision asks of an object's metadata.

use kube::Resource;

/// Namespace and name; empty where the API server would never leave them out.
pub(in crate::decide) fn names(object: &impl Resource) -> (&str, &str) {
    let meta = object.meta();
    (meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default())
}

/// The value of an annotation.
pub(in crate::decide) fn annotation<'a>(object: &'a impl Resource, key: &str) -> Option<&'a str> {
    object.meta().annotations.as_ref()?.get(key).map(String::as_str)
}

//! What ties a child to its Plan: namespace, owner and label.

use kube::{Resource, ResourceExt, core::NamespaceResourceScope};

use super::{Plan, names::PLAN_LABEL};

/// Makes `child` the plan's own: it lives in the plan's namespace, bears its label, and goes when the plan is deleted.
pub fn own<K>(plan: &Plan, child: &mut K)
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    child.meta_mut().namespace = plan.metadata.namespace.clone();
    child.meta_mut().owner_references = plan.controller_owner_ref(&()).map(|owner| vec![owner]);
    label(plan.metadata.name.as_deref().unwrap_or_default(), child);
}

/// Labels an object as made for the plan of this name, without binding its life to the plan's.
pub fn label<K: Resource<DynamicType = ()>>(plan: &str, object: &mut K) {
    object.labels_mut().insert(PLAN_LABEL.to_owned(), plan.to_owned());
}

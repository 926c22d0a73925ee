//! What each role may do, and that it may do nothing else.

use std::collections::BTreeSet;

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::{Api, PostParams};
use testbed::control_plane::Access;

use crate::cluster::{SYSTEM, cluster, controller};

const VERBS: [&str; 9] = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "approve"];
const READ: &str = "get,list,watch";
/// Every resource that a role of the chart could reach, and some that it must not.
const RESOURCES: [(&str, &str); 21] = [
    ("oikos.dev", "plans"),
    ("oikos.dev", "plans/status"),
    ("oikos.dev", "plans/finalizers"),
    ("oikos.dev", "executions"),
    ("oikos.dev", "executions/status"),
    ("oikos.dev", "autonomywindows"),
    ("oikos.dev", "autonomywindows/status"),
    ("oikos.dev", "messages"),
    ("oikos.dev", "agents"),
    ("oikos.dev", "agents/status"),
    ("oikos.dev", "hosts"),
    ("oikos.dev", "hosts/status"),
    ("oikos.dev", "guests"),
    ("oikos.dev", "guests/status"),
    ("", "secrets"),
    ("", "configmaps"),
    ("", "pods"),
    ("coordination.k8s.io", "leases"),
    ("events.k8s.io", "events"),
    ("rbac.authorization.k8s.io", "rolebindings"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
];

/// All that a user may do of `RESOURCES` in a namespace, as `resource verb`.
async fn rights(user: &str, namespace: &str) -> BTreeSet<String> {
    let reviews: Api<SubjectAccessReview> = Api::all(cluster().await.admin().client().await.unwrap());
    let mut allowed = BTreeSet::new();
    for (group, resource) in RESOURCES {
        for verb in VERBS {
            let (name, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            let attributes = ResourceAttributes {
                group: Some(group.into()),
                resource: Some(name.into()),
                subresource: Some(subresource.into()),
                verb: Some(verb.into()),
                namespace: Some(namespace.into()),
                ..ResourceAttributes::default()
            };
            let spec = SubjectAccessReviewSpec {
                user: Some(user.into()),
                resource_attributes: Some(attributes),
                ..SubjectAccessReviewSpec::default()
            };
            let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
            let answer = reviews.create(&PostParams::default(), &review).await.unwrap();
            if answer.status.is_some_and(|status| status.allowed) {
                allowed.insert(format!("{resource} {verb}"));
            }
        }
    }
    allowed
}

fn expected(table: &[(&str, &str)]) -> BTreeSet<String> {
    table.iter().flat_map(|(resource, verbs)| verbs.split(',').map(move |verb| format!("{resource} {verb}"))).collect()
}

/// What the controller may do in every namespace.
const CONTROLLER: [(&str, &str); 16] = [
    ("plans", READ),
    ("agents", READ),
    ("hosts", READ),
    ("autonomywindows", "get,list,watch,create,patch"),
    ("messages", "get,list,watch,create"),
    ("executions", "get,list,watch,create,delete"),
    ("guests", "get,list,watch,create,update,patch,delete"),
    ("plans/status", "get,update,patch"),
    ("executions/status", "get,update,patch"),
    ("autonomywindows/status", "get,update,patch"),
    ("agents/status", "get,update,patch"),
    ("hosts/status", "get,update,patch"),
    ("guests/status", "get,update,patch"),
    ("plans/finalizers", "update"),
    ("events", "create,patch"),
    ("secrets", "get"),
];

#[tokio::test]
async fn the_controller_may_do_its_work_and_nothing_else() {
    let user = controller().await.username().to_owned();
    assert_eq!(rights(&user, "default").await, expected(&CONTROLLER));
}

#[tokio::test]
async fn in_its_own_namespace_the_controller_may_also_hold_its_lease_and_probe_the_guard() {
    let user = controller().await.username().to_owned();
    let own = [("leases", "get,create,update,patch"), ("plans", "create")];
    assert_eq!(rights(&user, SYSTEM).await, expected(&[CONTROLLER.as_slice(), &own].concat()));
}

async fn bound_to(role: &str) -> BTreeSet<String> {
    let plane = cluster().await;
    let user = format!("only-{role}");
    let (binding, cluster_role, subject) = (&user, format!("--clusterrole={role}"), format!("--user={user}"));
    let bind = ["create", "clusterrolebinding", binding, &cluster_role, &subject];
    plane.admin().kubectl(&bind).await.unwrap().ok().unwrap();
    let admin: Access = plane.admin();
    let see = ["wait", "--for=jsonpath={.roleRef.name}", "clusterrolebinding", &user, "--timeout=30s"];
    admin.kubectl(&see).await.unwrap().ok().unwrap();
    // The authorizer has the binding once it grants the one right that all of these roles have.
    for _ in 0..200 {
        let can = ["auth", "can-i", "get", "plans.oikos.dev", "--as", &user];
        if admin.kubectl(&can).await.unwrap().success() {
            break;
        }
    }
    let ours = |right: &String| RESOURCES.iter().any(|(group, name)| *group == "oikos.dev" && right.starts_with(name));
    rights(&user, "default").await.into_iter().filter(ours).collect()
}

const SEE: [(&str, &str); 7] = [
    ("plans", READ),
    ("executions", READ),
    ("autonomywindows", READ),
    ("messages", READ),
    ("agents", READ),
    ("hosts", READ),
    ("guests", READ),
];

#[tokio::test]
async fn the_clusters_role_view_shows_everything_and_changes_nothing() {
    assert_eq!(bound_to("view").await, expected(&SEE));
}

#[tokio::test]
async fn the_clusters_role_edit_writes_plans_and_the_fleet_but_does_not_approve() {
    let write = [
        ("plans", "create,update,patch,delete"),
        ("agents", "create,update,patch,delete"),
        ("hosts", "create,update,patch,delete"),
        ("guests", "create,update,patch,delete"),
        ("messages", "create"),
    ];
    assert_eq!(bound_to("edit").await, expected(&[SEE.as_slice(), &write].concat()));
}

#[tokio::test]
async fn the_approver_may_decide_and_revoke_but_not_write_plans() {
    let decide = [
        ("plans", "get,list,watch,patch,approve"),
        ("executions", "get,list,watch,patch"),
        ("autonomywindows", "get,list,watch,create,patch"),
    ];
    assert_eq!(bound_to("oikos-approver").await, expected(&decide));
}

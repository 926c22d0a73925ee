//! What each role may do, and that it may do nothing else.

use std::collections::BTreeSet;

use k8s_openapi::api::{
    authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
    rbac::v1::RoleBinding,
};
use kube::api::{Api, PostParams};
use testbed::control_plane::Access;

use crate::cluster::{SYSTEM, cluster, controller};

const VERBS: [&str; 13] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
    "approve",
    "answer",
    "bind",
    "escalate",
    "impersonate",
];
const READ: &str = "get,list,watch";
/// Every resource that a role of the chart could reach, and some that it must not.
const RESOURCES: [(&str, &str); 29] = [
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
    ("", "serviceaccounts"),
    ("", "users"),
    ("apps", "deployments"),
    ("rbac.authorization.k8s.io", "rolebindings"),
    ("rbac.authorization.k8s.io", "clusterrolebindings"),
    ("rbac.authorization.k8s.io", "roles"),
    ("rbac.authorization.k8s.io", "clusterroles"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"),
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
const CONTROLLER: [(&str, &str); 15] = [
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

#[tokio::test]
async fn the_controller_reads_secrets_where_it_was_let_and_nowhere_else() {
    let plane = cluster().await;
    let (named, other) = (plane.namespace("keys").await.unwrap(), plane.namespace("other").await.unwrap());
    testbed::chart::let_read_secrets(plane, &named).await.unwrap();
    let user = controller().await.username().to_owned();
    let secrets = async |namespace: &str| {
        let all = rights(&user, namespace).await;
        all.into_iter().filter(|right| right.starts_with("secrets ")).collect::<Vec<_>>()
    };
    assert_eq!((secrets(&named).await, secrets(&other).await), (vec!["secrets get".to_owned()], vec![]));
}

#[tokio::test]
async fn the_controller_cannot_bind_a_role_and_an_administrator_of_a_namespace_cannot_give_away_deciding() {
    let room = crate::cluster::room("bind").await;
    let (_, head) = room.only("admin", "create").await;
    for (client, role, allowed) in [
        (&room.controller, "oikos-view", false),
        (&room.controller, "oikos-approver", false),
        (&head, "oikos-edit", true),
        (&head, "oikos-fleet", false),
        (&head, "oikos-answerer", false),
        (&head, "oikos-approver", false),
    ] {
        let binding = serde_json::from_value(serde_json::json!({
            "metadata": {"name": format!("bind-{role}")},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "mallory"}],
        }));
        let bindings: Api<RoleBinding> = Api::namespaced(client.clone(), &room.namespace);
        let bound = bindings.create(&PostParams::default(), &binding.unwrap()).await;
        assert_eq!(bound.is_ok(), allowed, "{role}: {bound:?}");
    }
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
    // The authorizer has the binding once it grants a right that the role has.
    let seen = if role.ends_with("fleet") { "hosts.oikos.dev" } else { "plans.oikos.dev" };
    for _ in 0..200 {
        let can = ["auth", "can-i", "get", seen, "--as", &user];
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
async fn the_clusters_roles_edit_and_admin_write_plans_and_neither_the_fleet_nor_an_answer_nor_an_approval() {
    let write = [("plans", "create,update,patch,delete")];
    for role in ["edit", "admin"] {
        assert_eq!(bound_to(role).await, expected(&[SEE.as_slice(), &write].concat()), "{role}");
    }
}

#[tokio::test]
async fn who_keeps_the_fleet_writes_hosts_guests_and_agents_and_no_plan() {
    let all = "get,list,watch,create,update,patch,delete";
    assert_eq!(bound_to("oikos-fleet").await, expected(&[("agents", all), ("hosts", all), ("guests", all)]));
}

#[tokio::test]
async fn the_answerer_may_answer_but_not_decide() {
    let answer = [("plans", "get,list,watch,patch,answer"), ("messages", "get,list,watch,create")];
    assert_eq!(bound_to("oikos-answerer").await, expected(&answer));
}

#[tokio::test]
async fn the_approver_may_decide_answer_and_revoke_but_not_write_plans() {
    let decide = [
        ("plans", "get,list,watch,patch,approve,answer"),
        ("executions", "get,list,watch,patch"),
        ("autonomywindows", "get,list,watch,create,patch"),
        ("messages", "get,list,watch,create"),
    ];
    assert_eq!(bound_to("oikos-approver").await, expected(&decide));
}

//! AutonomyWindows that a person creates: they need the verb `approve`, and name that person.

use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;

use crate::cluster::{Room, cluster, refusal, room};

/// An account that RBAC lets create and patch windows, without the verb `approve`.
async fn clerk(room: &Room) -> (String, kube::Client) {
    let plane = cluster().await;
    let namespace = room.namespace.as_str();
    for words in [
        vec!["create", "serviceaccount", "clerk"],
        vec!["create", "role", "clerk", "--verb=create,patch,get", "--resource=autonomywindows.oikos.dev"],
        vec!["create", "rolebinding", "clerk", "--role=clerk", &format!("--serviceaccount={namespace}:clerk")],
    ] {
        let words = [words, vec!["-n", namespace]].concat();
        plane.admin().kubectl(&words).await.unwrap().ok().unwrap();
    }
    let access = plane.service_account(namespace, "clerk").await.unwrap();
    access.wait_until_allowed("patch", "autonomywindows.oikos.dev", namespace).await.unwrap();
    (access.username().to_owned(), access.client().await.unwrap())
}

#[tokio::test]
async fn an_approver_grants_by_making_a_window_in_the_own_name() {
    let room = room("grant").await;
    let plan = room.plan("web").await;
    for (name, via) in [("web-a", "Manual"), ("web-b", "Chat")] {
        let mut window = room.window_object(&plan, "operator", via);
        window.metadata.name = Some(name.into());
        room.windows(&room.operator).create(&PostParams::default(), &window).await.unwrap();
    }
}

#[tokio::test]
async fn a_window_without_the_verb_is_refused() {
    let room = room("noverb").await;
    let plan = room.plan("web").await;
    let (username, clerk) = clerk(&room).await;
    let window = room.window_object(&plan, &username, "Manual");
    let words = refusal(room.windows(&clerk).create(&PostParams::default(), &window).await);
    assert!(words.contains(r#"the verb "approve" on plans.oikos.dev "web""#), "{words}");
}

#[tokio::test]
async fn a_window_in_another_name_is_refused_also_to_the_administrator() {
    let room = room("name").await;
    let plan = room.plan("web").await;
    for client in [&room.operator, &room.admin] {
        let window = room.window_object(&plan, "boss", "Manual");
        let words = refusal(room.windows(client).create(&PostParams::default(), &window).await);
        assert!(words.contains("spec.grantedBy.username"), "{words}");
    }
}

#[tokio::test]
async fn a_person_cannot_claim_the_controllers_routes_or_its_verification() {
    let room = room("route").await;
    let plan = room.plan("web").await;
    for via in ["Annotation", "Confirmation"] {
        let window = room.window_object(&plan, "operator", via);
        refusal(room.windows(&room.operator).create(&PostParams::default(), &window).await);
    }
    let mut window = room.window_object(&plan, "operator", "Manual");
    window.spec.granted_by.verified = true;
    let words = refusal(room.windows(&room.operator).create(&PostParams::default(), &window).await);
    assert!(words.contains("verified"), "{words}");
}

#[tokio::test]
async fn the_controller_makes_windows_from_checked_annotations() {
    let room = room("checked").await;
    let plan = room.plan("web").await;
    let mut window = room.window_object(&plan, "operator", "Annotation");
    window.spec.granted_by.verified = true;
    room.windows(&room.controller).create(&PostParams::default(), &window).await.unwrap();
    let own = crate::cluster::controller().await.username().to_owned();
    for (name, via) in [("operator", "Manual"), ("operator", "Chat"), (&own, "Annotation")] {
        let window = room.window_object(&plan, name, via);
        let words = refusal(room.windows(&room.controller).create(&PostParams::default(), &window).await);
        assert!(words.contains("grants only what a person approved or confirmed"), "{via}: {words}");
    }
}

#[tokio::test]
async fn revoking_takes_the_verb_and_cannot_be_undone() {
    let room = room("revoke").await;
    let plan = room.plan("web").await;
    let window = room.window_object(&plan, "operator", "Manual");
    let name = window.metadata.name.clone().unwrap();
    room.windows(&room.operator).create(&PostParams::default(), &window).await.unwrap();
    let (_, clerk) = clerk(&room).await;
    let set = |revoked: bool| Patch::Merge(json!({"spec": {"revoked": revoked}}));
    let words = refusal(room.windows(&clerk).patch(&name, &PatchParams::default(), &set(true)).await);
    assert!(words.contains("may not revoke"), "{words}");
    room.windows(&room.operator).patch(&name, &PatchParams::default(), &set(true)).await.unwrap();
    let undone = room.windows(&room.operator).patch(&name, &PatchParams::default(), &set(false)).await;
    assert!(undone.unwrap_err().to_string().contains("a revoked grant stays revoked"));
}

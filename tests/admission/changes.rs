//! Who may only decide or answer writes the annotation for it and changes nothing else.

use kube::{
    Client, Error,
    api::{DeleteParams, Patch, PatchParams, PostParams, PropagationPolicy},
};
use oikos::api::{ANSWER, APPROVE, DENY, Plan};
use serde_json::{Value, json};

use crate::cluster::{PHRASE, Room, TOKEN, annotations, refusal, room, without_annotation};

async fn change(room: &Room, client: &Client, patch: Value) -> Result<Plan, Error> {
    room.plans(client).patch("web", &PatchParams::default(), &Patch::Merge(patch)).await
}

/// Every part of an object that an approval is no reason to touch.
fn others() -> [(&'static str, Value); 7] {
    let owner = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "none", "uid": "u"}]);
    [
        ("spec", json!({"spec": {"goal": "another"}})),
        ("spec", json!({"spec": {"cancelled": true}})),
        ("spec", json!({"spec": {"targets": ["host:strong", "lxc:web", "lxc:db"]}})),
        ("labels", json!({"metadata": {"labels": {"seen": "yes"}}})),
        ("annotation team", json!({"metadata": {"annotations": {"team": "a"}}})),
        ("ownerReferences", json!({"metadata": {"ownerReferences": owner}})),
        ("finalizers", json!({"metadata": {"finalizers": ["example.com/never"]}})),
    ]
}

#[tokio::test]
async fn an_approver_annotates_a_plan_and_changes_nothing_else() {
    let room = room("approver").await;
    room.plan("web").await;
    let (username, approver) = room.only("oikos-approver", "approve").await;
    for (part, patch) in others() {
        let words = refusal(change(&room, &approver, patch.clone()).await);
        assert!(words.contains(&format!("{username} may not change {part}: ")), "{patch}: {words}");
        assert!(words.contains(r#"the verb "update" on plans.oikos.dev "web""#), "{words}");
        // Nor together with a decision that is right.
        let mut both = patch;
        both["metadata"]["annotations"][APPROVE] = json!(TOKEN);
        refusal(change(&room, &approver, both).await);
    }
    change(&room, &room.viewer, json!({"metadata": {"annotations": {"team": "a"}, "labels": {"a": "b"}}}))
        .await
        .unwrap();
    for patch in [json!({"metadata": {"annotations": {"team": null}}}), json!({"metadata": {"labels": null}})] {
        let words = refusal(change(&room, &approver, patch).await);
        assert!(
            words.contains("may not change annotation team:") || words.contains("may not change labels:"),
            "{words}"
        );
    }
    let plans = room.plans(&approver);
    let deny = annotations(&[(DENY, TOKEN), ("oikos.dev/reason", "not today")]);
    plans.patch("web", &PatchParams::default(), &deny).await.unwrap();
    plans.patch("web", &PatchParams::default(), &without_annotation(DENY)).await.unwrap();
    plans.patch("web", &PatchParams::default(), &annotations(&[(APPROVE, TOKEN)])).await.unwrap();
}

#[tokio::test]
async fn an_approver_annotates_a_step_and_changes_nothing_else() {
    let room = room("step").await;
    let plan = room.plan("web").await;
    room.waiting_execution(&plan, "web-1-1", true).await;
    let (_, approver) = room.only("oikos-approver", "approve").await;
    let executions = room.executions(&approver);
    for (part, patch) in others().into_iter().filter(|(part, _)| *part != "spec") {
        let words = refusal(executions.patch("web-1-1", &PatchParams::default(), &Patch::Merge(patch)).await);
        assert!(words.contains(&format!("may not change {part}: ")), "{words}");
    }
    let answer = annotations(&[(ANSWER, "an Execution asks nothing")]);
    refusal(executions.patch("web-1-1", &PatchParams::default(), &answer).await);
    let confirm = annotations(&[("oikos.dev/confirm", PHRASE), ("oikos.dev/confirm-scope", "Step")]);
    executions.patch("web-1-1", &PatchParams::default(), &confirm).await.unwrap();
}

#[tokio::test]
async fn an_answerer_changes_no_decision_and_takes_none_away() {
    let room = room("answerer").await;
    room.plan("web").await;
    let (_, answerer) = room.only("oikos-answerer", "answer").await;
    for (part, patch) in others() {
        let words = refusal(change(&room, &answerer, patch).await);
        assert!(words.contains(&format!("may not change {part}: ")), "{words}");
    }
    refusal(change(&room, &answerer, json!({"metadata": {"annotations": {APPROVE: TOKEN}}})).await);
    let denied = annotations(&[(DENY, TOKEN), ("oikos.dev/reason", "not today")]);
    room.plans(&room.operator).patch("web", &PatchParams::default(), &denied).await.unwrap();
    for key in [DENY, "oikos.dev/reason"] {
        let words =
            refusal(room.plans(&answerer).patch("web", &PatchParams::default(), &without_annotation(key)).await);
        assert!(words.contains(&format!("may not change annotation {key}: ")), "{words}");
    }
}

#[tokio::test]
async fn who_may_patch_but_neither_decide_nor_answer_nor_update_changes_nothing() {
    let room = room("patch").await;
    room.plan("web").await;
    let plane = crate::cluster::cluster().await;
    let role = ["create", "clusterrole", "patches-plans", "--verb=patch,get", "--resource=plans.oikos.dev"];
    plane.admin().kubectl(&role).await.unwrap().ok().unwrap();
    let (_, clerk) = room.only("patches-plans", "patch").await;
    for (_, patch) in others() {
        refusal(change(&room, &clerk, patch).await);
    }
    room.block("web", "OperatorNeeded", 7).await;
    for pair in [(APPROVE, TOKEN), (DENY, TOKEN), (ANSWER, "blue"), ("oikos.dev/reason", "none")] {
        refusal(room.plans(&clerk).patch("web", &PatchParams::default(), &annotations(&[pair])).await);
    }
}

#[tokio::test]
async fn nothing_of_a_window_changes_but_revoked_not_even_a_label() {
    let room = room("window").await;
    let plan = room.plan("web").await;
    let (username, approver) = room.only("oikos-approver", "approve").await;
    let window = room.window_object(&plan, &username, "Manual");
    let name = window.metadata.name.clone().unwrap();
    room.windows(&approver).create(&PostParams::default(), &window).await.unwrap();
    for (part, patch) in others().into_iter().filter(|(part, _)| *part != "spec") {
        for client in [&approver, &room.operator, &room.controller] {
            let patch = Patch::Merge(patch.clone());
            let words = refusal(room.windows(client).patch(&name, &PatchParams::default(), &patch).await);
            assert!(words.contains(&format!("may not change {part}: nothing of a window changes")), "{words}");
        }
    }
    let decision = annotations(&[(APPROVE, TOKEN)]);
    refusal(room.windows(&approver).patch(&name, &PatchParams::default(), &decision).await);
    let revoke = Patch::Merge(json!({"spec": {"revoked": true}}));
    room.windows(&approver).patch(&name, &PatchParams::default(), &revoke).await.unwrap();
}

#[tokio::test]
async fn the_controller_revokes_and_an_administrator_may_still_orphan_a_window() {
    let room = room("orphan").await;
    let plan = room.plan("web").await;
    let mut window = room.window_object(&plan, "operator", "Annotation");
    let owner = json!({"apiVersion": "oikos.dev/v1alpha1", "kind": "Plan", "name": "web", "uid": plan.metadata.uid});
    window.metadata.owner_references = Some(vec![serde_json::from_value(owner).unwrap()]);
    let name = window.metadata.name.clone().unwrap();
    room.windows(&room.controller).create(&PostParams::default(), &window).await.unwrap();
    let revoke = Patch::Merge(json!({"spec": {"revoked": true}}));
    room.windows(&room.controller).patch(&name, &PatchParams::default(), &revoke).await.unwrap();
    let orphan = Patch::Merge(json!({"metadata": {"ownerReferences": null}}));
    room.windows(&room.admin).patch(&name, &PatchParams::default(), &orphan).await.unwrap();
    let now = DeleteParams { propagation_policy: Some(PropagationPolicy::Background), ..DeleteParams::default() };
    room.plans(&room.viewer).delete("web", &now).await.unwrap();
}

//! What only the controller writes, whatever RBAC allows: steps, the agent's words, every status.

use kube::api::{Patch, PatchParams, PostParams};
use oikos::api::{Agent, Guest, Host, Message};
use serde_json::{Value, json};

use crate::cluster::{Room, annotations, plan_ref, refusal, room};

fn message(plan: &oikos::api::Plan, name: &str, kind: &str) -> Message {
    let mut message = json!({
        "apiVersion": "oikos.dev/v1alpha1", "kind": "Message", "metadata": {"name": name},
        "spec": {"planRef": plan_ref(plan), "sequence": 1, "kind": kind, "text": "approved, go on"},
    });
    if kind == "Note" {
        message["spec"]["reason"] = json!("ModelOverloaded");
    }
    serde_json::from_value(message).unwrap()
}

#[tokio::test]
async fn a_person_cannot_create_an_execution() {
    let room = room("person").await;
    let plan = room.plan("web").await;
    let execution = room.execution_object(&plan, "web-1-1");
    let words = refusal(room.executions(&room.admin).create(&PostParams::default(), &execution).await);
    assert!(words.contains("only the controller makes Executions"), "{words}");
    for client in [&room.operator, &room.viewer] {
        room.executions(client).create(&PostParams::default(), &execution).await.unwrap_err();
    }
    room.executions(&room.controller).create(&PostParams::default(), &execution).await.unwrap();
}

#[tokio::test]
async fn people_may_label_a_step_and_nobody_may_rewrite_it() {
    let room = room("label").await;
    let plan = room.plan("web").await;
    room.waiting_execution(&plan, "web-1-1", false).await;
    let label = Patch::Merge(json!({"metadata": {"labels": {"seen": "yes"}}}));
    room.executions(&room.operator).patch("web-1-1", &PatchParams::default(), &label).await.unwrap();
    let other = Patch::Merge(json!({"spec": {"run": {"command": "true"}}}));
    for client in [&room.admin, &room.operator, &room.controller] {
        room.executions(client).patch("web-1-1", &PatchParams::default(), &other).await.unwrap_err();
    }
}

#[tokio::test]
async fn people_write_answers_and_nothing_else_and_the_controller_turns_and_notes() {
    let room = room("speak").await;
    let plan = room.plan("web").await;
    for kind in ["Turn", "ClosingTurn", "Note"] {
        let name = format!("web-{}", kind.to_lowercase());
        let spoken = message(&plan, &name, kind);
        for client in [&room.operator, &room.admin] {
            let words = refusal(room.messages(client).create(&PostParams::default(), &spoken).await);
            assert!(words.contains("people write Messages of the kind Answer"), "{words}");
        }
        room.messages(&room.controller).create(&PostParams::default(), &spoken).await.unwrap();
    }
    let answer = message(&plan, "web-2", "Answer");
    let words = refusal(room.messages(&room.controller).create(&PostParams::default(), &answer).await);
    assert!(words.contains("speaks only in the name of a person"), "{words}");
    room.messages(&room.operator).create(&PostParams::default(), &answer).await.unwrap();
}

#[tokio::test]
async fn nobody_but_the_controller_writes_a_status_not_even_the_administrator() {
    let room = room("status").await;
    let plan = room.plan("web").await;
    room.waiting_execution(&plan, "web-1-1", false).await;
    let window = room.window_object(&plan, "operator", "Manual");
    let window = room.windows(&room.operator).create(&PostParams::default(), &window).await.unwrap();
    for (kind, spec) in fleet() {
        create(&room, kind, spec).await;
    }
    let window = window.metadata.name.unwrap();
    let status = Patch::Merge(json!({"status": {"phase": "Succeeded"}}));
    let waiting = Patch::Merge(json!({"status": {"phase": "AwaitingApproval"}}));
    let parameters = PatchParams::default();
    refusal(room.plans(&room.admin).patch_status("web", &parameters, &status).await);
    refusal(room.executions(&room.admin).patch_status("web-1-1", &parameters, &waiting).await);
    let active = Patch::Merge(json!({"status": {"phase": "Active"}}));
    refusal(room.windows(&room.admin).patch_status(&window, &parameters, &active).await);
    let empty = Patch::Merge(json!({"status": {"observedGeneration": 7}}));
    let (hosts, guests, agents) = (api::<Host>(&room), api::<Guest>(&room), api::<Agent>(&room));
    refusal(hosts.patch_status("strong", &parameters, &empty).await);
    refusal(guests.patch_status("web", &parameters, &empty).await);
    refusal(agents.patch_status("nomos", &parameters, &empty).await);
    for client in [&room.operator, &room.viewer] {
        room.plans(client).patch_status("web", &parameters, &status).await.unwrap_err();
    }
    room.executions(&room.controller).patch_status("web-1-1", &parameters, &waiting).await.unwrap();
}

#[tokio::test]
async fn a_person_may_still_pause_cancel_and_edit_a_plan() {
    let room = room("edit").await;
    room.plan("web").await;
    for spec in [json!({"paused": true}), json!({"cancelled": true}), json!({"goal": "another"})] {
        let patch = Patch::Merge(json!({"spec": spec}));
        room.plans(&room.viewer).patch("web", &PatchParams::default(), &patch).await.unwrap();
    }
    let unrelated = annotations(&[("team", "a")]);
    room.plans(&room.viewer).patch("web", &PatchParams::default(), &unrelated).await.unwrap();
}

fn api<K>(room: &Room) -> kube::Api<K>
where
    K: kube::Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
{
    kube::Api::namespaced(room.admin.clone(), &room.namespace)
}

async fn create(room: &Room, kind: &str, object: Value) {
    match kind {
        "Host" => drop(room.create::<Host>(&room.operator, object).await.unwrap()),
        "Guest" => drop(room.create::<Guest>(&room.operator, object).await.unwrap()),
        _ => drop(room.create::<Agent>(&room.operator, object).await.unwrap()),
    }
}

fn fleet() -> [(&'static str, Value); 3] {
    [("Host", crate::resources::host()), ("Guest", crate::resources::guest()), ("Agent", crate::resources::agent())]
}

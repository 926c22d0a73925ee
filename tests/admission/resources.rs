//! What the CRDs themselves refuse, whoever asks.

use kube::{
    Resource,
    api::{Patch, PatchParams, PostParams},
    core::NamespaceResourceScope,
};
use oikos::api::{Agent, AutonomyWindow, Execution, Guest, Host, Message, Plan, PlanPhase, WindowPhase};
use serde_json::{Value, json};

use crate::cluster::{Room, annotations, api_error, plan_object, plan_ref, room};

/// A Host named strong.
pub fn host() -> Value {
    json!({
        "apiVersion": "oikos.dev/v1alpha1", "kind": "Host", "metadata": {"name": "strong"},
        "spec": {"address": "192.0.2.7", "knownHostKeys": ["ssh-ed25519 AAAA"], "credentialSecretRef": {"name": "ssh", "key": "key"}},
    })
}

/// A Guest named web.
pub fn guest() -> Value {
    json!({
        "apiVersion": "oikos.dev/v1alpha1", "kind": "Guest", "metadata": {"name": "web"},
        "spec": {"hostRef": {"name": "strong"}, "vmid": 101, "type": "LXC"},
    })
}

/// An Agent named nomos.
pub fn agent() -> Value {
    json!({
        "apiVersion": "oikos.dev/v1alpha1", "kind": "Agent", "metadata": {"name": "nomos"},
        "spec": {"provider": "OpenAI", "baseURL": "http://192.0.2.8:11434/v1", "model": "any"},
    })
}

/// Tries the base object with one member changed, as a dry run. None: accepted.
async fn try_with<K>(room: &Room, base: &Value, pointer: &str, value: Value) -> Option<String>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    let mut object = base.clone();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match (object.pointer_mut(parent).unwrap(), value) {
        (Value::Object(map), Value::Null) => drop(map.remove(key)),
        (Value::Object(map), value) => drop(map.insert(key.into(), value)),
        (Value::Array(list), value) => list[key.parse::<usize>().unwrap()] = value,
        (other, _) => panic!("{other} has no members"),
    }
    // Untyped on the wire, so that what our own types cannot say is tried as well.
    let url = K::url_path(&(), Some(&room.namespace));
    let request = http::Request::post(format!("{url}?dryRun=All&fieldValidation=Strict"))
        .header("content-type", "application/json")
        .body(serde_json::to_vec(&object).unwrap())
        .unwrap();
    // As the controller, which alone may write most kinds, given every right below.
    match room.controller.request::<Value>(request).await {
        Ok(_) => None,
        Err(kube::Error::Api(status)) => Some(status.message),
        Err(error) => panic!("{error}"),
    }
}

/// A room in which RBAC allows the controller's account everything.
async fn open_room(test: &str) -> Room {
    let room = room(test).await;
    let bind = ["create", "rolebinding", "all", "--clusterrole=cluster-admin", "--serviceaccount=oikos-system:oikos"];
    let bind = [bind.as_slice(), &["-n", &room.namespace]].concat();
    crate::cluster::cluster().await.admin().kubectl(&bind).await.unwrap().ok().unwrap();
    let access = crate::cluster::controller().await;
    access.wait_until_allowed("create", "plans.oikos.dev", &room.namespace).await.unwrap();
    room
}

/// Every case must be refused with these words; the base itself must be accepted.
async fn refuses<K>(room: &Room, base: Value, cases: Vec<(&str, Value, &str)>)
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    let name = base["metadata"]["name"].clone();
    assert_eq!(try_with::<K>(room, &base, "/metadata/name", name).await, None, "the base is accepted");
    for (pointer, value, words) in cases {
        let shown: String = format!("{pointer} = {value}").chars().take(120).collect();
        let message = try_with::<K>(room, &base, pointer, value).await;
        let message = message.unwrap_or_else(|| panic!("accepted: {shown}"));
        assert!(message.contains(words), "{shown}: {message}");
    }
}

#[tokio::test]
async fn a_plan_that_makes_no_sense_is_refused_with_the_reason() {
    let room = open_room("plan").await;
    let step = |target: &str| json!({"name": "a", "target": target, "run": "true"});
    let cases = vec![
        ("/spec/steps", Value::Null, "give steps, an agentRef, or both"),
        ("/spec/steps", json!([]), "give steps, an agentRef, or both"),
        ("/spec/targets", json!([]), "at least 1 items"),
        ("/spec/targets", json!(vec!["host:strong"; 17]), "at most 16 items"),
        ("/spec/targets", json!(["strong"]), "spec.targets[0]"),
        ("/spec/targets", json!(["host:Strong"]), "spec.targets[0]"),
        ("/spec/steps", json!(vec![step("host:strong"); 65]), "at most 64 items"),
        ("/spec/steps", json!([step("lxc:other")]), "every step's target must be among the plan's targets"),
        ("/spec/steps/0/run", Value::Null, "give exactly one of run and createContainer"),
        ("/spec/steps/0/createContainer", json!({"hostname": "web"}), "give exactly one of run and createContainer"),
        ("/spec/steps/0/run", json!(""), "spec.steps[0].run"),
        ("/spec/steps/0/run", json!("x".repeat(65_537)), "may not be more than 65536"),
        ("/spec/steps/0/run", json!("a\u{0}b"), "spec.steps[0].run"),
        ("/spec/steps/0/timeoutSeconds", json!(0), "greater than or equal to 1"),
        ("/spec/steps/0/timeoutSeconds", json!(7201), "less than or equal to 7200"),
        ("/spec/steps/0/name", json!("Not A Label"), "spec.steps[0].name"),
        ("/spec/windowSeconds", json!(1801), "less than or equal to 1800"),
        ("/spec/windowSeconds", json!(9), "greater than or equal to 10"),
        ("/spec/goal", json!(""), "spec.goal"),
        ("/spec/goal", json!("x".repeat(8193)), "may not be more than 8192"),
        ("/spec/gaol", json!("typing error"), "unknown field"),
    ];
    refuses::<Plan>(&room, plan_object("web"), cases).await;
}

#[tokio::test]
async fn an_execution_has_exactly_one_action() {
    let room = open_room("action").await;
    let plan = room.plan("web").await;
    let base = serde_json::to_value(room.execution_object(&plan, "web-1-1")).unwrap();
    let cases = vec![
        ("/spec/run", Value::Null, "give exactly one of run and createContainer"),
        ("/spec/createContainer", json!({"hostname": "web"}), "give exactly one of run and createContainer"),
        ("/spec/target", json!("web"), "spec.target"),
        ("/spec/declaredRisk", json!("Harmless"), "spec.declaredRisk"),
        ("/spec/timeoutSeconds", json!(7201), "less than or equal to 7200"),
        ("/spec/planRef", json!({"name": "web"}), "spec.planRef.uid"),
    ];
    refuses::<Execution>(&room, base, cases).await;
}

#[tokio::test]
async fn a_window_lasts_at_most_half_an_hour_and_a_destructive_one_has_one_target() {
    let room = open_room("window").await;
    let plan = room.plan("web").await;
    let base = serde_json::to_value(room.window_object(&plan, "operator", "Annotation")).unwrap();
    let cases = vec![
        ("/spec/durationSeconds", json!(1801), "less than or equal to 1800"),
        ("/spec/durationSeconds", json!(0), "greater than or equal to 1"),
        ("/spec/class", json!("Destructive"), "one target and lasts at most 900 seconds"),
        ("/spec/class", json!("Everything"), "spec.class"),
        ("/spec/targets", json!([]), "at least 1 items"),
        ("/spec/planDigest", json!("d"), "spec.planDigest"),
    ];
    refuses::<AutonomyWindow>(&room, base.clone(), cases).await;
    let mut destructive = base;
    destructive["spec"]["class"] = json!("Destructive");
    destructive["spec"]["durationSeconds"] = json!(900);
    let two = vec![("/spec/targets", json!(["lxc:web", "lxc:db"]), "one target and lasts at most 900 seconds")];
    refuses::<AutonomyWindow>(&room, destructive, two).await;
}

#[tokio::test]
async fn nothing_of_a_window_changes_but_revoked() {
    let room = open_room("fixed").await;
    let plan = room.plan("web").await;
    let mut window = room.window_object(&plan, "operator", "Manual");
    window.spec.reason = Some("agreed".into());
    let name = window.metadata.name.clone().unwrap();
    let windows = room.windows(&room.operator);
    windows.create(&PostParams::default(), &window).await.unwrap();
    for spec in [
        json!({"durationSeconds": 1700}),
        json!({"targets": ["lxc:web", "lxc:db"]}),
        json!({"class": "Destructive", "durationSeconds": 900}),
        json!({"planDigest": "e".repeat(64)}),
        json!({"planRef": {"name": "other"}}),
        json!({"grantedBy": {"username": "boss"}}),
        json!({"reason": "another"}),
        json!({"reason": null}),
        json!({"executionRef": {"name": "web-1-1", "uid": "u"}}),
    ] {
        for client in [&room.admin, &room.controller] {
            let patch = Patch::Merge(json!({"spec": spec}));
            let message = api_error(room.windows(client).patch(&name, &PatchParams::default(), &patch).await);
            assert!(message.contains("only revoked may change"), "{spec}: {message}");
        }
    }
}

#[tokio::test]
async fn messages_and_guests_never_change() {
    let room = open_room("never").await;
    let plan = room.plan("web").await;
    let message = json!({
        "apiVersion": "oikos.dev/v1alpha1", "kind": "Message", "metadata": {"name": "web-1"},
        "spec": {"planRef": plan_ref(&plan), "sequence": 1, "kind": "Turn", "text": "I look first"},
    });
    room.create::<Message>(&room.controller, message).await.unwrap();
    let patch = Patch::Merge(json!({"spec": {"text": "I never said that"}}));
    let message = api_error(room.messages(&room.controller).patch("web-1", &PatchParams::default(), &patch).await);
    assert!(message.contains("never changes"), "{message}");
    room.create::<Guest>(&room.operator, guest()).await.unwrap();
    let guests: kube::Api<Guest> = kube::Api::namespaced(room.admin.clone(), &room.namespace);
    let patch = Patch::Merge(json!({"spec": {"vmid": 102}}));
    let message = api_error(guests.patch("web", &PatchParams::default(), &patch).await);
    assert!(message.contains("never changes"), "{message}");
}

#[tokio::test]
async fn an_entry_of_a_transcript_holds_what_its_kind_allows() {
    let room = open_room("kinds").await;
    let plan = room.plan("web").await;
    let entry = |kind: &str, more: &[(&str, Value)]| {
        let mut message = json!({
            "apiVersion": "oikos.dev/v1alpha1", "kind": "Message", "metadata": {"name": "web-1"},
            "spec": {"planRef": plan_ref(&plan), "sequence": 1, "kind": kind, "text": "words"},
        });
        for (name, value) in more {
            message["spec"][name] = value.clone();
        }
        message
    };
    let calls = json!([{"id": "a", "name": "run", "arguments": "{}"}]);
    let turn = entry("Turn", &[("toolCalls", calls.clone()), ("stopReason", json!("tool_use"))]);
    let not_a_note = ("/spec/reason", json!("ModelOverloaded"), "a Note has a reason, and nothing else has one");
    let cases = vec![
        ("/spec/kind", Value::Null, "spec.kind"),
        ("/spec/kind", json!("Agent"), "spec.kind"),
        ("/spec/kind", json!("ClosingTurn"), "a closing turn calls no tools"),
        ("/spec/kind", json!("Note"), "only a turn of the agent has tool calls"),
        ("/spec/role", json!("Agent"), "unknown field"),
        not_a_note.clone(),
    ];
    refuses::<Message>(&room, turn, cases).await;
    let note = entry("Note", &[("reason", json!("ModelOverloaded"))]);
    let cases = vec![
        ("/spec/reason", Value::Null, "a Note has a reason, and nothing else has one"),
        ("/spec/toolCalls", calls, "only a turn of the agent has tool calls"),
        ("/spec/stopReason", json!("end_turn"), "only a turn of the agent has tool calls"),
    ];
    refuses::<Message>(&room, note, cases).await;
    let closing = entry("ClosingTurn", &[("toolCalls", json!([])), ("stopReason", json!("OikosClosing"))]);
    refuses::<Message>(&room, closing, vec![not_a_note]).await;
}

#[tokio::test]
async fn a_finished_plan_never_changes_and_an_ended_grant_stays_ended() {
    let room = room("finished").await;
    for (name, phase) in [("a", "Succeeded"), ("b", "Failed"), ("c", "Cancelled")] {
        room.plan(name).await;
        let plans = room.plans(&room.controller);
        let set = |phase: &str| Patch::Merge(json!({"status": {"phase": phase}}));
        plans.patch_status(name, &PatchParams::default(), &set(phase)).await.unwrap();
        let message = api_error(plans.patch_status(name, &PatchParams::default(), &set("Running")).await);
        assert!(message.contains("a finished plan never changes"), "{message}");
        let edit = Patch::Merge(json!({"spec": {"goal": "another"}}));
        let message = api_error(room.plans(&room.operator).patch(name, &PatchParams::default(), &edit).await);
        assert!(message.contains("a finished plan never changes"), "{message}");
        let label = annotations(&[("team", "a")]);
        let labelled = room.plans(&room.operator).patch(name, &PatchParams::default(), &label).await.unwrap();
        assert!(labelled.status.unwrap().phase.is_terminal());
    }
    let plan = room.plan("web").await;
    let window = room.window_object(&plan, "operator", "Manual");
    let name = window.metadata.name.clone().unwrap();
    room.windows(&room.operator).create(&PostParams::default(), &window).await.unwrap();
    let windows = room.windows(&room.controller);
    let set = |phase: &str| Patch::Merge(json!({"status": {"phase": phase}}));
    windows.patch_status(&name, &PatchParams::default(), &set("Active")).await.unwrap();
    windows.patch_status(&name, &PatchParams::default(), &set("Expired")).await.unwrap();
    let message = api_error(windows.patch_status(&name, &PatchParams::default(), &set("Active")).await);
    assert!(message.contains("stays so"), "{message}");
    assert_eq!(windows.get(&name).await.unwrap().status.unwrap().phase, WindowPhase::Expired);
}

#[tokio::test]
async fn a_denied_plan_can_still_be_approved() {
    let room = room("denied").await;
    room.plan("web").await;
    let plans = room.plans(&room.controller);
    for phase in ["Denied", "Running"] {
        let patch = Patch::Merge(json!({"status": {"phase": phase}}));
        plans.patch_status("web", &PatchParams::default(), &patch).await.unwrap();
    }
    assert_eq!(plans.get("web").await.unwrap().status.unwrap().phase, PlanPhase::Running);
}

#[tokio::test]
async fn hosts_guests_and_agents_are_checked() {
    let room = open_room("fleet").await;
    let cases = vec![
        ("/spec/knownHostKeys", json!([]), "at least 1 items"),
        ("/spec/knownHostKeys", Value::Null, "spec.knownHostKeys"),
        ("/spec/credentialSecretRef", Value::Null, "spec.credentialSecretRef"),
        ("/spec/port", json!(0), "greater than or equal to 1"),
        ("/spec/port", json!(65_536), "less than or equal to 65535"),
    ];
    refuses::<Host>(&room, host(), cases).await;
    let cases = vec![
        ("/spec/vmid", json!(99), "greater than or equal to 100"),
        ("/spec/type", json!("Pod"), "spec.type"),
        ("/spec/hostRef", Value::Null, "spec.hostRef"),
    ];
    refuses::<Guest>(&room, guest(), cases).await;
    let cases = vec![
        ("/spec/provider", json!("Oracle"), "spec.provider"),
        ("/spec/baseURL", json!("ftp://x"), "spec.baseURL"),
        ("/spec/model", json!(""), "spec.model"),
    ];
    refuses::<Agent>(&room, agent(), cases).await;
}

#[tokio::test]
async fn every_field_is_documented_and_every_kind_is_in_the_category() {
    let plane = crate::cluster::cluster().await;
    let explained = plane.admin().kubectl(&["explain", "plan.spec"]).await.unwrap().ok().unwrap();
    assert!(explained.contains("How long one approval lasts"), "{explained}");
    let listed = ["api-resources", "--categories=oikos", "-o", "name"];
    let listed = plane.admin().kubectl(&listed).await.unwrap().ok().unwrap();
    assert_eq!(listed.lines().count(), 7, "{listed}");
}

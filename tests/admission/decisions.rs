//! Approving, denying and confirming by annotation: with the current token or phrase, by a person who may, in that person's name.

use kube::api::{PatchParams, PostParams};
use oikos::api::{APPROVE, APPROVED_BY, CONFIRM, DENY, Plan};
use serde_json::json;
use testbed::control_plane::ControlPlane;

use crate::cluster::{
    COMMAND, PHRASE, Room, TOKEN, annotations, apply_chart, cluster, is_refusal, plan_object, refusal, room, until,
    without_annotation,
};

async fn decide(room: &Room, client: &kube::Client, pairs: &[(&str, &str)]) -> Result<Plan, kube::Error> {
    room.plans(client).patch("web", &PatchParams::default(), &annotations(pairs)).await
}

fn annotation<'a>(plan: &'a Plan, key: &str) -> Option<&'a str> {
    plan.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

#[tokio::test]
async fn an_approval_with_the_current_token_is_stored_with_the_approvers_name() {
    let room = room("approve").await;
    let plan = room.plan("web").await;
    let approved = decide(&room, &room.operator, &[(APPROVE, TOKEN)]).await.unwrap();
    assert_eq!(annotation(&approved, APPROVED_BY), Some("operator"));
    assert_eq!(approved.metadata.generation, plan.metadata.generation, "an approval is no edit");
}

#[tokio::test]
async fn a_denial_with_the_current_token_is_stored_with_the_deniers_name() {
    let room = room("deny").await;
    room.plan("web").await;
    let denied = decide(&room, &room.operator, &[(DENY, TOKEN), ("oikos.dev/reason", "not today")]).await.unwrap();
    assert_eq!(annotation(&denied, APPROVED_BY), Some("operator"));
}

#[tokio::test]
async fn true_an_empty_value_and_a_wrong_token_are_refused_with_the_line_to_copy() {
    let room = room("wrong").await;
    room.plan("web").await;
    for key in [APPROVE, DENY] {
        for value in ["true", "", "0123456789ac", "0123456789AB", &TOKEN[..11]] {
            let words = refusal(decide(&room, &room.operator, &[(key, value)]).await);
            assert!(words.contains(key) && words.ends_with(COMMAND), "{key}={value}: {words}");
        }
    }
    let words = refusal(decide(&room, &room.operator, &[(CONFIRM, TOKEN)]).await);
    assert!(words.contains(CONFIRM), "a plan has no phrase: {words}");
}

#[tokio::test]
async fn nothing_can_be_approved_before_the_controller_has_shown_a_token() {
    let room = room("early").await;
    room.create::<Plan>(&room.operator, plan_object("web")).await.unwrap();
    for value in ["", TOKEN] {
        let words = refusal(decide(&room, &room.operator, &[(APPROVE, value)]).await);
        assert!(words.contains("nothing does"), "{words}");
    }
}

#[tokio::test]
async fn a_right_decision_does_not_carry_a_wrong_one_with_it() {
    let room = room("both").await;
    room.plan("web").await;
    let words = refusal(decide(&room, &room.operator, &[(DENY, TOKEN), (APPROVE, "true")]).await);
    assert!(words.contains(APPROVE) && !words.contains(DENY), "{words}");
}

#[tokio::test]
async fn a_person_without_the_verb_may_edit_but_not_decide() {
    let room = room("verb").await;
    room.plan("web").await;
    decide(&room, &room.viewer, &[("team", "b")]).await.unwrap();
    for key in [APPROVE, DENY] {
        let words = refusal(decide(&room, &room.viewer, &[(key, TOKEN)]).await);
        assert!(words.contains("viewer") && words.contains("auth can-i approve plans.oikos.dev/web"), "{words}");
    }
}

#[tokio::test]
async fn the_verb_on_one_plan_in_one_namespace_reaches_no_other() {
    let (here, there) = (room("reach").await, room("reach").await);
    let plane = cluster().await;
    let account = ["create", "serviceaccount", "deputy", "-n", &here.namespace];
    plane.admin().kubectl(&account).await.unwrap().ok().unwrap();
    let role = ["create", "role", "one", "--verb=approve", "--resource=plans.oikos.dev", "--resource-name=web"];
    let role = [role.as_slice(), &["-n", &here.namespace]].concat();
    plane.admin().kubectl(&role).await.unwrap().ok().unwrap();
    let subject = format!("--serviceaccount={}:deputy", here.namespace);
    for (name, kind) in [("one", "--role=one"), ("edit", "--clusterrole=edit")] {
        let bind = ["create", "rolebinding", name, kind, &subject, "-n", &here.namespace];
        plane.admin().kubectl(&bind).await.unwrap().ok().unwrap();
    }
    let bind = ["create", "rolebinding", "edit", "--clusterrole=edit", &subject, "-n", &there.namespace];
    plane.admin().kubectl(&bind).await.unwrap().ok().unwrap();
    let deputy = plane.service_account(&here.namespace, "deputy").await.unwrap();
    deputy.wait_until_allowed("approve", "plans.oikos.dev/web", &here.namespace).await.unwrap();
    for namespace in [&here.namespace, &there.namespace] {
        deputy.wait_until_allowed("patch", "plans.oikos.dev", namespace).await.unwrap();
    }
    let client = deputy.client().await.unwrap();
    for room in [&here, &there] {
        room.plan("web").await;
    }
    here.plan("other").await;

    decide(&here, &client, &[(APPROVE, TOKEN)]).await.unwrap();
    refusal(decide(&there, &client, &[(APPROVE, TOKEN)]).await);
    let patch = annotations(&[(APPROVE, TOKEN)]);
    refusal(here.plans(&client).patch("other", &PatchParams::default(), &patch).await);
}

#[tokio::test]
async fn a_forged_approver_is_overwritten_with_the_callers_name() {
    let room = room("forged").await;
    room.plan("web").await;
    let approved = decide(&room, &room.operator, &[(APPROVE, TOKEN), (APPROVED_BY, "boss")]).await.unwrap();
    assert_eq!(annotation(&approved, APPROVED_BY), Some("operator"));
}

#[tokio::test]
async fn the_name_beside_a_decision_cannot_be_changed_or_taken_away_afterwards() {
    let room = room("rename").await;
    room.plan("web").await;
    refusal(decide(&room, &room.operator, &[(APPROVED_BY, "boss")]).await);
    decide(&room, &room.operator, &[(APPROVE, TOKEN)]).await.unwrap();
    for client in [&room.viewer, &room.operator, &room.admin, &room.controller] {
        let renamed = decide(&room, client, &[(APPROVED_BY, "boss")]).await;
        assert!(renamed.is_err());
    }
    let plans = room.plans(&room.viewer);
    refusal(plans.patch("web", &PatchParams::default(), &without_annotation(APPROVED_BY)).await);
    plans.patch("web", &PatchParams::default(), &without_annotation(APPROVE)).await.unwrap();
    plans.patch("web", &PatchParams::default(), &without_annotation(APPROVED_BY)).await.unwrap();
}

#[tokio::test]
async fn the_controllers_account_never_decides() {
    let room = room("controller").await;
    let plan = room.plan("web").await;
    room.waiting_execution(&plan, "web-1-1", true).await;
    // Give it every right that RBAC can give: the policy still refuses.
    let bind = ["create", "rolebinding", "all", "--clusterrole=cluster-admin", "--serviceaccount=oikos-system:oikos"];
    let bind = [bind.as_slice(), &["-n", &room.namespace]].concat();
    cluster().await.admin().kubectl(&bind).await.unwrap().ok().unwrap();
    let access = crate::cluster::controller().await;
    access.wait_until_allowed("approve", "plans.oikos.dev", &room.namespace).await.unwrap();
    for pair in [(APPROVE, TOKEN), (DENY, TOKEN)] {
        let words = refusal(decide(&room, &room.controller, &[pair, (APPROVED_BY, "operator")]).await);
        assert!(words.contains("the controller's own account never"), "{words}");
    }
    let confirm = annotations(&[(CONFIRM, PHRASE)]);
    let executions = room.executions(&room.controller);
    refusal(executions.patch("web-1-1", &PatchParams::default(), &confirm).await);
}

#[tokio::test]
async fn an_old_token_cannot_be_replayed() {
    let room = room("replay").await;
    let plan = room.plan("web").await;
    decide(&room, &room.operator, &[(APPROVE, TOKEN)]).await.unwrap();
    room.set_token(&plan, "fedcba987654").await;
    // Written again unchanged, the annotation is no decision.
    decide(&room, &room.operator, &[(APPROVE, TOKEN)]).await.unwrap();
    // Removed and set again it is a decision, and it names no current token.
    let plans = room.plans(&room.operator);
    plans.patch("web", &PatchParams::default(), &without_annotation(APPROVE)).await.unwrap();
    let words = refusal(decide(&room, &room.operator, &[(APPROVE, TOKEN)]).await);
    assert!(words.ends_with("oikos.dev/approve=fedcba987654"), "{words}");
}

#[tokio::test]
async fn a_plan_is_never_created_already_decided() {
    let room = room("create").await;
    for (key, value) in [(APPROVE, TOKEN), (DENY, TOKEN), (CONFIRM, PHRASE), (APPROVED_BY, "operator"), (APPROVE, "")] {
        let mut plan = plan_object("web");
        plan["metadata"]["annotations"] = json!({key: value});
        let words = refusal(room.create::<Plan>(&room.operator, plan).await);
        assert!(words.contains("create it without"), "{key}: {words}");
    }
}

#[tokio::test]
async fn the_token_in_the_request_itself_does_not_count() {
    let room = room("bring").await;
    room.plan("web").await;
    let patch = kube::api::Patch::Merge(json!({
        "metadata": {"annotations": {APPROVE: "aaaaaaaaaaaa"}},
        "status": {"approval": {"token": "aaaaaaaaaaaa"}},
    }));
    refusal(room.plans(&room.operator).patch("web", &PatchParams::default(), &patch).await);
}

#[tokio::test]
async fn an_annotation_cannot_ride_on_a_status_write() {
    let room = room("ride").await;
    let mut plan = room.plan("web").await;
    plan.metadata.annotations = Some([(APPROVE.to_owned(), TOKEN.to_owned())].into());
    let written = room.plans(&room.controller).replace_status("web", &PostParams::default(), &plan).await;
    assert!(written.is_err() || annotation(&written.unwrap(), APPROVE).is_none());
}

#[tokio::test]
async fn a_waiting_step_is_approved_with_the_plans_token() {
    let room = room("step").await;
    let plan = room.plan("web").await;
    room.waiting_execution(&plan, "web-1-1", false).await;
    let patch = |pairs: &[(&str, &str)]| annotations(pairs);
    let executions = room.executions(&room.operator);
    for pair in [(APPROVE, "true"), (APPROVE, ""), (CONFIRM, ""), (CONFIRM, TOKEN), (DENY, "no")] {
        let words = refusal(executions.patch("web-1-1", &PatchParams::default(), &patch(&[pair])).await);
        assert!(words.ends_with("kubectl annotate execution"), "{words}");
    }
    let viewers = room.executions(&room.viewer);
    assert!(viewers.patch("web-1-1", &PatchParams::default(), &patch(&[(APPROVE, TOKEN)])).await.is_err());
    let approved = executions.patch("web-1-1", &PatchParams::default(), &patch(&[(APPROVE, TOKEN)])).await.unwrap();
    assert_eq!(approved.metadata.annotations.unwrap()[APPROVED_BY], "operator");
}

#[tokio::test]
async fn a_destructive_step_is_confirmed_with_its_phrase_and_nothing_less() {
    let room = room("phrase").await;
    let plan = room.plan("web").await;
    room.waiting_execution(&plan, "web-1-1", true).await;
    let executions = room.executions(&room.operator);
    let loose = [(CONFIRM, "yes"), (CONFIRM, "destroy lxc:web"), (CONFIRM, ""), (APPROVE, TOKEN), (APPROVE, PHRASE)];
    for pair in loose {
        refusal(executions.patch("web-1-1", &PatchParams::default(), &annotations(&[pair])).await);
    }
    let confirm = annotations(&[(CONFIRM, PHRASE), (APPROVED_BY, "boss")]);
    let confirmed = executions.patch("web-1-1", &PatchParams::default(), &confirm).await.unwrap();
    assert_eq!(confirmed.metadata.annotations.unwrap()[APPROVED_BY], "operator");
}

#[tokio::test]
async fn a_destructive_step_is_denied_with_its_phrase() {
    let room = room("refuse").await;
    let plan = room.plan("web").await;
    room.waiting_execution(&plan, "web-1-1", true).await;
    let deny = annotations(&[(DENY, PHRASE)]);
    room.executions(&room.operator).patch("web-1-1", &PatchParams::default(), &deny).await.unwrap();
}

#[tokio::test]
async fn kubectl_annotate_as_copied_from_the_status_approves() {
    let room = room("kubectl").await;
    room.plan("web").await;
    let shown = ["get", "plan", "web", "-o", "jsonpath={.status.approval.command}", "-n", &room.namespace];
    let operator = cluster().await.operator();
    let command = operator.kubectl(&shown).await.unwrap().ok().unwrap();
    let words: Vec<&str> = command.split(' ').skip(1).chain(["-n", &room.namespace]).collect();
    operator.kubectl(&words).await.unwrap().ok().unwrap();
    let plan = room.plans(&room.operator).get("web").await.unwrap();
    assert_eq!(annotation(&plan, APPROVED_BY), Some("operator"));
}

#[tokio::test]
async fn on_a_cluster_without_the_stamp_the_approver_writes_the_own_name_and_no_other() {
    let plane = ControlPlane::start().await.unwrap();
    apply_chart(&plane, "1.35.0").await;
    let room = Room::new(&plane, plane.namespace("old").await.unwrap()).await;
    room.plan("web").await;
    until("the decisions policy", async || is_refusal(&decide(&room, &room.operator, &[(APPROVE, "x")]).await)).await;
    for pairs in [vec![(APPROVE, TOKEN)], vec![(APPROVE, TOKEN), (APPROVED_BY, "boss")]] {
        let words = refusal(decide(&room, &room.operator, &pairs).await);
        assert!(words.contains(r#"oikos.dev/approved-by must be "operator""#), "{words}");
    }
    decide(&room, &room.operator, &[(APPROVE, TOKEN), (APPROVED_BY, "operator")]).await.unwrap();
    plane.stop().await.unwrap();
}

//! An operator's Message: by a person who may answer or approve, in that person's name, and with nothing but words.

use kube::{Client, Error, api::PostParams};
use oikos::api::{Message, Plan};
use serde_json::{Value, json};

use crate::cluster::{Room, api_error, cluster, is_refusal, plan_ref, refusal, room, until};

/// Says something as a person; `more` is added to the spec.
async fn say(room: &Room, client: &Client, plan: &Plan, more: Value) -> Result<Message, Error> {
    let mut object = json!({
        "apiVersion": "oikos.dev/v1alpha1", "kind": "Message", "metadata": {"generateName": "web-"},
        "spec": {"planRef": plan_ref(plan), "sequence": 7, "kind": "Answer", "text": "blue"},
    });
    object["spec"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let object: Message = serde_json::from_value(object).unwrap();
    room.messages(client).create(&PostParams::default(), &object).await
}

fn author(message: &Message) -> (&str, bool, bool) {
    let author = message.spec.author.as_ref().unwrap();
    (&author.username, author.may_approve, author.verified)
}

#[tokio::test]
async fn an_operators_message_says_who_wrote_it_and_whether_that_person_may_approve() {
    let room = room("author").await;
    let plan = room.plan("web").await;
    room.block("web", "OperatorNeeded", 7).await;
    let (answerer, may_answer) = room.only("oikos-answerer", "answer").await;
    let (approver, may_approve) = room.only("oikos-approver", "approve").await;
    let claims = [json!({}), json!({"author": {"username": "boss", "mayApprove": true, "verified": true}})];
    for (username, client, approves) in [(&answerer, &may_answer, false), (&approver, &may_approve, true)] {
        for claim in &claims {
            let said = say(&room, client, &plan, claim.clone()).await.unwrap();
            assert_eq!(author(&said), (username.as_str(), approves, false));
        }
    }
}

#[tokio::test]
async fn an_editor_may_not_speak_to_the_agent() {
    let room = room("editor").await;
    let plan = room.plan("web").await;
    say(&room, &room.viewer, &plan, json!({})).await.unwrap_err();
    // Also not when RBAC lets it create Messages.
    let plane = cluster().await;
    let role = ["create", "clusterrole", "writes-messages", "--verb=create", "--resource=messages.oikos.dev"];
    plane.admin().kubectl(&role).await.unwrap().ok().unwrap();
    let bind = ["create", "rolebinding", "writes", "--clusterrole=writes-messages", "--user=viewer"];
    plane.admin().kubectl(&[bind.as_slice(), &["-n", &room.namespace]].concat()).await.unwrap().ok().unwrap();
    plane.viewer().wait_until_allowed("create", "messages.oikos.dev", &room.namespace).await.unwrap();
    // The plan asks just this, so that no other policy has anything against it once it knows.
    room.block("web", "OperatorNeeded", 7).await;
    let refused = async || {
        let words = refusal(say(&room, &room.viewer, &plan, json!({})).await);
        words.contains(r#"viewer may not speak to the plan: it takes the verb "answer" or "approve""#)
            && words.contains("role oikos-answerer or oikos-approver")
    };
    until("the refusal of the messages policy", refused).await;
}

#[tokio::test]
async fn the_verb_on_one_plan_reaches_no_other() {
    let room = room("one").await;
    let (web, other) = (room.plan("web").await, room.plan("other").await);
    for plan in ["web", "other"] {
        room.block(plan, "OperatorNeeded", 7).await;
    }
    let plane = cluster().await;
    let verb = ["create", "role", "one", "--verb=answer", "--resource=plans.oikos.dev", "--resource-name=web"];
    let write = ["create", "role", "write", "--verb=create", "--resource=messages.oikos.dev"];
    let here = ["-n", room.namespace.as_str()];
    for words in [verb.as_slice(), &write, &["create", "serviceaccount", "deputy"]] {
        plane.admin().kubectl(&[words, &here].concat()).await.unwrap().ok().unwrap();
    }
    let subject = format!("--serviceaccount={}:deputy", room.namespace);
    for role in ["one", "write"] {
        let bind = ["create", "rolebinding", role, &format!("--role={role}"), &subject, "-n", &room.namespace];
        plane.admin().kubectl(&bind).await.unwrap().ok().unwrap();
    }
    let deputy = plane.service_account(&room.namespace, "deputy").await.unwrap();
    deputy.wait_until_allowed("answer", "plans.oikos.dev/web", &room.namespace).await.unwrap();
    deputy.wait_until_allowed("create", "messages.oikos.dev", &room.namespace).await.unwrap();
    let client = deputy.client().await.unwrap();
    until("the plan's question", async || say(&room, &client, &web, json!({})).await.is_ok()).await;
    refusal(say(&room, &client, &other, json!({})).await);
}

#[tokio::test]
async fn an_operators_message_has_words_and_nothing_of_a_models_answer() {
    let room = room("words").await;
    let plan = room.plan("web").await;
    for more in [
        json!({"toolCalls": [{"id": "1", "name": "run", "arguments": "{}"}]}),
        json!({"toolResults": [{"callId": "1", "text": "done"}]}),
        json!({"model": "any"}),
        json!({"stopReason": "OikosClosing"}),
        json!({"usage": {"inputTokens": 1, "outputTokens": 1}}),
        json!({"opaque": "{}"}),
    ] {
        for client in [&room.operator, &room.admin] {
            let words = api_error(say(&room, client, &plan, more.clone()).await);
            assert!(words.contains("only a turn of the agent has tool calls"), "{more}: {words}");
        }
    }
}

#[tokio::test]
async fn the_controller_makes_a_message_of_an_annotation_in_its_authors_name() {
    let room = room("made").await;
    let plan = room.plan("web").await;
    let claim = json!({"author": {"username": "operator", "mayApprove": true, "verified": true}});
    let made = say(&room, &room.controller, &plan, claim.clone()).await.unwrap();
    assert_eq!(author(&made), ("operator", true, true));
    let own = crate::cluster::controller().await.username().to_owned();
    for nobody in [json!({}), json!({"author": {"username": own}})] {
        let words = refusal(say(&room, &room.controller, &plan, nobody).await);
        assert!(words.contains("speaks only in the name of a person"), "{words}");
    }
    for kind in ["Turn", "ClosingTurn"] {
        let mut spoken = claim.clone();
        spoken["kind"] = json!(kind);
        let words = api_error(say(&room, &room.controller, &plan, spoken).await);
        assert!(words.contains("only an Answer has an author"), "{words}");
    }
}

#[tokio::test]
async fn who_may_only_answer_is_told_at_once_that_the_plan_does_not_ask() {
    let room = room("asked").await;
    let (web, _other) = (room.plan("web").await, room.plan("other").await);
    let (_, answerer) = room.only("oikos-answerer", "answer").await;
    // A plan that asks beside it, so that a look at the wrong plan would let the words pass.
    room.block("other", "OperatorNeeded", 7).await;
    let refused = async || is_refusal(&say(&room, &answerer, &web, json!({})).await);
    until("the questions policy", refused).await;
    let words = refusal(say(&room, &answerer, &web, json!({})).await);
    assert!(words.contains(r#"plan "web" asks nothing now; other words take the verb "approve""#), "{words}");
    room.block("web", "OperatorNeeded", 9).await;
    let told = async || {
        let words = refusal(say(&room, &answerer, &web, json!({})).await);
        words.contains("asks now what spec.sequence 9 answers")
    };
    until("the plan's question", told).await;
    say(&room, &answerer, &web, json!({"sequence": 9})).await.unwrap();
    room.block("web", "IterationLimit", 9).await;
    until("the plan's limit", async || is_refusal(&say(&room, &answerer, &web, json!({"sequence": 9})).await)).await;
    say(&room, &room.operator, &web, json!({"sequence": 9})).await.unwrap();
    let mut stranger = plan_ref(&web);
    stranger["uid"] = json!("of-another");
    let words = refusal(say(&room, &room.operator, &web, json!({"planRef": stranger})).await);
    assert!(words.contains("spec.planRef.uid must be metadata.uid of the plan"), "{words}");
}

/// Where no policy stamps, what a person claims is checked.
pub async fn claims_are_checked_where_nothing_stamps(room: &Room, plan: &Plan) {
    let forged = json!({"author": {"username": "boss"}});
    until("the messages policy", async || is_refusal(&say(room, &room.operator, plan, forged.clone()).await)).await;
    for claim in [json!({}), forged] {
        let words = refusal(say(room, &room.operator, plan, claim).await);
        assert!(words.contains(r#"spec.author.username must be "operator""#), "{words}");
    }
    let verified = json!({"author": {"username": "operator", "verified": true}});
    assert!(refusal(say(room, &room.operator, plan, verified).await).contains("only the controller sets"));
    for (may_approve, said) in [(true, true), (false, false)] {
        let claim = json!({"author": {"username": "operator", "mayApprove": may_approve}});
        let message = say(room, &room.operator, plan, claim).await.unwrap();
        assert_eq!(author(&message), ("operator", said, false));
    }
}

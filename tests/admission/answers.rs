//! Answering by annotation: a plan that asks, by a person who may, in that person's name, for this question.

use kube::{
    Client, Error,
    api::{PatchParams, PostParams},
};
use oikos::api::{ANSWER, ANSWERED_BY, ANSWERED_SEQUENCE, Plan, limits::LONGEST_ANSWER};
use serde_json::json;
use testbed::control_plane::ControlPlane;

use crate::cluster::{
    Room, annotations, apply_chart, cluster, is_refusal, plan_object, refusal, room, until, without_annotation,
};

async fn answer(room: &Room, client: &Client, pairs: &[(&str, &str)]) -> Result<Plan, Error> {
    room.plans(client).patch("web", &PatchParams::default(), &annotations(pairs)).await
}

fn stamps(plan: &Plan) -> (&str, &str) {
    let annotations = plan.metadata.annotations.as_ref().unwrap();
    (&annotations[ANSWERED_BY], &annotations[ANSWERED_SEQUENCE])
}

#[tokio::test]
async fn an_answer_to_a_question_carries_its_authors_name_and_what_it_answers() {
    let room = room("answer").await;
    let plan = room.plan("web").await;
    room.block("web", "OperatorNeeded", 7).await;
    let (username, answerer) = room.only("oikos-answerer", "answer").await;
    let pairs = [(ANSWER, "blue"), (ANSWERED_BY, "boss")];
    let answered = answer(&room, &answerer, &pairs).await.unwrap();
    assert_eq!(stamps(&answered), (username.as_str(), "7"));
    assert_eq!(answered.metadata.generation, plan.metadata.generation, "an answer is no edit");
}

#[tokio::test]
async fn kubectl_annotate_answers_and_the_same_words_can_answer_the_next_question() {
    let room = room("kubectl").await;
    room.plan("web").await;
    let operator = cluster().await.operator();
    for (sequence, more) in [(7, None), (9, Some("oikos.dev/answered-sequence=9"))] {
        room.block("web", "OperatorNeeded", sequence).await;
        let words = ["annotate", "plan", "web", "--overwrite", "-n", &room.namespace, "oikos.dev/answer=yes, do it"];
        let words: Vec<&str> = words.into_iter().chain(more).collect();
        operator.kubectl(&words).await.unwrap().ok().unwrap();
        let plan = room.plans(&room.operator).get("web").await.unwrap();
        assert_eq!(stamps(&plan), ("operator", sequence.to_string().as_str()));
    }
}

#[tokio::test]
async fn an_answer_to_an_earlier_question_is_refused() {
    let room = room("earlier").await;
    room.plan("web").await;
    room.block("web", "OperatorNeeded", 9).await;
    for sequence in ["7", "10", "", "x", "09"] {
        let words = refusal(answer(&room, &room.operator, &[(ANSWER, "blue"), (ANSWERED_SEQUENCE, sequence)]).await);
        assert!(words.contains(r#"oikos.dev/answered-sequence must be "9""#), "{sequence}: {words}");
    }
    let answered = answer(&room, &room.operator, &[(ANSWER, "blue"), (ANSWERED_SEQUENCE, "9")]).await.unwrap();
    assert_eq!(stamps(&answered), ("operator", "9"));
}

#[tokio::test]
async fn a_plan_that_does_not_ask_takes_no_answer() {
    let room = room("unasked").await;
    room.create::<Plan>(&room.operator, plan_object("web")).await.unwrap();
    refusal(answer(&room, &room.operator, &[(ANSWER, "blue")]).await);
    room.plans(&room.operator).delete("web", &Default::default()).await.unwrap();
    room.plan("web").await;
    let words = refusal(answer(&room, &room.operator, &[(ANSWER, "blue")]).await);
    assert!(words.contains(r#"plan "web" waits for no answer now (it is AwaitingApproval)"#), "{words}");
    // The question in the request itself does not count.
    let brought = kube::api::Patch::Merge(json!({
        "metadata": {"annotations": {ANSWER: "blue", ANSWERED_SEQUENCE: "7"}},
        "status": {"phase": "Blocked", "blocked": {"reason": "OperatorNeeded", "question": "?", "sequence": 7}},
    }));
    refusal(room.plans(&room.operator).patch("web", &PatchParams::default(), &brought).await);
}

#[tokio::test]
async fn an_editor_may_not_answer_and_who_may_only_answer_does_not_lift_a_limit() {
    let room = room("limit").await;
    room.plan("web").await;
    let (_, answerer) = room.only("oikos-answerer", "answer").await;
    room.block("web", "OperatorNeeded", 7).await;
    let words = refusal(answer(&room, &room.viewer, &[(ANSWER, "blue")]).await);
    assert!(words.contains(r#"viewer may not answer: it takes the verb "answer" or "approve""#), "{words}");
    for reason in ["IterationLimit", "DeadlineExceeded", "ModelUnauthorized"] {
        room.block("web", reason, 8).await;
        let words = refusal(answer(&room, &answerer, &[(ANSWER, "go on")]).await);
        assert!(words.contains(r#"it takes the verb "approve", since the plan did not ask"#), "{words}");
    }
    answer(&room, &room.operator, &[(ANSWER, "go on")]).await.unwrap();
}

#[tokio::test]
async fn an_answer_has_words_and_not_too_many() {
    let room = room("long").await;
    room.plan("web").await;
    room.block("web", "OperatorNeeded", 7).await;
    for text in ["", &"ä".repeat(LONGEST_ANSWER + 1)] {
        let words = refusal(answer(&room, &room.operator, &[(ANSWER, text)]).await);
        assert!(words.contains(&format!("has 1 to {LONGEST_ANSWER} characters")), "{words}");
    }
    answer(&room, &room.operator, &[(ANSWER, &"ä".repeat(LONGEST_ANSWER))]).await.unwrap();
}

#[tokio::test]
async fn the_controllers_account_never_answers() {
    let room = room("controller").await;
    room.plan("web").await;
    room.block("web", "OperatorNeeded", 7).await;
    let bind = ["create", "rolebinding", "all", "--clusterrole=cluster-admin", "--serviceaccount=oikos-system:oikos"];
    let bind = [bind.as_slice(), &["-n", &room.namespace]].concat();
    cluster().await.admin().kubectl(&bind).await.unwrap().ok().unwrap();
    let access = crate::cluster::controller().await;
    access.wait_until_allowed("answer", "plans.oikos.dev", &room.namespace).await.unwrap();
    let words = refusal(answer(&room, &room.controller, &[(ANSWER, "blue"), (ANSWERED_BY, "operator")]).await);
    assert!(words.contains("the controller's own account never answers"), "{words}");
}

#[tokio::test]
async fn what_stands_beside_an_answer_cannot_be_changed_or_taken_away_afterwards() {
    let room = room("beside").await;
    room.plan("web").await;
    room.block("web", "OperatorNeeded", 7).await;
    refusal(answer(&room, &room.operator, &[(ANSWERED_BY, "boss")]).await);
    answer(&room, &room.operator, &[(ANSWER, "blue")]).await.unwrap();
    for client in [&room.viewer, &room.operator, &room.admin] {
        refusal(answer(&room, client, &[(ANSWERED_BY, "boss")]).await);
        refusal(answer(&room, client, &[(ANSWERED_SEQUENCE, "8")]).await);
    }
    let plans = room.plans(&room.viewer);
    for key in [ANSWERED_BY, ANSWERED_SEQUENCE] {
        refusal(plans.patch("web", &PatchParams::default(), &without_annotation(key)).await);
    }
    for key in [ANSWER, ANSWERED_BY, ANSWERED_SEQUENCE] {
        plans.patch("web", &PatchParams::default(), &without_annotation(key)).await.unwrap();
    }
}

#[tokio::test]
async fn a_plan_is_never_created_already_answered() {
    let room = room("create").await;
    for key in [ANSWER, ANSWERED_BY, ANSWERED_SEQUENCE] {
        for (client, namespace) in
            [(&room.operator, room.namespace.as_str()), (&room.controller, crate::cluster::SYSTEM)]
        {
            let mut plan = plan_object("web");
            plan["metadata"]["annotations"] = json!({key: "1"});
            let plan: Plan = serde_json::from_value(plan).unwrap();
            let plans: kube::Api<Plan> = kube::Api::namespaced(client.clone(), namespace);
            let dry = PostParams { dry_run: true, ..PostParams::default() };
            let words = refusal(plans.create(&dry, &plan).await);
            assert!(words.contains("answer when it asks"), "{key}: {words}");
        }
    }
}

#[tokio::test]
async fn on_a_cluster_without_the_stamps_people_write_them_and_cannot_lie() {
    let plane = ControlPlane::start().await.unwrap();
    apply_chart(&plane, "1.35.0").await;
    let room = Room::new(&plane, plane.namespace("old").await.unwrap()).await;
    let plan = room.plan("web").await;
    room.block("web", "OperatorNeeded", 7).await;
    until("the answers policy", async || is_refusal(&answer(&room, &room.operator, &[(ANSWER, "")]).await)).await;
    for by in [None, Some((ANSWERED_BY, "boss"))] {
        let pairs: Vec<(&str, &str)> = [(ANSWER, "blue"), (ANSWERED_SEQUENCE, "7")].into_iter().chain(by).collect();
        let words = refusal(answer(&room, &room.operator, &pairs).await);
        assert!(words.contains(r#"oikos.dev/answered-by must be "operator""#), "{words}");
    }
    let words = refusal(answer(&room, &room.operator, &[(ANSWER, "blue"), (ANSWERED_BY, "operator")]).await);
    assert!(words.contains(r#"oikos.dev/answered-sequence must be "7""#), "{words}");
    let all = [(ANSWER, "blue"), (ANSWERED_BY, "operator"), (ANSWERED_SEQUENCE, "7")];
    answer(&room, &room.operator, &all).await.unwrap();
    crate::messages::claims_are_checked_where_nothing_stamps(&room, &plan).await;
    plane.stop().await.unwrap();
}

//! What the tests of plans with an agent share: the scripted model, its Agent, and the transcript. The model's rules
//! fire only when the request really holds what they ask for, so what does not reach the model fails the test.

use kube::api::ListParams;
use oikos::api::{Message, MessageKind, Plan};
use serde_json::{Value, json};
use testbed::model::{ModelServer, Scenario};

use crate::harness::Lab;

/// The API key that the scripted model accepts.
const KEY: &str = "scripted-key";

/// The reply of a rule that goes on to verify the goal.
pub const VERIFY: &str =
    r#"{ calls: [{ tool: run, arguments: { target: "host:pve", command: "echo verified", purpose: verify } }] }"#;
/// The rule that ends a run: once the newest step wrote `verified`, the agent finishes with it as evidence.
const FINISH: &str = r#"
  - name: finish
    when: { exitCode: 0, lastOutputMatches: "verified" }
    capture: { step: { regex: 'step: (\S+)', from: lastResult } }
    reply: { calls: [{ tool: finish, arguments: { summary: "all is well", evidence: ["{{step}}"] } }] }
"#;

/// The reply of a rule that runs a command on the host; `more` are further arguments in YAML, each after a comma.
pub fn run(command: &str, more: &str) -> String {
    let command = json!(command);
    format!(
        "{{ calls: [{{ tool: run, arguments: {{ target: \"host:pve\", command: {command}, purpose: try{more} }} }}] }}"
    )
}

impl Lab {
    /// Starts a model with these rules (YAML below `rules:`) and makes the Agent `nomos` for it.
    pub async fn model(&self, rules: &str) -> ModelServer {
        let yaml = format!("apiKey: {KEY}\nresultEnds: \"--- state of the plan\"\nrules:{FINISH}{rules}");
        let model = ModelServer::start(Scenario::parse(&yaml).unwrap()).await.unwrap();
        self.secret("model", "apiKey", KEY).await;
        self.apply(&agent("Anthropic", &model.anthropic_url())).await;
        model
    }

    /// Applies a plan that `nomos` carries out.
    pub async fn agent_plan(&self, spec: Value) {
        let mut all = json!({"agentRef": {"name": "nomos"}});
        all.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        self.plan("web", all).await;
    }

    /// The plan's transcript in order.
    pub async fn messages(&self) -> Vec<Message> {
        let mut messages = self.api::<Message>().list(&ListParams::default()).await.unwrap().items;
        messages.sort_by_key(|message| (message.spec.sequence, message.spec.kind == MessageKind::Answer));
        messages
    }

    /// Answers, as the operator, a plan that waits for an answer.
    pub async fn say(&self, sequence: u32, text: &str) {
        let plan = self.api::<Plan>().get("web").await.unwrap();
        let name = format!("answer-{sequence}");
        self.apply(&json!({
            "apiVersion": "oikos.dev/v1alpha1", "kind": "Message", "metadata": {"name": name},
            "spec": {
                "planRef": {"name": "web", "uid": plan.metadata.uid}, "sequence": sequence, "kind": "Answer",
                "text": text,
            },
        }))
        .await;
    }

    /// Proves that the model was asked once for each turn, and refused nothing.
    pub async fn one_message_a_turn(&self, model: &ModelServer) {
        assert_eq!(model.refusals(), [""; 0]);
        let messages = self.messages().await;
        let turns: Vec<u32> =
            messages.iter().filter(|it| it.spec.kind != MessageKind::Answer).map(|it| it.spec.sequence).collect();
        let expected: Vec<u32> = (1..=u32::try_from(turns.len()).unwrap()).collect();
        assert_eq!(turns, expected);
        assert_eq!(model.requests().len(), turns.len());
    }
}

/// The Agent `nomos`.
pub fn agent(provider: &str, url: &str) -> Value {
    json!({
        "apiVersion": "oikos.dev/v1alpha1", "kind": "Agent", "metadata": {"name": "nomos"},
        "spec": {
            "provider": provider, "baseURL": url, "model": "scripted",
            "apiKeySecretRef": {"name": "model", "key": "apiKey"},
        },
    })
}

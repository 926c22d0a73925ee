//! Objects as the controller would have made them.

use std::collections::BTreeMap;

use oikos::{
    agent::{
        Context, Model, Reply, TurnRequest, execution_name, message_name, system_prompt,
        tools::{self, ToolRequest},
        transcript,
    },
    api::{
        AgentLimits, AgentSpec, Execution, ExecutionPhase, ExecutionSpec, ExecutionStatus, Message, MessageSpec,
        ObjectRef, Output, Plan, PlanSpec, Provider, Role, RunSpec, ToolResult,
    },
};
use serde_json::json;
use testbed::model::{ModelServer, Scenario};

pub const BOTH: [Provider; 2] = [Provider::Anthropic, Provider::OpenAI];

pub fn agent(provider: Provider, url: &str) -> AgentSpec {
    AgentSpec {
        provider,
        base_url: url.to_owned(),
        model: "scripted-1".to_owned(),
        api_key_secret_ref: None,
        limits: AgentLimits { max_tokens: 1024, timeout_seconds: 30 },
        soul: None,
    }
}

pub fn model_of(server: &ModelServer, provider: Provider, key: Option<&str>) -> Model {
    let url = match provider {
        Provider::Anthropic => server.anthropic_url(),
        Provider::OpenAI => server.openai_url(),
    };
    Model::new(&agent(provider, &url), key.map(str::to_owned)).unwrap()
}

pub async fn serve(yaml: &str) -> ModelServer {
    ModelServer::start(Scenario::parse(yaml).unwrap()).await.unwrap()
}

pub fn plan(goal: &str, targets: &[&str]) -> Plan {
    let spec: PlanSpec = serde_json::from_value(json!({
        "goal": goal, "targets": targets, "agentRef": {"name": "nomos"},
    }))
    .unwrap();
    Plan::new("demo", spec)
}

/// A plan's objects, as they come to be turn by turn.
pub struct World {
    pub plan: Plan,
    pub messages: Vec<Message>,
    pub executions: BTreeMap<String, Execution>,
}

impl World {
    pub fn new(plan: Plan) -> Self {
        Self { plan, messages: Vec::new(), executions: BTreeMap::new() }
    }

    pub fn request(&self, context: &Context) -> TurnRequest {
        let entries = transcript::entries(&self.plan, &self.messages, &self.executions, context).unwrap();
        TurnRequest { system: system_prompt(None), entries, tools: context.closing.is_none(), max_tokens: 1024 }
    }

    /// Stores a reply the way the controller does: inline answers in the Message, steps as Executions.
    pub fn store(&mut self, reply: &Reply, mut carry_out: impl FnMut(&ToolRequest) -> Outcome) {
        let sequence = self.messages.len() as u32 + 1;
        let mut message = message(sequence, Role::Agent, &reply.text);
        message.spec.tool_calls.clone_from(&reply.calls);
        message.spec.opaque.clone_from(&reply.opaque);
        for (index, call) in reply.calls.iter().enumerate() {
            let name = execution_name("demo", sequence, index + 1);
            let outcome = match tools::parse(call) {
                Err(text) => Outcome::Inline(text, true),
                Ok(request) => carry_out(&request),
            };
            match outcome {
                Outcome::Inline(text, is_error) => {
                    message.spec.tool_results.push(ToolResult { call_id: call.id.clone(), text, is_error });
                }
                Outcome::Step(mut execution) => {
                    execution.metadata.name = Some(name.clone());
                    execution.spec.call_id = Some(call.id.clone());
                    self.executions.insert(name, *execution);
                }
            }
        }
        self.messages.push(message);
    }
}

pub enum Outcome {
    Inline(String, bool),
    Step(Box<Execution>),
}

pub fn message(sequence: u32, role: Role, text: &str) -> Message {
    Message::new(
        &message_name("demo", sequence),
        MessageSpec {
            plan_ref: ObjectRef { name: "demo".into(), uid: "u".into() },
            sequence,
            role,
            text: text.to_owned(),
            author: None,
            tool_calls: vec![],
            tool_results: vec![],
            model: None,
            stop_reason: None,
            usage: None,
            opaque: None,
        },
    )
}

/// A step that ended with this code and these streams.
pub fn exited(target: &str, command: &str, code: i32, stdout: &str, stderr: &str) -> Box<Execution> {
    let phase = if code == 0 { ExecutionPhase::Succeeded } else { ExecutionPhase::Failed };
    let mut execution = ended(target, command, phase);
    let status = execution.status.as_mut().unwrap();
    status.exit_code = Some(code);
    status.stdout = Some(output(stdout));
    status.stderr = Some(output(stderr));
    execution
}

pub fn ended(target: &str, command: &str, phase: ExecutionPhase) -> Box<Execution> {
    let spec = ExecutionSpec {
        plan_ref: ObjectRef { name: "demo".into(), uid: "u".into() },
        message_ref: None,
        call_id: None,
        step_name: None,
        target: target.parse().unwrap(),
        run: Some(RunSpec { command: command.to_owned() }),
        create_container: None,
        purpose: None,
        declared_risk: oikos::api::Risk::ReadOnly,
        timeout_seconds: 600,
    };
    let mut execution = Execution::new("demo-1-1", spec);
    execution.status = Some(ExecutionStatus { phase, ..ExecutionStatus::default() });
    Box::new(execution)
}

pub fn output(text: &str) -> Output {
    Output { text: text.to_owned(), bytes: text.len() as i64, truncated: false, sha256: None }
}

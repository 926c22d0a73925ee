//! Message: one entry of a transcript.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ObjectRef, limits};

/// One entry of a plan's transcript. Never changes.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "oikos.dev",
    version = "v1alpha1",
    kind = "Message",
    plural = "messages",
    namespaced,
    category = "oikos",
    derive = "PartialEq",
    doc = "One entry of a plan's transcript: a turn of the agent, an operator's words, or a note of the controller.",
    printcolumn(name = "Plan", type_ = "string", json_path = ".spec.planRef.name"),
    printcolumn(name = "Seq", type_ = "integer", json_path = ".spec.sequence"),
    printcolumn(name = "Role", type_ = "string", json_path = ".spec.role"),
    printcolumn(name = "Text", type_ = "string", json_path = ".spec.text"),
    printcolumn(name = "Calls", type_ = "string", json_path = ".spec.toolCalls[*].name"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    selectable = ".spec.planRef.name"
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = ("self == oldSelf", "a Message's spec never changes"),
    validation = ("!has(self.author) || self.role == 'Operator'", "only an operator's Message has an author")
)]
pub struct MessageSpec {
    /// The plan that it belongs to.
    pub plan_ref: ObjectRef,
    /// Its place in the transcript, from 1. An operator's Message carries the sequence of the one that it answers.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub sequence: u32,
    /// Who speaks.
    pub role: Role,
    /// What was said.
    #[serde(default)]
    #[schemars(length(max = 131_072))]
    pub text: String,
    /// The person who wrote it, for an operator's Message; stamped by admission over whatever the caller wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,
    /// The steps and looks that the agent asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub tool_calls: Vec<ToolCall>,
    /// Answers to those calls that need no Execution.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub tool_results: Vec<ToolResult>,
    /// The model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub model: Option<String>,
    /// Why the model stopped, in its provider's word; for a System note the stable code of what it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub stop_reason: Option<String>,
    /// Tokens, as the provider counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Provider fields that must be replayed byte for byte, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 262_144))]
    pub opaque: Option<String>,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Role {
    /// The agent's turn.
    Agent,
    /// A person.
    Operator,
    /// The controller.
    System,
}

/// Who wrote an operator's Message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Author {
    /// The user's name, as the API server knows it.
    #[schemars(length(min = 1, max = limits::LONGEST_NAME))]
    pub username: String,
    /// Whether the author had the verb `approve` on the plan when the Message was made. Without it the words count only
    /// as the answer to a question that the plan asks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_approve: bool,
    /// Whether an admission policy has checked the name, for a Message that the controller made of an annotation. A
    /// Message that a person made leaves it false: the controller knows whether the policies are up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verified: bool,
}

/// A tool call of the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// The call's id, unique in the transcript.
    #[schemars(length(min = 1, max = 256))]
    pub id: String,
    /// The tool's name, as the model wrote it.
    #[schemars(length(min = 1, max = 128))]
    pub name: String,
    /// The arguments as JSON text, as the model wrote them where that was valid JSON.
    #[schemars(length(max = 131_072))]
    pub arguments: String,
}

/// The answer to a tool call that the controller gave itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The call that it answers.
    #[schemars(length(min = 1, max = 256))]
    pub call_id: String,
    /// The answer.
    #[schemars(length(max = 65_536))]
    pub text: String,
    /// Whether the call failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// Tokens of one model request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens read, cached ones included.
    pub input_tokens: i64,
    /// Tokens written.
    pub output_tokens: i64,
    /// Tokens read from the provider's cache.
    #[serde(default)]
    pub cached_tokens: i64,
}

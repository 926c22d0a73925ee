//! Message: one entry of a transcript.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    BlockedReason, ObjectRef,
    limits::{
        LONGEST_ARGUMENTS, LONGEST_CALL_ID, LONGEST_MODEL_NAME, LONGEST_NAME, LONGEST_OPAQUE, LONGEST_STOP_REASON,
        LONGEST_TEXT, LONGEST_TOOL_NAME, LONGEST_TOOL_RESULT, MOST_CALLS,
    },
};

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
    printcolumn(name = "Kind", type_ = "string", json_path = ".spec.kind"),
    printcolumn(name = "Text", type_ = "string", json_path = ".spec.text"),
    printcolumn(name = "Calls", type_ = "string", json_path = ".spec.toolCalls[*].name"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    selectable = ".spec.planRef.name"
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = ("self == oldSelf", "a Message's spec never changes"),
    validation = ("self.kind in ['Turn', 'ClosingTurn'] || !(has(self.toolCalls) || has(self.toolResults) || has(self.model) || has(self.stopReason) || has(self.usage) || has(self.opaque))", "only a turn of the agent has tool calls, results, a model, a stop reason, usage and provider fields"),
    validation = ("self.kind == 'Turn' || !has(self.toolCalls) || size(self.toolCalls) == 0", "a closing turn calls no tools"),
    validation = ("(self.kind == 'Note') == has(self.reason)", "a Note has a reason, and nothing else has one"),
    validation = ("!has(self.author) || self.kind == 'Answer'", "only an Answer has an author")
)]
pub struct MessageSpec {
    /// The plan that it belongs to.
    pub plan_ref: ObjectRef,
    /// Its place in the transcript, from 1. An Answer carries the sequence of the entry that it answers.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub sequence: u32,
    /// What it is, and with that who wrote it.
    pub kind: MessageKind,
    /// What was said.
    #[serde(default)]
    #[schemars(length(max = LONGEST_TEXT))]
    pub text: String,
    /// For a Note: the stable code of what it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<BlockedReason>,
    /// The person who wrote an Answer; stamped by admission over whatever the caller wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,
    /// The tools that the agent called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_CALLS))]
    pub tool_calls: Vec<ToolCall>,
    /// Answers to those calls that need no Execution.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_CALLS))]
    pub tool_results: Vec<ToolResult>,
    /// The model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_MODEL_NAME))]
    pub model: Option<String>,
    /// Why the model stopped, in the words of its server. For people: nothing is decided by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_STOP_REASON))]
    pub stop_reason: Option<String>,
    /// Tokens, as the provider counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Provider fields that must be replayed byte for byte, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_OPAQUE))]
    pub opaque: Option<String>,
}

impl MessageSpec {
    /// An entry of this kind with nothing but a text.
    pub fn new(plan_ref: ObjectRef, sequence: u32, kind: MessageKind, text: impl Into<String>) -> Self {
        Self {
            plan_ref,
            sequence,
            kind,
            text: text.into(),
            reason: None,
            author: None,
            tool_calls: Vec::new(),
            tool_results: Vec::new(),
            model: None,
            stop_reason: None,
            usage: None,
            opaque: None,
        }
    }
}

/// What an entry of a transcript is. Only the controller writes turns and notes; the admission policies see to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum MessageKind {
    /// What the agent said and the tools that it called.
    Turn,
    /// The agent's summary after a limit was reached; it could call no tools.
    ClosingTurn,
    /// The controller's words in place of a turn that failed. It is for people: the agent does not read it.
    Note,
    /// The operator's words, in answer to the entry of the same sequence.
    Answer,
}

impl MessageKind {
    /// Whether the agent wrote it.
    pub fn is_turn(self) -> bool {
        matches!(self, Self::Turn | Self::ClosingTurn)
    }
}

/// Who wrote an Answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Author {
    /// The user's name, as the API server knows it.
    #[schemars(length(min = 1, max = LONGEST_NAME))]
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
    #[schemars(length(min = 1, max = LONGEST_CALL_ID))]
    pub id: String,
    /// The tool's name, as the model wrote it.
    #[schemars(length(min = 1, max = LONGEST_TOOL_NAME))]
    pub name: String,
    /// The arguments as JSON text, as the model wrote them where that was valid JSON.
    #[schemars(length(max = LONGEST_ARGUMENTS))]
    pub arguments: String,
}

/// The answer to a tool call that the controller gave itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The call that it answers.
    #[schemars(length(min = 1, max = LONGEST_CALL_ID))]
    pub call_id: String,
    /// The answer.
    #[schemars(length(max = LONGEST_TOOL_RESULT))]
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

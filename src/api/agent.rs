//! Agent: how to reach a model, and the text that tells it who it is.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{SecretKeyRef, limits};

/// How to reach a model.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "oikos.dev",
    version = "v1alpha1",
    kind = "Agent",
    plural = "agents",
    namespaced,
    category = "oikos",
    status = "AgentStatus",
    derive = "PartialEq",
    doc = "A model and how to reach it. Plans name the Agent that carries them out.",
    printcolumn(name = "Provider", type_ = "string", json_path = ".spec.provider"),
    printcolumn(name = "Model", type_ = "string", json_path = ".spec.model"),
    printcolumn(name = "URL", type_ = "string", json_path = ".spec.baseURL", priority = "1"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct AgentSpec {
    /// The wire format that the server speaks.
    pub provider: Provider,
    /// The server, without the path of the endpoint: `https://api.anthropic.com` or `https://api.openai.com/v1`.
    #[serde(rename = "baseURL")]
    #[schemars(length(min = 1, max = 2048), regex(pattern = "^https?://"))]
    pub base_url: String,
    /// The model's name, as the server knows it.
    #[schemars(length(min = 1, max = 253))]
    pub model: String,
    /// The Secret and key that hold the API key. Local servers may need none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_secret_ref: Option<SecretKeyRef>,
    /// Limits of one model request.
    #[serde(default)]
    pub limits: AgentLimits,
    /// Replaces SOUL.md, the text that tells the agent who it is and how it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65_536))]
    pub soul: Option<String>,
}

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Provider {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions, which many other servers speak as well.
    OpenAI,
}

/// Limits of one model request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentLimits {
    /// Tokens that the model may write in one answer.
    #[schemars(range(min = 256, max = 1_000_000))]
    pub max_tokens: u32,
    /// Seconds that one request may take.
    #[schemars(range(min = 1, max = 3600))]
    pub timeout_seconds: u32,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self { max_tokens: 8192, timeout_seconds: 600 }
    }
}

/// What the controller knows of an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentStatus {
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::MOST_CONDITIONS))]
    pub conditions: Vec<Condition>,
}

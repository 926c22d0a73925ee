//! One request to a model server. No retry here: the controller asks again when it is woken again.

use std::{collections::BTreeSet, fmt, time::Duration};

use reqwest::{
    Client, StatusCode,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue},
    redirect,
};

use super::{
    anthropic,
    entry::{Entry, Reply, TurnRequest},
    error::{ErrorCategory, ModelError},
    openai,
};
use crate::api::{AgentSpec, Provider};

/// How long a connection may take to come up.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest answer that is read, in bytes.
const LARGEST_ANSWER: usize = 8 * 1024 * 1024;

/// A model and how to reach it. Never follows redirects: they would carry the key elsewhere.
pub struct Model {
    client: Client,
    endpoint: String,
    provider: Provider,
    name: String,
    dialect: openai::Dialect,
    key: Option<String>,
    headers: HeaderMap,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("endpoint", &self.endpoint).field("name", &self.name).finish_non_exhaustive()
    }
}

impl Model {
    /// A client for the agent's model. White space around the key is taken off, as Secrets often end in a line break.
    pub fn new(spec: &AgentSpec, api_key: Option<String>) -> Result<Self, ModelError> {
        let key = api_key.map(|key| key.trim().to_owned()).filter(|key| !key.is_empty());
        let endpoint = endpoint(spec)?;
        let headers = headers(spec.provider, key.as_deref())?;
        let timeout = Duration::from_secs(u64::from(spec.limits.timeout_seconds.max(1)));
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT.min(timeout))
            .timeout(timeout)
            .user_agent(concat!("oikos/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| ModelError::new(ErrorCategory::Misconfigured, format!("building the client: {error}")))?;
        let host = reqwest::Url::parse(&endpoint).ok().and_then(|url| url.host_str().map(str::to_owned));
        let host = host.unwrap_or_default();
        Ok(Self {
            client,
            provider: spec.provider,
            name: spec.model.clone(),
            dialect: openai::Dialect {
                deepseek: host.contains("deepseek") || spec.model.to_lowercase().contains("deepseek"),
                official: host.ends_with("openai.com") || host.ends_with("openai.azure.com"),
            },
            endpoint,
            key,
            headers,
        })
    }

    /// Asks once.
    pub async fn ask(&self, request: &TurnRequest) -> Result<Reply, ModelError> {
        let reply = match self.provider {
            Provider::Anthropic => anthropic::parse(&self.post(anthropic::render(&self.name, request)?).await?),
            Provider::OpenAI => openai::parse(&self.post(openai::render(&self.name, self.dialect, request)?).await?),
        };
        reply
            .map(|reply| reply.into_reply(&used_ids(&request.entries), request))
            .map_err(|error| self.without_key(error))
    }

    async fn post(&self, body: Vec<u8>) -> Result<String, ModelError> {
        let sent = self.client.post(&self.endpoint).headers(self.headers.clone()).body(body).send().await;
        let mut response = sent.map_err(|error| self.without_key(ModelError::from_transport(error)))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let mut bytes = Vec::new();
        while let Some(chunk) =
            response.chunk().await.map_err(|error| self.without_key(ModelError::from_transport(error)))?
        {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > LARGEST_ANSWER {
                let what = format!("the model server's answer is larger than {LARGEST_ANSWER} bytes");
                return Err(ModelError::new(ErrorCategory::Malformed, what));
            }
        }
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        if status == StatusCode::OK {
            return Ok(text);
        }
        Err(self.without_key(ModelError::from_answer(status, &headers, &text)))
    }

    fn without_key(&self, error: ModelError) -> ModelError {
        error.without(self.key.as_deref())
    }
}

/// The address of the endpoint: what the user gave plus the format's path.
fn endpoint(spec: &AgentSpec) -> Result<String, ModelError> {
    let base = spec.base_url.trim().trim_end_matches('/');
    let url = match spec.provider {
        Provider::Anthropic if base.ends_with("/v1") => format!("{base}/messages"),
        Provider::Anthropic => format!("{base}/v1/messages"),
        Provider::OpenAI => format!("{base}/chat/completions"),
    };
    let wrong = |why: &str| ModelError::new(ErrorCategory::Misconfigured, format!("the Agent's baseURL {why}"));
    let parsed = reqwest::Url::parse(base).map_err(|error| wrong(&format!("is not a URL: {error}")))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(wrong("has to begin with http:// or https://"));
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(wrong("must not hold a user name or password"));
    }
    Ok(url)
}

fn headers(provider: Provider, key: Option<&str>) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if provider == Provider::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    if let Some(key) = key {
        let (name, text) = match provider {
            Provider::Anthropic => ("x-api-key", key.to_owned()),
            Provider::OpenAI => ("authorization", format!("Bearer {key}")),
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| {
            let what = "the API key holds characters that no HTTP header may hold";
            ModelError::new(ErrorCategory::Misconfigured, what)
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

fn used_ids(entries: &[Entry]) -> BTreeSet<String> {
    let calls = entries.iter().filter_map(|entry| match entry {
        Entry::Assistant { calls, .. } => Some(calls),
        _ => None,
    });
    calls.flatten().map(|call| call.id.clone()).collect()
}

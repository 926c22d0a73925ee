//! The server: reads, checks, records, answers.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use anyhow::{Context, Result};
use axum::{
    Router,
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, State},
    http::{HeaderMap, StatusCode, Uri},
    response::Response,
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

use super::{
    rules::{Values, choose, fill, fill_value},
    scenario::{Answer, Call, Rule, Scenario},
    view::{Turn, View},
    wire::{ReplyCall, ScriptedReply, WireFormat},
};

/// A running server on loopback; ends when dropped.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The path.
    pub path: String,
    /// The body; null when it was not JSON.
    pub body: Value,
    /// The body's bytes as text.
    pub text: String,
    /// The rule that answered.
    pub rule: Option<String>,
    /// Why it was refused, when it was: not allowed, malformed, or without a fitting rule.
    pub refused: Option<String>,
}

struct Shared {
    scenario: Scenario,
    state: Mutex<Recordings>,
    count: watch::Sender<usize>,
    released: watch::Sender<BTreeSet<String>>,
}

#[derive(Default)]
struct Recordings {
    requests: Vec<Recorded>,
    used: Vec<usize>,
    /// Reasoning that was given out, by the first call that came with it.
    issued: BTreeMap<String, String>,
    calls: usize,
}

impl ModelServer {
    /// Starts on a free port.
    pub async fn start(scenario: Scenario) -> Result<Self> {
        Self::start_on(scenario, 0).await
    }

    /// Starts on this port of loopback.
    pub async fn start_on(scenario: Scenario, port: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.context("binding the model server")?;
        let address = listener.local_addr().context("reading the model server's address")?;
        let state = Mutex::new(Recordings { used: vec![0; scenario.rules.len()], ..Recordings::default() });
        let (count, released) = (watch::Sender::new(0), watch::Sender::new(BTreeSet::new()));
        let shared = Arc::new(Shared { scenario, state, count, released });
        let router =
            Router::new().fallback(handle_request).layer(DefaultBodyLimit::disable()).with_state(shared.clone());
        let task = tokio::spawn(async move {
            // It only ends with the listener, and the listener with this task.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { address, shared, task })
    }

    /// The baseURL for provider Anthropic.
    pub fn anthropic_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The baseURL for provider OpenAI.
    pub fn openai_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The requests so far, oldest first.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.lock().requests.clone()
    }

    /// Why requests were refused, oldest first. Empty in a healthy run.
    pub fn refusals(&self) -> Vec<String> {
        self.shared.lock().requests.iter().filter_map(|request| request.refused.clone()).collect()
    }

    /// Waits until this many requests have come.
    pub async fn wait_for_requests(&self, number: usize) {
        // The sender lives in `self`, so that waiting cannot fail.
        let _ = self.shared.count.subscribe().wait_for(|count| *count >= number).await;
    }

    /// Lets answers that hold for this name go on, now and later.
    pub fn release(&self, name: &str) {
        self.shared.released.send_modify(|names| {
            names.insert(name.to_owned());
        });
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Recordings> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer that the scenario has for this request, unless the request is not what a real server accepts.
    fn plan_answer(&self, wire: WireFormat, headers: &HeaderMap, body: &Value) -> Result<PlannedAnswer, Refusal> {
        let refuse = |status, kind| move |why: String| Refusal { status, kind, why };
        if self.scenario.api_key.as_deref().is_some_and(|key| wire.key(headers) != Some(key)) {
            return Err(refuse(401, "authentication_error")("invalid x-api-key".to_owned()));
        }
        let view = wire.read(headers, body).map_err(refuse(400, "invalid_request_error"))?;
        let mut state = self.lock();
        self.check_reasoning(&view, &state.issued).map_err(refuse(400, "invalid_request_error"))?;
        let (index, rule, values) = choose(&self.scenario, &view, &state.used).ok_or_else(|| {
            let why = format!("no rule of the scenario fits turn {}; newest {}", view.turn(), view.newest());
            refuse(500, "api_error")(why)
        })?;
        let reply = scripted_reply(&self.scenario, rule, &values, &view, &mut state, body)
            .map_err(|why| refuse(500, "api_error")(format!("rule {:?}: {why}", rule.name)))?;
        state.used[index] += 1;
        if let (Some(reasoning), Some(call)) = (&reply.reasoning, reply.calls.first()) {
            state.issued.insert(call.id.clone(), reasoning.clone());
        }
        Ok(PlannedAnswer { rule: rule.name.clone(), answer: rule.reply.clone(), reply, values })
    }

    /// Reasoning that came with calls has to come back unchanged.
    fn check_reasoning(&self, view: &View, issued: &BTreeMap<String, String>) -> Result<(), String> {
        for turn in &view.turns {
            let Turn::Assistant { calls, reasoning, .. } = turn else { continue };
            let Some(call) = calls.first() else { continue };
            if issued.get(&call.id).is_some_and(|issued| Some(issued) != reasoning.as_ref()) {
                return Err("the reasoning in the thinking mode must be passed back to the API".to_owned());
            }
            if self.scenario.deepseek && reasoning.is_none() {
                return Err("Missing `reasoning_content` field in the assistant message".to_owned());
            }
        }
        Ok(())
    }
}

/// What a request is answered with.
struct PlannedAnswer {
    /// The rule of the scenario that fired.
    rule: String,
    /// What that rule says.
    answer: Answer,
    /// The reply that it asks for, when it asks for one.
    reply: ScriptedReply,
    /// What its placeholders stand for.
    values: Values,
}

/// Why a request is answered with an error.
struct Refusal {
    status: u16,
    kind: &'static str,
    why: String,
}

async fn handle_request(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, bytes: Bytes) -> Response {
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let wire = WireFormat::of(uri.path());
    let planned = match wire {
        Some(wire) => shared.plan_answer(wire, &headers, &body),
        None => Err(Refusal { status: 404, kind: "not_found_error", why: format!("no endpoint {}", uri.path()) }),
    };
    let (rule, refused) = match &planned {
        Ok(planned) => (Some(planned.rule.clone()), None),
        Err(refused) => (None, Some(refused.why.clone())),
    };
    shared.lock().requests.push(Recorded { path: uri.path().to_owned(), body, text, rule, refused });
    shared.count.send_modify(|count| *count += 1);
    let wire = wire.unwrap_or(WireFormat::OpenAI);
    match planned {
        Err(Refusal { status, kind, why }) => respond(status, &BTreeMap::new(), wire.error(kind, &why).to_string()),
        Ok(planned) => send_answer(&shared, wire, planned).await,
    }
}

async fn send_answer(shared: &Shared, wire: WireFormat, planned: PlannedAnswer) -> Response {
    let PlannedAnswer { answer, reply, values, .. } = planned;
    if let Some(name) = &answer.hold {
        let _ = shared.released.subscribe().wait_for(|names| names.contains(name)).await;
    }
    let status = answer.status.unwrap_or(200);
    let body = match &answer.raw {
        Some(raw) => fill(raw, &values).unwrap_or_else(|why| why),
        None if status != 200 => {
            let kind = answer.error_type.as_deref().unwrap_or("api_error");
            wire.error(kind, answer.text.as_deref().unwrap_or("scripted error")).to_string()
        }
        None => wire.write(&reply).to_string(),
    };
    if answer.drop {
        let half = Bytes::copy_from_slice(&body.as_bytes()[..body.len() / 2]);
        let broken = [Ok(half), Err(std::io::Error::other("dropped by the scenario"))];
        return Response::new(Body::from_stream(futures::stream::iter(broken)));
    }
    respond(status, &answer.headers, body)
}

fn respond(status: u16, headers: &BTreeMap<String, String>, body: String) -> Response {
    let mut builder = Response::builder().status(status).header("content-type", "application/json");
    for (name, value) in headers {
        builder = builder.header(name, value);
    }
    builder.body(Body::from(body)).unwrap_or_else(|error| {
        let mut response = Response::new(Body::from(error.to_string()));
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    })
}

fn scripted_reply(
    scenario: &Scenario,
    rule: &Rule,
    values: &Values,
    view: &View,
    state: &mut Recordings,
    body: &Value,
) -> Result<ScriptedReply, String> {
    let reply = &rule.reply;
    let mut calls = Vec::new();
    if reply.repeat {
        let (call, _) = view.last_result().ok_or("there is no call to repeat")?;
        state.calls += 1;
        let id = format!("call_{:04}", state.calls);
        calls.push(ReplyCall { id, name: call.name.clone(), arguments: call.arguments.to_string() });
    }
    for call in &reply.calls {
        if !call.tool.is_empty() && view.may_call && !view.tools.contains(&call.tool) && call.id.is_none() {
            // A scenario that misspells a tool should say so; one that means it gives the call an id.
            return Err(format!("tool {:?} is not declared by the request", call.tool));
        }
        state.calls += 1;
        calls.push(reply_call(call, state.calls, values)?);
    }
    let fill_in = |text: &Option<String>| text.as_deref().map(|text| fill(text, values)).transpose();
    Ok(ScriptedReply {
        number: state.requests.len() + 1,
        model: scenario.model.clone().unwrap_or_else(|| "scripted".to_owned()),
        text: fill_in(&reply.text)?.unwrap_or_default(),
        reasoning: fill_in(&reply.reasoning)?,
        calls,
        refusal: fill_in(&reply.refusal)?,
        stop: reply.stop.clone(),
        input_tokens: (!reply.without_usage).then(|| body.to_string().len() / 4),
    })
}

fn reply_call(call: &Call, number: usize, values: &Values) -> Result<ReplyCall, String> {
    let arguments = match (&call.raw_arguments, &call.arguments) {
        (Some(raw), _) => fill(raw, values)?,
        (None, Some(arguments)) => fill_value(arguments, values)?.to_string(),
        (None, None) => json!({}).to_string(),
    };
    Ok(ReplyCall {
        id: call.id.clone().unwrap_or_else(|| format!("call_{number:04}")),
        name: call.tool.clone(),
        arguments,
    })
}

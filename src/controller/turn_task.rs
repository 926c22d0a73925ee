//! One turn of the agent: ask the model, answer what needs no step, store the Message.
//!
//! The Message is the only trace of a turn. A request that was answered but not stored is asked again.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use kube::Api;
use tokio_util::sync::CancellationToken;

use super::{
    context::{Context, now},
    credentials::agent_of,
    effects::create,
    error::{ControllerError, LookupError, call},
    objects::{NamespacedName, is_turn_or_note, message_of},
    tool_answers,
    transcript::{note, turn_message},
};
use crate::{
    agent::{
        self, ErrorCategory, KnownTarget, Model, ModelError, Reply, ReplyKind, ToolUse, TurnContext, TurnRequest,
        message_name, prompt,
    },
    api::{BlockedReason, Execution, Message, MessageKind, Plan, Reason, Target, TargetKind},
};

/// How often one request is tried before its failure is shown.
const TRIES: u32 = 8;
/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Asks for the turn of this sequence and stores what comes of it. Stores nothing when cancelled.
pub async fn run(
    context: Arc<Context>,
    plan: Plan,
    sequence: u32,
    closing: Option<Reason<BlockedReason>>,
    cancel: CancellationToken,
) {
    let turn = async {
        match run_turn(&context, &plan, sequence, closing).await {
            Ok(()) => wait_until_cached(&context, &plan, sequence).await,
            Err(error) => {
                let name = plan.metadata.name.as_deref();
                tracing::warn!(plan = name, sequence, category = error.category(), %error, "a turn is taken again");
                tokio::time::sleep(Duration::from_secs(3)).await;
            }
        }
    };
    tokio::select! {
        () = turn => {}
        () = cancel.cancelled() => {}
    }
}

/// Waits for a while until the store knows the turn: until then the plan's next decision would only ask for it again.
async fn wait_until_cached(context: &Context, plan: &Plan, sequence: u32) {
    let stored = async {
        while !context.stores.has_turn(plan.metadata.uid.as_deref().unwrap_or_default(), sequence) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    // If it takes longer, the watch is broken. The next decision asks for the turn again, and it is found to be stored.
    let _ = tokio::time::timeout(Duration::from_secs(10), stored).await;
}

async fn run_turn(
    context: &Context,
    plan: &Plan,
    sequence: u32,
    closing: Option<Reason<BlockedReason>>,
) -> Result<(), ControllerError> {
    let NamespacedName { namespace, name } = NamespacedName::of(plan)?;
    let uid = plan.metadata.uid.clone().unwrap_or_default();
    let messages: Api<Message> = context.api(&namespace);
    let Some(message) = free_name(&messages, &name, &uid, sequence).await? else {
        return Ok(());
    };
    // A server's words may hold what it was sent, its key among it.
    let safe_note = |reason: Reason<BlockedReason>| {
        let text = context.secrets.redactor(&namespace).redact(&reason.message).text;
        note(plan, sequence, Reason::new(reason.code, text))
    };
    let spec = match ready_model(context, &namespace, plan).await {
        Err(LookupError::Call(error)) => return Err(error),
        Err(LookupError::Missing(reason)) => safe_note(reason),
        Ok(model) => {
            let (kind, tools) = match closing {
                None => (MessageKind::Turn, ToolUse::Offered),
                Some(_) => (MessageKind::ClosingTurn, ToolUse::Withheld),
            };
            let conversation = Conversation {
                plan,
                messages: context.transcript(&uid),
                executions: context.stores.executions_of(&uid),
                context: turn_context(context, &namespace, plan, closing.as_ref()),
            };
            match conversation.ask(&model, tools).await {
                Ok(reply) => {
                    let results =
                        tool_answers::answers(context, &namespace, &reply.calls, &conversation.executions).await;
                    turn_message(plan, sequence, kind, reply, results)
                }
                Err(reason) => safe_note(reason),
            }
        }
    };
    match create(&messages, "storing a turn", &message_of(plan, &message, spec)).await {
        // Asking again would give another such answer, and cost another request.
        Err(error) if error.is_unacceptable() => {
            let text = format!("the model's answer cannot be stored: {error}; answer to have the model asked again");
            let spec = safe_note(Reason::new(BlockedReason::AnswerUnacceptable, text));
            create(&messages, "storing a note", &message_of(plan, &message, spec)).await
        }
        other => other,
    }
}

/// Under which name the turn is to be stored; `None` when it is stored, since the store may lag behind our own Message
/// and a turn is asked for once. The usual name may be taken, by a person's Message or by one of an earlier plan.
async fn free_name(
    messages: &Api<Message>,
    plan: &str,
    uid: &str,
    sequence: u32,
) -> Result<Option<String>, ControllerError> {
    let usual = message_name(plan, sequence);
    let other = format!("{usual}-turn");
    for name in [&usual, &other] {
        let Some(found) = call("looking for a turn", messages.get_opt(name)).await? else {
            return Ok(Some(name.clone()));
        };
        if is_turn_or_note(&found, uid, sequence) {
            return Ok(None);
        }
    }
    Err(ControllerError::NameTaken { name: other })
}

/// A model that can be asked, and what its Agent says about each request.
struct ReadyModel {
    model: Model,
    system_prompt: String,
    max_tokens: u32,
}

async fn ready_model(
    context: &Context,
    namespace: &str,
    plan: &Plan,
) -> Result<ReadyModel, LookupError<Reason<BlockedReason>>> {
    let (agent, key) = agent_of(context, namespace, plan).await?;
    let model = Model::new(&agent.spec, key).map_err(|error| LookupError::Missing(model_failure(error)))?;
    let system_prompt = agent::system_prompt(agent.spec.soul.as_deref());
    Ok(ReadyModel { model, system_prompt, max_tokens: agent.spec.limits.max_tokens })
}

fn model_failure(error: ModelError) -> Reason<BlockedReason> {
    Reason::new(error.category.reason(), error.message)
}

/// What the requests of one turn are made from.
struct Conversation<'a> {
    plan: &'a Plan,
    messages: Vec<Message>,
    executions: BTreeMap<String, Execution>,
    context: TurnContext,
}

impl Conversation<'_> {
    fn request(
        &self,
        model: &ReadyModel,
        context: &TurnContext,
        tools: ToolUse,
    ) -> Result<TurnRequest, Reason<BlockedReason>> {
        let entries = agent::transcript::entries(self.plan, &self.messages, &self.executions, context)
            .map_err(|missing| Reason::new(BlockedReason::TranscriptIncomplete, missing.to_string()))?;
        Ok(TurnRequest { system: model.system_prompt.clone(), entries, tools, max_tokens: model.max_tokens })
    }

    /// Asks until there is an answer worth storing: transport errors after a pause, an empty or declining answer once
    /// more with a changed prompt, an overlong conversation once more shortened.
    async fn ask(&self, model: &ReadyModel, tools: ToolUse) -> Result<Reply, Reason<BlockedReason>> {
        let mut context = self.context.clone();
        let mut nudged = false;
        let mut shortened = false;
        let mut tries = 0;
        loop {
            let request = self.request(model, &context, tools)?;
            tries += 1;
            match model.model.ask(&request).await {
                Ok(reply) if matches!(reply.kind, ReplyKind::Calls | ReplyKind::Text) => return Ok(reply),
                Ok(reply) if !nudged => {
                    nudged = true;
                    context.nudge = prompt::nudge(reply.kind, 1);
                }
                Ok(reply) => return Err(Reason::new(reply.kind.reason(), unusable_reply(&reply))),
                Err(error) if error.category == ErrorCategory::ContextOverflow && !shortened => {
                    shortened = true;
                    context.budget /= 4;
                }
                Err(error) if error.retryable && tries < TRIES => wait_before_retry(&error, tries).await,
                Err(error) => return Err(model_failure(error)),
            }
        }
    }
}

async fn wait_before_retry(error: &ModelError, tries: u32) {
    let backoff = Duration::from_secs(1 << tries.min(6)).min(LONGEST_PAUSE);
    let wait = error.retry_after.unwrap_or(backoff);
    tracing::info!(category = %error.category.reason(), ?wait, tries, "a model request failed and is tried again");
    tokio::time::sleep(wait).await;
}

fn unusable_reply(reply: &Reply) -> String {
    let what = match reply.kind {
        ReplyKind::Empty | ReplyKind::ReasoningOnly => {
            "the model gave an empty answer twice; answer to have it asked again, or use another model"
        }
        ReplyKind::Refusal => "the model declined twice; answer to have it asked again, or use another model",
        _ => "the model's answer was cut off twice; raise limits.maxTokens of the Agent",
    };
    let said = if reply.text.is_empty() { String::new() } else { format!("; it said: {}", reply.text) };
    format!("{what}{said}")
}

fn turn_context(
    context: &Context,
    namespace: &str,
    plan: &Plan,
    closing: Option<&Reason<BlockedReason>>,
) -> TurnContext {
    let status = plan.status.clone().unwrap_or_default();
    let inventory = context.stores.inventory(namespace);
    let left = status.window.as_ref().map(|window| window.expiry_time.0.duration_since(now()).as_secs());
    let uid = plan.metadata.uid.as_deref().unwrap_or_default();
    let streak = agent::limits::text_only_streak(&context.transcript(uid));
    let known = |target: &Target| {
        let guest = inventory.guests.get(target);
        KnownTarget {
            target: target.clone(),
            host: guest.and_then(|guest| Target::new(TargetKind::Host, &guest.host).ok()),
            vmid: guest.map(|guest| guest.vmid),
            note: (!inventory.knows(target)).then(|| "does not exist yet".to_owned()),
        }
    };
    TurnContext {
        phase: status.phase,
        window_seconds: left.and_then(|seconds| u64::try_from(seconds).ok()),
        targets: plan.spec.targets.iter().map(known).collect(),
        iterations_left: plan.spec.limits.iterations.saturating_sub(status.iterations),
        nudge: (streak > 0).then(|| prompt::nudge(ReplyKind::Text, streak)).flatten(),
        closing: closing.map(|reason| reason.message.clone()),
        ..TurnContext::default()
    }
}

//! The task that runs one Execution, or looks for what became of it, and writes the result.

use std::{sync::Arc, time::Duration};

use k8s_openapi::jiff::Timestamp;
use kube::Api;
use tokio_util::sync::CancellationToken;

use super::{
    access::access_for,
    attempt::Mode,
    containers,
    context::{Context, now},
    effects::replace_status,
    error::{ControllerError, LookupError, call},
    objects::NamespacedName,
    step_report::{not_connected, not_sent, step_result, unknown_result},
};
use crate::{
    api::{Execution, ExecutionReason, Reason, Risk},
    decide::{self, StepResult},
    steps::{Place, Step},
};

/// A step that lasts longer is shown as Running; for a shorter one that write is saved.
const SHOW_RUNNING_AFTER: Duration = Duration::from_secs(2);
/// How long a task stays registered after an attempt that is to be made again, so that it is not made at once.
const PAUSE_BEFORE_NEXT_ATTEMPT: Duration = Duration::from_secs(1);
/// The same after an error of the API server.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(2);
/// The longest pause between two tries to write a result.
const LONGEST_WRITE_PAUSE: Duration = Duration::from_secs(30);

/// Runs a claimed Execution, or finds out what became of it, and writes the result.
pub async fn run(context: Arc<Context>, execution: Execution, mode: Mode, cancel: CancellationToken) {
    let running = carry_out(&context, &execution, mode, &cancel);
    let mut running = std::pin::pin!(running);
    let result = tokio::select! {
        result = &mut running => result,
        () = tokio::time::sleep(SHOW_RUNNING_AFTER) => {
            // Both at the same time, since a slow API server must hold up neither the step nor its cancellation.
            tokio::join!(running, show_running(&context, &execution)).0
        }
    };
    match result {
        Ok(result) => write_result(&context, &execution, &result).await,
        Err(error) => {
            // Nothing is known to have been sent, and if it was, the next reconcile adopts it.
            let name = execution.metadata.name.as_deref();
            tracing::warn!(name, category = error.category(), %error, "a step is looked at again");
            tokio::time::sleep(PAUSE_AFTER_ERROR).await;
        }
    }
}

async fn carry_out(
    context: &Context,
    execution: &Execution,
    mode: Mode,
    cancel: &CancellationToken,
) -> Result<StepResult, ControllerError> {
    let namespace = execution.metadata.namespace.as_deref().ok_or(ControllerError::Nameless)?;
    let spec = &execution.spec;
    let (access, place) = match access_for(context, namespace, execution).await {
        Ok(found) => found,
        Err(LookupError::Call(error)) => return Err(error),
        Err(LookupError::Missing(reason)) => return Ok(without_access(mode, reason)),
    };
    match (&spec.run, &spec.create_container) {
        (Some(run), None) => {
            let step = step(context, execution, place, run.command.clone());
            let report = match mode {
                Mode::Start => context.runner.run(&access, &step, cancel).await,
                Mode::Adopt => Ok(context.runner.adopt(&access, &step, cancel).await),
            };
            Ok(report.map_or_else(
                |error| not_connected(&error),
                |report| step_result(report, spec.timeout_seconds, &context.secrets.redactor(namespace)),
            ))
        }
        (None, Some(container)) => {
            containers::create(context, namespace, execution, container, &access, cancel, mode).await
        }
        _ => Ok(not_sent(Reason::new(ExecutionReason::NoAction, "it has not exactly one action"))),
    }
}

/// The result of a step whose host cannot be named any more. Of an adopted step that says nothing: it may have run.
fn without_access(mode: Mode, reason: Reason<ExecutionReason>) -> StepResult {
    match mode {
        Mode::Start => not_sent(reason),
        Mode::Adopt => unknown_result(reason),
    }
}

fn step(context: &Context, execution: &Execution, place: Place, command: String) -> Step {
    let status = execution.status.clone().unwrap_or_default();
    let read_only = status.risk.as_ref().is_some_and(|risk| risk.class == Risk::ReadOnly);
    Step {
        attempt_id: status.attempt_id.unwrap_or_default(),
        place,
        command,
        timeout: Duration::from_secs(u64::from(execution.spec.timeout_seconds)),
        mutating: !read_only,
        start_within: context.start_within(execution),
    }
}

/// Shows that the step runs, unless somebody wrote in the meantime.
async fn show_running(context: &Context, execution: &Execution) {
    let Ok(NamespacedName { namespace, name }) = NamespacedName::of(execution) else { return };
    let api: Api<Execution> = context.api(&namespace);
    let Ok(Some(mut live)) = call("reading a running execution", api.get_opt(&name)).await else { return };
    if let Some(status) = decide::show_running(&live, execution) {
        live.status = Some(status);
        // Nothing is decided by it, and on a conflict something newer was written: a failure does no harm.
        let _ = replace_status(&api, "showing that an execution runs", &live).await;
    }
}

/// Writes the result of a step, for as long as it takes: it exists nowhere else in the cluster.
async fn write_result(context: &Context, execution: &Execution, result: &StepResult) {
    let Ok(NamespacedName { namespace, name }) = NamespacedName::of(execution) else { return };
    let api: Api<Execution> = context.api(&namespace);
    let ended_at = now();
    let mut pause = Duration::from_millis(50);
    loop {
        match write_once(context, &api, execution, result, ended_at).await {
            Ok(Written::End) => return,
            Ok(Written::NextAttempt) => return tokio::time::sleep(PAUSE_BEFORE_NEXT_ATTEMPT).await,
            Err(error) => {
                tracing::info!(name, category = error.category(), %error, "writing a step's result is tried again");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_WRITE_PAUSE);
            }
        }
    }
}

/// What stands in the Execution once its result is written.
enum Written {
    /// Its end, or nothing because the result is of no interest any more.
    End,
    /// That a further attempt follows.
    NextAttempt,
}

async fn write_once(
    context: &Context,
    api: &Api<Execution>,
    execution: &Execution,
    result: &StepResult,
    ended_at: Timestamp,
) -> Result<Written, ControllerError> {
    let NamespacedName { name, .. } = NamespacedName::of(execution)?;
    let Some(mut live) = call("reading an ended execution", api.get_opt(&name)).await? else {
        return Ok(Written::End);
    };
    let decision = decide::execution_result(&live, execution, result, ended_at);
    if let Some(status) = decision.status {
        live.status = Some(status);
        live = replace_status(api, "writing the result of an execution", &live).await?;
    }
    if let Some(notice) = &decision.notice {
        context.announce(&live, notice).await;
    }
    Ok(if live.has_ended() { Written::End } else { Written::NextAttempt })
}

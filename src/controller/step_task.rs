//! The task that runs one Execution and writes its end.

use std::{sync::Arc, time::Duration};

use kube::Api;
use tokio_util::sync::CancellationToken;

use super::{
    access::access_of,
    containers,
    context::{Context, now},
    effects::replace_status,
    error::{ControllerError, call},
    step_report::{Ending, ending, trouble, unsent},
};
use crate::{
    api::{Execution, ExecutionPhase, ExecutionStatus, Risk},
    decide::Notice,
    steps::{Place, Step},
};

/// A step that lasts longer is shown as Running; a shorter one saves that write.
const SHOWN_AFTER: Duration = Duration::from_secs(2);

/// Runs a claimed Execution, or finds out what became of it if `adopt`, and writes how it ended.
pub async fn run(context: Arc<Context>, execution: Execution, adopt: bool, cancel: CancellationToken) {
    let running = carry_out(&context, &execution, adopt, &cancel);
    let mut running = std::pin::pin!(running);
    let ending = tokio::select! {
        ending = &mut running => ending,
        () = tokio::time::sleep(SHOWN_AFTER) => {
            // Side by side: a slow API server must not hold up the step, nor its being stopped.
            tokio::join!(running, show_running(&context, &execution)).0
        }
    };
    match ending {
        Ok(ending) => write(&context, &execution, ending).await,
        Err(error) => {
            // Nothing is known to have been sent, and if it was, the next pass adopts it.
            let name = execution.metadata.name.as_deref();
            tracing::warn!(name, category = error.category(), %error, "a step is looked at again");
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
    }
}

async fn carry_out(
    context: &Context,
    execution: &Execution,
    adopt: bool,
    cancel: &CancellationToken,
) -> Result<Ending, ControllerError> {
    let namespace = execution.metadata.namespace.as_deref().ok_or(ControllerError::Nameless)?;
    let status = execution.status.clone().unwrap_or_default();
    let spec = &execution.spec;
    let (access, place) = match access_of(context, namespace, &spec.target).await? {
        Ok(found) => found,
        // An adopted step may have run: that its host cannot be named any more says nothing about it.
        Err((reason, text)) if adopt => return Ok(lost(status, &reason, &text)),
        Err((reason, text)) => return Ok(Ending::Terminal(Box::new(unsent(status, &reason, &text, now())))),
    };
    let report = match (&spec.run, &spec.create_container) {
        (Some(run), None) => {
            let step = step(context, execution, place, run.command.clone());
            if adopt {
                context.runner.adopt(&access, &step, cancel).await
            } else {
                context.runner.run(&access, &step, cancel).await
            }
        }
        (None, Some(container)) => {
            return containers::create(context, namespace, execution, container, &access, cancel, adopt).await;
        }
        _ => return Ok(Ending::Terminal(Box::new(unsent(status, "NoAction", "it has not exactly one action", now())))),
    };
    Ok(match report {
        Ok(report) => ending(status, &report, spec.timeout_seconds, now()),
        Err(error) => {
            let (reason, text) = trouble(&error);
            if adopt {
                lost(status, &reason, &text)
            } else {
                Ending::Terminal(Box::new(unsent(status, &reason, &text, now())))
            }
        }
    })
}

fn lost(mut status: ExecutionStatus, reason: &str, text: &str) -> Ending {
    status.phase = ExecutionPhase::Lost;
    status.reason = Some(reason.to_owned());
    status.message = Some(format!("what happened is unknown, look before you act: {text}"));
    status.completion_time = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now()));
    Ending::Terminal(Box::new(status))
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
    let Ok((namespace, name)) = super::objects::key(execution) else { return };
    let api: Api<Execution> = context.api(&namespace);
    let Ok(Some(mut live)) = call("reading a running execution", api.get_opt(&name)).await else { return };
    if let Some(status) = live.status.as_mut().filter(|status| status.phase == ExecutionPhase::Starting) {
        status.phase = ExecutionPhase::Running;
        // It is for the eye only: whoever wrote first knew better.
        let _ = replace_status(&api, "showing that an execution runs", &live).await;
    }
}

/// Writes how a step ended, for as long as it takes: the end exists nowhere else in the cluster.
async fn write(context: &Context, execution: &Execution, ending: Ending) {
    let Ok((namespace, name)) = super::objects::key(execution) else { return };
    let api: Api<Execution> = context.api(&namespace);
    let (status, terminal) = match ending {
        Ending::Terminal(status) => (*status, true),
        Ending::Again(status) => (*status, false),
    };
    let mut pause = Duration::from_millis(50);
    loop {
        match write_once(&api, &name, execution, &status).await {
            Ok(Some(written)) if terminal => return announce(context, &written).await,
            Ok(_) => break,
            Err(error) => {
                tracing::info!(name, category = error.category(), %error, "writing the end of a step is tried again");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(30));
            }
        }
    }
    if !terminal {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// `None` when the object is gone, has ended, or is at another attempt: then this end is of no interest any more.
async fn write_once(
    api: &Api<Execution>,
    name: &str,
    execution: &Execution,
    status: &ExecutionStatus,
) -> Result<Option<Execution>, ControllerError> {
    let Some(mut live) = call("reading an ended execution", api.get_opt(name)).await? else {
        return Ok(None);
    };
    let current = live.status.clone().unwrap_or_default();
    let other = live.metadata.uid != execution.metadata.uid || current.attempt_id != status.attempt_id;
    if other || current.phase.is_terminal() || current == *status {
        return Ok(None);
    }
    live.status = Some(status.clone());
    replace_status(api, "writing the end of an execution", &live).await.map(Some)
}

async fn announce(context: &Context, execution: &Execution) {
    let status = execution.status.clone().unwrap_or_default();
    let ok = status.phase == ExecutionPhase::Succeeded;
    let notice = Notice {
        reason: if ok { "StepSucceeded" } else { "StepFailed" },
        note: format!("{}: {}", execution.spec.target, status.message.unwrap_or_default()),
        warning: !ok,
    };
    context.announce(execution, &notice).await;
}

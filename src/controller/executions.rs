//! Execution: observe, decide, claim, hand over to the task that runs it.

use std::sync::Arc;

use kube::{
    Api,
    core::DeserializeGuard,
    runtime::{controller::Action, reflector::ObjectRef},
};

use super::{
    context::{Context, now},
    effects::{create, replace_status},
    error::{ControllerError, call},
    objects::{key, requeue},
    step_task,
    stores::MaybeInvalid,
};
use crate::{
    api::{AutonomyWindow, Execution, Plan, WindowPhase},
    decide::{self, ExecutionEffect, ObservedExecution},
};

/// One pass over one Execution.
pub async fn reconcile(seen: Arc<MaybeInvalid<Execution>>, context: Arc<Context>) -> Result<Action, ControllerError> {
    let (namespace, name) = key(seen.as_ref())?;
    if seen.0.as_ref().is_ok_and(Execution::has_ended) {
        return Ok(Action::await_change());
    }
    let executions: Api<Execution> = context.api(&namespace);
    let Some(mut execution) = call("reading an execution", executions.get_opt(&name)).await? else {
        return Ok(Action::await_change());
    };
    let uid = execution.metadata.uid.clone().unwrap_or_default();
    let plans: Api<Plan> = context.api(&namespace);
    let plan = call("reading an execution's plan", plans.get_opt(&execution.spec.plan_ref.name)).await?;
    let now = now();
    let windows = context.stores.windows_of(&execution.spec.plan_ref.uid);
    let ended_windows = windows.iter().filter_map(ended_window).collect();
    let windows = plan.as_ref().map_or_else(Vec::new, |plan| decide::open_windows(plan, &windows, now));
    let inventory = context.stores.inventory(&namespace);
    let step = decide::execution(&ObservedExecution {
        execution: &execution,
        plan: plan.as_ref(),
        windows: &windows,
        ended_windows: &ended_windows,
        inventory: &inventory,
        running: context.steps.has(&uid),
        guarded: context.guarded(),
        now,
    });
    if let Some(status) = step.status {
        if step.effect == ExecutionEffect::Start && !still_open(&context, &namespace, status.authority.as_ref()).await?
        {
            return Ok(Action::requeue(std::time::Duration::from_secs(1)));
        }
        execution.status = Some(status);
        execution = replace_status(&executions, "writing an execution's status", &execution).await?;
        if let Some(notice) = &step.notice {
            context.announce(&execution, notice).await;
        }
    }
    match step.effect {
        ExecutionEffect::None => {}
        ExecutionEffect::Stop => context.steps.stop(&uid),
        ExecutionEffect::Grant(mut window) => {
            window.metadata.namespace = Some(namespace.clone());
            create(&context.api::<AutonomyWindow>(&namespace), "creating a window", &window).await?;
        }
        ExecutionEffect::Start => start(&context, execution, false, false),
        ExecutionEffect::Adopt { stop } => start(&context, execution, true, stop),
    }
    Ok(requeue(step.again_at, now))
}

fn ended_window(window: &AutonomyWindow) -> Option<(String, WindowPhase)> {
    let phase = window.status.as_ref()?.phase;
    (phase != WindowPhase::Active).then_some((window.metadata.name.clone()?, phase))
}

/// The window that a step starts under, read live: a revocation counts from the moment that it was written.
async fn still_open(
    context: &Context,
    namespace: &str,
    authority: Option<&crate::api::Authority>,
) -> Result<bool, ControllerError> {
    let Some(name) = authority.and_then(|authority| authority.name.as_deref()) else {
        return Ok(true);
    };
    let windows: Api<AutonomyWindow> = context.api(namespace);
    let window = call("reading a step's window", windows.get_opt(name)).await?;
    Ok(window.is_some_and(|window| {
        !window.spec.revoked && window.status.is_some_and(|status| status.phase == WindowPhase::Active)
    }))
}

fn start(context: &Arc<Context>, execution: Execution, adopt: bool, stop: bool) {
    let uid = execution.metadata.uid.clone().unwrap_or_default();
    let reference = ObjectRef::from_obj(&DeserializeGuard(Ok(execution.clone())));
    let (wake, work) = (context.wake_execution.clone(), context.clone());
    context.steps.start(
        &uid,
        move |cancel| async move {
            if stop {
                cancel.cancel();
            }
            step_task::run(work, execution, adopt, cancel).await;
        },
        move || {
            // The receiver lives as long as the process; when it is gone, nobody is to be woken.
            let _ = wake.send(reference);
        },
    );
}

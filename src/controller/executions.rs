//! Execution: observe, decide, claim, hand over to the task that runs it.

use std::{sync::Arc, time::Duration};

use kube::{
    Api,
    core::DeserializeGuard,
    runtime::{controller::Action, reflector::ObjectRef},
};
use tokio_util::sync::CancellationToken;

use super::{
    attempt::Mode,
    context::{Context, now},
    effects::{create, replace_status},
    error::{ControllerError, call},
    live::live_inventory,
    objects::{NamespacedName, requeue},
    step_task,
    stores::MaybeInvalid,
};
use crate::{
    api::{Authority, AutonomyWindow, Execution, Plan, WindowPhase},
    decide::{self, Adoption, ExecutionEffect, ObservedExecution},
};

/// How soon an Execution is reconciled again whose window was revoked or removed while it was decided.
const AFTER_REVOCATION: Duration = Duration::from_secs(1);

/// Reconciles one Execution.
pub async fn reconcile(seen: Arc<MaybeInvalid<Execution>>, context: Arc<Context>) -> Result<Action, ControllerError> {
    let NamespacedName { namespace, name } = NamespacedName::of(seen.as_ref())?;
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
    let mut observed = ObservedExecution {
        execution: &execution,
        plan: plan.as_ref(),
        windows: &windows,
        ended_windows: &ended_windows,
        inventory: &inventory,
        running: context.steps.has(&uid),
        admission_guard: context.admission_guard(),
        now,
    };
    let mut decision = decide::decide_execution(&observed);
    if decision.effect == ExecutionEffect::Start {
        // The stores may lag behind; what a step is sent to is read where it is written.
        let status = decision.status.as_ref();
        let authority = status.and_then(|status| Some(status.authority.as_ref()?.kind));
        let live = live_inventory(&context, &namespace, &observed, authority, inventory.clone()).await?;
        if live != inventory {
            observed.inventory = &live;
            decision = decide::decide_execution(&observed);
        }
    }
    if let Some(status) = decision.status {
        if decision.effect == ExecutionEffect::Start
            && !is_still_open(&context, &namespace, status.authority.as_ref()).await?
        {
            return Ok(Action::requeue(AFTER_REVOCATION));
        }
        execution.status = Some(status);
        execution = replace_status(&executions, "writing an execution's status", &execution).await?;
        if let Some(notice) = &decision.notice {
            context.announce(&execution, notice).await;
        }
    }
    carry_out(&context, &namespace, execution, decision.effect).await?;
    Ok(requeue(decision.again_at, now))
}

async fn carry_out(
    context: &Arc<Context>,
    namespace: &str,
    execution: Execution,
    effect: ExecutionEffect,
) -> Result<(), ControllerError> {
    match effect {
        ExecutionEffect::None => {}
        ExecutionEffect::Stop => context.steps.stop(execution.metadata.uid.as_deref().unwrap_or_default()),
        ExecutionEffect::Grant(window) => {
            create(&context.api::<AutonomyWindow>(namespace), "creating a window", &window).await?;
        }
        ExecutionEffect::Start => start_task(context, execution, Mode::Start, CancellationToken::new()),
        ExecutionEffect::Adopt(adoption) => {
            let cancel = CancellationToken::new();
            if adoption == Adoption::Stop {
                cancel.cancel();
            }
            start_task(context, execution, Mode::Adopt, cancel);
        }
    }
    Ok(())
}

fn ended_window(window: &AutonomyWindow) -> Option<(String, WindowPhase)> {
    let phase = window.status.as_ref()?.phase;
    (phase != WindowPhase::Active).then_some((window.metadata.name.clone()?, phase))
}

/// Whether the window under which a step starts is open, read from the API server and not from the store: a revocation
/// counts from the moment that it was written.
async fn is_still_open(
    context: &Context,
    namespace: &str,
    authority: Option<&Authority>,
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

fn start_task(context: &Arc<Context>, execution: Execution, mode: Mode, cancel: CancellationToken) {
    let uid = execution.metadata.uid.clone().unwrap_or_default();
    let reference = ObjectRef::from_obj(&DeserializeGuard(Ok(execution.clone())));
    let (wake, work) = (context.wake_execution.clone(), context.clone());
    context.steps.start(
        &uid,
        cancel,
        move |cancel| step_task::run(work, execution, mode, cancel),
        move || {
            // The receiver lives as long as the process; when it is gone, nobody is to be woken.
            let _ = wake.send(reference);
        },
    );
}

//! AutonomyWindow: observe, decide, write status.

use std::sync::Arc;

use kube::{Api, runtime::controller::Action};

use super::{
    context::{Context, now},
    effects::replace_status,
    error::{ControllerError, call},
    objects::{NamespacedName, requeue},
    stores::MaybeInvalid,
};
use crate::{
    api::{AutonomyWindow, Execution, Plan},
    decide::{self, ObservedWindow},
};

/// Reconciles one window.
pub async fn reconcile(
    seen: Arc<MaybeInvalid<AutonomyWindow>>,
    context: Arc<Context>,
) -> Result<Action, ControllerError> {
    let NamespacedName { namespace, name } = NamespacedName::of(seen.as_ref())?;
    let windows: Api<AutonomyWindow> = context.api(&namespace);
    let Some(mut window) = call("reading a window", windows.get_opt(&name)).await? else {
        return Ok(Action::await_change());
    };
    let plans: Api<Plan> = context.api(&namespace);
    let plan = call("reading a window's plan", plans.get_opt(&window.spec.plan_ref.name)).await?;
    let execution = match &window.spec.execution_ref {
        Some(reference) => {
            let executions: Api<Execution> = context.api(&namespace);
            call("reading a window's execution", executions.get_opt(&reference.name)).await?
        }
        None => None,
    };
    let now = now();
    let observed = ObservedWindow { window: &window, plan: plan.as_ref(), execution: execution.as_ref(), now };
    let decision = decide::decide_window(&observed);
    if let Some(status) = decision.status {
        window.status = Some(status);
        let written = replace_status(&windows, "writing a window's status", &window).await?;
        if let Some(notice) = &decision.notice {
            context.announce(&written, notice).await;
        }
    }
    Ok(requeue(decision.again_at, now))
}

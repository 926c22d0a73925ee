//! Plan: observe, decide, carry out one effect.

use std::sync::Arc;

use kube::{
    Api,
    core::DeserializeGuard,
    runtime::{controller::Action, reflector::ObjectRef},
};
use tokio_util::sync::CancellationToken;

use super::{
    context::{Context, now},
    credentials::agent_of,
    effects::{create, replace_status, revoke},
    error::{ControllerError, LookupError, call},
    objects::{NamespacedName, requeue},
    stores::MaybeInvalid,
    transcript::{latest_turn, tally},
    turn_task,
};
use crate::{
    api::{AutonomyWindow, BlockedReason, Execution, Message, Plan, Reason},
    decide::{self, ObservedPlan, PlanEffect},
};

/// Reconciles one plan.
pub async fn reconcile(seen: Arc<MaybeInvalid<Plan>>, context: Arc<Context>) -> Result<Action, ControllerError> {
    let NamespacedName { namespace, name } = NamespacedName::of(seen.as_ref())?;
    let plans: Api<Plan> = context.api(&namespace);
    let Some(mut plan) = call("reading a plan", plans.get_opt(&name)).await? else {
        return Ok(Action::await_change());
    };
    if plan.status.as_ref().is_some_and(|status| status.phase.is_terminal()) {
        return Ok(Action::await_change());
    }
    let uid = plan.metadata.uid.clone().unwrap_or_default();
    let now = now();
    let messages = context.transcript(&uid);
    let executions = context.stores.executions_of(&uid);
    let windows = context.stores.windows_of(&uid);
    let occupied_names = context.stores.orphaned_executions(&plan);
    let inventory = context.stores.inventory(&namespace);
    let asking = context.turns.has(&uid);
    let agent_obstacle = if asking { None } else { agent_obstacle(&context, &namespace, &plan).await? };
    let decision = decide::decide_plan(&ObservedPlan {
        plan: &plan,
        windows: &windows,
        executions: &executions,
        occupied_names: &occupied_names,
        inventory: &inventory,
        agent_obstacle: agent_obstacle.as_ref(),
        turn: latest_turn(&plan, &messages).as_ref(),
        tally: tally(&name, &messages, &executions),
        asking,
        admission_guard: context.admission_guard(),
        now,
    });
    if let Some(status) = decision.status {
        plan.status = Some(status);
        plan = replace_status(&plans, "writing a plan's status", &plan).await?;
        if let Some(notice) = &decision.notice {
            context.announce(&plan, notice).await;
        }
    }
    carry_out(&context, &namespace, plan, decision.effect).await?;
    Ok(requeue(decision.again_at, now))
}

async fn carry_out(
    context: &Arc<Context>,
    namespace: &str,
    plan: Plan,
    effect: PlanEffect,
) -> Result<(), ControllerError> {
    let uid = plan.metadata.uid.clone().unwrap_or_default();
    match effect {
        PlanEffect::None => {}
        PlanEffect::StopAsking => context.turns.stop(&uid),
        PlanEffect::Revoke(name) => revoke(&context.api::<AutonomyWindow>(namespace), &name).await?,
        PlanEffect::Grant(window) => {
            create(&context.api::<AutonomyWindow>(namespace), "creating a window", &window).await?;
        }
        PlanEffect::Answer(message) => {
            create(&context.api::<Message>(namespace), "storing an answer", &message).await?;
        }
        PlanEffect::Execute(execution) => {
            create(&context.api::<Execution>(namespace), "creating an execution", &execution).await?;
        }
        PlanEffect::Ask { sequence, closing } => {
            let reference = ObjectRef::from_obj(&DeserializeGuard(Ok(plan.clone())));
            let (wake, work) = (context.wake_plan.clone(), context.clone());
            context.turns.start(
                &uid,
                CancellationToken::new(),
                move |cancel| turn_task::run(work, plan, sequence, closing, cancel),
                move || {
                    // The receiver lives as long as the process; when it is gone, nobody is to be woken.
                    let _ = wake.send(reference);
                },
            );
        }
    }
    Ok(())
}

/// Why the plan's agent cannot be asked: it or its Secret is missing.
async fn agent_obstacle(
    context: &Context,
    namespace: &str,
    plan: &Plan,
) -> Result<Option<Reason<BlockedReason>>, ControllerError> {
    if plan.spec.agent_ref.is_none() {
        return Ok(None);
    }
    match agent_of(context, namespace, plan).await {
        Ok(_) => Ok(None),
        Err(LookupError::Missing(reason)) => Ok(Some(reason)),
        Err(LookupError::Call(error)) => Err(error),
    }
}

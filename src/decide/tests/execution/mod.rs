//! What may be decided about an Execution, whatever is observed.

mod properties;
mod results;
mod sentences;

use super::samples::*;
use crate::{
    api::{
        Approval, AutonomyWindow, Execution, ExecutionPhase, ExecutionStatus, Plan, PlanPhase, PlanStatus, Risk,
        RiskStatus, WindowClass, WindowPhase,
    },
    decide::*,
    policy::{first_nonce, token},
};

/// An Execution and what is seen around it.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub execution: Execution,
    pub plan: Option<Plan>,
    pub windows: Vec<AutonomyWindow>,
    pub running: bool,
    pub admission_guard: AdmissionGuard,
}

impl Case {
    /// A granted plan and an Execution of this command on lxc:web.
    pub fn of(command: &str) -> Self {
        let mut plan = a_plan(&["true"]);
        let digest = digest(&plan);
        let nonce = first_nonce(UID);
        let approval = Approval {
            token: token(&digest, &nonce),
            granted: Some(granted(&plan)),
            digest,
            nonce,
            ..Approval::default()
        };
        plan.status = Some(PlanStatus {
            phase: PlanPhase::Running,
            approval: Some(approval),
            start_time: Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(NOW - 60))),
            ..PlanStatus::default()
        });
        Self {
            execution: an_execution("p-1-1", "lxc:web", command),
            plan: Some(plan),
            windows: Vec::new(),
            running: false,
            admission_guard: AdmissionGuard::Up,
        }
    }

    pub fn with_window(mut self, class: WindowClass, phase: WindowPhase, until: i64) -> Self {
        let plan = self.plan.clone().unwrap();
        let name = if class == WindowClass::Assent { "p-earlier" } else { "p-confirmed" };
        self.windows.push(opened(a_window(&plan, name, class), phase, NOW - 10, until));
        self
    }

    pub fn in_phase(mut self, phase: ExecutionPhase, class: Risk) -> Self {
        let risk = Some(RiskStatus { class, reasons: Vec::new(), affected_targets: Vec::new() });
        let attempt_id = Some("uid-of-p-1-1-1".to_owned());
        self.execution.status =
            Some(ExecutionStatus { phase, risk, attempt: Some(1), attempt_id, ..ExecutionStatus::default() });
        self
    }

    pub fn plan(&mut self) -> &mut Plan {
        self.plan.as_mut().unwrap()
    }

    pub fn decide(&self) -> Decision<ExecutionEffect, ExecutionStatus> {
        let ended = self
            .windows
            .iter()
            .filter_map(|it| {
                let phase = it.status.as_ref()?.phase;
                (phase != WindowPhase::Active).then_some((it.metadata.name.clone()?, phase))
            })
            .collect();
        let open = self.plan.as_ref().map_or_else(Vec::new, |plan| open_windows(plan, &self.windows, at(NOW)));
        decide_execution(&ObservedExecution {
            execution: &self.execution,
            plan: self.plan.as_ref(),
            windows: &open,
            ended_windows: &ended,
            inventory: &inventory(),
            running: self.running,
            admission_guard: self.admission_guard,
            now: at(NOW),
        })
    }

    pub fn status(&self) -> ExecutionStatus {
        self.execution.status.clone().unwrap_or_default()
    }

    /// What would be observed next: the status was written and the effect carried out.
    pub fn then(&self, step: &Decision<ExecutionEffect, ExecutionStatus>) -> Self {
        let mut next = self.clone();
        if let Some(status) = &step.status {
            next.execution.status = Some(status.clone());
        }
        next.running |= matches!(step.effect, ExecutionEffect::Start | ExecutionEffect::Adopt(_));
        next
    }
}

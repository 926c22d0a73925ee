//! Objects for the tests of decisions: a namespace with one host and two guests, and a plan in it.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use serde_json::json;

use crate::{
    api::{
        AutonomyWindow, AutonomyWindowSpec, AutonomyWindowStatus, Execution, ExecutionSpec, Grant, GrantVia,
        GrantedPlan, ObjectRef, Plan, RunSpec, Target, WindowClass, WindowPhase,
    },
    decide::coverage::PlanAsItStands,
    policy::{Inventory, KnownGuest, KnownHost, token},
};

pub(super) const NOW: i64 = 1_900_000_000;
pub(super) const UID: &str = "5f0c2f6e-0001";
pub(super) const LOOKS: &str = "uptime";
pub(super) const CHANGES: &str = "systemctl restart nginx";
pub(super) const DESTROYS: &str = "rm -rf /srv/data";
pub(super) const NEVER_ENDS: &str = "tail -f /var/log/syslog";

pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

pub(super) fn target(text: &str) -> Target {
    text.parse().unwrap()
}

/// host:a with lxc:web (101) and lxc:safe (102, protected).
pub(super) fn inventory() -> Inventory {
    let guest = |vmid| KnownGuest { uid: format!("guest-{vmid}"), host: "a".to_owned(), vmid };
    let host = KnownHost { address: "192.0.2.1".to_owned(), protected: BTreeSet::from([102]), ..KnownHost::default() };
    Inventory {
        hosts: BTreeMap::from([("a".to_owned(), host)]),
        guests: BTreeMap::from([(target("lxc:web"), guest(101)), (target("lxc:safe"), guest(102))]),
        agents: BTreeMap::new(),
    }
}

/// A plan for host:a and lxc:web with these commands as its steps on lxc:web; with an agent if there are none.
pub(super) fn a_plan(commands: &[&str]) -> Plan {
    let steps: Vec<_> = commands
        .iter()
        .enumerate()
        .map(|(index, command)| json!({"name": format!("s{index}"), "target": "lxc:web", "run": command}))
        .collect();
    let mut spec = json!({"goal": "g", "targets": ["host:a", "lxc:web"], "steps": steps, "windowSeconds": 600});
    if commands.is_empty() {
        spec["agentRef"] = json!({"name": "nomos"});
    }
    serde_json::from_value(json!({
        "apiVersion": "oikos.dev/v1alpha1",
        "kind": "Plan",
        "metadata": {"name": "p", "namespace": "n", "uid": UID, "generation": 1},
        "spec": spec,
    }))
    .unwrap()
}

pub(super) fn digest(plan: &Plan) -> String {
    PlanAsItStands::by_status(plan, &inventory()).digest
}

/// What a grant of the plan as it stands covers.
pub(super) fn granted(plan: &Plan) -> GrantedPlan {
    let stands = PlanAsItStands::by_status(plan, &inventory());
    GrantedPlan { digest: stands.digest, facts: stands.facts, ..GrantedPlan::default() }
}

/// The token in the plan's status.
pub(super) fn shown_token(plan: &Plan) -> String {
    plan.status.as_ref().and_then(|status| status.approval.as_ref()).map(|it| it.token.clone()).unwrap_or_default()
}

pub(super) fn annotate(annotations: &mut Option<BTreeMap<String, String>>, key: &str, value: &str) {
    annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
}

/// A window for the plan as it stands; without a status, as it is created.
pub(super) fn a_window(plan: &Plan, name: &str, class: WindowClass) -> AutonomyWindow {
    let targets = match class {
        WindowClass::Assent => plan.spec.targets.clone(),
        WindowClass::Destructive => vec![target("lxc:web")],
    };
    let spec = AutonomyWindowSpec {
        plan_ref: ObjectRef { name: "p".to_owned(), uid: plan.metadata.uid.clone().unwrap() },
        plan_digest: digest(plan),
        class,
        targets,
        duration_seconds: 600,
        granted_by: Grant { username: "operator".to_owned(), verified: true, via: GrantVia::Annotation },
        reason: None,
        execution_ref: None,
        revoked: false,
    };
    let mut window = AutonomyWindow::new(name, spec);
    window.metadata.namespace = Some("n".to_owned());
    window
}

/// The name of the window that the token shown in the plan's status opens.
pub(super) fn granted_name(plan: &Plan) -> String {
    let approval = plan.status.as_ref().and_then(|status| status.approval.clone()).unwrap_or_default();
    format!("p-{}", token(&approval.digest, &approval.nonce))
}

pub(super) fn opened(mut window: AutonomyWindow, phase: WindowPhase, from: i64, until: i64) -> AutonomyWindow {
    window.status = Some(AutonomyWindowStatus {
        phase,
        opened_at: Some(Time(at(from))),
        expiry_time: Some(Time(at(until))),
        message: None,
    });
    window
}

/// An Execution of plan `p` that nobody has looked at.
pub(super) fn an_execution(name: &str, place: &str, command: &str) -> Execution {
    let spec = ExecutionSpec {
        plan_ref: ObjectRef { name: "p".to_owned(), uid: UID.to_owned() },
        message_ref: None,
        call_id: None,
        step_name: None,
        target: target(place),
        run: Some(RunSpec { command: command.to_owned() }),
        create_container: None,
        purpose: None,
        declared_risk: crate::api::Risk::ReadOnly,
        timeout_seconds: 600,
    };
    let mut execution = Execution::new(name, spec);
    execution.metadata.namespace = Some("n".to_owned());
    execution.metadata.uid = Some(format!("uid-of-{name}"));
    execution
}

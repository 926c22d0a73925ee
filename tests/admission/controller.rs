//! The real controller under the chart: its rights suffice, the guard is proven, and an approval becomes a grant.

use std::process::Stdio;

use kube::api::PostParams;
use oikos::api::Plan;
use serde_json::json;
use testbed::control_plane::{Access, ControlPlane, Tool, binary};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStderr, Command},
};

use crate::cluster::{Room, SYSTEM, apply_chart, plan_object, until, wait_for_policies};

/// The controller as the chart starts it, but outside the cluster; killed when dropped.
pub struct Controller {
    _process: Child,
    /// What it had logged when it was started.
    pub first: Vec<String>,
    pub log: Lines<BufReader<ChildStderr>>,
    health: String,
}

pub async fn start(account: &Access) -> Controller {
    let mut process = Command::new(env!("CARGO_BIN_EXE_oikos"))
        .args(["controller", "--health-address", "127.0.0.1:0", "--log-format", "json"])
        .env("KUBECONFIG", account.kubeconfig())
        .env("POD_NAMESPACE", SYSTEM)
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut log = BufReader::new(process.stderr.take().unwrap()).lines();
    let mut lines = Vec::new();
    loop {
        let Some(line) = log.next_line().await.unwrap() else { panic!("the controller ended at once: {lines:#?}") };
        let entry: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        lines.push(line);
        if let Some(address) = entry["fields"]["address"].as_str() {
            let health = format!("http://{address}");
            return Controller { _process: process, first: lines, log, health };
        }
    }
}

async fn asked(url: &str) -> Option<String> {
    reqwest::get(url).await.ok()?.error_for_status().ok()?.text().await.ok()
}

/// Runs a line as a person would in a shell, with the kubectl of the tests.
async fn paste(person: &Access, line: &str) {
    let kubectl = binary(Tool::Kubectl).await.unwrap();
    let path = format!("{}:{}", kubectl.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let status =
        Command::new("sh").args(["-c", line]).env("KUBECONFIG", person.kubeconfig()).env("PATH", path).status();
    assert!(status.await.unwrap().success(), "{line}");
}

#[tokio::test]
async fn with_the_charts_rights_the_controller_proves_the_guard_and_turns_an_approval_into_a_verified_grant() {
    let plane = ControlPlane::start().await.unwrap();
    apply_chart(&plane, "1.37.2").await;
    wait_for_policies(&plane).await;
    let account = plane.service_account(SYSTEM, "oikos").await.unwrap();
    let controller = start(&account).await;
    let _reading = tokio::spawn(async move {
        let mut log = controller.log;
        while let Ok(Some(_)) = log.next_line().await {}
        controller._process
    });
    let (ready, metrics) = (format!("{}/readyz", controller.health), format!("{}/metrics", controller.health));
    until("the controller's readiness", async || asked(&ready).await.is_some()).await;
    until("the proof of the guard", async || {
        asked(&metrics).await.is_some_and(|text| text.contains("oikos_admission_guard_up 1"))
    })
    .await;

    let room = Room::new(&plane, plane.namespace("whole").await.unwrap()).await;
    // Without declared steps: one on a host that nobody registered would not be offered for approval.
    let mut plan = plan_object("web");
    plan["spec"] = json!({"goal": "a web service", "targets": ["lxc:web"], "agentRef": {"name": "none"}});
    let plan: Plan = serde_json::from_value(plan).unwrap();
    room.plans(&room.operator).create(&PostParams::default(), &plan).await.unwrap();
    let operator = plane.operator();
    let here = ["-n", room.namespace.as_str(), "--timeout=60s"];
    let shown = ["wait", "plan/web", "--for=jsonpath={.status.approval.command}"];
    operator.kubectl(&[shown.as_slice(), &here].concat()).await.unwrap().ok().unwrap();
    let plan = room.plans(&room.operator).get("web").await.unwrap();
    let approval = plan.status.unwrap().approval.unwrap();
    paste(&operator, &approval.command).await;
    let window = format!("autonomywindow/web-{}", approval.token);
    for condition in ["create", "jsonpath={.status.phase}=Active"] {
        let condition = format!("--for={condition}");
        let granted = [["wait", &window, &condition].as_slice(), &here].concat();
        operator.kubectl(&granted).await.unwrap().ok().unwrap();
    }
    let windows = room.windows(&room.operator).list(&Default::default()).await.unwrap();
    assert_eq!(windows.items.len(), 1);
    let grant = &windows.items[0].spec.granted_by;
    assert_eq!((grant.username.as_str(), grant.verified), ("operator", true));

    let refused: Vec<_> = plane
        .audit()
        .await
        .unwrap()
        .into_iter()
        .filter(|entry| entry.user == account.username() && matches!(entry.code, 401 | 403))
        .filter(|entry| !entry.uri.contains("dryRun=All"))
        .collect();
    assert!(refused.is_empty(), "the controller lacks rights: {refused:#?}");
}

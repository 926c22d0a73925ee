//! What the objects say of the run.

use anyhow::{Context, Result};
use k8s_openapi::jiff::Timestamp;
use kube::{
    ResourceExt,
    api::{DynamicObject, ListParams},
};
use serde::Serialize;
use serde_json::Value;

use super::{PLAN, cluster::Cluster, show::api};

/// The run in numbers, all of them read from the objects.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The plan's phase.
    pub phase: String,
    /// Grants that were given.
    pub approvals: usize,
    /// Writes by people after the first grant opened: to plans, steps, grants and the transcript.
    pub human_actions_after_approval: usize,
    /// Steps.
    pub executions: usize,
    /// Steps that ended without success.
    pub failed_executions: usize,
    /// Seconds from the approval to the end.
    pub seconds: i64,
}

/// Reads the objects.
pub async fn of(cluster: &Cluster) -> Result<Summary> {
    let client = cluster.client().await?;
    let list = async |kind: &str| -> Result<Vec<DynamicObject>> {
        Ok(api(&client, kind).list(&ListParams::default()).await?.items)
    };
    let plan = api(&client, "Plan").get(PLAN).await?;
    let (windows, executions, messages) =
        (list("AutonomyWindow").await?, list("Execution").await?, list("Message").await?);
    let status = &plan.data["status"];
    let opened = windows.iter().filter_map(|window| time(&window.data["status"]["openedAt"])).min();
    let opened = opened.context("the plan was never approved")?;
    let spoken = messages.iter().filter(|message| message.data["spec"]["kind"] == "Answer").count();
    let written = |object: &DynamicObject| writes_by_people(object, opened);
    let written: usize = [&plan].into_iter().chain(&windows).chain(&executions).map(written).sum();
    let failed = |execution: &&DynamicObject| execution.data["status"]["phase"] != "Succeeded";
    let started = time(&status["startTime"]).unwrap_or(opened);
    let ended = time(&status["completionTime"]).unwrap_or_else(Timestamp::now);
    Ok(Summary {
        phase: status["phase"].as_str().unwrap_or_default().to_owned(),
        approvals: windows.len(),
        human_actions_after_approval: spoken + written + windows.len().saturating_sub(1),
        executions: executions.len(),
        failed_executions: executions.iter().filter(failed).count(),
        seconds: ended.duration_since(started).as_secs(),
    })
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// Writes through kubectl after the grant; the API server keeps who wrote what, and when, with the object.
fn writes_by_people(object: &DynamicObject, since: Timestamp) -> usize {
    let by_person = |manager: &Option<String>| manager.as_deref().is_some_and(|name| name.starts_with("kubectl"));
    object
        .managed_fields()
        .iter()
        .filter(|entry| by_person(&entry.manager) && entry.subresource.is_none())
        .filter(|entry| entry.time.as_ref().is_some_and(|time| time.0 > since))
        .count()
}

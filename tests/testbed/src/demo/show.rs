//! The run as it happens: what Nomos says, what runs where, and how it ends.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DynamicObject, ListParams},
    core::GroupVersionKind,
};
use serde_json::Value;

use super::{NAMESPACE, PLAN, cluster::Cluster};

/// Objects of a kind of oikos, in the demo's namespace.
pub fn api(client: &Client, kind: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("oikos.dev", "v1alpha1", kind);
    Api::namespaced_with(client.clone(), NAMESPACE, &ApiResource::from_gvk(&kind))
}

/// Shows the run until the plan has ended or waits for somebody.
pub async fn follow(cluster: &Cluster, patience: Duration) -> Result<()> {
    let client = cluster.client().await?;
    let begun = Instant::now();
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    loop {
        let plan = api(&client, "Plan").get(PLAN).await?;
        for line in new_lines(&client, &mut seen).await? {
            println!("{:>4} s  {line}", begun.elapsed().as_secs());
        }
        let phase = plan.data["status"]["phase"].as_str().unwrap_or_default();
        match phase {
            "Succeeded" | "Failed" | "Denied" | "Cancelled" | "Blocked" | "AwaitingConfirmation" => {
                let status = &plan.data["status"];
                println!("{:>4} s  plan {PLAN}: {phase}", begun.elapsed().as_secs());
                for text in [&status["result"]["summary"], &status["blocked"]["question"]] {
                    if let Some(text) = text.as_str() {
                        println!("        {text}");
                    }
                }
                let evidence = status["result"]["evidence"].as_array().cloned().unwrap_or_default();
                for name in evidence.iter().filter_map(Value::as_str) {
                    println!("        evidence: {name}");
                }
                return Ok(());
            }
            _ if begun.elapsed() > patience => bail!("the plan is still {phase} after {} s", patience.as_secs()),
            _ => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
}

async fn new_lines(client: &Client, seen: &mut BTreeMap<String, String>) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    let mut messages = api(client, "Message").list(&ListParams::default()).await?.items;
    messages.sort_by_key(|message| message.data["spec"]["sequence"].as_u64());
    let mut executions = api(client, "Execution").list(&ListParams::default()).await?.items;
    executions.sort_by_key(|execution| (execution.creation_timestamp(), execution.name_any()));
    let mut entries: Vec<(Option<_>, u8, String, String, String)> = Vec::new();
    for message in &messages {
        entries.push((message.creation_timestamp(), 0, message.name_any(), "said".into(), said(message)));
    }
    for execution in &executions {
        let (state, line) = step(execution);
        entries.push((execution.creation_timestamp(), 1, execution.name_any(), state, line));
    }
    entries.sort();
    for (_, kind, name, state, line) in entries {
        let key = format!("{kind} {name}");
        if seen.get(&key) != Some(&state) && !line.is_empty() {
            seen.insert(key, state);
            lines.push(line);
        }
    }
    Ok(lines)
}

fn said(message: &DynamicObject) -> String {
    let spec = &message.data["spec"];
    let author = match spec["kind"].as_str().unwrap_or_default() {
        "Turn" | "ClosingTurn" => "Nomos",
        "Answer" => "Operator",
        _ => "Controller",
    };
    format!("{author}: {}", spec["text"].as_str().unwrap_or_default().trim())
}

fn step(execution: &DynamicObject) -> (String, String) {
    let (spec, status) = (&execution.data["spec"], &execution.data["status"]);
    let phase = status["phase"].as_str().unwrap_or("Pending");
    let name = execution.name_any();
    let action = match spec["run"]["command"].as_str() {
        Some(command) => one_line(command),
        None => format!("create container {}", spec["createContainer"]["hostname"].as_str().unwrap_or_default()),
    };
    let risk = status["risk"]["class"].as_str().unwrap_or_default();
    let target = spec["target"].as_str().unwrap_or_default();
    match phase {
        "Pending" => ("pending".into(), String::new()),
        "Starting" | "Running" => ("running".into(), format!("  ▸ {name} {target} {risk}: {action}")),
        "AwaitingApproval" => (phase.into(), format!("  ? {name} {target}: {}", text(&status["message"]))),
        _ => {
            let mark = if phase == "Succeeded" { "✔" } else { "✗" };
            let mut line = format!("  {mark} {name} {target} {risk} {phase}: {}", text(&status["message"]));
            for stream in ["stdout", "stderr"] {
                if let Some(last) = status[stream]["text"].as_str().and_then(|it| it.trim_end().lines().last()) {
                    line.push_str(&format!("\n            {stream}: {}", one_line(last)));
                }
            }
            (phase.into(), format!("{line}\n            ran: {action}"))
        }
    }
}

fn text(value: &Value) -> String {
    one_line(value.as_str().unwrap_or_default())
}

/// The first line, at most 150 characters; control characters have no place in somebody's terminal.
fn one_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let more = text.lines().nth(1).is_some() || line.chars().count() > 150;
    let shown: String = line.chars().filter(|c| !c.is_control()).take(150).collect();
    if more { format!("{shown} …") } else { shown }
}

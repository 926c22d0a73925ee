//! The demo: oikos's main job on real parts that this machine starts for itself, approved once and watched live.
//!
//! It uses everything as a person would: kubectl as the operator, the chart, the oikos binary as a process.

mod cluster;
mod manifests;
mod parts;
mod show;
mod summary;

use std::{
    io::{self, Write},
    path::PathBuf,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

pub use parts::down;

use cluster::Cluster;
use parts::Parts;

/// The namespace that the demo works in.
pub(crate) const NAMESPACE: &str = "demo";
/// The plan's name.
pub(crate) const PLAN: &str = "typetype";
/// The longest that the run may take.
const PATIENCE: Duration = Duration::from_secs(30 * 60);

/// What the demo needs to know.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where everything of the demo lives; removed by `down`.
    pub dir: PathBuf,
    /// The source tree: chart, scenario.
    pub tree: PathBuf,
    /// Where the binaries are: oikos, control-plane, pve-standin, scripted-model.
    pub binaries: PathBuf,
    /// Whether a person approves instead of the demo.
    pub ask: bool,
}

/// Runs the demo. An error means that the plan did not succeed with one approval and no further human action.
pub async fn up(options: &Options) -> Result<()> {
    parts::down(options).context("removing what an earlier demo left")?;
    std::fs::create_dir_all(&options.dir)?;
    let begun = Instant::now();
    say("1/5 starting a control plane, a stand-in Proxmox host and a scripted model");
    let parts = Parts::start(options).await?;
    say("2/5 installing oikos: CRDs, roles and admission policies from the chart");
    let cluster = Cluster::install(options, &parts).await?;
    say("3/5 starting the controller");
    parts.controller(options, &cluster).await?;
    let files = manifests::write(options, &parts).await?;
    say(&format!("4/5 applying the plan as the operator: kubectl apply -f {}", files.display()));
    print!("{}", cluster.operator(&["apply", "-f", &files.display().to_string()])?);
    say(&format!("the run begins after {} s of preparation", begun.elapsed().as_secs()));
    approve(options, &cluster).await?;
    say("5/5 the run, live");
    show::follow(&cluster, PATIENCE).await?;
    let summary = summary::of(&cluster).await?;
    let path = options.dir.join("summary.json");
    std::fs::write(&path, serde_json::to_string_pretty(&summary)? + "\n")?;
    closing(options, &cluster, &summary, &path);
    if summary.phase != "Succeeded" {
        bail!("the plan ended as {}", summary.phase);
    }
    if (summary.approvals, summary.human_actions_after_approval) != (1, 0) {
        bail!("{} approvals, {} further human actions", summary.approvals, summary.human_actions_after_approval);
    }
    Ok(())
}

async fn approve(options: &Options, cluster: &Cluster) -> Result<()> {
    cluster.wait_for("{.status.phase}", |text| text == "AwaitingApproval").await?;
    let command = cluster.wait_for("{.status.approval.command}", |text| !text.is_empty()).await?;
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    // Policies that were just installed answer "unavailable" until the API server knows the new kinds.
    let rehearsal = [words.as_slice(), &["--dry-run=server"]].concat();
    cluster.retry(|| cluster.operator(&rehearsal).map(drop)).await?;
    println!("\n{}", cluster.operator(&["-n", NAMESPACE, "get", "plans"])?);
    println!(
        "The plan waits for one approval. This is the line, as status.approval.command shows it:\n\n    {command}\n"
    );
    if options.ask {
        println!("Type it in another terminal, as the operator:\n\n    export KUBECONFIG={}", cluster.kubeconfig());
        println!("    export PATH={}:$PATH\n", cluster.kubectl_dir());
        io::stdout().flush()?;
        let approved = |text: &str| text == "True";
        cluster.wait_long("{.status.conditions[?(@.type=='Approved')].status}", approved).await?;
        return Ok(());
    }
    print!("The operator approves it, once: {}", cluster.operator(&words)?);
    Ok(())
}

fn closing(options: &Options, cluster: &Cluster, summary: &summary::Summary, path: &std::path::Path) {
    println!();
    say(&format!(
        "{} with {} approval and {} further human actions: {} steps, {} of them failed and were repaired, in {} s",
        summary.phase,
        summary.approvals,
        summary.human_actions_after_approval,
        summary.executions,
        summary.failed_executions,
        summary.seconds
    ));
    println!("Written to {}", path.display());
    println!("\nLook around:\n");
    println!("    export KUBECONFIG={}", cluster.kubeconfig());
    println!("    export PATH={}:$PATH", cluster.kubectl_dir());
    for line in [
        "kubectl -n demo get oikos",
        "kubectl -n demo get plan typetype -o yaml",
        "kubectl -n demo get executions -o wide --sort-by=.metadata.creationTimestamp",
        "kubectl -n demo get messages --sort-by=.spec.sequence",
        "kubectl -n demo get events",
        "kubectl explain plan.spec",
    ] {
        println!("    {line}");
    }
    println!(
        "\nIts parts still run. Their logs are in {}/logs. Remove everything: make demo-down",
        options.dir.display()
    );
}

/// One line of progress.
pub(crate) fn say(text: &str) {
    println!("==> {text}");
    // Progress is for whoever watches now; a pipe that is closed ends the demo with its next line anyway.
    let _ = io::stdout().flush();
}

/// Runs a command to its end and gives its standard output; an error has its standard error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = format!("{command:?}");
    let output = command.output().with_context(|| format!("starting {shown}"))?;
    if !output.status.success() {
        bail!("{shown}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

//! What the host has: guests, storages, templates, and earlier tries of the same step. Read-only.

use std::time::Duration;

use super::listing::{self, ListedConfig, ListedGuest, ListedStorage};
use super::request::marker;
use crate::steps::access::HostAccess;
use crate::steps::capture::sanitise;
use crate::steps::error::ConnectError;
use crate::steps::report::Outcome;
use crate::steps::runner::Runner;

/// A listing may hang on a dead storage server.
const LISTING_LIMIT: Duration = Duration::from_secs(60);

/// Why a listing is not there.
pub(super) enum ListingError {
    Connect(ConnectError),
    /// The tool failed: command and its words.
    Failed(String),
}

impl From<ConnectError> for ListingError {
    fn from(error: ConnectError) -> Self {
        Self::Connect(error)
    }
}

type Listing<T> = Result<T, ListingError>;

/// What the choice of number, template and storage is made from.
pub(super) struct Survey {
    pub guests: Vec<ListedGuest>,
    pub disk_storages: Vec<ListedStorage>,
    pub templates: Vec<String>,
    /// Storages in which templates were looked for.
    pub template_storages: Vec<String>,
}

/// Asks for everything at once: each call of a Proxmox VE tool costs up to a second.
pub(super) async fn survey(runner: &Runner, host: &HostAccess) -> Listing<Survey> {
    let (containers, machines, disks, templates) = tokio::join!(
        list(runner, host, &["pct", "list"]),
        list(runner, host, &["qm", "list"]),
        list(runner, host, &["pvesm", "status", "--content", "rootdir"]),
        find_templates(runner, host),
    );
    let mut guests = listing::containers(&containers?);
    guests.extend(listing::machines(&machines?));
    let (template_storages, templates) = templates?;
    Ok(Survey { guests, disk_storages: listing::storages(&disks?), templates, template_storages })
}

/// Storages that hold templates, and the templates.
async fn find_templates(runner: &Runner, host: &HostAccess) -> Listing<(Vec<String>, Vec<String>)> {
    let status = list(runner, host, &["pvesm", "status", "--content", "vztmpl"]).await?;
    let storages: Vec<String> = listing::storages(&status).into_iter().map(|storage| storage.name).collect();
    let mut templates = Vec::new();
    for storage in &storages {
        templates.extend(listing::templates(&list(runner, host, &["pveam", "list", storage]).await?));
    }
    Ok((storages, templates))
}

/// The next free number; the host does not reserve it.
pub(super) async fn next_id(runner: &Runner, host: &HostAccess) -> Listing<u32> {
    let text = list(runner, host, &["pvesh", "get", "/cluster/nextid"]).await?;
    listing::next_id(&text)
        .ok_or_else(|| ListingError::Failed(format!("pvesh get /cluster/nextid answered {:?}", text.trim())))
}

/// The container's configuration; `None` when there is no such container on the node.
pub(super) async fn config(runner: &Runner, host: &HostAccess, vmid: u32) -> Listing<Option<ListedConfig>> {
    match list(runner, host, &["pct", "config", &vmid.to_string()]).await {
        Ok(text) => Ok(Some(listing::config(&text))),
        Err(ListingError::Failed(text)) if text.contains("does not exist") => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the container was made by this step.
pub(super) fn is_ours(config: &ListedConfig, attempt_id: &str) -> bool {
    config.description.trim() == marker(attempt_id)
}

async fn list(runner: &Runner, host: &HostAccess, argv: &[&str]) -> Listing<String> {
    let output = runner.query(host, argv, LISTING_LIMIT).await?;
    if output.is_complete_success() {
        return Ok(sanitise(&output.stdout));
    }
    let said = sanitise(if output.stderr.is_empty() { &output.stdout } else { &output.stderr });
    let end = match output.outcome {
        Outcome::Exited { code } => format!("exit code {code}"),
        Outcome::TimedOut => format!("no end within {} s", LISTING_LIMIT.as_secs()),
        other => format!("{other:?}"),
    };
    let said: String = said.trim().chars().take(500).collect();
    Err(ListingError::Failed(format!("{} failed ({end}): {said}", argv.join(" "))))
}

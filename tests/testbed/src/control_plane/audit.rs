//! The API server's audit log, read back: who asked for what, and how it was answered.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::access::Access;

/// The log's file name in the data directory.
pub const LOG: &str = "audit.log";

/// What the server writes: one entry a request, without bodies. A request's start is left out, its answer counts.
pub const POLICY: &str = "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ['system:apiserver']
- level: None
  nonResourceURLs: ['/livez*', '/readyz*', '/healthz*']
- level: Metadata
";

/// How long an answered request may take to reach the log.
const LIMIT: Duration = Duration::from_secs(10);

/// One answered request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Who asked, as authenticated.
    pub user: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// The plural, as in `plans`; empty for requests outside the resources, as `/version`.
    pub resource: String,
    /// As in `status`; empty for the object itself.
    pub subresource: String,
    /// Empty for requests across namespaces and for cluster-scoped objects.
    pub namespace: String,
    /// Empty for lists and watches, and for creations where the server chose it.
    pub name: String,
    /// The HTTP status.
    pub code: u16,
    /// The path with its query.
    pub uri: String,
    /// What the client calls itself.
    pub user_agent: String,
}

impl AuditEntry {
    /// Whether it changes something, given that it was admitted. A dry run does not.
    pub fn is_write(&self) -> bool {
        matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
            && !self.uri.contains("dryRun=")
    }
}

/// Every entry up to now. A request of our own marks "now", because the server logs an answer after sending it.
pub async fn read(log: &Path, admin: &Access) -> Result<Vec<AuditEntry>> {
    let marker = format!("/version?marker={}", unique());
    let request = http_get(&marker)?;
    admin.client().await?.request_text(request).await.context("the audit log's marker request failed")?;
    let deadline = Instant::now() + LIMIT;
    loop {
        let entries = parse(&fs::read_to_string(log)?)?;
        if let Some(end) = entries.iter().position(|entry| entry.uri == marker) {
            return Ok(entries
                .into_iter()
                .take(end)
                .filter(|entry| !entry.uri.starts_with("/version?marker="))
                .collect());
        }
        if Instant::now() > deadline {
            bail!("the audit log {} does not have the request {marker} after {LIMIT:?}", log.display());
        }
        sleep(Duration::from_millis(20)).await;
    }
}

fn http_get(uri: &str) -> Result<http::Request<Vec<u8>>> {
    Ok(http::Request::get(uri).body(Vec::new())?)
}

fn unique() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    stage: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    verb: String,
    user: AuditUser,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: ObjectReference,
    #[serde(default)]
    response_status: ResponseStatus,
}

#[derive(Deserialize)]
struct AuditUser {
    #[serde(default)]
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ObjectReference {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseStatus {
    code: u16,
}

fn parse(log: &str) -> Result<Vec<AuditEntry>> {
    // The last line may be half written.
    let complete = log.rfind('\n').map_or("", |end| &log[..end]);
    let mut entries = Vec::new();
    for text in complete.lines() {
        let line: Line = serde_json::from_str(text).with_context(|| format!("unreadable audit line {text}"))?;
        // A watch is answered when it begins; its end is no second request.
        let counts = if line.verb == "watch" { "ResponseStarted" } else { "ResponseComplete" };
        if line.stage == counts || (line.stage == "ResponseComplete" && line.response_status.code >= 400) {
            entries.push(AuditEntry {
                user: line.user.username,
                verb: line.verb,
                resource: line.object_ref.resource,
                subresource: line.object_ref.subresource,
                namespace: line.object_ref.namespace,
                name: line.object_ref.name,
                code: line.response_status.code,
                uri: line.request_uri,
                user_agent: line.user_agent,
            });
        }
    }
    Ok(entries)
}

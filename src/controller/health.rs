//! Health over HTTP: `/livez` says that the process runs, `/readyz` that every watch follows the API server, or else
//! what is missing; `/metrics` says whether approvals are guarded.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{Router, extract::State, http::StatusCode, routing::get};
use tokio::net::TcpListener;

use super::watch::WatchHealth;

#[derive(Clone)]
struct Health {
    watches: WatchHealth,
    guarded: Arc<AtomicBool>,
}

/// Serves until the process ends.
pub async fn serve(address: SocketAddr, watches: WatchHealth, guarded: Arc<AtomicBool>) -> std::io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    tracing::info!(address = %listener.local_addr()?, "health endpoints");
    let router = Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(Health { watches, guarded });
    axum::serve(listener, router).await
}

async fn ready(State(health): State<Health>) -> (StatusCode, String) {
    let missing = health.watches.missing();
    if missing.is_empty() {
        return (StatusCode::OK, "ok\n".to_owned());
    }
    (StatusCode::SERVICE_UNAVAILABLE, format!("not ready:\n{}\n", missing.join("\n")))
}

async fn metrics(State(health): State<Health>) -> String {
    let guarded = u8::from(health.guarded.load(Ordering::Relaxed));
    format!(
        "# HELP oikos_admission_guard_up Whether the admission policies that guard approvals are up.\n\
         # TYPE oikos_admission_guard_up gauge\n\
         oikos_admission_guard_up {guarded}\n"
    )
}

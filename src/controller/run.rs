//! Starts everything and ends when the first long-lived task does.

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use kube::{Client, Config};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::wiring::{self, Settings};

/// How long running reconciles may take to end after a signal.
const GRACE: Duration = Duration::from_secs(20);

/// Runs the controller until SIGTERM or SIGINT, or until a part of it dies.
///
/// Steps that run on a host at that moment go on there; the next controller finds out how they ended.
pub async fn run(settings: Settings) -> anyhow::Result<()> {
    let stop = CancellationToken::new();
    let parts = wiring::parts(&settings, client().await?, &stop)?;
    let mut controllers: JoinSet<_> = parts.controllers.into_iter().collect();
    let mut services: JoinSet<_> = parts.services.into_iter().collect();
    tokio::select! {
        signal = signalled() => {
            tracing::info!(signal = signal?, "stopping; running steps go on on their hosts");
            stop.cancel();
        }
        Some(ended) = controllers.join_next() => return Err(unexpected_end(ended)),
        Some(ended) = services.join_next() => return Err(unexpected_end(ended)),
    }
    // The services still run, so that the reconciles that have begun can end.
    let drained = async { while controllers.join_next().await.is_some() {} };
    if tokio::time::timeout(GRACE, drained).await.is_err() {
        tracing::warn!("some reconciles did not end within {} s", GRACE.as_secs());
    }
    Ok(())
}

/// Why the process ends although nobody asked it to.
fn unexpected_end(ended: Result<anyhow::Result<&'static str>, JoinError>) -> anyhow::Error {
    match ended {
        Ok(Ok(part)) => anyhow!("{part} ended; the process ends with it"),
        Ok(Err(error)) => error,
        Err(panic) => anyhow!("a long-lived task died: {panic}"),
    }
}

async fn client() -> anyhow::Result<Client> {
    let mut config = Config::infer().await.context("reading the cluster's address and credentials (KUBECONFIG)")?;
    // The client must not repeat a claim by itself: a claim counts once.
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(10));
    Client::try_from(config).context("building the Kubernetes client")
}

async fn signalled() -> anyhow::Result<&'static str> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).context("listening for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("listening for SIGINT")?;
    Ok(tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    })
}

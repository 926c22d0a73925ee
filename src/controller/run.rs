//! Starts everything and ends when the first long-lived task does.

use std::time::Duration;

use anyhow::{Context as _, bail};
use futures::{StreamExt, stream::FuturesUnordered};
use kube::{Client, Config};
use tokio_util::sync::CancellationToken;

use super::wiring::{self, CONTROLLERS, Settings};

/// Runs the controller until SIGTERM or SIGINT, or until a part of it dies.
///
/// Steps that run on a host at that moment go on there; the next controller finds out how they ended.
pub async fn run(settings: Settings) -> anyhow::Result<()> {
    let stop = CancellationToken::new();
    let parts = wiring::parts(&settings, client().await?, &stop);
    let mut parts: FuturesUnordered<_> = parts.into_iter().map(tokio::spawn).collect();
    tokio::select! {
        signal = signalled() => {
            tracing::info!(signal = signal?, "stopping; running steps go on on their hosts");
            stop.cancel();
        }
        ended = parts.next() => match ended {
            Some(Ok(Ok(part))) => bail!("{part} ended; the process ends with it"),
            Some(Ok(Err(error))) => return Err(error),
            Some(Err(panic)) => bail!("a long-lived task died: {panic}"),
            None => bail!("nothing to run"),
        },
    }
    // The controllers end when their running reconciles have; the watches never do.
    let drained = async {
        for _ in 0..CONTROLLERS {
            parts.next().await;
        }
    };
    if tokio::time::timeout(Duration::from_secs(20), drained).await.is_err() {
        tracing::warn!("some reconciles did not end within 20 s");
    }
    Ok(())
}

async fn client() -> anyhow::Result<Client> {
    let mut config = Config::infer().await.context("reading the cluster's address and credentials (KUBECONFIG)")?;
    // A claim that is repeated behind our back is not a claim.
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

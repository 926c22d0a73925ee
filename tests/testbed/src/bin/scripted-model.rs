//! Serves a scenario until stdin ends: prints one line of JSON with the addresses to use.

use std::{io, path::PathBuf};

use anyhow::Result;
use clap::Parser;
use serde_json::json;
use testbed::model::{ModelServer, Scenario};

/// A model server that follows a scenario file.
#[derive(Parser)]
struct Arguments {
    /// The scenario, a YAML file.
    #[arg(long)]
    scenario: PathBuf,
    /// Port on loopback; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let server = ModelServer::start_on(Scenario::load(&arguments.scenario)?, arguments.port).await?;
    println!("{}", json!({"url": server.anthropic_url(), "openai": server.openai_url()}));
    // Whoever started it holds stdin open; when they go, also by a crash, it ends.
    tokio::task::spawn_blocking(|| io::copy(&mut io::stdin(), &mut io::sink())).await??;
    for why in server.refusals() {
        eprintln!("refused: {why}");
    }
    Ok(())
}

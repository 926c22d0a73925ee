//! The command line: what `oikos` can be asked to do.

mod classify;
mod crds;

use std::{io::IsTerminal, net::SocketAddr, path::PathBuf};

use anyhow::Context;
use clap::{Parser, Subcommand, ValueEnum};

use crate::controller::{self, Settings};

/// Carries out approved plans on Proxmox VE hosts.
#[derive(Debug, Parser)]
#[command(name = "oikos", version, about)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the controller until it is told to stop.
    Controller {
        /// Work in this namespace only; in all of them if not given.
        #[arg(long, env = "OIKOS_NAMESPACE")]
        namespace: Option<String>,
        /// The namespace that the controller itself lives in; that of its credentials if not given.
        #[arg(long, env = "POD_NAMESPACE")]
        own_namespace: Option<String>,
        /// Where /livez, /readyz and /metrics are served.
        #[arg(long, env = "OIKOS_HEALTH_ADDRESS", default_value = "0.0.0.0:8080")]
        health_address: SocketAddr,
        /// How log lines look.
        #[arg(long, env = "OIKOS_LOG_FORMAT", default_value = "text")]
        log_format: LogFormat,
    },
    /// Print the CustomResourceDefinitions as YAML.
    Crds {
        /// Write one file for each kind into this directory instead.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Judge a shell command: its risk, why, and what it acts on.
    Classify(classify::Options),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

/// Runs the command that the arguments name.
pub fn run(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.command {
        Command::Crds { dir } => crds::run(dir.as_deref()),
        Command::Classify(options) => classify::run(&options),
        Command::Controller { namespace, own_namespace, health_address, log_format } => {
            start_log(log_format);
            // Before the first TLS connection: two providers, or none, would make that connection panic.
            let provider = rustls::crypto::aws_lc_rs::default_provider();
            if provider.install_default().is_err() {
                anyhow::bail!("another TLS provider is installed already");
            }
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()
                .context("starting the asynchronous runtime")?;
            let ended = runtime.block_on(controller::run(Settings { namespace, own_namespace, health_address }));
            // Steps that still run are left alone: they go on on their hosts.
            runtime.shutdown_background();
            ended
        }
    }
}

fn start_log(format: LogFormat) {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into());
    let terminal = std::io::stderr().is_terminal();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(terminal).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
}

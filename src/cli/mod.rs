//! The command line: what `oikos` can be asked to do.

mod crds;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// Carries out approved plans on Proxmox VE hosts.
#[derive(Debug, Parser)]
#[command(name = "oikos", version, about)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the CustomResourceDefinitions as YAML.
    Crds {
        /// Write one file for each kind into this directory instead.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// Does what was asked.
pub fn run(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.command {
        Command::Crds { dir } => crds::run(dir.as_deref()),
    }
}

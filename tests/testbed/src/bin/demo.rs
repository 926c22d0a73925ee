//! `make demo` and `make demo-down`.

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
use testbed::demo::{Options, down, up};

/// The main job of oikos on parts that this machine starts for itself.
#[derive(Parser)]
struct Arguments {
    /// Where everything of the demo lives.
    #[arg(long, default_value = "target/demo")]
    dir: PathBuf,
    #[command(subcommand)]
    command: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Run the demo.
    Up {
        /// Wait for a person to approve.
        #[arg(long)]
        ask: bool,
    },
    /// Remove everything that it made.
    Down,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("demo: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let tree = std::env::current_dir()?;
    let binaries = std::env::current_exe()?.parent().map(PathBuf::from).unwrap_or_default();
    let options = |ask| Options { dir: tree.join(&arguments.dir), tree: tree.clone(), binaries, ask };
    match arguments.command {
        Action::Up { ask } => up(&options(ask)).await,
        Action::Down => {
            down(&options(false))?;
            println!("==> the demo is gone");
            Ok(())
        }
    }
}

//! The Proxmox stand-in: called as `pct`, `pvesh` and so on it is that tool; by its own name it
//! starts, stops and disturbs a stand-in host.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use testbed::standin::supervisor::{self, Owner};
use testbed::standin::template::Template;
use testbed::standin::{Error, Fault, FaultKind, Faults, Layout, setup, teardown, template, tools};

/// A stand-in Proxmox host with real containers, for tests and demonstrations.
#[derive(Parser)]
#[command(name = "pve-standin", version)]
struct Cli {
    #[command(subcommand)]
    command: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Runs a host in the foreground; prints one JSON line when it answers; ends on end of stdin, SIGTERM or SIGINT.
    Up {
        /// Directory for all of its state: an absolute path on a disk file system, empty or not there yet.
        #[arg(long)]
        dir: PathBuf,
        /// Name of the node.
        #[arg(long, default_value = "pve")]
        node: String,
        /// Do not end with stdin: only a signal or `down` ends it.
        #[arg(long)]
        detached: bool,
    },
    /// Ends the host in a directory and removes everything that it made, also after a crash.
    Down {
        /// The directory that `up` was given.
        #[arg(long)]
        dir: PathBuf,
    },
    /// Builds the cached template if it is not there yet, and nothing else.
    Template,
    /// Sets a fault on a host.
    Fault(FaultArguments),
    /// Ends all faults of a host.
    ClearFaults {
        /// The directory that `up` was given.
        #[arg(long)]
        dir: PathBuf,
    },
    /// Keeps the host's namespaces alive; started by `up` alone.
    #[command(hide = true)]
    Hold {
        #[arg(long)]
        dir: PathBuf,
        #[arg(long)]
        tree: PathBuf,
        #[arg(long)]
        archive: PathBuf,
    },
}

#[derive(Args)]
struct FaultArguments {
    /// The directory that `up` was given.
    #[arg(long)]
    dir: PathBuf,
    /// What goes wrong.
    kind: FaultKind,
    /// How often.
    #[arg(long)]
    times: Option<u32>,
    /// For how many seconds.
    #[arg(long)]
    seconds: Option<u64>,
    /// Until a tool's command line containing this text has succeeded; `*` stands for anything.
    #[arg(long)]
    until: Option<String>,
    /// Only for this guest.
    #[arg(long)]
    guest: Option<u32>,
    /// Only where this text occurs in the URL or command line; `*` stands for anything.
    #[arg(long = "match")]
    pattern: Option<String>,
    /// HTTP status to answer with.
    #[arg(long)]
    status: Option<u16>,
    /// Port of the service that is not ready.
    #[arg(long)]
    port: Option<u16>,
    /// Milliseconds that a slow tool waits.
    #[arg(long)]
    delay: Option<u64>,
}

fn main() -> ExitCode {
    let mut words = std::env::args();
    let called = words.next().map(PathBuf::from).unwrap_or_default();
    let name = called.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let rest: Vec<String> = words.collect();
    if let Some(code) = tools::run(&name, &rest) {
        return ExitCode::from(code);
    }
    match act(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn act(action: Action) -> Result<(), Error> {
    match action {
        Action::Up { dir, node, detached } => {
            let owner = if detached { Owner::Signals } else { Owner::Stdin };
            let runtime = tokio::runtime::Runtime::new().map_err(|error| Error::Supervisor(error.to_string()))?;
            let result = runtime.block_on(supervisor::up(&dir, &node, owner));
            // A thread may still wait for a line on stdin.
            runtime.shutdown_background();
            result
        }
        Action::Down { dir } => teardown::down(&dir),
        Action::Template => template::prepare().map(drop),
        Action::Fault(arguments) => {
            let fault = Fault {
                kind: arguments.kind,
                times: arguments.times,
                seconds: arguments.seconds,
                until: arguments.until,
                guest: arguments.guest,
                pattern: arguments.pattern,
                status: arguments.status,
                port: arguments.port,
                delay: arguments.delay,
            };
            Faults::new(&Layout::new(arguments.dir)).set(&fault).map(drop)
        }
        Action::ClearFaults { dir } => {
            Faults::new(&Layout::new(dir)).clear();
            Ok(())
        }
        Action::Hold { dir, tree, archive } => {
            setup::hold(&dir, &Template { archive, tree, bytes: 0, sha256: String::new() })
        }
    }
}

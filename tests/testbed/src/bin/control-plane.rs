//! The control plane as a command, for the demo: `up` runs it in the foreground, `down` ends it from elsewhere.

use std::{
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::Result;
use clap::{Parser, Subcommand};
use serde_json::json;
use testbed::control_plane::{ControlPlane, Options, Tool, User, binary, is_running, remove, signal, wait_until_gone};
use tokio::{
    signal::unix::{self, SignalKind},
    sync::oneshot,
};

/// A real Kubernetes control plane on loopback.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Run until standard input ends or SIGTERM arrives; prints one line of JSON when ready.
    Up {
        /// Its data and kubeconfig files; new, empty, or left by an earlier run. Removed at the end.
        #[arg(long)]
        dir: PathBuf,
        /// Also run the garbage collector, the namespace, ServiceAccount and role aggregation controllers.
        #[arg(long)]
        controllers: bool,
        /// Do not end when standard input does, for use in the background.
        #[arg(long)]
        ignore_stdin: bool,
    },
    /// End the one that runs in a directory, or clean up after one that died.
    Down {
        /// The directory given to `up`.
        #[arg(long)]
        dir: PathBuf,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Action::Up { dir, controllers, ignore_stdin } => up(dir, controllers, ignore_stdin).await,
        Action::Down { dir } => down(&dir),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("control-plane: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn up(dir: PathBuf, controllers: bool, ignore_stdin: bool) -> Result<()> {
    let mut terminate = unix::signal(SignalKind::terminate())?;
    let mut interrupt = unix::signal(SignalKind::interrupt())?;
    let options = Options { directory: Some(dir), controller_manager: controllers };
    let input_end = input_end(ignore_stdin);
    tokio::pin!(input_end);
    let plane = tokio::select! {
        plane = ControlPlane::start_with(options) => plane?,
        _ = terminate.recv() => return Ok(()),
        _ = interrupt.recv() => return Ok(()),
        () = &mut input_end => return Ok(()),
    };
    let ready = json!({
        "url": plane.url(),
        "directory": plane.directory(),
        "pid": std::process::id(),
        "kubectl": binary(Tool::Kubectl).await?,
        "kubeconfigs": User::ALL.map(|user| (user.name(), plane.user(user).kubeconfig().to_owned()))
            .into_iter().collect::<std::collections::BTreeMap<_, _>>(),
    });
    writeln!(io::stdout(), "{ready}")?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = &mut input_end => {}
    }
    plane.stop().await
}

/// Ends when standard input does. On a thread of its own, which may block until the process ends.
async fn input_end(ignore: bool) {
    if ignore {
        return std::future::pending().await;
    }
    let (done, wait) = oneshot::channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 1024];
        while matches!(io::stdin().read(&mut bytes), Ok(count) if count > 0) {}
        let _ = done.send(()); // nobody waits any more: then it ends anyway
    });
    let _ = wait.await;
}

fn down(dir: &Path) -> Result<()> {
    let Some(pid) = is_running(dir)? else {
        return remove(dir);
    };
    signal("TERM", &pid.to_string())?;
    wait_until_gone(dir, Duration::from_secs(30))
}

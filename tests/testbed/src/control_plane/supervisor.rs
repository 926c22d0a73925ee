//! The process between us and the servers: it ends them and removes their data when we end, also by SIGKILL.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result, bail};

/// What runs in the supervisor; its head documents the protocol.
const SCRIPT: &str = include_str!("supervise.sh");

/// The running supervisor. Dropping it kills the servers and waits until their data is removed.
///
/// Its calls block for the time a server takes to end.
#[derive(Debug)]
pub struct Supervisor {
    directory: PathBuf,
    process: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Supervisor {
    /// A supervisor over `directory`, which must exist.
    pub fn start(directory: &Path) -> Result<Self> {
        let mut process = Command::new("sh")
            .args(["-c", SCRIPT, "supervise.sh"])
            .arg(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // A Ctrl-C at the terminal is for the owner; the servers end in order after it.
            .process_group(0)
            .spawn()
            .context("the control plane's supervisor did not start")?;
        let commands = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().context("the supervisor has no output")?);
        Ok(Self { directory: directory.to_owned(), process, commands, answers })
    }

    /// Starts a server with these words as its arguments; its log is `<name>.log` in the directory.
    pub fn start_server(&mut self, name: &str, arguments: &[String]) -> Result<()> {
        if let Some(word) = arguments.iter().find(|word| word.contains('\n')) {
            bail!("an argument of {name} has a line break: {word:?}");
        }
        fs::write(self.directory.join(format!("{name}.argv")), arguments.join("\n") + "\n")?;
        self.command("start", name, "started")
    }

    /// Stops a server by TERM, after ten seconds by KILL; it has ended when this returns.
    pub fn stop_server(&mut self, name: &str) -> Result<()> {
        self.command("stop", name, "stopped")
    }

    /// The exit code of a server that has ended by itself.
    pub fn exit_code(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.directory.join(format!("{name}.exit"))).ok().map(|code| code.trim().to_owned())
    }

    fn command(&mut self, verb: &str, name: &str, answer: &str) -> Result<()> {
        let commands = self.commands.as_mut().context("the supervisor has been stopped")?;
        writeln!(commands, "{verb} {name}").context("the supervisor is gone")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        if line.trim_end() != format!("{answer} {name}") {
            bail!("the supervisor answered {line:?} to {verb} {name}");
        }
        Ok(())
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        // End of input is the order to end.
        drop(self.commands.take());
        if let Err(error) = self.process.wait() {
            eprintln!("control plane: its supervisor cannot be waited for: {error}");
        }
    }
}

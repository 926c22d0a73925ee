//! The demo's processes: started in the background, so that they outlive it, and ended by their recorded ids.

use std::{
    fs::{self, File, OpenOptions},
    net::TcpListener,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Options, cluster::Cluster, output};

/// The longest that a part may take to say that it is ready. The first start builds the control plane and the
/// container template.
const START: Duration = Duration::from_secs(20 * 60);

/// What the parts said when they were ready.
pub struct Parts {
    /// kubectl and the kubeconfig files.
    pub plane: Value,
    /// Address, port, key of the stand-in host.
    pub host: Value,
    /// Where the model answers.
    pub model: Value,
}

#[derive(Default, Serialize, Deserialize)]
struct State {
    processes: Vec<Process>,
}

/// A process of ours: its id alone could be somebody else's by now.
#[derive(Clone, Serialize, Deserialize)]
struct Process {
    name: String,
    pid: u32,
    start: String,
}

impl Parts {
    /// Starts the control plane, the stand-in host and the model, and waits until all are ready.
    pub async fn start(options: &Options) -> Result<Self> {
        let dir = |name: &str| options.dir.join(name).display().to_string();
        let scenario = options.tree.join("tests/scenarios/typetype.yaml").display().to_string();
        let plane = ["up", "--dir", &dir("plane"), "--controllers", "--ignore-stdin"].map(str::to_owned);
        let host = ["up", "--dir", &dir("host"), "--node", "strong"].map(str::to_owned);
        let model = ["--scenario".to_owned(), scenario];
        spawn(options, "control-plane", &plane, &[])?;
        spawn(options, "pve-standin", &host, &[])?;
        spawn(options, "scripted-model", &model, &[])?;
        Ok(Self {
            plane: ready(options, "control-plane").await?,
            host: ready(options, "pve-standin").await?,
            model: ready(options, "scripted-model").await?,
        })
    }

    /// Starts oikos with its ServiceAccount's credentials and waits until it says that it is ready.
    pub async fn controller(&self, options: &Options, cluster: &Cluster) -> Result<()> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let arguments = ["controller", "--health-address", &address].map(str::to_owned);
        spawn(options, "oikos", &arguments, &[("KUBECONFIG", &cluster.controller_kubeconfig())])?;
        let begun = Instant::now();
        loop {
            let answer = reqwest::get(format!("http://{address}/readyz")).await;
            let said = match answer {
                Ok(answer) if answer.status().is_success() => return Ok(()),
                Ok(answer) => answer.text().await.unwrap_or_default(),
                Err(error) => error.to_string(),
            };
            if begun.elapsed() > Duration::from_secs(60) {
                bail!("the controller is not ready: {said}; see {}", log(options, "oikos").display());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

fn log(options: &Options, name: &str) -> PathBuf {
    options.dir.join("logs").join(format!("{name}.log"))
}

fn spawn(options: &Options, name: &str, arguments: &[String], environment: &[(&str, &str)]) -> Result<()> {
    let program = options.binaries.join(name);
    if !program.exists() {
        bail!("{} is missing; use make demo, which builds it", program.display());
    }
    fs::create_dir_all(options.dir.join("logs"))?;
    // A pipe that its reader holds open for writing as well never ends: the process outlives the demo.
    let pipe = options.dir.join("logs").join(format!("{name}.stdin"));
    if !pipe.exists() {
        output(Command::new("mkfifo").arg(&pipe))?;
    }
    let child = Command::new(&program)
        .args(arguments)
        .envs(environment.iter().copied())
        .stdin(OpenOptions::new().read(true).write(true).open(&pipe)?)
        .stdout(File::create(log(options, name).with_extension("out"))?)
        .stderr(Stdio::from(File::create(log(options, name))?))
        .process_group(0)
        .spawn()
        .with_context(|| format!("starting {}", program.display()))?;
    let mut state = state(options)?;
    let start = start_time(child.id()).unwrap_or_default();
    state.processes.push(Process { name: name.to_owned(), pid: child.id(), start });
    fs::write(options.dir.join("state.json"), serde_json::to_string_pretty(&state)?)?;
    Ok(())
}

/// The one line of JSON that a part prints when it is ready. What it says before is shown.
async fn ready(options: &Options, name: &str) -> Result<Value> {
    let begun = Instant::now();
    let mut shown = 0;
    loop {
        shown = show_progress(&log(options, name), shown);
        let said = fs::read_to_string(log(options, name).with_extension("out")).unwrap_or_default();
        if let Some(line) = said.lines().next().filter(|_| said.ends_with('\n')) {
            return serde_json::from_str(line).with_context(|| format!("reading what {name} said: {line}"));
        }
        let process = state(options)?.processes.into_iter().find(|process| process.name == name);
        if !process.is_some_and(|process| is_running(&process)) {
            let errors = fs::read_to_string(log(options, name)).unwrap_or_default();
            bail!("{name} ended before it was ready:\n{errors}");
        }
        if begun.elapsed() > START {
            bail!("{name} was not ready after {} minutes; see {}", START.as_secs() / 60, log(options, name).display());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn show_progress(log: &Path, shown: usize) -> usize {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    for line in lines.iter().skip(shown) {
        println!("    {line}");
    }
    lines.len().max(shown)
}

fn state(options: &Options) -> Result<State> {
    match fs::read_to_string(options.dir.join("state.json")) {
        Ok(text) => serde_json::from_str(&text).context("reading the demo's state.json"),
        Err(_) => Ok(State::default()),
    }
}

/// The kernel's start time of a process, in clock ticks since the boot; none for a zombie.
fn start_time(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let alive = fields.next().is_some_and(|state| state != "Z");
    // The state is field 3, the start time field 22 (proc_pid_stat(5)).
    fields.nth(18).filter(|_| alive).map(str::to_owned)
}

fn is_running(process: &Process) -> bool {
    start_time(process.pid).as_deref() == Some(&process.start)
}

/// Ends the demo's processes and removes everything that it made, also after a crash.
pub fn down(options: &Options) -> Result<()> {
    let processes = state(options)?.processes;
    for process in processes.iter().rev().filter(|process| is_running(process)) {
        output(Command::new("kill").args(["-TERM", &process.pid.to_string()]))?;
        let begun = Instant::now();
        while is_running(process) && begun.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(50));
        }
        if is_running(process) {
            bail!("{} (process {}) did not end within a minute", process.name, process.pid);
        }
    }
    for (name, part) in [("pve-standin", "host"), ("control-plane", "plane")] {
        let left = options.dir.join(part);
        if left.exists() {
            output(Command::new(options.binaries.join(name)).arg("down").arg("--dir").arg(&left))?;
        }
    }
    if options.dir.exists() {
        fs::remove_dir_all(&options.dir).with_context(|| format!("removing {}", options.dir.display()))?;
    }
    Ok(())
}

//! Tasks: the worker behind a verb, its UPID, its log, its place in the list.
//!
//! As in the real tools, worker output goes to the caller's standard output and to the log, and a
//! failure's reason alone to standard error.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Failure, Host};

/// A task while its worker runs.
pub struct Task {
    log: File,
}

/// A task as the list shows it.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Its unique id.
    pub upid: String,
    /// Process id of the worker.
    pub pid: u32,
    /// Start of the process in clock ticks since boot.
    pub process_start: u64,
    /// Start in seconds since 1970.
    pub start_time: u64,
    /// Kind, such as `vzcreate`.
    pub kind: String,
    /// The guest's number as text, or empty.
    pub id: String,
    /// Who started it.
    pub user: String,
    /// Seconds since 1970 and final status; `None` while it runs.
    pub end: Option<(u64, String)>,
}

impl Task {
    /// Writes a line of worker output.
    ///
    /// # Errors
    /// "received interrupt" when the caller no longer reads: the worker gives up and rolls back.
    pub fn say(&mut self, line: &str) -> Result<(), Failure> {
        let _ = writeln!(self.log, "{line}");
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "{line}").and_then(|()| stdout.flush()).map_err(|_| Failure::new("received interrupt"))
    }
}

/// Runs `body` as a task of `kind` on guest `id`.
///
/// # Errors
/// As `body`; the reason is the log's last line.
pub fn run(
    host: &Host,
    kind: &str,
    id: &str,
    body: impl FnOnce(&mut Task) -> Result<(), Failure>,
) -> Result<String, Failure> {
    let started = now();
    let pid = std::process::id();
    let upid =
        format!("UPID:{}:{pid:08X}:{:08X}:{started:08X}:{kind}:{id}:root@pam:", host.settings.node, process_start(pid));
    let path = log_path(host, &upid, started);
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let log = OpenOptions::new().create(true).append(true).open(&path)?;
    let mut task = Task { log };
    let result = body(&mut task);
    let status = match &result {
        Ok(()) => "OK".to_owned(),
        Err(failure) => failure.text.clone(),
    };
    let last = if result.is_ok() { "TASK OK".to_owned() } else { format!("TASK ERROR: {status}") };
    let _ = writeln!(task.log, "{last}");
    let mut index = OpenOptions::new().create(true).append(true).open(host.layout.tasks().join("index"))?;
    let _ = writeln!(index, "{upid} {:08X} {}", now(), status.replace('\n', " "));
    result.map(|()| upid)
}

/// Like [`run`], for verbs that the real tools let succeed even if their task failed.
pub fn run_unchecked(
    host: &Host,
    kind: &str,
    id: &str,
    body: impl FnOnce(&mut Task) -> Result<(), Failure>,
) -> Result<String, Failure> {
    run(host, kind, id, body).or_else(|failure| {
        let _ = writeln!(std::io::stderr(), "{}", failure.text);
        Ok(String::new())
    })
}

/// All tasks, newest first.
pub fn list(host: &Host) -> Vec<Listed> {
    let ended = ended(host);
    let mut tasks: Vec<Listed> = log_files(&host.layout.tasks())
        .into_iter()
        .filter_map(|path| {
            let mut task = parse(path.file_name()?.to_str()?)?;
            task.end = ended.iter().find(|(upid, ..)| *upid == task.upid).map(|(_, at, status)| (*at, status.clone()));
            if task.end.is_none() && process_start(task.pid) != task.process_start {
                task.end = Some((task.start_time, "unexpected status".to_owned()));
            }
            Some(task)
        })
        .collect();
    tasks.sort_by(|a, b| (b.start_time, &b.upid).cmp(&(a.start_time, &a.upid)));
    tasks
}

/// The log of a task, line by line.
pub fn log(host: &Host, upid: &str) -> Option<Vec<String>> {
    let task = parse(upid)?;
    let text = fs::read_to_string(log_path(host, upid, task.start_time)).ok()?;
    Some(text.lines().map(str::to_owned).collect())
}

fn ended(host: &Host) -> Vec<(String, u64, String)> {
    let index = fs::read_to_string(host.layout.tasks().join("index")).unwrap_or_default();
    index
        .lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, ' ');
            let upid = fields.next()?.to_owned();
            let end = u64::from_str_radix(fields.next()?, 16).ok()?;
            Some((upid, end, fields.next()?.to_owned()))
        })
        .collect()
}

fn log_files(directory: &Path) -> Vec<PathBuf> {
    let Ok(groups) = fs::read_dir(directory) else { return Vec::new() };
    groups
        .flatten()
        .filter_map(|group| fs::read_dir(group.path()).ok())
        .flat_map(|files| files.flatten().map(|file| file.path()))
        .collect()
}

fn parse(upid: &str) -> Option<Listed> {
    let fields: Vec<&str> = upid.split(':').collect();
    let ["UPID", _node, pid, process_start, start, kind, id, user, ""] = fields.as_slice() else { return None };
    Some(Listed {
        upid: upid.to_owned(),
        pid: u32::from_str_radix(pid, 16).ok()?,
        process_start: u64::from_str_radix(process_start, 16).ok()?,
        start_time: u64::from_str_radix(start, 16).ok()?,
        kind: (*kind).to_owned(),
        id: (*id).to_owned(),
        user: (*user).to_owned(),
        end: None,
    })
}

fn log_path(host: &Host, upid: &str, started: u64) -> PathBuf {
    host.layout.tasks().join(format!("{:X}", started & 0xF)).join(upid)
}

/// Start of process `pid` in clock ticks since boot; 0 when there is none.
fn process_start(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may hold blanks; field 22 of proc(5) is the 20th after it.
    stat.rsplit_once(')')
        .and_then(|(_, rest)| rest.split_whitespace().nth(19))
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

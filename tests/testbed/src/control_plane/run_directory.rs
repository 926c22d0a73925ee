//! The data directory of one run: locked while its owner lives, so that what dead owners left behind is recognised.
//!
//! Invariant: removes only directories that carry the mark of a control plane and whose owner is gone, and ends only
//! processes that run with such a directory in their arguments.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

/// The file that marks a directory as a control plane's, that its owner holds locked and that names its process.
const MARK: &str = "control-plane.lock";

/// A data directory that belongs to this process. Dropping it gives up the claim; the supervisor removes the files.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    _lock: File,
}

impl RunDirectory {
    /// A new directory under the system's temporary one. What runs of dead owners left there is removed first.
    pub fn temporary() -> Result<Self> {
        let base = std::env::temp_dir().join(format!("oikos-control-planes-{}", own_uid()?));
        create_private(&base)?;
        // One at a time, so that nobody takes a directory that is just being made for a left one.
        let guard = File::create(base.join(".lock"))?;
        guard.lock()?;
        sweep(&base)?;
        let started = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
        Self::make(&base.join(format!("{}-{}", std::process::id(), started.as_nanos())))
    }

    /// The named directory: new, empty, or left by a dead owner. Fails when it holds anything else or is in use.
    pub fn claim(path: &Path) -> Result<Self> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        match owner(path)? {
            Owner::Alive => bail!("{} is the directory of a running control plane", path.display()),
            Owner::Dead => clear(path)?,
            Owner::None if path.exists() && fs::read_dir(path)?.next().is_some() => {
                bail!("{} is not empty and not a control plane's directory", path.display())
            }
            Owner::None => {}
        }
        Self::make(path)
    }

    fn make(path: &Path) -> Result<Self> {
        create_private(path)?;
        let path = path.canonicalize()?;
        let mut lock = File::create(path.join(MARK))?;
        if lock.try_lock().is_err() {
            bail!("{} was taken by another control plane", path.display());
        }
        writeln!(lock, "{}", std::process::id())?;
        Ok(Self { path, _lock: lock })
    }

    /// Where it is, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

enum Owner {
    /// Not a control plane's directory.
    None,
    Alive,
    Dead,
}

fn owner(path: &Path) -> Result<Owner> {
    match File::options().read(true).write(true).open(path.join(MARK)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Owner::None),
        Err(error) => Err(error).with_context(|| format!("{} cannot be opened", path.join(MARK).display())),
        Ok(mark) => match mark.try_lock() {
            Ok(()) => Ok(Owner::Dead),
            Err(TryLockError::WouldBlock) => Ok(Owner::Alive),
            Err(TryLockError::Error(error)) => Err(error.into()),
        },
    }
}

/// The process that owns the control plane in `path`, while it runs.
pub fn is_running(path: &Path) -> Result<Option<u32>> {
    match owner(path)? {
        Owner::Alive => Ok(fs::read_to_string(path.join(MARK))?.trim().parse().ok()),
        Owner::Dead | Owner::None => Ok(None),
    }
}

/// Removes what a dead owner left in `path`: its processes, then the directory. Nothing there is no error.
pub fn remove(path: &Path) -> Result<()> {
    match owner(path)? {
        Owner::Alive => bail!("{} is the directory of a running control plane", path.display()),
        Owner::Dead => clear(path),
        Owner::None => Ok(()),
    }
}

/// Waits until the directory is gone; an error after `limit`.
pub fn wait_until_gone(path: &Path, limit: Duration) -> Result<()> {
    let deadline = Instant::now() + limit;
    while path.exists() {
        if Instant::now() > deadline {
            bail!("{} is still there", path.display());
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

fn sweep(base: &Path) -> Result<()> {
    for entry in fs::read_dir(base)? {
        let path = entry?.path();
        if path.is_dir() && matches!(owner(&path), Ok(Owner::Dead)) {
            clear(&path)?;
        }
    }
    Ok(())
}

/// Ends the servers that still run out of `path` and removes it.
fn clear(path: &Path) -> Result<()> {
    let path = path.canonicalize()?;
    for entry in fs::read_dir(&path)? {
        let file = entry?.path();
        if file.extension().is_some_and(|extension| extension == "pid")
            && let Ok(pid) = fs::read_to_string(&file)
            && runs_out_of(pid.trim(), &path)
        {
            end(pid.trim(), &path)?;
        }
    }
    // The supervisor of the dead owner may be removing it at the same time, and a server may write its last line.
    for _ in 0..50 {
        match fs::remove_dir_all(&path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.exists() => return Ok(()),
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
    fs::remove_dir_all(&path).with_context(|| format!("{} cannot be removed", path.display()))
}

/// Sends a signal (its name without SIG). A process that is gone already is no error.
pub fn signal(name: &str, pid: &str) -> Result<()> {
    // The shell's own kill: the program of that name is not on every machine.
    let script = r#"kill -"$1" "$2" 2>/dev/null || :"#;
    Command::new("sh").args(["-c", script, "sh", name, pid]).status().context("sh did not start")?;
    Ok(())
}

/// Kills a server and waits until it has ended.
fn end(pid: &str, path: &Path) -> Result<()> {
    signal("KILL", pid)?;
    for _ in 0..100 {
        if !runs_out_of(pid, path) {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(50));
    }
    bail!("process {pid} of {} does not end", path.display())
}

/// A process id is reused, so the process must also name the directory in its arguments.
fn runs_out_of(pid: &str, path: &Path) -> bool {
    pid.parse::<u32>().is_ok()
        && fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|arguments| String::from_utf8_lossy(&arguments).contains(&*path.to_string_lossy()))
}

fn create_private(path: &Path) -> Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("{} cannot be made", path.display()))?;
    // Another user's directory of the same name would let them read the tokens.
    if fs::metadata(path)?.uid() != own_uid()? {
        bail!("{} belongs to another user", path.display());
    }
    Ok(())
}

fn own_uid() -> Result<u32> {
    Ok(fs::metadata("/proc/self")?.uid())
}

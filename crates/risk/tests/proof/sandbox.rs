//! A root directory in namespaces of its own in which commands run: no network, no other processes, no other files.
//!
//! Programs in it are stubs that record their argument vectors; only shells and a few wrappers are real.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

/// Records how it was called; goes on with what stands after `--`, as wrappers do, if its name is one of theirs.
const STUB: &str = r#"#!/bin/dash
printf '%s\0' "$#" "${0##*/}" "$@" >> /log/argv
case ${0##*/} in sudo|pct|qm|lxc-attach|nsenter)
  while [ $# -gt 0 ]; do
    a=$1; shift
    case $a in --) exec "$@";; -*|[0-9]*|exec|guest|root) ;; *) break;; esac
  done;;
esac
echo 101
"#;

pub struct Root {
    directory: PathBuf,
    /// The files as they were at first.
    files: BTreeMap<PathBuf, u64>,
}

/// Runs each argument as a text of the shell `$SHELL_LINE`, after a mark in the record.
const DRIVER: &str = r#"#!/bin/dash
at=0
for text; do
  printf '%s\0' 0 "@$at" >> /log/argv
  timeout -s KILL 3 $SHELL_LINE "$text" </dev/null >/dev/null
  at=$((at+1))
done
"#;

impl Drop for Root {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

impl Root {
    /// A root with `real` programs of this machine and stubs of all other names.
    pub fn new(real: &[&str], stubs: &BTreeSet<String>) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("root-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut root = Self { directory, files: BTreeMap::new() };
        for part in ["usr/bin", "usr/local", "dev", "proc", "log", "w", "tmp", "root"] {
            fs::create_dir_all(root.path(part)).unwrap();
        }
        for (link, target) in
            [("bin", "usr/bin"), ("sbin", "usr/bin"), ("usr/sbin", "bin"), ("usr/local/bin", "../bin")]
        {
            symlink(target, root.path(link)).unwrap();
        }
        fs::write(root.path("dev/null"), "").unwrap();
        for program in real {
            root.install(program);
        }
        root.write_executable("log/stub", STUB);
        for name in stubs.iter().filter(|name| !real.contains(&name.as_str())) {
            let _ = fs::hard_link(root.path("log/stub"), root.path("usr/bin").join(name));
        }
        if !real.contains(&"sh") && !root.path("usr/bin/sh").exists() {
            let _ = fs::hard_link(root.path("log/stub"), root.path("usr/bin/sh"));
        }
        root.write_executable("log/driver", DRIVER);
        root.files = root.tree();
        root
    }

    fn path(&self, inner: &str) -> PathBuf {
        self.directory.join(inner)
    }

    fn write_executable(&self, inner: &str, text: &str) {
        fs::write(self.path(inner), text).unwrap();
        fs::set_permissions(self.path(inner), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Copies a program and its libraries. `sh` is dash.
    fn install(&self, program: &str) {
        let source =
            find(if program == "sh" { "dash" } else { program }).unwrap_or_else(|| panic!("no {program} here"));
        let listed = Command::new("ldd").arg(&source).output().unwrap();
        for word in String::from_utf8_lossy(&listed.stdout).split_whitespace().filter(|word| word.starts_with('/')) {
            let target = self.path(&word[1..]);
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::copy(word, target).unwrap();
        }
        fs::copy(source, self.path("usr/bin").join(program)).unwrap();
    }

    /// Runs each text under a shell of the root: what ran and which files changed.
    pub fn run_all(&self, shell: &str, texts: &[&str]) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for batch in texts.chunks(100) {
            let all = self.run_batch(shell, batch);
            match all.iter().any(|outcome| !outcome.changed.is_empty()) {
                true => outcomes.extend(batch.iter().flat_map(|text| self.run_batch(shell, &[text]))),
                false => outcomes.extend(all),
            }
        }
        outcomes
    }

    fn run_batch(&self, shell: &str, texts: &[&str]) -> Vec<Outcome> {
        let _ = fs::remove_file(self.path("log/argv"));
        let enter = "mount --bind /dev/null \"$0/dev/null\" && mount -t proc proc \"$0/proc\" || exit 99\n\
                     exec chroot \"$0\" /bin/dash /log/driver \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "--net", "--ipc", "--pid", "--fork", "--kill-child"]);
        command.args(["sh", "-c", enter]).arg(&self.directory).args(texts).env_clear();
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/root").env("LC_ALL", "C.UTF-8");
        command.env("SHELL_LINE", shell).stdin(Stdio::null());
        let output = command.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_ne!(output.status.code(), Some(99), "namespaces do not work here: {error}");
        let changed = self.restore();
        let log = fs::read(self.path("log/argv")).unwrap_or_default();
        let mut outcomes: Vec<Outcome> = Vec::new();
        for record in records(&log) {
            match outcomes.last_mut() {
                _ if record[0].starts_with('@') && record.len() == 1 => {
                    outcomes.push(Outcome { ran: Vec::new(), changed: changed.clone(), error: error.clone() });
                }
                Some(outcome) => outcome.ran.push(record),
                None => panic!("ran before it began: {record:?}"),
            }
        }
        assert_eq!(outcomes.len(), texts.len(), "not all ran: {error}");
        outcomes
    }

    /// Which files are not as at first; new ones are removed.
    fn restore(&self) -> BTreeSet<PathBuf> {
        let after = self.tree();
        let all = self.files.keys().chain(after.keys());
        let changed: BTreeSet<PathBuf> =
            all.filter(|path| self.files.get(*path) != after.get(*path)).cloned().collect();
        for path in changed.iter().filter(|path| !self.files.contains_key(*path)) {
            let path = self.directory.join(path);
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        }
        changed
    }

    /// Every file with its length, but for what the root itself writes.
    fn tree(&self) -> BTreeMap<PathBuf, u64> {
        let mut out = BTreeMap::new();
        let mut open = vec![self.directory.clone()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(&directory).unwrap().flatten() {
                let path = entry.path();
                let inner = path.strip_prefix(&self.directory).unwrap().to_owned();
                if inner.starts_with("log") || inner.starts_with("proc") {
                    continue;
                }
                let kind = fs::symlink_metadata(&path).unwrap();
                if kind.is_dir() {
                    open.push(path);
                }
                out.insert(inner, if kind.is_file() { kind.len() } else { 0 });
            }
        }
        out
    }
}

/// What happened in a root.
pub struct Outcome {
    /// The argument vectors of all stubs that ran, the name first.
    pub ran: Vec<Vec<String>>,
    /// Files that were made, removed or have another length.
    pub changed: BTreeSet<PathBuf>,
    /// What came on the standard error of the whole batch.
    pub error: String,
}

fn records(log: &[u8]) -> Vec<Vec<String>> {
    let mut fields = log.split(|byte| *byte == 0).map(|field| String::from_utf8_lossy(field).into_owned());
    let mut out = Vec::new();
    while let Some(count) = fields.next().and_then(|field| field.parse::<usize>().ok()) {
        out.push(fields.by_ref().take(count + 1).collect());
    }
    out
}

/// A program of this machine.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':')
        .chain(["/usr/bin", "/usr/sbin"])
        .map(|part| Path::new(part).join(program))
        .find(|path| path.is_file())
}

#[test]
fn the_root_records_what_runs_and_what_changes() {
    let stubs = ["ls", "rm"].map(str::to_owned).into();
    let root = Root::new(&["bash", "dash", "sh", "timeout"], &stubs);
    let texts = ["ls -l 'a b' >/dev/null; sh -c '/bin/rm \"\"'", "echo x > /w/y", "ls"];
    let outcomes = root.run_all("/bin/bash -c", &texts);
    assert_eq!(outcomes[0].ran, [vec!["ls", "-l", "a b"], vec!["rm", ""]], "{}", outcomes[0].error);
    assert_eq!(outcomes[1].changed, [PathBuf::from("w/y")].into());
    assert_eq!(outcomes[2].ran, [vec!["ls"]]);
    assert!(outcomes[2].changed.is_empty());
}

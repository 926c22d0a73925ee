//! Faults inside running guests: dpkg's lock held, a service's port refused, no name service.
//!
//! [`settle`] makes a guest agree with the faults in force. Tools call it before they act in a
//! guest, the supervisor keeps calling it so that a fault also ends while a command waits.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use super::command;
use super::fault::{Entry, FaultKind, Faults};
use super::layout::{Layout, Settings};

/// Written instead of the nameservers while a guest has no name service: nothing listens there.
const DEAD_RESOLVER: &str = "nameserver 127.0.0.1\n";
/// The table in a guest's network namespace that refuses connections.
const FAULT_TABLE: &str = "oikos_fault";
/// Takes a write lock on dpkg's frontend lock file under the name apt-get, says so, and keeps it.
/// The numbers are F_SETLK and F_WRLCK; the pattern is `struct flock` of 64-bit Linux.
const LOCK_HOLDER: &str = r#"$0 = "apt-get"; open(L, ">>", "/var/lib/dpkg/lock-frontend") or exit 1;
fcntl(L, 6, pack("ssx4qqix4", 1, 0, 0, 0, 0)) or exit 1;
$| = 1; print "$$\n"; close STDOUT; sleep $ARGV[0]; "#;

/// The process that holds the lock in a guest.
#[derive(Serialize, Deserialize)]
struct Holder {
    /// Its process id inside the guest.
    pid: u32,
    /// The guest's init when it was started; another one means that it is gone.
    init: u32,
    /// The fault that it carries out.
    fault: PathBuf,
}

/// The nameserver lines of a guest that has name service.
pub fn resolver_configuration(settings: &Settings) -> String {
    settings.nameservers.iter().map(|server| format!("nameserver {server}\n")).collect()
}

/// Brings guest `vmid`, whose init is process `init`, in line with the faults in force.
///
/// `struck` is a lock fault whose last strike is this very command.
pub fn settle(layout: &Layout, settings: &Settings, vmid: u32, init: u32, struck: bool) {
    let faults = Faults::new(layout);
    settle_lock(layout, &faults, vmid, init, struck);
    settle_resolver(settings, &faults, vmid, init);
    if let Some(entry) = faults.find(FaultKind::ServiceNotReady, Some(vmid)) {
        refuse_connections(init, &entry);
    }
}

/// Ends what no longer is in force. Unlike [`settle`] it starts nothing and ignores used-up counts,
/// because the command of the last strike may still be running.
pub fn relax(layout: &Layout, settings: &Settings, vmid: u32, init: u32) {
    let faults = Faults::new(layout);
    settle_resolver(settings, &faults, vmid, init);
    if let Some(holder) = read_holder(layout, vmid) {
        if !holder.fault.exists() {
            release(layout, vmid, init, &holder);
        }
    }
}

fn holder_file(layout: &Layout, vmid: u32) -> PathBuf {
    layout.guest(vmid).join("lock-holder.json")
}

fn read_holder(layout: &Layout, vmid: u32) -> Option<Holder> {
    serde_json::from_str(&fs::read_to_string(holder_file(layout, vmid)).ok()?).ok()
}

fn settle_lock(layout: &Layout, faults: &Faults, vmid: u32, init: u32, struck: bool) {
    let wanted = faults.find(FaultKind::AptLock, Some(vmid));
    match (wanted, read_holder(layout, vmid)) {
        (Some(entry), holder) if holder.as_ref().is_none_or(|holder| holder.init != init) => {
            hold_lock(layout, vmid, init, &entry);
        }
        (None, Some(holder)) if !struck => release(layout, vmid, init, &holder),
        _ => {}
    }
}

fn hold_lock(layout: &Layout, vmid: u32, init: u32, entry: &Entry) {
    let passed = SystemTime::now().duration_since(entry.since).unwrap_or_default().as_secs();
    let seconds = entry.fault.seconds.map_or(86_400, |seconds| seconds.saturating_sub(passed).max(1));
    let mut perl = inside(init);
    perl.args(["perl", "-e", LOCK_HOLDER, "--", &seconds.to_string()]);
    perl.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = perl.spawn() else { return };
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        let _ = BufReader::new(stdout).read_line(&mut line);
    }
    if let Ok(pid) = line.trim().parse() {
        let holder = Holder { pid, init, fault: entry.path.clone() };
        let _ = serde_json::to_string(&holder).map(|text| fs::write(holder_file(layout, vmid), text));
    }
}

fn release(layout: &Layout, vmid: u32, init: u32, holder: &Holder) {
    if holder.init == init {
        let mut kill = inside(init);
        kill.args(["kill", "-9", &holder.pid.to_string()]);
        let _ = command::output(&mut kill);
    }
    let _ = fs::remove_file(holder_file(layout, vmid));
}

/// A command inside every namespace and the root of the guest whose init is `init`.
fn inside(init: u32) -> Command {
    let mut nsenter = Command::new("nsenter");
    nsenter.args(["-t", &init.to_string(), "-m", "-u", "-i", "-n", "-p", "-r", "-w", "--"]);
    nsenter
}

fn settle_resolver(settings: &Settings, faults: &Faults, vmid: u32, init: u32) {
    let path = PathBuf::from(format!("/proc/{init}/root/etc/resolv.conf"));
    let dead = fs::read_to_string(&path).is_ok_and(|text| text == DEAD_RESOLVER);
    // Only what a fault wrote is put right again: a guest's own configuration is its own affair.
    match faults.find(FaultKind::NoDns, Some(vmid)) {
        Some(_) if !dead => drop(fs::write(&path, DEAD_RESOLVER)),
        None if dead => drop(fs::write(&path, resolver_configuration(settings))),
        _ => {}
    }
}

fn refuse_connections(init: u32, entry: &Entry) {
    let Some(port) = entry.fault.port else { return };
    let listed = in_network(init, &["nft", "list", "table", "inet", FAULT_TABLE], "");
    if listed.is_some() {
        return;
    }
    let first = match entry.fault.times {
        Some(times) => format!("numgen inc mod 1000000 < {times}"),
        None => String::new(),
    };
    let rules = format!(
        "table inet {FAULT_TABLE} {{ chain input {{ type filter hook input priority 0; \
         tcp dport {port} tcp flags & (syn | ack) == syn {first} reject with tcp reset; }} }}\n"
    );
    in_network(init, &["nft", "-f", "-"], &rules);
}

fn accept_connections(init: u32) {
    in_network(init, &["nft", "delete", "table", "inet", FAULT_TABLE], "");
}

fn in_network(init: u32, words: &[&str], input: &str) -> Option<String> {
    let mut nsenter = Command::new("nsenter");
    nsenter.args(["-t", &init.to_string(), "-n", "--"]).args(words);
    command::run_with_input(&mut nsenter, input).ok()
}

/// The supervisor's view of faults in guests, kept between its ticks.
#[derive(Debug, Default)]
pub struct Watch {
    listening_since: HashMap<(PathBuf, u32), Instant>,
    touched: bool,
}

impl Watch {
    /// Ends faults whose time has come. Costs a directory listing when there are none.
    pub fn step(&mut self, layout: &Layout, settings: &Settings) {
        let faults = Faults::new(layout);
        let active = faults.active();
        if active.is_empty() && !self.touched {
            return;
        }
        self.touched = !active.is_empty();
        for (vmid, init) in running_guests(layout) {
            relax(layout, settings, vmid, init);
            let refused = active.iter().filter(|entry| entry.fault.kind == FaultKind::ServiceNotReady);
            let mine = refused.clone().find(|entry| entry.fault.guest.is_none_or(|guest| guest == vmid));
            match mine {
                Some(entry) => self.wait_for_listener(entry, init),
                None => accept_connections(init),
            }
        }
    }

    fn wait_for_listener(&mut self, entry: &Entry, init: u32) {
        let (Some(port), Some(seconds)) = (entry.fault.port, entry.fault.seconds) else { return };
        if !listens(init, port) {
            return;
        }
        let since = *self.listening_since.entry((entry.path.clone(), init)).or_insert_with(Instant::now);
        if since.elapsed() >= Duration::from_secs(seconds) {
            accept_connections(init);
            let _ = fs::remove_file(&entry.path);
        }
    }
}

/// Whether something in the network namespace of process `pid` listens on TCP `port`.
fn listens(pid: u32, port: u16) -> bool {
    let wanted = format!(":{port:04X}");
    ["tcp", "tcp6"].iter().any(|table| {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        text.lines().skip(1).any(|line| {
            let mut fields = line.split_whitespace().skip(1);
            fields.next().is_some_and(|local| local.ends_with(&wanted)) && fields.nth(1) == Some("0A")
        })
    })
}

/// Running guests with the process ids of their inits.
pub fn running_guests(layout: &Layout) -> Vec<(u32, u32)> {
    vmids(&layout.guest_configs())
        .into_iter()
        .filter_map(|vmid| init_of(layout, vmid).map(|init| (vmid, init)))
        .collect()
}

/// Numbers of the guests configured in `directory`, ascending.
pub fn vmids(directory: &Path) -> Vec<u32> {
    let Ok(files) = fs::read_dir(directory) else { return Vec::new() };
    let mut vmids: Vec<u32> =
        files.flatten().filter_map(|file| file.file_name().to_str()?.strip_suffix(".conf")?.parse().ok()).collect();
    vmids.sort_unstable();
    vmids
}

/// Process id of a guest's init, when it runs.
pub fn init_of(layout: &Layout, vmid: u32) -> Option<u32> {
    if !layout.lxc().join(vmid.to_string()).exists() {
        return None;
    }
    let mut info = Command::new("lxc-info");
    info.arg("-P").arg(layout.lxc()).args(["-n", &vmid.to_string(), "-p", "-H"]);
    let text = command::run(&mut info).ok()?;
    text.trim().parse().ok().filter(|pid| *pid > 1)
}

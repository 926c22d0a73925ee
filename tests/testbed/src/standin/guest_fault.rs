//! Faults inside running guests: dpkg's lock held, a service's port refused, no name service.
//!
//! [`settle`] makes a guest agree with the faults in force. Tools call it before they act in a
//! guest, the supervisor keeps calling it so that a fault also ends while a command waits.

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
/// The table in a guest's network namespace that refuses connections to a port begins like this.
const FAULT_TABLE: &str = "oikos_fault_";
/// Takes a write lock on dpkg's frontend lock file under the name apt-get, says so, and keeps it.
/// The numbers are F_SETLK and F_WRLCK; the pattern is `struct flock` of 64-bit Linux.
const LOCK_HOLDER: &str = r#"$0 = "apt-get"; open(L, ">>", "/var/lib/dpkg/lock-frontend") or exit 1;
my $lock = pack("ssx4qqix4", 1, 0, 0, 0, 0); fcntl(L, 6, $lock) or exit 1;
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
/// `struck` is a lock fault that strikes the command about to run, perhaps for the last time.
pub fn settle(layout: &Layout, settings: &Settings, vmid: u32, init: u32, struck: Option<&Entry>) {
    let faults = Faults::new(layout);
    settle_lock(layout, &faults, vmid, init, struck);
    settle_resolver(settings, &faults, vmid, init);
    for entry in unready_services(&faults, vmid) {
        refuse_connections(init, &entry);
    }
}

/// Ends what no longer is in force. Unlike [`settle`] it starts nothing and ignores used-up counts,
/// because the command of the last strike may still be running.
pub fn end_expired_faults(layout: &Layout, settings: &Settings, vmid: u32, init: u32) {
    let faults = Faults::new(layout);
    settle_resolver(settings, &faults, vmid, init);
    if let Some(holder) = read_holder(layout, vmid)
        && !holder.fault.exists()
    {
        release(layout, vmid, init, &holder);
    }
}

fn holder_file(layout: &Layout, vmid: u32) -> PathBuf {
    layout.guest(vmid).join("lock-holder.json")
}

fn read_holder(layout: &Layout, vmid: u32) -> Option<Holder> {
    serde_json::from_str(&fs::read_to_string(holder_file(layout, vmid)).ok()?).ok()
}

fn settle_lock(layout: &Layout, faults: &Faults, vmid: u32, init: u32, struck: Option<&Entry>) {
    let wanted = struck.cloned().or_else(|| faults.find(FaultKind::AptLock, Some(vmid)));
    match (wanted, read_holder(layout, vmid)) {
        (Some(entry), holder) if holder.as_ref().is_none_or(|holder| holder.init != init) => {
            hold_lock(layout, vmid, init, &entry);
        }
        (None, Some(holder)) => release(layout, vmid, init, &holder),
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

/// The faults in force that refuse connections to guest `vmid`. A used-up one still counts: its rule
/// counts by itself and lets everything pass by then.
fn unready_services(faults: &Faults, vmid: u32) -> Vec<Entry> {
    let mut entries = faults.active();
    entries.retain(|entry| {
        entry.fault.kind == FaultKind::ServiceNotReady && entry.fault.guest.is_none_or(|guest| guest == vmid)
    });
    entries
}

fn refuse_connections(init: u32, entry: &Entry) {
    let Some(port) = entry.fault.port else { return };
    let table = format!("{FAULT_TABLE}{port}");
    let listed = in_network(init, &["nft", "list", "table", "inet", &table], "");
    if listed.is_some() {
        return;
    }
    let first = match entry.fault.times {
        Some(times) => format!("numgen inc mod 1000000 < {times}"),
        None => String::new(),
    };
    let rules = format!(
        "table inet {table} {{\n chain input {{\n type filter hook input priority 0;\n \
         tcp dport {port} tcp flags & (syn | ack) == syn {first} reject with tcp reset\n }}\n}}\n"
    );
    in_network(init, &["nft", "-f", "-"], &rules);
}

/// Lets the guest's port be reached again.
pub fn accept_connections(init: u32, port: u16) {
    in_network(init, &["nft", "delete", "table", "inet", &format!("{FAULT_TABLE}{port}")], "");
}

fn in_network(init: u32, words: &[&str], input: &str) -> Option<String> {
    let mut nsenter = Command::new("nsenter");
    nsenter.args(["-t", &init.to_string(), "-n", "--"]).args(words);
    command::run_with_input(&mut nsenter, input).ok()
}

/// The supervisor's view of faults in guests, kept between its ticks.
#[derive(Debug, Default)]
pub struct Watch {
    refused: Vec<Refused>,
    touched: bool,
}

/// A port of a guest that a fault closes.
#[derive(Debug)]
struct Refused {
    init: u32,
    port: u16,
    fault: PathBuf,
    /// When the service was first seen to listen.
    listens_since: Option<Instant>,
}

impl Watch {
    /// Ends faults whose time has come. Costs a directory listing when there are none.
    pub fn step(&mut self, layout: &Layout, settings: &Settings) {
        let faults = Faults::new(layout);
        let some = !faults.active().is_empty();
        if !some && !self.touched {
            return;
        }
        self.touched = some;
        for (vmid, init) in running_guests(layout) {
            end_expired_faults(layout, settings, vmid, init);
            for entry in unready_services(&faults, vmid) {
                self.refuse(&entry, init);
            }
        }
        self.refused.retain_mut(|refused| {
            let stays = refused.fault.exists() && Path::new(&format!("/proc/{}", refused.init)).exists();
            if !stays {
                accept_connections(refused.init, refused.port);
            }
            stays
        });
    }

    fn refuse(&mut self, entry: &Entry, init: u32) {
        let Some(port) = entry.fault.port else { return };
        let known = self.refused.iter().position(|refused| refused.init == init && refused.fault == entry.path);
        let at = known.unwrap_or_else(|| {
            refuse_connections(init, entry);
            self.refused.push(Refused { init, port, fault: entry.path.clone(), listens_since: None });
            self.refused.len() - 1
        });
        let Some(seconds) = entry.fault.seconds else { return };
        let since = &mut self.refused[at].listens_since;
        if since.is_none() && listens(init, port) {
            *since = Some(Instant::now());
        }
        if since.is_some_and(|since| since.elapsed() >= Duration::from_secs(seconds)) {
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

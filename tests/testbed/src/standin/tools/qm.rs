//! `qm`: virtual machines, which exist on paper only; see [`super::inventory::Machine`].

use super::getopt::Kind::{Flag, Text};
use super::getopt::{Arguments, Verb, dispatch};
use super::inventory::{Machine, machines};
use super::{Failure, Host, Outcome};

const VMID: &[&str] = &["vmid"];

/// Verbs of the real tool; those that change something are known, and refused.
const VERBS: &[Verb] = &[
    Verb { name: "clone", positionals: &["vmid", "newid"], options: &[], run: not_here },
    Verb { name: "config", positionals: VMID, options: &[("current", Flag), ("snapshot", Text)], run: config },
    Verb { name: "create", positionals: VMID, options: &[], run: not_here },
    Verb { name: "delsnapshot", positionals: &["vmid", "snapname"], options: &[], run: not_here },
    Verb { name: "destroy", positionals: VMID, options: &[], run: not_here },
    Verb { name: "list", positionals: &[], options: &[("full", Flag)], run: list },
    Verb { name: "listsnapshot", positionals: VMID, options: &[], run: not_here },
    Verb { name: "migrate", positionals: &["vmid", "target"], options: &[], run: not_here },
    Verb { name: "monitor", positionals: VMID, options: &[], run: not_here },
    Verb { name: "pending", positionals: VMID, options: &[], run: config },
    Verb { name: "reboot", positionals: VMID, options: &[], run: not_here },
    Verb { name: "reset", positionals: VMID, options: &[], run: not_here },
    Verb { name: "resize", positionals: &["vmid", "disk", "size"], options: &[], run: not_here },
    Verb { name: "resume", positionals: VMID, options: &[], run: not_here },
    Verb { name: "rollback", positionals: &["vmid", "snapname"], options: &[], run: not_here },
    Verb { name: "set", positionals: VMID, options: &[], run: not_here },
    Verb { name: "showcmd", positionals: VMID, options: &[], run: not_here },
    Verb { name: "shutdown", positionals: VMID, options: &[], run: not_here },
    Verb { name: "snapshot", positionals: &["vmid", "snapname"], options: &[], run: not_here },
    Verb { name: "start", positionals: VMID, options: &[], run: not_here },
    Verb { name: "status", positionals: VMID, options: &[("verbose", Flag)], run: status },
    Verb { name: "stop", positionals: VMID, options: &[], run: not_here },
    Verb { name: "suspend", positionals: VMID, options: &[], run: not_here },
    Verb { name: "template", positionals: VMID, options: &[], run: not_here },
    Verb { name: "unlock", positionals: VMID, options: &[], run: not_here },
];

/// Runs `qm`.
pub fn run(host: &Host, arguments: &[String]) -> Outcome {
    dispatch("qm", VERBS, host, arguments)
}

fn find(host: &Host, arguments: &Arguments) -> Result<Machine, Failure> {
    let vmid = arguments.vmid()?;
    machines(host).into_iter().find(|machine| machine.vmid == vmid).ok_or_else(|| {
        let node = &host.settings.node;
        Failure::with_code(format!("Configuration file 'nodes/{node}/qemu-server/{vmid}.conf' does not exist"), 2)
    })
}

fn not_here(host: &Host, arguments: &Arguments) -> Outcome {
    find(host, arguments)?;
    let verb = arguments.usage.split(' ').nth(1).unwrap_or_default();
    Err(Failure::new(format!("the Proxmox stand-in has no virtual machines to carry out 'qm {verb}'")))
}

fn list(host: &Host, _: &Arguments) -> Outcome {
    let machines = machines(host);
    if machines.is_empty() {
        return Ok(0);
    }
    emit!("{:>10} {:<20} {:<10} {:<10} {:>12} {:<10}", "VMID", "NAME", "STATUS", "MEM(MB)", "BOOTDISK(GB)", "PID");
    for machine in machines {
        let status = if machine.running { "running" } else { "stopped" };
        emit!("{:>10} {:<20} {status:<10} {:<10} {:>12.2} {:<10}", machine.vmid, machine.name, machine.memory, 0.0, 0);
    }
    Ok(0)
}

fn status(host: &Host, arguments: &Arguments) -> Outcome {
    let machine = find(host, arguments)?;
    emit!("status: {}", if machine.running { "running" } else { "stopped" });
    Ok(0)
}

fn config(host: &Host, arguments: &Arguments) -> Outcome {
    for (key, value) in find(host, arguments)?.config.effective() {
        emit!("{key}: {value}");
    }
    Ok(0)
}

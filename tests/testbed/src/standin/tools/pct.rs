//! `pct`: its verbs, and those that only read.

use super::getopt::Kind::{Flag, Integer, Text};
use super::getopt::{Arguments, Parameter, Verb, dispatch};
use super::guest_config::GuestConfig;
use super::{Failure, Host, Outcome, container, create, exec, inventory, power, settings, snapshot};

/// Options of `create`; all but a few are also options of `set`.
const CREATE: &[Parameter] = &[
    ("arch", Text),
    ("bwlimit", Text),
    ("cmode", Text),
    ("console", Flag),
    ("cores", Integer(1)),
    ("cpulimit", Text),
    ("cpuunits", Integer(0)),
    ("debug", Flag),
    ("description", Text),
    ("dev[n]", Text),
    ("entrypoint", Text),
    ("env", Text),
    ("features", Text),
    ("force", Flag),
    ("ha-managed", Flag),
    ("hookscript", Text),
    ("hostname", Text),
    ("ignore-unpack-errors", Flag),
    ("lock", Text),
    ("memory", Integer(16)),
    ("mp[n]", Text),
    ("nameserver", Text),
    ("net[n]", Text),
    ("onboot", Flag),
    ("ostype", Text),
    ("password", Text),
    ("pool", Text),
    ("protection", Flag),
    ("restore", Flag),
    ("rootfs", Text),
    ("searchdomain", Text),
    ("ssh-public-keys", Text),
    ("start", Flag),
    ("startup", Text),
    ("storage", Text),
    ("swap", Integer(0)),
    ("tags", Text),
    ("template", Flag),
    ("timezone", Text),
    ("tty", Integer(0)),
    ("unique", Flag),
    ("unprivileged", Flag),
    ("unused[n]", Text),
];

const SET: &[Parameter] = &[
    ("arch", Text),
    ("cmode", Text),
    ("console", Flag),
    ("cores", Integer(1)),
    ("cpulimit", Text),
    ("cpuunits", Integer(0)),
    ("debug", Flag),
    ("delete", Text),
    ("description", Text),
    ("dev[n]", Text),
    ("digest", Text),
    ("entrypoint", Text),
    ("env", Text),
    ("features", Text),
    ("hookscript", Text),
    ("hostname", Text),
    ("lock", Text),
    ("memory", Integer(16)),
    ("mp[n]", Text),
    ("nameserver", Text),
    ("net[n]", Text),
    ("onboot", Flag),
    ("ostype", Text),
    ("protection", Flag),
    ("revert", Text),
    ("rootfs", Text),
    ("searchdomain", Text),
    ("startup", Text),
    ("swap", Integer(0)),
    ("tags", Text),
    ("template", Flag),
    ("timezone", Text),
    ("tty", Integer(0)),
    ("unprivileged", Flag),
    ("unused[n]", Text),
];

const VMID: &[&str] = &["vmid"];
const SNAPSHOT: &[&str] = &["vmid", "snapname"];

const fn verb(
    name: &'static str,
    positionals: &'static [&'static str],
    options: &'static [Parameter],
    run: fn(&Host, &Arguments) -> Outcome,
) -> Verb {
    Verb { name, positionals, options, run }
}

/// Every verb of the real tool has a row: a prefix must be as ambiguous here as it is there.
const VERBS: &[Verb] = &[
    verb(
        "clone",
        &["vmid", "newid"],
        &[("hostname", Text), ("full", Flag), ("snapname", Text), ("target", Text)],
        not_here,
    ),
    verb("config", VMID, &[("current", Flag), ("snapshot", Text)], settings::config),
    verb("console", VMID, &[("escape", Text)], not_here),
    verb("cpusets", &[], &[], not_here),
    verb("create", &["vmid", "ostemplate"], CREATE, create::create),
    verb("delsnapshot", SNAPSHOT, &[("force", Flag)], snapshot::delete),
    verb("destroy", VMID, &[("destroy-unreferenced-disks", Flag), ("force", Flag), ("purge", Flag)], power::destroy),
    verb("df", VMID, &[], inventory::disk_free),
    verb("enter", VMID, &[("keep-env", Flag)], exec::enter),
    verb("exec", &["vmid", "extra-args"], &[("keep-env", Flag)], exec::exec),
    verb("fsck", VMID, &[("device", Text), ("force", Flag)], not_here),
    verb("fstrim", VMID, &[("ignore-mountpoints", Flag)], not_here),
    verb("list", &[], &[], list),
    verb("listsnapshot", VMID, &[], snapshot::list),
    verb("migrate", &["vmid", "target"], &[("online", Flag), ("restart", Flag), ("timeout", Integer(0))], not_here),
    verb("mount", VMID, &[], not_here),
    verb("move-volume", &["vmid", "volume"], &[("storage", Text), ("delete", Flag)], not_here),
    verb("pending", VMID, &[], settings::pending),
    verb("pull", &["vmid", "path", "destination"], &[("user", Text), ("group", Text), ("perms", Text)], exec::pull),
    verb("push", &["vmid", "file", "destination"], &[("user", Text), ("group", Text), ("perms", Text)], exec::push),
    verb("reboot", VMID, &[("timeout", Integer(0))], power::reboot),
    verb("remote-migrate", &["vmid", "target-vmid", "target-endpoint"], &[("delete", Flag)], not_here),
    verb("rescan", &[], &[("vmid", Integer(100)), ("dryrun", Flag)], not_here),
    verb("resize", &["vmid", "disk", "size"], &[("digest", Text)], settings::resize),
    verb("restore", &["vmid", "ostemplate"], CREATE, not_here),
    verb("resume", VMID, &[], not_here),
    verb("rollback", SNAPSHOT, &[("start", Flag)], snapshot::rollback),
    verb("set", VMID, SET, settings::set),
    verb("shutdown", VMID, &[("forceStop", Flag), ("timeout", Integer(0))], power::shutdown),
    verb("snapshot", SNAPSHOT, &[("description", Text)], snapshot::create),
    verb("start", VMID, &[("debug", Flag), ("skiplock", Flag)], power::start),
    verb("status", VMID, &[("verbose", Flag)], status),
    verb("stop", VMID, &[("skiplock", Flag), ("overrule-shutdown", Flag)], power::stop),
    verb("suspend", VMID, &[], not_here),
    verb("template", VMID, &[], not_here),
    verb("unlock", VMID, &[], power::unlock),
    verb("unmount", VMID, &[], not_here),
];

/// Runs `pct`.
pub fn run(host: &Host, arguments: &[String]) -> Outcome {
    dispatch("pct", VERBS, host, arguments)
}

/// A verb of the real tool that the stand-in does not carry out: it says so and changes nothing.
fn not_here(_: &Host, arguments: &Arguments) -> Outcome {
    let verb = arguments.usage.split(' ').nth(1).unwrap_or_default();
    Err(Failure::new(format!("the Proxmox stand-in does not carry out 'pct {verb}'")))
}

fn list(host: &Host, _: &Arguments) -> Outcome {
    let guests = inventory::containers(host);
    if guests.is_empty() {
        return Ok(0);
    }
    emit!("{:<10} {:<10} {:<12} {:<20}", "VMID", "Status", "Lock", "Name");
    for guest in guests {
        let lock = guest.config.lock().unwrap_or_default();
        emit!("{:<10} {:<10} {lock:<12} {:<20}", guest.vmid, guest.status(), guest.config.hostname(guest.vmid));
    }
    Ok(0)
}

fn status(host: &Host, arguments: &Arguments) -> Outcome {
    let vmid = arguments.vmid()?;
    let config = GuestConfig::load(host, vmid)?;
    let guest = inventory::Container { vmid, running: container::running(host, vmid), config };
    if !arguments.flag("verbose") {
        emit!("status: {}", guest.status());
        return Ok(0);
    }
    if let serde_json::Value::Object(fields) = inventory::container_status(host, &guest) {
        for (key, value) in fields {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            emit!("{key}: {value}");
        }
    }
    Ok(0)
}

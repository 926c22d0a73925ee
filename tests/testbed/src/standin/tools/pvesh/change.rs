//! The API calls that change containers: each leads to a verb of `pct`, and exits with 0 even when its
//! task fails, as in the real tool.

use super::super::getopt::Arguments;
use super::super::{Failure, Host, Outcome, pct, task};
use super::{no_handler, parts};

/// `pvesh create`.
pub fn create(host: &Host, arguments: &Arguments) -> Outcome {
    match parts(host, arguments)?.as_slice() {
        ["nodes", "NODE", "lxc"] => {
            let (vmid, template) = (arguments.get("vmid"), arguments.get("ostemplate"));
            let (Some(vmid), Some(template)) = (vmid, template) else {
                let missing = if vmid.is_none() { "vmid" } else { "ostemplate" };
                return Err(Failure::parameter(
                    missing,
                    "property is missing and it is not optional",
                    &arguments.usage,
                ));
            };
            delegate(host, arguments, &["create", vmid, template], &["vmid", "ostemplate"])
        }
        ["nodes", "NODE", "lxc", id, "status", verb @ ("start" | "stop" | "shutdown" | "reboot")] => {
            delegate(host, arguments, &[verb, id], &[])
        }
        ["nodes", "NODE", "lxc", id, "snapshot"] => {
            delegate(host, arguments, &["snapshot", id, arguments.get("snapname").unwrap_or_default()], &["snapname"])
        }
        ["nodes", "NODE", "lxc", id, "snapshot", name, "rollback"] => {
            delegate(host, arguments, &["rollback", id, name], &[])
        }
        _ => Err(no_handler("create", arguments)),
    }
}

/// `pvesh set`.
pub fn set(host: &Host, arguments: &Arguments) -> Outcome {
    match parts(host, arguments)?.as_slice() {
        ["nodes", "NODE", "lxc", id, "config"] => delegate(host, arguments, &["set", id], &[]),
        _ => Err(no_handler("set", arguments)),
    }
}

/// `pvesh delete`.
pub fn delete(host: &Host, arguments: &Arguments) -> Outcome {
    match parts(host, arguments)?.as_slice() {
        ["nodes", "NODE", "lxc", id] => delegate(host, arguments, &["destroy", id], &[]),
        ["nodes", "NODE", "lxc", id, "snapshot", name] => delegate(host, arguments, &["delsnapshot", id, name], &[]),
        _ => Err(no_handler("delete", arguments)),
    }
}

/// Runs the verb of `pct` behind an API call and prints the task's id. A task that fails says so in its
/// log and on standard error; the exit status stays 0.
fn delegate(host: &Host, arguments: &Arguments, words: &[&str], used: &[&str]) -> Outcome {
    let newest = || task::list(host).into_iter().next().map(|task| task.upid);
    let before = newest();
    let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    for (name, value) in &arguments.options {
        if name != "output-format" && !used.contains(&name.as_str()) {
            words.push(format!("--{name}={value}"));
        }
    }
    let outcome = pct::run(host, &words);
    let after = newest();
    match (outcome, after) {
        // Refused before a task began: that is a failed call.
        (Err(failure), after) if after == before => Err(failure),
        (outcome, Some(upid)) => {
            if let Err(failure) = outcome {
                eprintln!("{}", failure.text);
            }
            emit!("{}", if arguments.get("output-format") == Some("json") { format!("\"{upid}\"") } else { upid });
            Ok(0)
        }
        (outcome, None) => outcome,
    }
}

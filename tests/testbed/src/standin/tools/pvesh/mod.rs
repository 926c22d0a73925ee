//! `pvesh`: the part of the API tree that a client of this project reads, and the few calls that change
//! containers; those exit with 0 even when their task fails, as in the real tool.

use super::getopt::{Arguments, Kind, Parameter, Verb, dispatch};
use super::{Failure, Host, Outcome};

mod change;
mod read;
mod table;

const READ: &[Parameter] = &[
    ("output-format", Kind::Text),
    ("human-readable", Kind::Flag),
    ("noborder", Kind::Flag),
    ("noheader", Kind::Flag),
    ("quiet", Kind::Flag),
    ("noproxy", Kind::Flag),
    ("type", Kind::Text),
    ("vmid", Kind::Integer(0)),
    ("limit", Kind::Integer(0)),
    ("start", Kind::Integer(0)),
    ("errors", Kind::Flag),
    ("since", Kind::Integer(0)),
    ("until", Kind::Integer(0)),
    ("typefilter", Kind::Text),
    ("statusfilter", Kind::Text),
    ("source", Kind::Text),
    ("content", Kind::Text),
    ("storage", Kind::Text),
    ("current", Kind::Flag),
    ("enabled", Kind::Flag),
    ("userfilter", Kind::Text),
];

/// Options of the changing calls: those of the verbs that they lead to.
const CHANGE: &[Parameter] = &[
    ("output-format", Kind::Text),
    ("vmid", Kind::Integer(100)),
    ("ostemplate", Kind::Text),
    ("hostname", Kind::Text),
    ("cores", Kind::Integer(1)),
    ("memory", Kind::Integer(16)),
    ("swap", Kind::Integer(0)),
    ("rootfs", Kind::Text),
    ("storage", Kind::Text),
    ("net[n]", Kind::Text),
    ("nameserver", Kind::Text),
    ("searchdomain", Kind::Text),
    ("unprivileged", Kind::Flag),
    ("features", Kind::Text),
    ("onboot", Kind::Flag),
    ("tags", Kind::Text),
    ("description", Kind::Text),
    ("snapname", Kind::Text),
    ("force", Kind::Flag),
    ("purge", Kind::Flag),
    ("timeout", Kind::Integer(0)),
    ("forceStop", Kind::Flag),
    ("start", Kind::Flag),
    ("delete", Kind::Text),
    ("protection", Kind::Flag),
];

const PATH: &[&str] = &["api_path"];

const VERBS: &[Verb] = &[
    Verb { name: "create", positionals: PATH, options: CHANGE, run: change::create },
    Verb { name: "delete", positionals: PATH, options: CHANGE, run: change::delete },
    Verb { name: "get", positionals: PATH, options: READ, run: read::get },
    Verb { name: "ls", positionals: PATH, options: READ, run: not_here },
    Verb { name: "set", positionals: PATH, options: CHANGE, run: change::set },
    Verb { name: "usage", positionals: PATH, options: &[("verbose", Kind::Flag)], run: not_here },
];

/// Runs `pvesh`.
pub fn run(host: &Host, arguments: &[String]) -> Outcome {
    dispatch("pvesh", VERBS, host, arguments)
}

fn not_here(_: &Host, arguments: &Arguments) -> Outcome {
    let verb = arguments.usage.split(' ').nth(1).unwrap_or_default();
    Err(Failure::new(format!("the Proxmox stand-in does not carry out 'pvesh {verb}'")))
}

/// The path's parts; the node's name is replaced by `NODE` when it is this host's.
fn parts<'a>(host: &Host, arguments: &'a Arguments) -> Result<Vec<&'a str>, Failure> {
    let mut parts: Vec<&str> = arguments.positional(0).split('/').filter(|part| !part.is_empty()).collect();
    if let ["nodes", name, ..] = parts.as_slice() {
        if *name != host.settings.node && *name != "localhost" {
            return Err(Failure::new(format!(
                "hostname lookup '{name}' failed - failed to get address info for: {name}: Name or service not known"
            )));
        }
        parts[1] = "NODE";
    }
    Ok(parts)
}

fn no_handler(verb: &str, arguments: &Arguments) -> Failure {
    Failure::with_code(format!("No '{verb}' handler defined for '{}'", arguments.positional(0)), 1)
}

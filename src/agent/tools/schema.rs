//! The tools as the model is told of them. Constant, so that the provider's cache of the prefix holds.

use std::{fmt::Display, ops::RangeInclusive};

use serde_json::{Map, Value, json};

use super::LONGEST_READ;
use crate::container::{self, ContainerSpec};

/// A tool as the model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSchema {
    /// Its name.
    pub name: &'static str,
    /// What it does, when to use it.
    pub description: &'static str,
    /// JSON Schema of its arguments; an object.
    pub parameters: Value,
}

/// All tools, in the order of [`super::NAMES`].
pub fn schemas() -> Vec<ToolSchema> {
    vec![run(), create_container(), read_output(), list_inventory(), ask_operator(), finish()]
}

/// A tool whose arguments are these; required ones are marked with `!`.
fn tool(name: &'static str, description: &'static str, arguments: &[(&str, Value)]) -> ToolSchema {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, schema) in arguments {
        let plain = name.trim_end_matches('!');
        if plain != *name {
            required.push(plain);
        }
        properties.insert(plain.to_owned(), schema.clone());
    }
    let parameters = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    ToolSchema { name, description, parameters }
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn number(description: &str, (minimum, maximum): (u64, u64)) -> Value {
    json!({"type": "integer", "description": description, "minimum": minimum, "maximum": maximum})
}

fn within(description: &str, range: &RangeInclusive<u32>) -> Value {
    number(description, (u64::from(*range.start()), u64::from(*range.end())))
}

fn with_default(description: &str, default: impl Display) -> String {
    format!("{description}; {default} if not given.")
}

fn flag(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

fn run() -> ToolSchema {
    tool(
        "run",
        "Runs one shell command on one target as one observable step. You get its exit code, stdout and stderr, \
         whatever happens, and are woken when it ends. bash on hosts, sh in guests; no terminal, no stdin; every step \
         starts afresh, so working directory and variables do not carry over.",
        &[
            ("target!", text("Where to run: host:<name>, lxc:<name> or vm:<name>.")),
            ("command!", text("The command; exactly these bytes run. At most 64 KiB. It has to end by itself.")),
            ("purpose!", text("What the step is for, in one sentence for the person who reads along.")),
            (
                "declared_risk",
                json!({"type": "string", "enum": ["ReadOnly", "ConfigMutation", "Destructive"],
                    "description": "The least risk that you see in it. It can only raise the judged risk."}),
            ),
            ("timeout_seconds", number("Time limit in seconds; 600 if not given.", (1, 7200))),
        ],
    )
}

fn create_container() -> ToolSchema {
    let usual = ContainerSpec::default();
    tool(
        "create_container",
        "Creates and starts an LXC container as one step. Afterwards lxc:<hostname> is a target. Nothing is installed \
         in it: that is for your next steps. Leave out what you have no reason to choose.",
        &[
            ("host!", text("The host to create it on: host:<name>.")),
            ("hostname!", text("Its hostname: lower-case letters, digits and dashes.")),
            ("purpose!", text("What the container is for, in one sentence.")),
            ("vmid", within("VMID; the next free one if not given.", &container::VMID)),
            ("template", text("Template's volume id or file name; the newest Debian if not given.")),
            ("storage", text("Storage of the root file system; the one with the most free space if not given.")),
            ("disk_gib", within(&with_default("Root file system in GiB", usual.disk_gib()), &container::DISK_GIB)),
            ("memory_mib", within(&with_default("Memory in MiB", usual.memory_mib()), &container::MEMORY_MIB)),
            ("cores", within(&with_default("Processor cores", usual.cores()), &container::CORES)),
            ("bridge", text(&with_default("Network bridge", usual.bridge()))),
            ("address", text(&with_default("dhcp, manual, or address/prefix as in 192.0.2.10/24", usual.address()))),
            ("gateway", text("IPv4 gateway for a fixed address.")),
            ("nameserver", text("DNS server; the host's own if not given.")),
            ("unprivileged", flag(&with_default("Root is an ordinary user of the host", usual.unprivileged()))),
            ("nesting", flag(&with_default("Containers and systemd may nest", usual.nesting()))),
            ("keyctl", flag(&with_default("The keyctl system call, which Docker may want", usual.keyctl()))),
            ("on_boot", flag(&with_default("Start with the host", usual.on_boot()))),
        ],
    )
}

fn read_output() -> ToolSchema {
    tool(
        "read_output",
        "Reads more of an earlier step's output, when its result says that bytes were left out.",
        &[
            ("step!", text("The step's id, as its result names it.")),
            ("stream", json!({"type": "string", "enum": ["stdout", "stderr"], "description": "stdout if not given."})),
            ("offset", number("First byte, counted from 0.", (0, 1 << 40))),
            ("length", number("Number of bytes.", (1, u64::from(LONGEST_READ)))),
        ],
    )
}

fn list_inventory() -> ToolSchema {
    tool(
        "list_inventory",
        "Lists the hosts and guests that this namespace knows, with VMID and host, and which of them the plan covers.",
        &[],
    )
}

fn ask_operator() -> ToolSchema {
    tool(
        "ask_operator",
        "Stops and asks the operator. Only for what nobody but the operator has: a decision, a credential, a wider \
         scope. Never for leave to go on, and never because a command failed.",
        &[("question!", text("The question, with what you found out and what you need."))],
    )
}

fn finish() -> ToolSchema {
    tool(
        "finish",
        "Reports that the goal is reached and verified. Ends the plan.",
        &[
            (
                "summary!",
                text("What was done, what went wrong and how it was repaired, and how the goal was verified."),
            ),
            (
                "evidence!",
                json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 16,
                    "description": "Ids of the steps whose results show that the goal is reached; they must have succeeded."}),
            ),
        ],
    )
}

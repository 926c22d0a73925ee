//! From a call as the model wrote it to a request, or to words that tell the model how to call right.
//!
//! Booleans and numbers are read leniently, by schema; targets and risk are never guessed.

use std::{fmt::Display, ops::RangeInclusive};

use serde_json::{Map, Value};

use super::{LONGEST_READ, NAMES, Stream, ToolRequest, ToolSchema, schemas};
use crate::{
    agent::arguments::{self, Unusable},
    api::{
        ContainerSpec, Risk, Target, TargetKind, ToolCall,
        limits::{
            LONGEST_ARGUMENTS, LONGEST_COMMAND, LONGEST_NAME, LONGEST_PLAN_TEXT, LONGEST_PURPOSE, MOST_EVIDENCE,
            MOST_TIMEOUT_SECONDS,
        },
        text::shortened,
    },
    container::{self, LONGEST_TEMPLATE},
};

/// Longest text of the model that is quoted in an error, in bytes.
const LONGEST_QUOTE: usize = 120;

/// Reads a call. The error is meant for the model: what is wrong and how to call right.
pub fn parse(call: &ToolCall) -> Result<ToolRequest, String> {
    let Some(schema) = schemas().into_iter().find(|schema| schema.name == call.name) else {
        return Err(format!(
            "There is no tool {:?}. The tools are: {}. Nothing was run.",
            shortened(&call.name, LONGEST_QUOTE),
            NAMES.join(", ")
        ));
    };
    read(call, &schema).map_err(|wrong| format!("{wrong} Nothing was run. {}", usage(&schema)))
}

fn read(call: &ToolCall, schema: &ToolSchema) -> Result<ToolRequest, String> {
    let arguments = Arguments::of(call, schema)?;
    Ok(match schema.name {
        "run" => ToolRequest::Run {
            target: arguments.target("target")?,
            command: arguments.command()?,
            purpose: arguments.purpose()?,
            declared_risk: arguments.risk()?,
            timeout_seconds: arguments.number("timeout_seconds", 1, MOST_TIMEOUT_SECONDS)?,
        },
        "create_container" => ToolRequest::CreateContainer {
            host: arguments.host()?,
            container: arguments.container()?,
            purpose: arguments.purpose()?,
        },
        "read_output" => ToolRequest::ReadOutput {
            execution: arguments.required_text("step", LONGEST_NAME)?,
            stream: arguments.stream()?,
            offset: arguments.number("offset", 0, 1 << 40)?.unwrap_or(0),
            length: arguments.number("length", 1, LONGEST_READ)?.unwrap_or(LONGEST_READ),
        },
        "list_inventory" => ToolRequest::ListInventory,
        "ask_operator" => {
            ToolRequest::AskOperator { question: arguments.required_text("question", LONGEST_PLAN_TEXT)? }
        }
        _ => ToolRequest::Finish {
            summary: arguments.required_text("summary", LONGEST_PLAN_TEXT)?,
            evidence: arguments.evidence()?,
        },
    })
}

/// How the tool is called.
fn usage(schema: &ToolSchema) -> String {
    let names =
        |value: &Value| value.as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
    let required = names(&schema.parameters["required"]);
    let all = schema.parameters["properties"].as_object().map(|all| all.keys().cloned().collect::<Vec<_>>().join(", "));
    match (required.is_empty(), all.unwrap_or_default()) {
        (_, all) if all.is_empty() => format!("{} takes no arguments: {{}}.", schema.name),
        (true, all) => format!("{} takes a JSON object with: {all}.", schema.name),
        (false, all) => format!("{} takes a JSON object with: {all}; required: {required}.", schema.name),
    }
}

/// The arguments of one call. An explicit null counts as absent.
struct Arguments(Map<String, Value>);

impl Arguments {
    fn of(call: &ToolCall, schema: &ToolSchema) -> Result<Self, String> {
        let object = arguments::parse_object(&call.arguments).map_err(|unusable| match unusable {
            Unusable::Oversized(bytes) => format!(
                "The arguments had {bytes} bytes; at most {LONGEST_ARGUMENTS} are taken, and a command may have \
                 {LONGEST_COMMAND}. Write large files in several steps."
            ),
            Unusable::NotAnObject => "The arguments are not a JSON object.".to_owned(),
            Unusable::NotJson(why) => {
                let beginning = shortened(&call.arguments, LONGEST_QUOTE);
                format!("The arguments are not valid JSON ({why}). They began with {beginning:?}.")
            }
        })?;
        let object: Map<String, Value> = object.into_iter().filter(|(_, value)| !value.is_null()).collect();
        if let Some(unknown) = object.keys().find(|name| schema.parameters["properties"].get(name.as_str()).is_none()) {
            return Err(format!("There is no argument {:?}.", shortened(unknown, LONGEST_QUOTE)));
        }
        Ok(Self(object))
    }

    fn text(&self, name: &str, longest: usize) -> Result<Option<String>, String> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if text.contains('\0') => Err(format!("{name} holds a NUL byte.")),
            Some(Value::String(text)) => Ok(Some(shortened(text, longest)).filter(|text| !text.trim().is_empty())),
            Some(_) => Err(format!("{name} has to be a string.")),
        }
    }

    fn required_text(&self, name: &str, longest: usize) -> Result<String, String> {
        self.text(name, longest)?.ok_or_else(|| format!("{name} is missing or empty."))
    }

    fn purpose(&self) -> Result<Option<String>, String> {
        self.text("purpose", LONGEST_PURPOSE)
    }

    fn command(&self) -> Result<String, String> {
        match self.0.get("command") {
            Some(Value::String(command)) if command.trim().is_empty() => Err("command is empty.".to_owned()),
            Some(Value::String(command)) if command.contains('\0') => Err("command holds a NUL byte.".to_owned()),
            Some(Value::String(command)) if command.len() > LONGEST_COMMAND => Err(format!(
                "command has {} bytes; at most {LONGEST_COMMAND} are taken. Write large files in several steps.",
                command.len()
            )),
            Some(Value::String(command)) => Ok(command.clone()),
            Some(_) => Err("command has to be one string, as it would be typed into a shell.".to_owned()),
            None => Err("command is missing.".to_owned()),
        }
    }

    fn target(&self, name: &str) -> Result<Target, String> {
        match self.0.get(name) {
            Some(Value::String(text)) => text.parse().map_err(|error| format!("{error}.")),
            Some(_) => Err(format!("{name} has to be a string such as host:strong or lxc:web.")),
            None => Err(format!("{name} is missing.")),
        }
    }

    fn host(&self) -> Result<Target, String> {
        let host = self.target("host")?;
        match host.kind() {
            TargetKind::Host => Ok(host),
            _ => Err(format!("host has to be a host:<name>, and {host} is a guest.")),
        }
    }

    fn risk(&self) -> Result<Risk, String> {
        match self.0.get("declared_risk") {
            None => Ok(Risk::ReadOnly),
            Some(value) => serde_json::from_value(value.clone())
                .map_err(|_| "declared_risk has to be ReadOnly, ConfigMutation or Destructive.".to_owned()),
        }
    }

    fn stream(&self) -> Result<Stream, String> {
        match self.0.get("stream").map(Value::as_str) {
            None | Some(Some("stdout")) => Ok(Stream::Stdout),
            Some(Some("stderr")) => Ok(Stream::Stderr),
            Some(_) => Err("stream has to be stdout or stderr.".to_owned()),
        }
    }

    fn number<T>(&self, name: &str, least: T, most: T) -> Result<Option<T>, String>
    where
        T: TryFrom<u64> + PartialOrd + Display,
    {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        whole_number(value)
            .and_then(|number| T::try_from(number).ok())
            .filter(|number| least <= *number && *number <= most)
            .map(Some)
            .ok_or_else(|| format!("{name} has to be a whole number from {least} to {most}."))
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, String> {
        let wrong = || format!("{name} has to be true or false.");
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "1" => Ok(Some(true)),
                "false" | "0" => Ok(Some(false)),
                _ => Err(wrong()),
            },
            Some(value) => match whole_number(value) {
                Some(1) => Ok(Some(true)),
                Some(0) => Ok(Some(false)),
                _ => Err(wrong()),
            },
        }
    }

    fn evidence(&self) -> Result<Vec<String>, String> {
        let wrong = || format!("evidence has to be a list of 1 to {MOST_EVIDENCE} step ids.");
        let list = match self.0.get("evidence") {
            Some(Value::Array(list)) => list.clone(),
            // Some models write the list as JSON text, or only one id.
            Some(Value::String(text)) => match serde_json::from_str(text) {
                Ok(Value::Array(list)) => list,
                _ => vec![Value::String(text.clone())],
            },
            _ => return Err(wrong()),
        };
        let ids: Option<Vec<String>> = list.iter().map(|id| id.as_str().map(|id| id.trim().to_owned())).collect();
        let ids = ids.ok_or_else(wrong)?;
        let sound =
            (1..=MOST_EVIDENCE).contains(&ids.len()) && ids.iter().all(|id| !id.is_empty() && id.len() <= LONGEST_NAME);
        sound.then_some(ids).ok_or_else(wrong)
    }

    fn container(&self) -> Result<ContainerSpec, String> {
        let within = |name: &str, range: RangeInclusive<u32>| self.number(name, *range.start(), *range.end());
        // Longer than any of these may be, so that the check refuses what is too long, and nothing is cut short.
        let text = |name: &str| self.text(name, LONGEST_TEMPLATE + 1);
        let container = ContainerSpec {
            hostname: self.required_text("hostname", LONGEST_TEMPLATE + 1)?,
            vmid: within("vmid", container::VMID)?,
            template: text("template")?,
            storage: text("storage")?,
            disk_gib: within("disk_gib", container::DISK_GIB)?,
            memory_mib: within("memory_mib", container::MEMORY_MIB)?,
            cores: within("cores", container::CORES)?,
            bridge: text("bridge")?,
            address: text("address")?,
            gateway: text("gateway")?,
            nameserver: text("nameserver")?,
            unprivileged: self.flag("unprivileged")?,
            nesting: self.flag("nesting")?,
            keyctl: self.flag("keyctl")?,
            on_boot: self.flag("on_boot")?,
        };
        container.check().map_err(|invalid| format!("{invalid}."))?;
        Ok(container)
    }
}

/// A number that is whole, written as one or as text; no NaN, no fraction, no sign.
fn whole_number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn whole(number: f64) -> Option<u64> {
    // From 2^53 on, a floating-point number no longer says which whole number was meant.
    (number.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&number)).then_some(number as u64)
}

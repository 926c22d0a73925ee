//! `pvesh get`: the part of the API tree that a client of this project reads.

use serde_json::{Value, json};

use super::super::super::guest_fault::init_of;
use super::super::getopt::Arguments;
use super::super::guest_config::GuestConfig;
use super::super::inventory::{self, Container};
use super::super::{Failure, Host, Outcome, container, storage, task};
use super::{no_handler, parts, table};

/// `pvesh get`.
pub fn get(host: &Host, arguments: &Arguments) -> Outcome {
    let value = read(host, arguments)?;
    match arguments.get("output-format") {
        Some("json") => emit!("{value}"),
        Some("json-pretty") => emit!("{value:#}"),
        _ => table::print(&value),
    }
    Ok(0)
}

fn read(host: &Host, arguments: &Arguments) -> Result<Value, Failure> {
    let vmid = |text: &str| super::super::getopt::vmid(text, &arguments.usage);
    match parts(host, arguments)?.as_slice() {
        ["version"] => Ok(json!({"release": "9.0", "repoid": "025864202ebb6109", "version": "9.0.3"})),
        ["cluster", "nextid"] => next_id(host, arguments),
        ["cluster", "resources"] => Ok(resources(host, arguments)),
        ["cluster", "status"] => {
            let node = &host.settings.node;
            Ok(
                json!([{"id": format!("node/{node}"), "ip": host.settings.gateway(), "level": "", "local": 1, "name": node, "nodeid": 0, "online": 1, "type": "node"}]),
            )
        }
        ["nodes"] => {
            Ok(Value::Array(inventory::resources(host).into_iter().filter(|row| row["type"] == "node").collect()))
        }
        ["nodes", "NODE", "status"] => Ok(inventory::node_status(host)),
        ["nodes", "NODE", "version"] => Ok(json!({"release": "9.0", "repoid": "025864202ebb6109", "version": "9.0.3"})),
        ["nodes", "NODE", "lxc"] => Ok(Value::Array(
            inventory::containers(host).iter().map(|guest| inventory::container_status(host, guest)).collect(),
        )),
        ["nodes", "NODE", "lxc", id, "status", "current"] => current_status(host, vmid(id)?),
        ["nodes", "NODE", "lxc", id, "config"] => {
            let config = GuestConfig::load(host, vmid(id)?)?;
            let values = if arguments.flag("current") { config.current } else { config.effective() };
            Ok(json!(values))
        }
        ["nodes", "NODE", "lxc", id, "interfaces"] => interfaces(host, vmid(id)?),
        ["nodes", "NODE", "lxc", id, "snapshot"] => Ok(snapshots(&GuestConfig::load(host, vmid(id)?)?)),
        ["nodes", "NODE", "qemu"] => {
            Ok(Value::Array(inventory::resources(host).into_iter().filter(|row| row["type"] == "qemu").collect()))
        }
        ["nodes", "NODE", "storage"] => Ok(storages(host, arguments)),
        ["nodes", "NODE", "storage", name, "content"] => content(host, name),
        ["nodes", "NODE", "network"] => {
            let address = host.settings.gateway();
            Ok(
                json!([{"active": 1, "address": address, "autostart": 1, "bridge_ports": "", "cidr": format!("{address}/24"), "iface": "vmbr0", "method": "static", "type": "bridge"}]),
            )
        }
        ["nodes", "NODE", "tasks"] => Ok(tasks(host, arguments)),
        ["nodes", "NODE", "tasks", upid, "status"] => task_status(host, upid, arguments),
        ["nodes", "NODE", "tasks", upid, "log"] => task_log(host, upid, arguments),
        _ => Err(no_handler("get", arguments)),
    }
}

/// The rows of `/cluster/resources`, of one type when `--type` names it. Containers and virtual machines are both `vm`.
fn resources(host: &Host, arguments: &Arguments) -> Value {
    let wanted = arguments.get("type");
    let kind = |row: &Value| match row["type"].as_str().unwrap_or_default() {
        "lxc" | "qemu" => "vm".to_owned(),
        other => other.to_owned(),
    };
    let rows = inventory::resources(host).into_iter();
    Value::Array(rows.filter(|row| wanted.is_none_or(|wanted| kind(row) == wanted)).collect())
}

fn current_status(host: &Host, vmid: u32) -> Result<Value, Failure> {
    let config = GuestConfig::load(host, vmid)?;
    let guest = Container { vmid, running: container::running(host, vmid), config };
    let mut status = inventory::container_status(host, &guest);
    status["ha"] = json!({"managed": 0});
    Ok(status)
}

fn task_log(host: &Host, upid: &str, arguments: &Arguments) -> Result<Value, Failure> {
    let lines = task::log(host, upid).ok_or_else(|| no_task(arguments))?;
    let bound = |name: &str, default: usize| arguments.get(name).and_then(|text| text.parse().ok()).unwrap_or(default);
    let rows = lines.iter().enumerate().skip(bound("start", 0)).take(bound("limit", 50));
    Ok(rows.map(|(at, line)| json!({"n": at + 1, "t": line})).collect())
}

fn next_id(host: &Host, arguments: &Arguments) -> Result<Value, Failure> {
    let Some(wanted) = arguments.get("vmid") else { return Ok(json!(inventory::next_id(host).to_string())) };
    let vmid = super::super::getopt::vmid(wanted, &arguments.usage)?;
    match inventory::holder_of(host, vmid) {
        Some(_) => Err(Failure::parameter("vmid", &format!("VM {vmid} already exists"), &arguments.usage)),
        None => Ok(json!(wanted)),
    }
}

fn interfaces(host: &Host, vmid: u32) -> Result<Value, Failure> {
    GuestConfig::load(host, vmid)?;
    let init = init_of(&host.layout, vmid).ok_or_else(|| Failure::new(format!("CT {vmid} not running")))?;
    let mut command = std::process::Command::new("nsenter");
    command.args(["-t", &init.to_string(), "-n", "--", "ip", "-j", "address"]);
    let links: Value = serde_json::from_str(&super::super::super::command::run(&mut command)?).unwrap_or_default();
    let rows = links.as_array().cloned().unwrap_or_default();
    Ok(rows.iter().map(interface).collect())
}

fn interface(link: &Value) -> Value {
    let mut row = json!({"name": link["ifname"], "hwaddr": link["address"], "hardware-address": link["address"]});
    let mut addresses = Vec::new();
    for info in link["addr_info"].as_array().into_iter().flatten() {
        let address = format!("{}/{}", info["local"].as_str().unwrap_or_default(), info["prefixlen"]);
        let family = info["family"].as_str().unwrap_or("inet");
        if row.get(family).is_none() {
            row[family] = json!(address);
        }
        addresses.push(json!({"ip-address": info["local"], "ip-address-type": family, "prefix": info["prefixlen"]}));
    }
    row["ip-addresses"] = Value::Array(addresses);
    row
}

fn snapshots(config: &GuestConfig) -> Value {
    let mut rows: Vec<Value> = config
        .snapshots
        .iter()
        .map(|(name, values)| {
            let mut row = json!({"name": name, "description": values.get("description").cloned().unwrap_or_default()});
            row["snaptime"] = json!(values.get("snaptime").and_then(|text| text.parse::<u64>().ok()).unwrap_or(0));
            if let Some(parent) = values.get("parent") {
                row["parent"] = json!(parent);
            }
            row
        })
        .collect();
    let mut current = json!({"name": "current", "description": "You are here!", "running": 0});
    if let Some(parent) = config.current.get("parent") {
        current["parent"] = json!(parent);
    }
    rows.push(current);
    Value::Array(rows)
}

fn storages(host: &Host, arguments: &Arguments) -> Value {
    let (total, used, available) = storage::space(host);
    let wanted = |store: &&storage::Storage| {
        arguments.get("content").is_none_or(|kinds| kinds.split(',').any(|kind| store.content.contains(&kind)))
            && arguments.get("storage").is_none_or(|name| name == store.name)
    };
    let row = |store: &storage::Storage| {
        json!({
            "storage": store.name, "type": store.kind, "content": store.content.join(","), "active": 1, "enabled": 1,
            "shared": 0, "total": total << 10, "used": used << 10, "avail": available << 10,
            "used_fraction": if total == 0 { 0.0 } else { used as f64 / total as f64 },
        })
    };
    storage::STORAGES.iter().filter(wanted).map(row).collect()
}

fn content(host: &Host, name: &str) -> Result<Value, Failure> {
    let store = storage::find(name)?;
    if store.name == "local" {
        let templates = storage::templates(host).into_iter();
        return Ok(templates
            .map(|(file, bytes)| json!({"volid": format!("local:vztmpl/{file}"), "format": "tzst", "content": "vztmpl", "size": bytes}))
            .collect());
    }
    let guests = inventory::containers(host).into_iter();
    Ok(guests
        .filter_map(|guest| {
            let volume = guest.config.current.get("rootfs")?.split(',').next()?.to_owned();
            Some(json!({"volid": volume, "format": "raw", "content": "rootdir", "vmid": guest.vmid}))
        })
        .collect())
}

fn tasks(host: &Host, arguments: &Arguments) -> Value {
    let number = |name: &str| arguments.get(name).and_then(|text| text.parse::<u64>().ok());
    let source = arguments.get("source").unwrap_or("archive");
    let selected = task::list(host).into_iter().filter(|task| {
        let failed = task.end.as_ref().is_some_and(|(_, status)| status != "OK" && !status.starts_with("WARNINGS"));
        let finished = task.end.is_some();
        number("vmid").is_none_or(|vmid| task.id == vmid.to_string())
            && number("since").is_none_or(|since| task.start_time >= since)
            && number("until").is_none_or(|until| task.start_time <= until)
            && arguments.get("typefilter").is_none_or(|kind| task.kind == kind)
            && (!arguments.flag("errors") || failed)
            && (source == "all" || (source == "active") != finished)
    });
    let start = usize::try_from(number("start").unwrap_or(0)).unwrap_or(0);
    let limit = usize::try_from(number("limit").unwrap_or(50)).unwrap_or(50);
    selected.skip(start).take(limit).map(|task| task_row(host, &task)).collect()
}

fn task_row(host: &Host, task: &task::Listed) -> Value {
    let mut row = json!({
        "upid": task.upid, "node": host.settings.node, "pid": task.pid, "pstart": task.process_start,
        "starttime": task.start_time, "type": task.kind, "id": task.id, "user": task.user,
    });
    if let Some((end, status)) = &task.end {
        row["endtime"] = json!(end);
        row["status"] = json!(status);
    }
    row
}

fn no_task(arguments: &Arguments) -> Failure {
    Failure::parameter("upid", "unable to parse worker upid", &arguments.usage)
}

fn task_status(host: &Host, upid: &str, arguments: &Arguments) -> Result<Value, Failure> {
    let task = task::list(host).into_iter().find(|task| task.upid == upid).ok_or_else(|| no_task(arguments))?;
    let mut row = task_row(host, &task);
    row["status"] = json!(if task.end.is_some() { "stopped" } else { "running" });
    if let Some((_, status)) = &task.end {
        row["exitstatus"] = json!(status);
    }
    Ok(row)
}

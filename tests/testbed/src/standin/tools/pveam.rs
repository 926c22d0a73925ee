//! `pveam`: templates on storage and in the catalogue.

use std::fs;

use super::super::catalogue::{self, APPLIANCES};
use super::getopt::Kind::Text;
use super::getopt::{Arguments, Verb, dispatch};
use super::task::{self, Task};
use super::{Failure, Host, Outcome, storage};

const VERBS: &[Verb] = &[
    Verb { name: "available", positionals: &[], options: &[("section", Text)], run: available },
    Verb { name: "download", positionals: &["storage", "template"], options: &[], run: download },
    Verb { name: "list", positionals: &["storage"], options: &[], run: list },
    Verb { name: "remove", positionals: &["template_path"], options: &[], run: remove },
    Verb { name: "update", positionals: &[], options: &[], run: update },
];

/// Where the real tool would fetch from; it stands in messages only.
const ORIGIN: &str = "http://download.proxmox.com/images";

/// Runs `pveam`.
pub fn run(host: &Host, arguments: &[String]) -> Outcome {
    dispatch("pveam", VERBS, host, arguments)
}

fn list(host: &Host, arguments: &Arguments) -> Outcome {
    let store = storage::find(arguments.positional(0))?;
    if !store.content.contains(&"vztmpl") {
        return Err(Failure::new("Storage does not support templates!"));
    }
    let templates = storage::templates(host);
    if templates.is_empty() {
        return Ok(0);
    }
    emit!("{:<60} {:<6}", "NAME", "SIZE");
    for (name, bytes) in templates {
        let size = format!("{:.2}MB", bytes as f64 / f64::from(1 << 20));
        emit!("{:<60} {size:<6}", format!("{}:vztmpl/{name}", store.name));
    }
    Ok(0)
}

fn available(_: &Host, arguments: &Arguments) -> Outcome {
    let section = arguments.get("section");
    for appliance in APPLIANCES.iter().filter(|appliance| section.is_none_or(|wanted| wanted == appliance.section)) {
        emit!("{:<15} {}", appliance.section, appliance.template);
    }
    Ok(0)
}

fn update(host: &Host, _: &Arguments) -> Outcome {
    task::run_unchecked(host, "aptupdate", "", |_| Ok(()))?;
    emit!("update successful");
    Ok(0)
}

/// Exit status 0 even when the download fails, as in the real tool.
fn download(host: &Host, arguments: &Arguments) -> Outcome {
    let (store, template) = (arguments.positional(0), arguments.positional(1));
    let store = storage::find(store)?;
    let Some(appliance) = catalogue::find(template) else {
        return Err(Failure::parameter("template", "no such template", &arguments.usage));
    };
    if !store.content.contains(&"vztmpl") {
        return Err(Failure::new(format!("storage '{}' does not support templates", store.name)));
    }
    task::run_unchecked(host, "download", template, |task| {
        host.delay(None);
        fetch(host, task, appliance)
    })?;
    Ok(0)
}

fn fetch(host: &Host, task: &mut Task, appliance: &catalogue::Appliance) -> Result<(), Failure> {
    let name = appliance.template;
    let (url, path) = (format!("{ORIGIN}/{}/{name}", appliance.section), format!("/var/lib/vz/template/cache/{name}"));
    let target = storage::template_path(host, name);
    if storage::is_whole(host, name) && !storage::hidden(host, name) {
        return task.say("OK, got correct file already, no need to download");
    }
    task.say(&format!("downloading {url} to {path}"))?;
    if !appliance.obtainable {
        task.say("HTTP request sent, awaiting response... 404 Not Found")?;
        task.say("ERROR 404: Not Found.")?;
        return Err(Failure::new(format!(
            "download failed: command '/usr/bin/wget --progress=dot:giga -O {path}.tmp.{} {url}' failed: exit code 8",
            std::process::id()
        )));
    }
    let draft = target.with_extension(format!("tmp.{}", std::process::id()));
    fs::copy(host.layout.archive(), &draft)?;
    fs::rename(&draft, &target)?;
    task.say("calculating checksum...OK, checksum verified")?;
    task.say(&format!("download of '{url}' to '{path}' finished"))
}

fn remove(host: &Host, arguments: &Arguments) -> Outcome {
    let volume = arguments.positional(0);
    let (store, name) = storage::split_volume(volume)?;
    storage::find(store)?;
    let file = name.strip_prefix("vztmpl/").unwrap_or(name);
    let path = storage::template_path(host, file);
    if file.contains('/') || !path.exists() || storage::hidden(host, file) {
        return Err(Failure::with_code(format!("volume '{volume}' does not exist"), 2));
    }
    fs::remove_file(path)?;
    Ok(0)
}

//! What the operator applies: the host with its key, the agent with its key, the plan.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{NAMESPACE, Options, PLAN, output, parts::Parts};

/// Packs the archive that the plan installs, has the mirror answer 500 once, and writes the manifests.
pub async fn write(options: &Options, parts: &Parts) -> Result<PathBuf> {
    let host = options.dir.join("host");
    let site = host.join("www");
    fs::create_dir_all(&site)?;
    let source = options.tree.join("tests/scenarios/typetype");
    output(Command::new("tar").arg("-C").arg(source).arg("-cf").arg(site.join("typetype.tar")).arg("."))?;
    let standin = options.binaries.join("pve-standin");
    let fault = ["http-error", "--times", "1", "--match", "typetype.tar", "--status", "500"];
    output(Command::new(standin).arg("fault").arg("--dir").arg(&host).args(fault))?;
    let text = |part: &Value, key: &str| {
        part[key].as_str().map(str::to_owned).with_context(|| format!("a part did not say its {key}"))
    };
    let archive = format!("http://{}/typetype.tar", text(&parts.host, "gateway")?);
    let key = fs::read_to_string(text(&parts.host, "privateKey")?)?;
    let known = text(&parts.host, "knownHosts")?;
    let host_key = known.split_once(' ').map_or(known.as_str(), |(_, key)| key).to_owned();
    let objects = [
        object("v1", "Secret", "strong-ssh", json!({"stringData": {"key": key}})),
        object("v1", "Secret", "model", json!({"stringData": {"apiKey": "scripted"}})),
        oikos(
            "Host",
            "strong",
            json!({
                "address": parts.host["address"], "port": parts.host["port"], "user": parts.host["user"],
                "knownHostKeys": [host_key], "credentialSecretRef": {"name": "strong-ssh", "key": "key"},
            }),
        ),
        oikos(
            "Agent",
            "nomos",
            json!({
                "provider": "Anthropic", "baseURL": parts.model["url"], "model": "scripted-typetype",
                "apiKeySecretRef": {"name": "model", "key": "apiKey"},
            }),
        ),
        oikos("Plan", PLAN, plan(&archive)),
    ];
    let path = options.dir.join("typetype.yaml");
    let documents: Result<Vec<_>, _> = objects.iter().map(serde_saphyr::to_string).collect();
    fs::write(&path, documents?.join("---\n"))?;
    Ok(path)
}

fn plan(archive: &str) -> Value {
    json!({
        "goal": format!(
            "TypeType runs in a new container `typetype` on host:strong and answers on port 8082. Docker is installed \
             there as well, from Debian's packages. The archive is at {archive}."
        ),
        "targets": ["host:strong", "lxc:typetype"],
        "agentRef": {"name": "nomos"},
        "steps": [
            {
                "name": "container", "target": "host:strong", "purpose": "a container of its own",
                "createContainer": {"hostname": "typetype", "memoryMib": 1024},
            },
            {
                "name": "docker", "target": "lxc:typetype", "purpose": "Docker, from Debian",
                "run": "apt-get update && apt-get install -y --no-install-recommends docker.io",
            },
            {
                "name": "verify", "target": "lxc:typetype", "purpose": "see that it answers",
                "run": "curl -fsS http://127.0.0.1:8082/",
            },
        ],
    })
}

fn oikos(kind: &str, name: &str, spec: Value) -> Value {
    object("oikos.dev/v1alpha1", kind, name, json!({"spec": spec}))
}

fn object(api_version: &str, kind: &str, name: &str, mut rest: Value) -> Value {
    rest["apiVersion"] = json!(api_version);
    rest["kind"] = json!(kind);
    rest["metadata"] = json!({"name": name, "namespace": NAMESPACE});
    rest
}

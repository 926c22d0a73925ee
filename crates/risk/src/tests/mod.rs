//! The tables judge their own examples.

mod examples;
mod judgement;
mod lists;
mod mutation;
mod proxmox;
mod reasons;

use super::{Affected, Locus, classify, tables::TABLES};
use crate::Risk;

#[test]
fn every_line_of_every_table_is_understood() {
    assert_eq!(TABLES.faults, Vec::<String>::new());
}

#[test]
fn every_example_in_the_tables_gets_its_verdict() {
    let wrong: Vec<String> = TABLES.examples.iter().filter_map(|example| example.fault(&TABLES)).collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_guest_commands_of_the_demo_are_never_destructive() {
    let unit = "cat > /etc/systemd/system/typetype.service <<'EOF'\n[Unit]\nDescription=TypeType\n[Service]\n\
                ExecStart=/usr/bin/python3 -m http.server 8082 --directory /opt/typetype\nRestart=always\n[Install]\n\
                WantedBy=multi-user.target\nEOF";
    let reads = [
        "systemctl status typetype",
        "systemctl status typetype --no-pager",
        "curl -fsS http://127.0.0.1:8082/",
        "docker --version",
        "ls /opt",
        "ls -la /opt",
        "cat /etc/os-release",
        "cat /etc/apt/sources.list.d/*.sources",
        "systemctl is-active typetype || true",
        "command -v docker",
        "which docker || true",
        "dpkg -l docker.io",
        "journalctl -u typetype -n 50 --no-pager",
        "ss -tlnp | grep 8082",
        "df -h && free -m",
        "test -f /opt/typetype/index.html",
        "apt-cache policy docker-cli docker.io",
        "ip -br a",
        "ping -c 1 10.0.0.1",
        "sleep 2; curl -fsS http://127.0.0.1:8082/ | head -n 5",
        "dpkg -L docker.io | grep bin/",
    ];
    let changes = [
        "apt-get update",
        "apt-get install -y docker.io",
        "apt-get update && apt-get install -y --no-install-recommends docker.io",
        "systemctl start docker",
        "systemctl enable --now typetype",
        "systemctl daemon-reload",
        "mkdir -p /opt/typetype",
        "systemctl daemon-reload && systemctl enable --now typetype.service",
        "systemctl restart typetype",
        "systemd-run --unit=typetype python3 -m http.server 8082",
        "systemd-run --unit=typetype --working-directory=/opt/typetype python3 -m http.server 8082",
        "echo hello > /opt/typetype/index.html",
        "printf '<h1>hi</h1>' > /opt/typetype/index.html",
        unit,
        "cat > /opt/typetype/index.html <<'EOF'\n<html>$(x)</html>\nEOF",
        "sleep 1; mkdir -p /opt/x && cp -r a /opt/x",
        "DEBIAN_FRONTEND=noninteractive apt-get install -y docker.io",
        "apt-get install -y docker-cli",
        "python3 -m http.server 8082 --directory /opt/typetype",
        "tee /etc/docker/daemon.json <<'EOF'\n{}\nEOF",
    ];
    for command in reads {
        let verdict = classify(command, Locus::Guest);
        assert_eq!(verdict.risk, Risk::ReadOnly, "{command}: {:#?}", verdict.reasons);
    }
    for command in changes {
        let verdict = classify(command, Locus::Guest);
        assert_eq!(verdict.risk, Risk::ConfigMutation, "{command}: {:#?}", verdict.reasons);
    }
}

#[test]
fn no_option_is_listed_twice_in_one_form() {
    let mut twice = Vec::new();
    for entry in TABLES.entries() {
        let forms = std::iter::once(("", &entry.form)).chain(entry.verbs.iter().map(|verb| (verb.name, &verb.form)));
        for (verb, form) in forms {
            for (at, opt) in form.options.iter().enumerate() {
                if form.options[..at].iter().any(|other| other.name == opt.name && other.effect != opt.effect) {
                    twice.push(format!("{} {verb} {}", entry.name, opt.name));
                }
            }
        }
    }
    assert_eq!(twice, Vec::<String>::new());
}

#[test]
fn a_text_that_is_not_understood_may_act_on_any_guest_of_a_host() {
    let complex = "true; ".repeat(5000);
    for text in ["echo 'x", complex.as_str(), "ls\u{200b} /"] {
        assert!(classify(text, Locus::Host).affected.contains(&Affected::Unknown), "{text:.20}");
        assert!(!classify(text, Locus::Guest).affected.contains(&Affected::Unknown), "{text:.20}");
    }
}

#[test]
fn a_long_file_may_be_written_by_a_here_document_of_many_short_lines() {
    let body = "key = value number\n".repeat(3000);
    let text = format!("cat > /opt/app/app.conf <<'EOF'\n{body}EOF\n");
    assert!(text.len() > 50 * 1024);
    assert_eq!(classify(&text, Locus::Guest).risk, Risk::ConfigMutation);
}

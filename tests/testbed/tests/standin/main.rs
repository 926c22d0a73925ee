//! The Proxmox stand-in, through the real SSH client, on real containers. Needs root, and the packages
//! that its error names.

#![allow(clippy::unwrap_used)] // A test's helper functions may panic as the test itself may.

use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use testbed::standin::Standin;

mod faults;
mod guests;
mod host;

const TEMPLATE: &str = "local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst";
const OPTIONS: &str = "--rootfs local-lvm:8 --net0 name=eth0,bridge=vmbr0,ip=dhcp --features nesting=1,keyctl=1";

#[derive(Debug)]
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

/// A running stand-in for a node of this name.
fn start(node: &str) -> Standin {
    Standin::start_program(Path::new(env!("CARGO_BIN_EXE_pve-standin")), node).unwrap()
}

fn ran(output: &Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn run(host: &Standin, command_line: &str) -> Ran {
    ran(&host.ssh(command_line).unwrap())
}

#[track_caller]
fn succeed(host: &Standin, command_line: &str) -> String {
    let ran = run(host, command_line);
    assert_eq!(ran.code, 0, "{command_line}\nstdout: {}\nstderr: {}", ran.stdout, ran.stderr);
    ran.stdout
}

#[track_caller]
fn fail(host: &Standin, command_line: &str, code: i32, stderr: &str) {
    let ran = run(host, command_line);
    assert_eq!((ran.code, ran.stderr.trim_end()), (code, stderr), "{command_line}");
}

/// A started container whose systemd is up.
#[track_caller]
fn container(host: &Standin, vmid: u32, hostname: &str) {
    succeed(host, &format!("pct create {vmid} {TEMPLATE} --hostname {hostname} {OPTIONS} && pct start {vmid}"));
    let ready = format!("timeout 60 sh -c 'until pct exec {vmid} -- systemctl is-system-running; do sleep 0.1; done'");
    succeed(host, &ready);
}

fn address(host: &Standin, vmid: u32) -> String {
    let query = format!("pvesh get /nodes/localhost/lxc/{vmid}/interfaces --output-format json");
    let interfaces: serde_json::Value = serde_json::from_str(&succeed(host, &query)).unwrap();
    let eth0 = interfaces.as_array().unwrap().iter().find(|entry| entry["name"] == "eth0").unwrap();
    eth0["inet"].as_str().unwrap().split('/').next().unwrap().to_owned()
}

/// Whether `condition` comes true within a minute; how long it took does not matter.
fn eventually(mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

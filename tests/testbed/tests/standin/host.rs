//! The host itself: its tools' refusals, its API, its keys and connections, its end.

use std::process::{Command, Stdio};

use testbed::standin::Standin;

use super::{OPTIONS, TEMPLATE, container, eventually, fail, ran, run, start, succeed};

#[test]
fn wrong_calls_fail_with_the_real_tools_words() {
    let host = start("pve");
    let usage = "pct create <vmid> <ostemplate> [OPTIONS]";
    let create = |rest: &str| format!("pct create 102 {rest}");
    fail(
        &host,
        &create("local:vztmpl/none.tar.zst --storage local-lvm"),
        2,
        "volume 'local:vztmpl/none.tar.zst' does not exist",
    );
    fail(
        &host,
        &create(TEMPLATE),
        255,
        &format!(
            "400 Parameter verification failed.\nstorage: storage 'local' does not support container directories\n{usage}"
        ),
    );
    fail(&host, &create(&format!("{TEMPLATE} --rootfs local-lvm:8G")), 255, "unable to parse lvm volume name '8G'");
    fail(&host, &create("debian-13"), 2, "can't find file 'debian-13'");
    fail(
        &host,
        &create(&format!("{TEMPLATE} --foo 1")),
        255,
        &format!("Unknown option: foo\n400 unable to parse option\n{usage}"),
    );
    fail(&host, "pct start", 255, "400 not enough arguments\npct start <vmid> [OPTIONS]");
    fail(&host, "pvesm status --storage x", 2, "storage 'x' does not exist");
    fail(&host, "pvesh get /nope", 1, "No 'get' handler defined for '/nope'");
    for ambiguous in ["pct foo", "pct s 101", "pct st 101", "pvesh x"] {
        let answer = run(&host, ambiguous);
        let command = ambiguous.trim_end_matches(" 101");
        assert!(
            answer.stderr.starts_with(&format!("ERROR: unknown command '{command}'\nUSAGE: ")),
            "{}",
            answer.stderr
        );
        assert_eq!(answer.code, 255);
    }
    let no_such = run(&host, "pveam download local none.tar.zst");
    assert!(no_such.code == 255 && no_such.stderr.contains("template: no such template"), "{}", no_such.stderr);
    let unobtainable = run(&host, "pveam download local ubuntu-24.04-standard_24.04-2_amd64.tar.zst");
    assert!(unobtainable.code == 0 && unobtainable.stderr.contains("download failed: "), "{}", unobtainable.stderr);

    let missing_bridge = OPTIONS.replace("vmbr0", "vmbr9");
    succeed(&host, &format!("pct create 102 {TEMPLATE} {missing_bridge} --protection 1"));
    let start = run(&host, "pct start 102");
    assert!(start.code == 255 && start.stderr.ends_with("startup for container '102' failed\n"), "{}", start.stderr);
    fail(&host, "pct destroy 102", 255, "can't remove CT 102 - protection mode enabled");
    succeed(&host, "pct set 102 --protection no && echo 'lock: backup' >> /etc/pve/lxc/102.conf");
    fail(&host, "pct start 102", 255, "CT is locked (backup)");
    succeed(&host, "pct unlock 102 && pct destroy 102");
}

#[test]
fn api_calls_that_change_succeed_even_when_their_task_fails() {
    let host = start("pve");
    succeed(
        &host,
        "mkdir -p /etc/pve/qemu-server && printf 'name: nas\nmemory: 2048\n' > /etc/pve/qemu-server/100.conf",
    );
    assert!(succeed(&host, "qm list").contains("100 nas                  stopped"));
    assert_eq!(succeed(&host, "pvesh get /cluster/nextid --output-format json"), "\"101\"\n");
    let create = format!("pvesh create /nodes/pve/lxc --vmid 101 --ostemplate {TEMPLATE} {OPTIONS}");
    assert!(succeed(&host, &create).contains("UPID:pve:"));
    succeed(&host, "echo 'lock: backup' >> /etc/pve/lxc/101.conf");
    let start = run(&host, "pvesh create /nodes/pve/lxc/101/status/start");
    assert_eq!((start.code, start.stderr.as_str()), (0, "CT is locked (backup)\n"));
    let task = start.stdout.trim();
    assert!(task.starts_with("UPID:pve:") && task.contains(":vzstart:101:root@pam:"), "{task}");
    let status = succeed(&host, &format!("pvesh get /nodes/pve/tasks/{task}/status --output-format json"));
    assert!(status.contains("\"exitstatus\":\"CT is locked (backup)\""), "{status}");
    let log = succeed(&host, &format!("pvesh get /nodes/pve/tasks/{task}/log --output-format json"));
    assert!(log.contains("TASK ERROR: CT is locked (backup)"), "{log}");
    let resources: serde_json::Value =
        serde_json::from_str(&succeed(&host, "pvesh get /cluster/resources --type vm --output-format json")).unwrap();
    let ids: Vec<&str> = resources.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["lxc/101", "qemu/100"]);
}

#[test]
fn the_host_key_can_change_and_connections_can_be_cut() {
    let host = start("pve");
    let before = host.known_hosts_line().unwrap();
    let after = host.rotate_host_key().unwrap();
    assert_ne!(before, after);
    let mut stale = host.ssh_command().unwrap();
    std::fs::write(host.layout().ssh().join("known_hosts"), format!("{before}\n")).unwrap();
    let refused = ran(&stale.arg("true").stdin(Stdio::null()).output().unwrap());
    assert!(refused.code == 255 && refused.stderr.contains("HOST IDENTIFICATION HAS CHANGED"), "{}", refused.stderr);
    succeed(&host, "true");

    let mut cut = host.ssh_command().unwrap();
    let mut long = cut.arg("touch /tmp/began; sleep 300").stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(eventually(|| host.layout().join("host/tmp/began").exists()));
    host.kill_sessions().unwrap();
    assert_eq!(long.wait().unwrap().code(), Some(255));
    host.stop_sshd().unwrap();
    assert_eq!(run(&host, "true").code, 255);
    host.start_sshd().unwrap();
    succeed(&host, "true");
}

#[test]
fn nothing_is_left_after_a_drop_after_the_owners_end_and_after_the_supervisors_kill() {
    let populated = || {
        let host = start("pve");
        container(&host, 101, "web");
        succeed(&host, "setsid sleep 1000 > /dev/null 2>&1 < /dev/null & true");
        host
    };
    let traces = |host: &Standin| host.layout().root().to_owned();
    // Numbers are reused at once by other tests; the marks on bridges and tables name the directory.
    let clean = |root: &std::path::PathBuf| {
        let name = root.display().to_string();
        let mounts = format!("upperdir={name}/");
        let processes = std::fs::read_dir("/proc").unwrap().flatten().any(|process| {
            std::fs::read_to_string(process.path().join("mountinfo")).is_ok_and(|text| text.contains(&mounts))
        });
        let mentions = |program: &str, arguments: &[&str]| {
            let output = Command::new(program).args(arguments).output().unwrap();
            String::from_utf8_lossy(&output.stdout).contains(&name)
        };
        !root.exists() && !processes && !mentions("ip", &["link"]) && !mentions("nft", &["list", "ruleset"])
    };

    let dropped = populated();
    let left = traces(&dropped);
    assert!(!clean(&left));
    drop(dropped);
    assert!(clean(&left));

    // The supervisor dies first: the owner's drop finds and removes everything.
    let orphaned = populated();
    let left = traces(&orphaned);
    let kill = Command::new("kill").args(["-KILL", &orphaned.supervisor_pid().to_string()]).status().unwrap();
    assert!(kill.success());
    drop(orphaned);
    assert!(clean(&left));

    // Supervisor and owner both die: the next start on this machine sweeps.
    let doomed = populated();
    let left = traces(&doomed);
    let kill = Command::new("kill").args(["-KILL", &doomed.supervisor_pid().to_string()]).status().unwrap();
    assert!(kill.success());
    doomed.abandon();
    let next = start("pve");
    assert!(clean(&left), "the next start did not sweep");
    drop(next);

    // Nobody calls drop, as after a SIGKILL of the test: the end of the pipe is what the supervisor sees.
    let forgotten = populated();
    let left = traces(&forgotten);
    forgotten.abandon();
    assert!(eventually(|| clean(&left)), "the supervisor did not clean up after its owner's end");
}

#[test]
fn the_command_runs_a_host_until_down_and_touches_no_directory_that_it_did_not_make() {
    let program = env!("CARGO_BIN_EXE_pve-standin");
    let directory = std::path::PathBuf::from(format!("/var/lib/oikos-standin/command-{}", std::process::id()));
    let name = directory.to_str().unwrap();
    let pve_standin = |arguments: &[&str]| {
        ran(&Command::new(program).args(arguments).args(["--dir", name]).stdin(Stdio::null()).output().unwrap())
    };
    std::fs::create_dir_all(directory.join("precious")).unwrap();
    for refused in [pve_standin(&["up"]), pve_standin(&["down"])] {
        assert_eq!(refused.code, 1);
        assert!(refused.stderr.contains("is not a stand-in's directory"), "{}", refused.stderr);
    }
    std::fs::remove_dir(directory.join("precious")).unwrap();

    let mut up = Command::new(program)
        .args(["up", "--detached", "--node", "strong", "--dir", name])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(up.stdout.take().unwrap()), &mut line).unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    let stored = std::fs::read_to_string(directory.join("ready.json")).unwrap();
    assert_eq!(ready, serde_json::from_str::<serde_json::Value>(&stored).unwrap());
    assert_eq!(ready["node"], "strong");
    let again = pve_standin(&["up"]);
    assert!(again.code == 1 && again.stderr.contains("is running in"), "{}", again.stderr);
    assert_eq!(pve_standin(&["fault", "http-error", "--times", "4", "--match", "hello"]).code, 0);
    assert_eq!(std::fs::read_dir(directory.join("faults")).unwrap().count(), 1);
    assert_eq!(pve_standin(&["down"]).code, 0);
    assert!(up.wait().unwrap().success());
    assert!(!directory.exists());
    assert_eq!(pve_standin(&["down"]).code, 0);
}

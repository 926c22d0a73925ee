//! The Proxmox stand-in, through the real SSH client, on real containers. Needs root, and the packages
//! that its error names.

#![allow(clippy::unwrap_used)] // A test's helper functions may panic as the test itself may.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use testbed::standin::{Fault, FaultKind, Standin};

const TEMPLATE: &str = "local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst";
const OPTIONS: &str = "--rootfs local-lvm:8 --net0 name=eth0,bridge=vmbr0,ip=dhcp --features nesting=1,keyctl=1";

struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
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

#[test]
fn a_container_is_created_started_used_stopped_and_destroyed_with_the_real_texts_and_codes() {
    let host = Standin::start_as("strong").unwrap();
    assert_eq!(succeed(&host, "hostname; command -v pct"), "strong\n/usr/sbin/pct\n");
    assert_eq!(run(&host, "pct list").stdout, "");
    assert_eq!(succeed(&host, "pvesh get /cluster/nextid"), "100\n");
    assert!(succeed(&host, "pveam list local").contains(TEMPLATE));

    let created = run(&host, &format!("pct create 101 {TEMPLATE} --hostname web {OPTIONS}"));
    assert_eq!((created.code, created.stderr.as_str()), (0, ""));
    assert!(created.stdout.contains("extracting archive '/var/lib/vz/template/cache/debian-13"), "{}", created.stdout);
    fail(&host, &format!("pct create 101 {TEMPLATE} {OPTIONS}"), 255, "CT 101 already exists on node 'strong'");
    fail(&host, "pct exec 101 -- true", 255, "container '101' not running!");
    fail(&host, "pct stop 101", 255, "CT 101 not running");

    assert_eq!(succeed(&host, "pct start 101"), "");
    fail(&host, "pct start 101", 255, "CT 101 already running");
    assert_eq!(succeed(&host, "pct status 101"), "status: running\n");
    assert!(succeed(&host, "pct list").contains("101        running                 web"));
    let guests = host.guests();
    assert_eq!((guests.len(), guests[0].vmid, guests[0].hostname.as_str(), guests[0].running), (1, 101, "web", true));

    fail(&host, "pct des 101", 255, "unable to destroy CT 101 - container is running");
    succeed(&host, "pct shutdown 101");
    assert_eq!(succeed(&host, "pct status 101"), "status: stopped\n");
    let destroyed = succeed(&host, "pct des 101");
    assert!(destroyed.contains("successfully removed"), "{destroyed}");
    fail(&host, "pct status 101", 2, "Configuration file 'nodes/strong/lxc/101.conf' does not exist");
    let tasks = succeed(&host, "pvesh get /nodes/localhost/tasks --vmid 101 --output-format json");
    for kind in ["vzcreate", "vzstart", "vzshutdown", "vzdestroy"] {
        assert!(tasks.contains(kind), "{kind} is missing in {tasks}");
    }
}

#[test]
fn a_command_in_a_container_keeps_its_exit_code_its_streams_and_its_environment() {
    let host = Standin::start().unwrap();
    container(&host, 101, "web");
    let streams = run(&host, "pct exec 101 --keep-env 0 -- sh -c 'echo out; echo err >&2; exit 3'");
    assert_eq!((streams.code, streams.stdout.as_str(), streams.stderr.as_str()), (3, "out\n", "err\n"));
    assert_eq!(run(&host, "pct exec 101 -- sh -c 'kill -KILL $$'").code, 137);
    let missing = run(&host, "pct exec 101 -- nothing-here");
    assert_eq!(missing.code, 127);
    assert!(missing.stderr.contains("Failed to exec \"nothing-here\""), "{}", missing.stderr);
    fail(&host, "pct exec 101 -- sh -c nothing-here", 127, "sh: 1: nothing-here: not found");
    fail(
        &host,
        "pct exec 101 ls -l",
        255,
        "Unknown option: l\n400 unable to parse option\npct exec <vmid> [<extra-args>] [OPTIONS]",
    );
    let path = "pct exec 101 --keep-env 0 -- sh -c 'echo $PATH'";
    assert!(succeed(&host, path).starts_with("/usr/local/sbin:/usr/local/bin"));
    assert_eq!(succeed(&host, "pct exec 101 -- sh -c 'echo $PATH'"), "/sbin:/bin:/usr/sbin:/usr/bin\n");
    let input = "printf 'a\\0b' | pct exec 101 -- sh -c 'cat > /root/x' && pct exec 101 -- cat /root/x | od -An -c";
    assert_eq!(succeed(&host, input).split_whitespace().collect::<String>(), "a\\0b");

    succeed(&host, "echo pushed > /tmp/file && pct push 101 /tmp/file /root/pushed --perms 600");
    assert_eq!(succeed(&host, "pct exec 101 -- stat -c %a:%U /root/pushed"), "600:root\n");
    succeed(&host, "pct pull 101 /root/pushed /tmp/back && cmp /tmp/file /tmp/back");
    let failed_push = run(&host, "pct push 101 /nowhere /root/x");
    assert_eq!((failed_push.code, failed_push.stderr.trim_end()), (0, "failed to open /nowhere for reading"));
    assert!(!Path::new("/tmp/file").exists(), "the host wrote into the machine's own /tmp");
}

#[test]
fn wrong_calls_fail_with_the_real_tools_words() {
    let host = Standin::start().unwrap();
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
fn a_rollback_restores_files_and_settings_and_pending_changes_wait_for_the_next_start() {
    let host = Standin::start().unwrap();
    container(&host, 101, "web");
    succeed(&host, "pct exec 101 -- sh -c 'echo old > /root/state; rm /etc/motd' && pct snapshot 101 before");
    fail(&host, "pct snapshot 101 before", 255, "snapshot name 'before' already used");
    succeed(&host, "pct exec 101 -- sh -c 'echo new > /root/state; touch /root/more /etc/motd'");
    succeed(&host, "pct set 101 --nameserver 192.0.2.53");
    assert!(succeed(&host, "pct pending 101").contains("new nameserver: 192.0.2.53"));
    assert!(!succeed(&host, "pct config 101 --current 1").contains("nameserver"));
    assert!(succeed(&host, "pct listsnapshot 101").contains("`-> before"));
    succeed(&host, "pct rollback 101 before && pct start 101");
    assert_eq!(
        succeed(&host, "pct exec 101 -- sh -c 'cat /root/state; ls /root; test ! -e /etc/motd'"),
        "old\nstate\n"
    );
    succeed(&host, "pct delsnapshot 101 before && pct set 101 --nameserver 192.0.2.53 && pct reboot 101");
    assert_eq!(succeed(&host, "pct exec 101 -- cat /etc/resolv.conf"), "nameserver 192.0.2.53\n");
}

#[test]
fn packages_install_and_debian_13s_docker_io_has_no_docker_command() {
    let host = Standin::start().unwrap();
    container(&host, 101, "web");
    let apt = "pct exec 101 -- env DEBIAN_FRONTEND=noninteractive apt-get -q";
    succeed(&host, &format!("{apt} update"));
    succeed(&host, &format!("{apt} install -y --no-install-recommends docker.io"));
    fail(&host, "pct exec 101 -- sh -c 'docker version'", 127, "sh: 1: docker: not found");
    succeed(&host, &format!("{apt} install -y --no-install-recommends docker-cli"));
    assert!(succeed(&host, "pct exec 101 -- docker --version").starts_with("Docker version"));

    succeed(
        &host,
        "pct exec 101 -- systemd-run perl -MIO::Socket::INET -e '\
        my $s = IO::Socket::INET->new(LocalPort => 8082, Listen => 5, ReuseAddr => 1) or die;\
        while (my $c = $s->accept) { print $c \"HTTP/1.0 200 OK\\r\\n\\r\\nup\\n\"; close $c }'",
    );
    let target = format!("{}:8082", address(&host, 101));
    assert!(eventually(|| TcpStream::connect(&target).is_ok()), "nothing answers at {target}");
}

#[test]
fn a_missing_template_is_gone_until_it_is_downloaded_and_a_lost_number_is_taken_by_somebody_else() {
    let host = Standin::start().unwrap();
    host.set_fault(&Fault::new(FaultKind::TemplateMissing)).unwrap();
    assert_eq!(succeed(&host, "pveam list local"), "");
    let volume = format!("volume '{TEMPLATE}' does not exist");
    fail(&host, &format!("pct create 100 {TEMPLATE} {OPTIONS}"), 2, &volume);
    let downloaded = succeed(&host, "pveam download local debian-13-standard_13.1-2_amd64.tar.zst");
    assert!(downloaded.contains("calculating checksum...OK, checksum verified"), "{downloaded}");
    assert!(succeed(&host, "pveam list local").contains(TEMPLATE));

    host.set_fault(&Fault::new(FaultKind::VmidTaken).times(1)).unwrap();
    assert_eq!(succeed(&host, "pvesh get /cluster/nextid"), "100\n");
    let taken = "unable to create CT 100 - CT 100 already exists on node 'pve'";
    fail(&host, &format!("pct create 100 {TEMPLATE} {OPTIONS}"), 255, taken);
    assert_eq!(succeed(&host, "pvesh get /cluster/nextid"), "101\n");
    succeed(&host, &format!("pct create 101 {TEMPLATE} {OPTIONS}"));
}

#[test]
fn a_held_package_lock_a_dead_resolver_and_a_failing_mirror_last_as_long_as_they_say() {
    let host = Standin::start().unwrap();
    container(&host, 101, "web");
    host.set_fault(&Fault::new(FaultKind::AptLock).times(1)).unwrap();
    let held = run(&host, "pct exec 101 -- apt-get install -y --reinstall dash");
    assert_eq!(held.code, 100);
    assert!(
        held.stderr.contains("Could not get lock /var/lib/dpkg/lock-frontend. It is held by process"),
        "{}",
        held.stderr
    );
    assert!(held.stderr.contains("(apt-get)"), "{}", held.stderr);
    succeed(&host, "pct exec 101 -- apt-get check");

    host.set_fault(&Fault::new(FaultKind::NoDns).until("repair-dns")).unwrap();
    assert_eq!(run(&host, "pct exec 101 -- getent hosts deb.debian.org").code, 2);
    succeed(&host, "pct exec 101 -- sh -c 'echo repair-dns'");
    succeed(&host, "pct exec 101 -- getent hosts deb.debian.org");

    succeed(&host, "pct exec 101 -- apt-get update");
    // apt itself tries four times.
    host.set_fault(&Fault::new(FaultKind::HttpError).matching("pool/*hello").times(4)).unwrap();
    let install = "pct exec 101 -- apt-get install -y hello";
    let failed = run(&host, install);
    assert_eq!(failed.code, 100);
    assert!(failed.stderr.contains("500  Internal Server Error"), "{}", failed.stderr);
    succeed(&host, install);

    std::fs::write(host.layout().site().join("x"), "served").unwrap();
    let get = format!(
        "pct exec 101 -- bash -c 'exec 3<>/dev/tcp/{}/80; printf \"GET /x HTTP/1.0\\r\\nHost: {}\\r\\n\\r\\n\" >&3; cat <&3'",
        host.gateway(),
        host.gateway()
    );
    host.set_fault(&Fault::new(FaultKind::HttpError).matching("/x").times(2)).unwrap();
    for expected in ["HTTP/1.0 500", "HTTP/1.0 500", "HTTP/1.0 200"] {
        let answer = succeed(&host, &get);
        assert!(answer.starts_with(expected), "{expected} was expected: {answer}");
    }
    assert!(succeed(&host, &get).ends_with("served"));
}

#[test]
fn a_service_that_is_not_ready_refuses_the_first_connections_from_inside_and_outside() {
    let host = Standin::start().unwrap();
    container(&host, 101, "web");
    host.set_fault(&Fault::new(FaultKind::ServiceNotReady).port(8082).times(2)).unwrap();
    succeed(
        &host,
        "pct exec 101 -- systemd-run --unit web perl -MIO::Socket::INET -e '\
        my $s = IO::Socket::INET->new(LocalPort => 8082, Listen => 5, ReuseAddr => 1) or die; while ($s->accept) {}'",
    );
    let listening = "timeout 60 sh -c 'until pct exec 101 -- ss -ltn | grep -q :8082; do sleep 0.1; done'";
    succeed(&host, listening);
    let inside = "pct exec 101 -- bash -c 'exec 3<>/dev/tcp/127.0.0.1/8082'";
    assert_ne!(run(&host, inside).code, 0);
    let target = format!("{}:8082", address(&host, 101));
    assert_eq!(TcpStream::connect(&target).unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
    succeed(&host, inside);
    assert!(TcpStream::connect(&target).is_ok());

    host.set_fault(&Fault::new(FaultKind::ServiceNotReady).port(8083).seconds(1)).unwrap();
    succeed(
        &host,
        "pct exec 101 -- systemd-run --unit other perl -MIO::Socket::INET -e '\
        my $s = IO::Socket::INET->new(LocalPort => 8083, Listen => 5, ReuseAddr => 1) or die; while ($s->accept) {}'",
    );
    let inside = inside.replace("8082", "8083");
    assert_ne!(run(&host, &inside).code, 0);
    assert!(eventually(|| run(&host, &inside).code == 0), "the service never became ready");
}

#[test]
fn a_busy_lock_file_times_out_and_a_create_that_nobody_reads_is_rolled_back() {
    let host = Standin::start().unwrap();
    let cut = format!("pct create 101 {TEMPLATE} {OPTIONS} | true; echo ${{PIPESTATUS[0]}}");
    host.set_fault(&Fault::new(FaultKind::Slow).matching("pct create").times(1)).unwrap();
    let rolled_back = run(&host, &cut);
    assert_eq!(rolled_back.stdout, "255\n");
    assert_eq!(rolled_back.stderr, "unable to create CT 101 - received interrupt\n");
    assert!(host.guests().is_empty());

    succeed(&host, &format!("pct create 101 {TEMPLATE} {OPTIONS}"));
    let lock = "/run/lock/lxc/pve-config-101.lock";
    let busy = run(&host, &format!("flock {lock} -c 'pct start 101'"));
    assert_eq!(busy.code, 255);
    assert_eq!(busy.stderr, format!("trying to acquire lock...\ncan't lock file '{lock}' - got timeout\n"));
}

#[test]
fn api_calls_that_change_succeed_even_when_their_task_fails() {
    let host = Standin::start().unwrap();
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
    let host = Standin::start().unwrap();
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
    let start = || {
        let host = Standin::start().unwrap();
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

    let dropped = start();
    let left = traces(&dropped);
    assert!(!clean(&left));
    drop(dropped);
    assert!(clean(&left));

    // The supervisor dies first: the owner's drop finds and removes everything.
    let orphaned = start();
    let left = traces(&orphaned);
    let kill = Command::new("kill").args(["-KILL", &orphaned.supervisor_pid().to_string()]).status().unwrap();
    assert!(kill.success());
    drop(orphaned);
    assert!(clean(&left));

    // Supervisor and owner both die: the next start on this machine sweeps.
    let doomed = start();
    let left = traces(&doomed);
    let kill = Command::new("kill").args(["-KILL", &doomed.supervisor_pid().to_string()]).status().unwrap();
    assert!(kill.success());
    doomed.abandon();
    let next = Standin::start().unwrap();
    assert!(clean(&left), "the next start did not sweep");
    drop(next);

    // Nobody calls drop, as after a SIGKILL of the test: the end of the pipe is what the supervisor sees.
    let forgotten = start();
    let left = traces(&forgotten);
    forgotten.abandon();
    assert!(eventually(|| clean(&left)), "the supervisor did not clean up after its owner's end");
}

//! Containers: their life, commands in them, snapshots, packages, services.

use std::net::TcpStream;
use std::path::Path;

use super::{OPTIONS, TEMPLATE, address, container, eventually, fail, run, start, succeed};

#[test]
fn a_container_is_created_started_used_stopped_and_destroyed_with_the_real_texts_and_codes() {
    let host = start("strong");
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
    let host = start("pve");
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
    let leak = |options: &str| format!("LEAK=leaked pct exec 101 {options} -- sh -c 'echo $PATH $LEAK'");
    let scrubbed = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n";
    assert_eq!(succeed(&host, &leak("--keep-env 0")), scrubbed);
    assert_eq!(succeed(&host, &leak("")), "/sbin:/bin:/usr/sbin:/usr/bin leaked\n");
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
fn a_rollback_restores_files_and_settings_and_pending_changes_wait_for_the_next_start() {
    let host = start("pve");
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
    let host = start("pve");
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

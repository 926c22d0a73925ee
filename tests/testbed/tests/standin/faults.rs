//! Faults strike as they say, and end as they say.

use std::net::TcpStream;

use testbed::standin::{Fault, FaultKind};

use super::{OPTIONS, TEMPLATE, address, container, eventually, fail, run, start, succeed};

#[test]
fn a_missing_template_is_gone_until_it_is_downloaded_and_a_lost_number_is_taken_by_somebody_else() {
    let host = start("pve");
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
    let host = start("pve");
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
    // The one name that is known to resolve here: that of the mirror.
    let resolve = "pct exec 101 -- sh -c 'getent hosts $(grep -rhoE \"://[^/ ]+\" /etc/apt/sources.list* | head -n 1 | cut -c4-)'";
    assert_eq!(run(&host, resolve).code, 2);
    succeed(&host, "pct exec 101 -- sh -c 'echo repair-dns'");
    succeed(&host, resolve);

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
    let host = start("pve");
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

    host.set_fault(&Fault::new(FaultKind::ServiceNotReady).port(8083).seconds(86_400)).unwrap();
    succeed(
        &host,
        "pct exec 101 -- systemd-run --unit other perl -MIO::Socket::INET -e '\
        my $s = IO::Socket::INET->new(LocalPort => 8083, Listen => 5, ReuseAddr => 1) or die; while ($s->accept) {}'",
    );
    let inside = inside.replace("8082", "8083");
    assert_ne!(run(&host, &inside).code, 0);
    host.clear_faults();
    assert!(eventually(|| run(&host, &inside).code == 0), "the service never became ready");

    host.set_fault(&Fault::new(FaultKind::ServiceNotReady).port(8083).seconds(1)).unwrap();
    let faults =
        || std::fs::read_dir(host.layout().faults()).unwrap().flatten().any(|file| file.path().extension().is_some());
    assert!(eventually(|| !faults()), "the fault outlived its seconds");
    assert!(eventually(|| run(&host, &inside).code == 0), "the service never became ready");
}

#[test]
fn a_busy_lock_file_times_out_and_a_create_that_nobody_reads_is_rolled_back() {
    let host = start("pve");
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

//! Steps and container creation on the stand-in Proxmox host: real sshd, real containers.

// A test that cannot go on has failed: that is what unwrap and panic say here.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use oikos::container::ContainerSpec;
use oikos::steps::container::{
    ContainerOutcome, ContainerRefusal, ContainerReport, ContainerRequest, adopt_container, create_container,
};
use oikos::steps::{HostAccess, LostReason, NotStarted, Outcome, Place, Runner, SecretText, Step};
use testbed::standin::{Fault, FaultKind, Standin};
use tokio_util::sync::CancellationToken;

fn access(host: &Standin) -> HostAccess {
    HostAccess {
        name: host.node().to_owned(),
        address: host.address().to_owned(),
        port: host.port(),
        user: host.user().to_owned(),
        known_hosts: vec![host.known_hosts_line().unwrap()],
        private_key: SecretText::new(host.private_key_openssh().unwrap()),
    }
}

fn request(hostname: &str) -> ContainerRequest {
    request_with(hostname, ContainerSpec::default())
}

fn request_with(hostname: &str, container: ContainerSpec) -> ContainerRequest {
    ContainerRequest {
        container: ContainerSpec { hostname: hostname.into(), ..container },
        tags: vec!["demo".into()],
        start_within: Duration::from_secs(30),
        timeout: Duration::from_secs(900),
    }
}

fn assert_refused(report: &ContainerReport, expected: ContainerRefusal) {
    assert_eq!(report.outcome, ContainerOutcome::Refused { reason: expected }, "{report:?}");
}

async fn create(runner: &Runner, host: &Standin, request: &ContainerRequest, id: &str) -> ContainerReport {
    create_container(runner, &access(host), request, id, &CancellationToken::new()).await.unwrap()
}

fn step(vmid: u32, id: &str, mutating: bool, command: &str) -> Step {
    Step {
        attempt_id: id.into(),
        place: Place::Guest { vmid },
        command: command.into(),
        timeout: Duration::from_secs(60),
        mutating,
        start_within: Duration::from_secs(30),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_is_created_once_and_steps_run_in_it() {
    let host = tokio::task::spawn_blocking(|| Standin::start().unwrap()).await.unwrap();
    let runner = Runner::new();
    let (access, cancel) = (access(&host), CancellationToken::new());
    let facts = runner.probe(&access).await.unwrap();
    assert!(facts.pve_version.is_some_and(|version| version.starts_with("pve-manager/")));
    assert_eq!(facts.missing_tools, Vec::<String>::new());

    let web = create(&runner, &host, &request("web"), "web-1").await;
    assert_eq!(web.outcome, ContainerOutcome::Created, "{web:?}");
    let vmid = web.vmid.unwrap();
    assert!(web.template.as_deref().unwrap().contains("debian-13-standard"), "{web:?}");

    // The same call again, and its adoption, find the container and repeat nothing.
    let again = create(&Runner::new(), &host, &request("web"), "web-1").await;
    assert_eq!((again.outcome, again.vmid), (ContainerOutcome::Created, Some(vmid)));
    let adopted = adopt_container(&Runner::new(), &access, &request("web"), "web-1", &cancel).await;
    assert_eq!((adopted.outcome, adopted.vmid), (ContainerOutcome::Created, Some(vmid)));
    assert_eq!(host.guests().len(), 1);

    // Steps in a Debian 13 of the smallest kind: dash, util-linux, coreutils, no python.
    for (id, mutating) in [("in-1", true), ("in-2", false)] {
        let report =
            runner.run(&access, &step(vmid, id, mutating, "hostname; echo e >&2; exit 3"), &cancel).await.unwrap();
        assert_eq!(report.outcome, Outcome::Exited { code: 3 }, "{report:?}");
        assert_eq!((report.stdout.text.as_str(), report.stderr.text.as_str()), ("web\n", "e\n"));
        let killed = step(vmid, &format!("{id}-k"), mutating, "kill -KILL $$");
        let report = runner.run(&access, &killed, &cancel).await.unwrap();
        assert_eq!(report.outcome, Outcome::Signalled { signal: "KILL".into() });
        let slow = Step { timeout: Duration::from_secs(1), ..step(vmid, &format!("{id}-t"), mutating, "sleep 300") };
        assert_eq!(runner.run(&access, &slow, &cancel).await.unwrap().outcome, Outcome::TimedOut);
    }
    let big = step(vmid, "in-big", true, "head -c 20000000 /dev/zero");
    let report = runner.run(&access, &big, &cancel).await.unwrap();
    assert_eq!((report.stdout.bytes, report.stdout.truncated), (20_000_000, true));

    // A restart of the guest in the middle of a step is found out.
    let reboot = step(vmid, "in-reboot", true, "sleep 300");
    let (report, ()) = tokio::join!(runner.run(&access, &reboot, &cancel), async {
        let seen = step(vmid, "look", false, "until [ -e /var/lib/oikos/runs/in-reboot/started ]; do sleep 0.1; done");
        runner.run(&access, &seen, &cancel).await.unwrap();
        let stop = step(vmid, "stop-it", true, &format!("pct stop {vmid} && pct start {vmid}"));
        let stopped = runner.run(&access, &Step { place: Place::Host, ..stop }, &cancel).await.unwrap();
        assert_eq!(stopped.outcome, Outcome::Exited { code: 0 }, "{stopped:?}");
    });
    assert_eq!(report.unwrap().outcome, Outcome::Lost { reason: LostReason::Rebooted });
    let after = runner.run(&access, &step(vmid, "in-after", true, "echo up"), &cancel).await.unwrap();
    assert_eq!(after.stdout.text, "up\n", "{after:?}");

    // The name is taken now.
    let namesake = create(&runner, &host, &request("web"), "other-1").await;
    assert_eq!(namesake.outcome, ContainerOutcome::Refused { reason: ContainerRefusal::HostnameTaken });
    assert!(namesake.detail.contains(&vmid.to_string()), "{}", namesake.detail);
    tokio::task::spawn_blocking(move || drop(host)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_host_cannot_do_is_refused_with_what_it_has() {
    let host = tokio::task::spawn_blocking(|| Standin::start().unwrap()).await.unwrap();
    let runner = Runner::new();

    let ubuntu = ContainerSpec { template: Some("ubuntu-24.04".into()), ..ContainerSpec::default() };
    let report = create(&runner, &host, &request_with("web", ubuntu), "t-1").await;
    assert_refused(&report, ContainerRefusal::TemplateMissing);
    assert!(
        report.detail.contains("debian-13-standard") && report.detail.contains("pveam download"),
        "{}",
        report.detail
    );

    host.set_fault(&Fault::new(FaultKind::TemplateMissing)).unwrap();
    let report = create(&runner, &host, &request("web"), "t-2").await;
    assert_refused(&report, ContainerRefusal::TemplateMissing);
    host.clear_faults();

    let nowhere = ContainerSpec { storage: Some("nowhere".into()), ..ContainerSpec::default() };
    let report = create(&runner, &host, &request_with("web", nowhere), "t-3").await;
    assert_refused(&report, ContainerRefusal::StorageMissing);
    let report = create(&runner, &host, &request("not a name"), "t-4").await;
    assert_refused(&report, ContainerRefusal::InvalidRequest);
    assert!(host.guests().is_empty());

    // Nothing was ever begun under this id: adopting it begins nothing.
    let brief = ContainerRequest { start_within: Duration::from_secs(1), ..request("web") };
    let report = adopt_container(&runner, &access(&host), &brief, "t-5", &CancellationToken::new()).await;
    let never = ContainerOutcome::Failed { outcome: Outcome::NotStarted { reason: NotStarted::Fenced } };
    assert_eq!(report.outcome, never);
    assert!(host.guests().is_empty());
    tokio::task::spawn_blocking(move || drop(host)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_race_for_a_number_is_tried_again_unless_the_number_was_asked_for() {
    let host = tokio::task::spawn_blocking(|| Standin::start().unwrap()).await.unwrap();
    let runner = Runner::new();

    // Another one takes the number in the moment between asking for it and using it.
    host.set_fault(&Fault::new(FaultKind::VmidTaken).times(1)).unwrap();
    let web = ContainerSpec { on_boot: Some(true), ..ContainerSpec::default() };
    let report = create(&runner, &host, &request_with("web", web), "t-6").await;
    assert_eq!(report.outcome, ContainerOutcome::Created, "{report:?}");
    let vmid = report.vmid.unwrap();
    let guests = host.guests();
    assert_eq!(guests.iter().find(|guest| guest.vmid == vmid).unwrap().hostname, "web");
    host.clear_faults();

    let taken = ContainerSpec { vmid: Some(vmid), ..ContainerSpec::default() };
    let report = create(&runner, &host, &request_with("web2", taken), "t-7").await;
    assert_refused(&report, ContainerRefusal::VmidTaken);
    tokio::task::spawn_blocking(move || drop(host)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_whose_controller_died_is_finished_by_the_next_one() {
    let host = tokio::task::spawn_blocking(|| Standin::start().unwrap()).await.unwrap();
    host.set_fault(&Fault { delay: Some(3000), ..Fault::new(FaultKind::Slow).matching("pct create") }).unwrap();
    let (access, cancel) = (access(&host), CancellationToken::new());
    let first = {
        let access = access.clone();
        tokio::spawn(async move {
            create_container(&Runner::new(), &access, &request("web"), "c-1", &CancellationToken::new()).await
        })
    };
    let runner = Runner::new();
    let look = ["sh", "-c", "ls -d /var/lib/oikos/runs/c-1-create*/started"];
    loop {
        let seen = runner.query(&access, &look, Duration::from_secs(10)).await.unwrap();
        if seen.is_complete_success() {
            break;
        }
    }
    first.abort();
    let _ = first.await;
    host.kill_sessions().unwrap();
    let report = adopt_container(&Runner::new(), &access, &request("web"), "c-1", &cancel).await;
    assert_eq!(report.outcome, ContainerOutcome::Created, "{report:?}");
    assert_eq!(host.guests().len(), 1);
    tokio::task::spawn_blocking(move || drop(host)).await.unwrap();
}

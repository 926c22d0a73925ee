//! What a target has to have, and what it says about itself.

use std::time::Duration;

use oikos::steps::{NotStarted, Outcome, Place, Runner, Step};
use tokio_util::sync::CancellationToken;

use crate::sshd::Sshd;
use crate::{GUEST, run, step};

#[tokio::test]
async fn a_stopped_or_absent_guest_and_a_host_without_pct_are_told_apart() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    for mutating in [true, false] {
        for (vmid, text) in [(102, "not running"), (999, "does not exist")] {
            let step = Step { place: Place::Guest { vmid }, mutating, ..step("true") };
            let error = runner.run(&sshd.access(), &step, &CancellationToken::new()).await.unwrap_err();
            assert_eq!(error.category(), "GuestUnavailable");
            assert!(error.to_string().contains(text), "{error}");
        }
    }
    std::fs::remove_file(sshd.path("bin/pct")).unwrap();
    let step = Step { place: GUEST, ..step("true") };
    let error = runner.run(&sshd.access(), &step, &CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.category(), "PctMissing", "{error}");
}

#[tokio::test]
async fn a_target_without_the_tools_refuses_with_their_names() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    // A guest whose PATH has coreutils but no flock and no setsid.
    let tools = sshd.path("tools");
    std::fs::create_dir(&tools).unwrap();
    for tool in
        ["timeout", "mkdir", "mkfifo", "dd", "head", "tail", "wc", "grep", "env", "sh", "sync", "chmod", "uname"]
    {
        std::os::unix::fs::symlink(format!("/usr/bin/{tool}"), tools.join(tool)).unwrap();
    }
    let pct = format!(
        "#!/bin/sh\nshift 5\nexec unshare -m /bin/sh -c 'for d in /usr/local/sbin /usr/local/bin /usr/sbin; do mount \
         -t tmpfs none $d 2>/dev/null; done; mount --bind {0} /usr/bin; exec env -i PATH=/usr/bin /usr/bin/sh -s'\n",
        tools.display()
    );
    // sh is dash behind a symlink chain that the bind mount would hide: copy it.
    std::fs::remove_file(tools.join("sh")).unwrap();
    std::fs::copy("/bin/sh", tools.join("sh")).unwrap();
    for tool in ["timeout", "mkdir", "mkfifo", "dd", "head", "tail", "wc", "grep", "env", "sync", "chmod", "uname"] {
        std::fs::remove_file(tools.join(tool)).unwrap();
        std::fs::copy(format!("/usr/bin/{tool}"), tools.join(tool)).unwrap();
    }
    sshd.add_tool("pct", &pct);
    let report = run(&runner, &sshd, &Step { place: GUEST, ..step("true") }).await;
    assert_eq!(report.outcome, Outcome::NotStarted { reason: NotStarted::MissingTools }, "{report:?}");
    assert!(report.detail.contains("flock setsid"), "{report:?}");
}

#[tokio::test]
async fn a_run_directory_that_leads_elsewhere_or_is_full_is_refused() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    std::fs::create_dir(sshd.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(sshd.path("elsewhere"), sshd.runs()).unwrap();
    let refused = run(&runner, &sshd, &step("true")).await;
    assert_eq!(refused.outcome, Outcome::NotStarted { reason: NotStarted::RunDirectory }, "{refused:?}");
    std::fs::remove_file(sshd.runs()).unwrap();
    std::fs::create_dir(sshd.runs()).unwrap();
    let mount = |arguments: &[&str]| {
        assert!(std::process::Command::new("mount").args(arguments).arg(sshd.runs()).status().unwrap().success());
    };
    mount(&["-t", "tmpfs", "-o", "size=64k", "oikos-steps-test"]);
    std::fs::write(sshd.runs().join("filler"), vec![0; 60 * 1024]).unwrap();
    let full = run(&runner, &sshd, &step("true")).await;
    std::fs::remove_file(sshd.runs().join("filler")).unwrap();
    // It fills up while the command runs: the exit code is written all the same.
    let filling = format!("dd if=/dev/zero of={}/filler bs=1k 2>/dev/null; exit 6", sshd.runs().display());
    let during = run(&runner, &sshd, &step(&filling)).await;
    assert!(std::process::Command::new("umount").arg("-l").arg(sshd.runs()).status().unwrap().success());
    assert_eq!(full.outcome, Outcome::NotStarted { reason: NotStarted::RunDirectory }, "{full:?}");
    assert_eq!(during.outcome, Outcome::Exited { code: 6 }, "{during:?}");
}

#[tokio::test]
async fn facts_and_queries_come_back_whole() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    sshd.add_tool(
        "pveversion",
        "#!/bin/sh\necho 'pve-manager/9.0.3/025864202ebb6109 (running kernel: 6.14.8-2-pve)'\n",
    );
    let facts = runner.probe(&sshd.access()).await.unwrap();
    assert!(facts.pve_version.unwrap().starts_with("pve-manager/9.0.3"));
    assert_eq!(facts.missing_tools, Vec::<String>::new());
    let limit = Duration::from_secs(20);
    let raw = runner.query(&sshd.access(), &["printf", "%s|", "a b", "it's", "$x"], limit).await.unwrap();
    assert!(raw.is_complete_success());
    assert_eq!(String::from_utf8(raw.stdout).unwrap(), "a b|it's|$x|");
    let big = runner.query(&sshd.access(), &["seq", "1", "1000000"], limit).await.unwrap();
    assert_eq!((big.stdout.len(), big.truncated), (1024 * 1024, true));
    let failed = runner.query(&sshd.access(), &["sh", "-c", "echo no >&2; exit 2"], limit).await.unwrap();
    assert_eq!((failed.outcome, failed.stderr), (Outcome::Exited { code: 2 }, b"no\n".to_vec()));
}

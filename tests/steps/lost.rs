//! What cannot be known is lost, and a lost connection alone is not enough for that.

use std::sync::Arc;
use std::time::Duration;

use oikos::steps::{LostReason, Outcome, Patience, Runner, Step};
use tokio_util::sync::CancellationToken;

use crate::sshd::{Proxy, Sshd};
use crate::{read_only, run, step, until};

#[tokio::test]
async fn a_step_survives_its_connection_and_the_same_call_finds_the_result() {
    let sshd = Sshd::start().await;
    let proxy = Arc::new(Proxy::start(sshd.port).await);
    let (runner, access) = (Runner::new(), sshd.through(&proxy));
    let (begun, go) = (sshd.path("begun"), sshd.path("go"));
    let command = format!(
        "echo x >>{0}; echo before; until [ -e {1} ]; do sleep 0.1; done; echo after; exit 4",
        begun.display(),
        go.display()
    );
    let step = step(&command);
    let cutter = {
        let (proxy, begun, go) = (proxy.clone(), begun.clone(), go.clone());
        tokio::spawn(async move {
            until("the step begins", || begun.exists()).await;
            proxy.cut();
            std::fs::write(&go, "").unwrap();
            tokio::time::sleep(Duration::from_millis(300)).await;
            proxy.mend();
        })
    };
    let report = runner.run(&access, &step, &CancellationToken::new()).await.unwrap();
    cutter.await.unwrap();
    assert_eq!(report.outcome, Outcome::Exited { code: 4 }, "{report:?}");
    assert_eq!(report.stdout.text, "before\nafter\n");
    assert_eq!(sshd.read("begun"), "x\n");
}

#[tokio::test]
async fn a_lost_connection_of_a_read_only_step_is_lost_and_never_a_success() {
    let sshd = Sshd::start().await;
    let proxy = Proxy::start(sshd.port).await;
    let (runner, access) = (Runner::new(), sshd.through(&proxy));
    let begun = sshd.path("begun");
    let step = read_only(&format!("echo some; : >{}; sleep 300", begun.display()));
    let cancel = CancellationToken::new();
    let (report, ()) = tokio::join!(runner.run(&access, &step, &cancel), async {
        until("the step begins", || begun.exists()).await;
        proxy.cut();
    });
    assert_eq!(report.unwrap().outcome, Outcome::Lost { reason: LostReason::ConnectionLost });
    proxy.mend();
    let again = runner.run(&access, &read_only("echo again"), &cancel).await.unwrap();
    assert_eq!(again.stdout.text, "again\n");
}

#[tokio::test]
async fn a_host_that_stays_away_makes_the_step_lost_when_patience_ends() {
    let sshd = Sshd::start().await;
    let proxy = Proxy::start(sshd.port).await;
    let runner = Runner::with_patience(Patience { after_end: Duration::ZERO });
    let begun = sshd.path("begun");
    let step = Step {
        timeout: Duration::from_secs(1),
        start_within: Duration::from_secs(1),
        ..step(&format!(": >{}; sleep 0.2", begun.display()))
    };
    let (access, cancel) = (sshd.through(&proxy), CancellationToken::new());
    let (report, ()) = tokio::join!(runner.run(&access, &step, &cancel), async {
        until("the step begins", || begun.exists()).await;
        proxy.cut();
    });
    assert_eq!(report.unwrap().outcome, Outcome::Lost { reason: LostReason::HostUnreachable });
}

#[tokio::test]
async fn a_killed_supervisor_makes_the_step_lost_only_when_its_command_has_ended() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    let (pid, done) = (sshd.path("supervisor"), sshd.path("done"));
    // The parent of the session's leader is a subshell of the supervisor, its parent the supervisor.
    let command = format!(
        "set -- $(cat /proc/$PPID/stat); set -- $(cat /proc/$4/stat); set -- $(cat /proc/$4/stat); echo $1 >{0}; sleep 1.5; echo x >{1}",
        pid.display(),
        done.display()
    );
    let step = step(&command);
    let (access, cancel) = (sshd.access(), CancellationToken::new());
    let (report, ()) = tokio::join!(runner.run(&access, &step, &cancel), async {
        until("the supervisor is known", || sshd.read("supervisor").ends_with('\n')).await;
        let killed =
            std::process::Command::new("kill").args(["-KILL", sshd.read("supervisor").trim()]).status().unwrap();
        assert!(killed.success());
    });
    let report = report.unwrap();
    assert_eq!(report.outcome, Outcome::Lost { reason: LostReason::SupervisorVanished }, "{report:?}");
    assert!(done.exists());
}

#[tokio::test]
async fn a_restarted_target_and_a_damaged_record_make_a_step_lost() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    let cancel = CancellationToken::new();
    let (rebooted, damaged) = (step("true"), step("true"));
    for step in [&rebooted, &damaged] {
        run(&runner, &sshd, step).await;
    }
    let dir = sshd.runs().join(&rebooted.attempt_id);
    std::fs::write(dir.join("result"), "pending\n").unwrap();
    std::fs::write(dir.join("instance"), "another-boot:1\n").unwrap();
    let report = runner.adopt(&sshd.access(), &rebooted, &cancel).await;
    assert_eq!(report.outcome, Outcome::Lost { reason: LostReason::Rebooted });
    std::fs::write(sshd.runs().join(&damaged.attempt_id).join("result"), "oikos1 gar").unwrap();
    let report = runner.adopt(&sshd.access(), &damaged, &cancel).await;
    assert_eq!(report.outcome, Outcome::Lost { reason: LostReason::RecordCorrupt });
}

#[tokio::test]
async fn a_step_whose_run_directory_was_removed_is_lost_and_not_unstarted() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    let lost = Outcome::Lost { reason: LostReason::RunDirMissing };
    // What collects the output may still be making files in it: then rm fails and has to be repeated.
    let removes = step(&format!("until rm -rf {}/* 2>/dev/null; do :; done", sshd.runs().display()));
    assert_eq!(run(&runner, &sshd, &removes).await.outcome, lost);
    let daemon = sshd.path("daemon");
    let leaves = step(&format!("sleep 300 >/dev/null 2>&1 & echo $! >{}", daemon.display()));
    assert_eq!(run(&runner, &sshd, &leaves).await.outcome, Outcome::Exited { code: 0 });
    std::fs::remove_dir_all(sshd.runs().join(&leaves.attempt_id)).unwrap();
    let report = runner.adopt(&sshd.access(), &leaves, &CancellationToken::new()).await;
    std::process::Command::new("kill").arg(sshd.read("daemon").trim()).status().unwrap();
    assert_eq!(report.outcome, lost);
    let again = runner.adopt(&sshd.access(), &leaves, &CancellationToken::new()).await;
    assert_eq!(again.outcome, lost, "what proved the start is gone by now, and what it proved was kept");
}

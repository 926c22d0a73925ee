//! How a command ended comes back as it was, whatever lies between.

use std::time::Duration;

use oikos::steps::{Outcome, Place, Runner, Step};
use tokio_util::sync::CancellationToken;

use crate::sshd::Sshd;
use crate::{GUEST, run, step, until};

#[tokio::test]
async fn streams_and_exit_code_come_back_apart_from_host_and_guest_mutating_and_not() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    for place in [Place::Host, GUEST, Place::Guest { vmid: 103 }] {
        for mutating in [true, false] {
            let step = Step { place, mutating, ..step("echo out; echo err >&2; printf 'no newline'; exit 3") };
            let report = run(&runner, &sshd, &step).await;
            assert_eq!(report.outcome, Outcome::Exited { code: 3 }, "{step:?} {report:?}");
            assert_eq!(report.stdout.text, "out\nno newline");
            assert_eq!(report.stderr.text, "err\n");
            assert_eq!((report.stdout.bytes, report.stdout.truncated), (14, false));
            assert_eq!(report.stderr.sha256, "2ccde4875ec595757efdf23d7b1336fcd69cf0fb869310b12a0d219c52817b20");
        }
    }
}

#[tokio::test]
async fn a_signal_is_not_an_exit_code() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    for place in [Place::Host, GUEST] {
        for mutating in [true, false] {
            let signalled = run(&runner, &sshd, &Step { place, mutating, ..step("kill -KILL $$") }).await;
            assert_eq!(signalled.outcome, Outcome::Signalled { signal: "KILL".into() }, "{place:?} {mutating}");
            let exited = run(&runner, &sshd, &Step { place, mutating, ..step("exit 137") }).await;
            assert_eq!(exited.outcome, Outcome::Exited { code: 137 }, "{place:?} {mutating}");
        }
    }
}

#[tokio::test]
async fn an_lxc_attach_that_exits_0_on_a_signal_does_not_make_a_success() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    for mutating in [true, false] {
        let step = Step { place: Place::Guest { vmid: 103 }, mutating, ..step("kill -KILL $$") };
        assert_eq!(run(&runner, &sshd, &step).await.outcome, Outcome::Signalled { signal: "KILL".into() });
    }
}

#[tokio::test]
async fn the_target_enforces_the_time_limit() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    for (place, mutating) in [(Place::Host, true), (Place::Host, false), (GUEST, true), (GUEST, false)] {
        let command = "echo begun; trap 'echo late; exit 5' TERM; sleep 300 & wait";
        let step = Step { place, mutating, timeout: Duration::from_secs(1), ..step(command) };
        let report = run(&runner, &sshd, &step).await;
        assert_eq!(report.outcome, Outcome::TimedOut, "{report:?}");
        assert!(report.stdout.text.starts_with("begun\n"), "{report:?}");
    }
}

#[tokio::test]
async fn cancelling_ends_the_whole_tree() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    for (place, mutating) in [(Place::Host, true), (GUEST, true), (Place::Host, false)] {
        let pids = sshd.path(&format!("pids{place:?}{mutating}"));
        let command = format!(
            "(trap '' TERM; echo $BASHPID $$ >>'{0}'; setsid sh -c 'echo $$ >>\"{0}\"; sleep 300' & sleep 300)",
            pids.display()
        )
        .replace("$BASHPID", "$(cut -d\" \" -f4 /proc/self/stat)");
        let step = Step { place, mutating, timeout: Duration::from_secs(600), ..step(&command) };
        let (access, cancel) = (sshd.access(), CancellationToken::new());
        let lines = || std::fs::read_to_string(&pids).unwrap_or_default();
        let (report, ()) = tokio::join!(runner.run(&access, &step, &cancel), async {
            until("the tree stands", || lines().lines().count() >= 2).await;
            cancel.cancel();
        });
        let report = report.unwrap();
        assert_eq!(report.outcome, Outcome::Cancelled, "{report:?}");
        for pid in lines().split_whitespace() {
            let alive = std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
            assert!(!alive, "{pid} of {:?} lives: {report:?}", step.place);
        }
    }
}

#[tokio::test]
async fn cancelling_ends_a_step_whose_run_directory_was_removed() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    let pid = sshd.path("process");
    let step = step(&format!("echo $$ >{}; sleep 300; exit 0", pid.display()));
    let (access, cancel) = (sshd.access(), CancellationToken::new());
    let (report, ()) = tokio::join!(runner.run(&access, &step, &cancel), async {
        until("the command runs", || sshd.read("process").ends_with('\n')).await;
        std::fs::remove_dir_all(sshd.runs().join(&step.attempt_id)).unwrap();
        cancel.cancel();
    });
    assert_eq!(report.unwrap().outcome, Outcome::Cancelled);
    assert!(!std::path::Path::new("/proc").join(sshd.read("process").trim()).exists(), "it still runs");
}

#[tokio::test]
async fn a_command_without_run_directory_that_ignores_term_is_killed_all_the_same() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    let pid = sshd.path("process");
    let command = format!("trap '' TERM; echo $$ >{}; while :; do sleep 0.2; done", pid.display());
    let (step, access, cancel) = (step(&command), sshd.access(), CancellationToken::new());
    let (report, ()) = tokio::join!(runner.run(&access, &step, &cancel), async {
        until("the command runs", || sshd.read("process").ends_with('\n')).await;
        std::fs::remove_dir_all(sshd.runs().join(&step.attempt_id)).unwrap();
        cancel.cancel();
    });
    assert!(!matches!(report.unwrap().outcome, Outcome::NotStarted { .. } | Outcome::Exited { .. }));
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", sshd.read("process").trim()));
    assert!(!stat.is_ok_and(|stat| !stat.contains(") Z ")), "it still runs");
}

#[tokio::test]
async fn a_daemon_that_keeps_the_output_open_does_not_hold_the_step_and_is_left_alone() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    for mutating in [true, false] {
        let pid = sshd.path(&format!("pid{mutating}"));
        let command = format!("echo started; sleep 300 & echo $! >{}", pid.display());
        let report = run(&runner, &sshd, &Step { mutating, ..step(&command) }).await;
        assert_eq!(report.outcome, Outcome::Exited { code: 0 }, "{report:?}");
        assert_eq!(report.stdout.text, "started\n");
        let killed =
            std::process::Command::new("kill").arg(std::fs::read_to_string(pid).unwrap().trim()).status().unwrap();
        assert!(killed.success(), "the daemon is gone");
        assert!(!mutating || report.detail.contains("still running"), "{report:?}");
    }
}

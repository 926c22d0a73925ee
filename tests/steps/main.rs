//! Steps against a real sshd: each test is one promise of `oikos::steps`.

// A test that cannot go on has failed: that is what unwrap and panic say here.
#![allow(clippy::unwrap_used, clippy::panic)]

mod sshd;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use oikos::steps::{
    ConnectError, LostReason, NotStarted, Outcome, Patience, Place, ReadOutputError, Report, Runner, SecretText, Step,
    Stream,
};
use sshd::{Proxy, Sshd, other_public_key};
use tokio_util::sync::CancellationToken;

const GUEST: Place = Place::Guest { vmid: 101 };

fn step(command: &str) -> Step {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    Step {
        attempt_id: format!("test-{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed)),
        place: Place::Host,
        command: command.into(),
        timeout: Duration::from_secs(60),
        mutating: true,
        start_within: Duration::from_secs(60),
    }
}

fn read_only(command: &str) -> Step {
    Step { mutating: false, ..step(command) }
}

async fn run(runner: &Runner, sshd: &Sshd, step: &Step) -> Report {
    runner.run(&sshd.access(), step, &CancellationToken::new()).await.unwrap()
}

/// Waits for a condition that a process outside brings about.
async fn until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..1200 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("waited in vain: {what}");
}

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
async fn big_output_is_capped_counted_and_digested() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    let command = "dd if=/dev/zero bs=1000 count=20000 2>/dev/null | tr '\\0' 'x'; echo the end";
    let mut digests = Vec::new();
    for mutating in [true, false] {
        let report = run(&runner, &sshd, &Step { mutating, ..step(command) }).await;
        assert_eq!(report.outcome, Outcome::Exited { code: 0 });
        assert_eq!((report.stdout.bytes, report.stdout.truncated), (20_000_008, true));
        assert!(report.stdout.text.len() < 13 * 1024, "{}", report.stdout.text.len());
        assert!(report.stdout.text.ends_with("xthe end\n"));
        assert!(report.stdout.text.contains("[... 19987720 bytes left out ...]"));
        digests.push(report.stdout.sha256);
    }
    assert_eq!(digests[0].len(), 64);
    assert_eq!(digests[0], digests[1]);
}

#[tokio::test]
async fn a_command_runs_byte_for_byte_up_to_64_kib() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    let frame = "printf '%s' ''  | wc -c; exit 7\n";
    let filler = "'\\''\"$ `\\ ä".chars().cycle();
    for (place, mutating) in [(Place::Host, true), (Place::Host, false), (GUEST, true), (GUEST, false)] {
        let mut text: String = String::new();
        for character in filler.clone() {
            if text.len() + character.len_utf8() > 64 * 1024 - frame.len() - 20 {
                break;
            }
            text.push(if character == '\'' { '"' } else { character });
        }
        let command = format!("printf '%s' '{text}' | wc -c\nexit 7\n");
        let command = format!("{command}{}", "#".repeat(64 * 1024 - command.len()));
        let report = run(&runner, &sshd, &Step { place, mutating, ..step(&command) }).await;
        assert_eq!(report.outcome, Outcome::Exited { code: 7 }, "{place:?} {mutating} {report:?}");
        assert_eq!(report.stdout.text.trim(), text.len().to_string());
    }
    let quotes = format!("exit 9 #{}", "'".repeat(64 * 1024 - 8));
    assert_eq!(run(&runner, &sshd, &step(&quotes)).await.outcome, Outcome::Exited { code: 9 });
    assert_eq!(run(&runner, &sshd, &read_only(&quotes)).await.outcome, Outcome::Exited { code: 9 });
}

#[tokio::test]
async fn commands_with_nul_or_over_64_kib_are_refused_before_anything_is_sent() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    let nobody = sshd::HostAccessWithoutHost::access();
    for command in ["echo a\0b".to_string(), "x".repeat(64 * 1024 + 1), " ".into()] {
        for mutating in [true, false] {
            let step = Step { mutating, ..step(&command) };
            let report = runner.run(&nobody, &step, &CancellationToken::new()).await.unwrap();
            assert_eq!(report.outcome, Outcome::NotStarted { reason: NotStarted::Invalid });
            assert!(!report.detail.is_empty());
        }
    }
    drop(sshd);
}

#[tokio::test]
async fn eight_starts_of_one_attempt_have_one_effect_and_one_result() {
    let sshd = Arc::new(Sshd::start().await);
    let effects = sshd.path("effects");
    let step = step(&format!("echo $OIKOS_ATTEMPT >>{}; sleep 0.5; echo done", effects.display()));
    // Two controllers with four tries each.
    let runners = [Arc::new(Runner::new()), Arc::new(Runner::new())];
    let starts = (0..8).map(|number| {
        let (runner, access, step) = (runners[number % 2].clone(), sshd.access(), step.clone());
        tokio::spawn(async move { runner.run(&access, &step, &CancellationToken::new()).await.unwrap() })
    });
    for start in starts.collect::<Vec<_>>() {
        let report = start.await.unwrap();
        assert_eq!(report.outcome, Outcome::Exited { code: 0 }, "{report:?}");
        assert_eq!(report.stdout.text, "done\n");
    }
    assert_eq!(sshd.read("effects"), format!("{}\n", step.attempt_id));
}

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
async fn after_a_restart_of_the_controller_adopt_finds_the_running_step_and_then_its_result() {
    let sshd = Sshd::start().await;
    let access = sshd.access();
    for place in [Place::Host, GUEST] {
        let (begun, go) = (sshd.path(&format!("begun{place:?}")), sshd.path(&format!("go{place:?}")));
        let command =
            format!("echo x >>'{0}'; until [ -e '{1}' ]; do sleep 0.1; done; exit 4", begun.display(), go.display());
        let step = Step { place, ..step(&command) };
        let first = {
            let (access, step) = (access.clone(), step.clone());
            tokio::spawn(async move { Runner::new().run(&access, &step, &CancellationToken::new()).await })
        };
        until("the step begins", || begun.exists()).await;
        first.abort();
        let _ = first.await;
        let second = Runner::new();
        let go_on = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            std::fs::write(&go, "").unwrap();
        };
        let cancel = CancellationToken::new();
        let (running, ()) = tokio::join!(second.adopt(&access, &step, &cancel), go_on);
        assert_eq!(running.outcome, Outcome::Exited { code: 4 });
        let finished = Runner::new().adopt(&access, &step, &cancel).await;
        assert_eq!(finished.outcome, Outcome::Exited { code: 4 });
        let repeated = Runner::new().run(&access, &step, &cancel).await.unwrap();
        assert_eq!(repeated.outcome, Outcome::Exited { code: 4 });
        assert_eq!(std::fs::read_to_string(&begun).unwrap(), "x\n");
    }
}

#[tokio::test]
async fn adopting_an_attempt_that_never_started_forbids_it_for_ever() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    let step = step(&format!("echo x >{}", sshd.path("effect").display()));
    let never = Outcome::NotStarted { reason: NotStarted::Fenced };
    let adopted = runner.adopt(&sshd.access(), &step, &CancellationToken::new()).await;
    assert_eq!(adopted.outcome, never);
    assert!(sshd.runs().join(&step.attempt_id).join("fenced").exists());
    assert_eq!(run(&runner, &sshd, &step).await.outcome, never);
    assert!(!sshd.path("effect").exists());
}

#[tokio::test]
async fn a_start_that_comes_too_late_is_refused_and_leaves_no_claim() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    let go = sshd.path("go");
    let holder = step(&format!("until [ -e {} ]; do sleep 0.1; done", go.display()));
    let begun = sshd.runs().join(&holder.attempt_id).join("started");
    let late = Step { start_within: Duration::from_secs(1), ..step("true") };
    let (access, cancel) = (sshd.access(), CancellationToken::new());
    let (held, ()) = tokio::join!(runner.run(&access, &holder, &cancel), async {
        until("the holder begins", || begun.exists()).await;
        let report = run(&runner, &sshd, &late).await;
        assert_eq!(report.outcome, Outcome::NotStarted { reason: NotStarted::Busy }, "{report:?}");
        std::fs::write(&go, "").unwrap();
    });
    assert_eq!(held.unwrap().outcome, Outcome::Exited { code: 0 });
    assert!(!sshd.runs().join(&late.attempt_id).exists());
    let expired = Step { start_within: Duration::ZERO, ..step("true") };
    let report = run(&runner, &sshd, &expired).await;
    assert_eq!(report.outcome, Outcome::NotStarted { reason: NotStarted::TooLate });
    assert!(!sshd.runs().join(&expired.attempt_id).exists());
}

#[tokio::test]
async fn a_packet_that_is_held_up_cannot_start_a_step_after_its_time() {
    let sshd = Sshd::start().await;
    let proxy = Proxy::start(sshd.port).await;
    let (runner, access, cancel) = (Runner::new(), sshd.through(&proxy), CancellationToken::new());
    runner.run(&access, &step("true"), &cancel).await.unwrap();
    let effect = sshd.path("effect");
    let late = Step { start_within: Duration::from_secs(1), ..step(&format!("echo x >{}", effect.display())) };
    proxy.hold();
    let (report, ()) = tokio::join!(runner.run(&access, &late, &cancel), async {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        proxy.mend();
    });
    assert_eq!(report.unwrap().outcome, Outcome::NotStarted { reason: NotStarted::TooLate });
    assert!(!effect.exists() && !sshd.runs().join(&late.attempt_id).exists());
}

#[tokio::test]
async fn a_packet_that_is_held_up_cannot_start_a_step_that_another_controller_found_not_started() {
    let sshd = Sshd::start().await;
    let proxy = Proxy::start(sshd.port).await;
    let (first, access, cancel) = (Runner::new(), sshd.through(&proxy), CancellationToken::new());
    first.run(&access, &step("true"), &cancel).await.unwrap();
    let effect = sshd.path("effect");
    let step = step(&format!("echo x >{}", effect.display()));
    let never = Outcome::NotStarted { reason: NotStarted::Fenced };
    proxy.hold();
    let (report, ()) = tokio::join!(first.run(&access, &step, &cancel), async {
        let found = Runner::new().adopt(&sshd.access(), &step, &cancel).await;
        assert_eq!(found.outcome, never);
        proxy.mend();
    });
    assert_eq!(report.unwrap().outcome, never);
    assert!(!effect.exists());
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
async fn cancelling_before_the_start_starts_nothing() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    let effect = sshd.path("effect");
    let (cancel, step) = (CancellationToken::new(), step(&format!("echo x >{}", effect.display())));
    cancel.cancel();
    let report = runner.run(&sshd.access(), &step, &cancel).await.unwrap();
    assert_eq!(report.outcome, Outcome::Cancelled);
    let report = runner.adopt(&sshd.access(), &step, &cancel).await;
    assert_eq!(report.outcome, Outcome::Cancelled, "{report:?}");
    assert_eq!(run(&runner, &sshd, &step).await.outcome, Outcome::NotStarted { reason: NotStarted::Fenced });
    assert!(!effect.exists());
}

#[tokio::test]
async fn a_wrong_or_missing_pin_means_no_connection_and_an_error_that_says_what_to_do() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    let wrong = oikos::steps::HostAccess { known_hosts: vec![other_public_key()], ..sshd.access() };
    let error = runner.probe(&wrong).await.unwrap_err();
    let ConnectError::HostKeyMismatch { expected, offered, .. } = &error else { panic!("{error}") };
    assert!(expected[0].contains("SHA256:") && offered.contains("SHA256:") && &expected[0] != offered);
    assert!(error.to_string().contains(offered) && error.to_string().contains("replace its known host keys"));
    let none = oikos::steps::HostAccess { known_hosts: vec![], ..sshd.access() };
    assert_eq!(runner.probe(&none).await.unwrap_err().category(), "UnknownHostKey");
    let cancel = CancellationToken::new();
    let effect = step(&format!("echo x >{}", sshd.path("effect").display()));
    assert_eq!(runner.run(&wrong, &effect, &cancel).await.unwrap_err().category(), "HostKeyMismatch");
    assert!(!sshd.path("effect").exists());
    assert!(!sshd.read("log").contains("Accepted"));
    runner.probe(&sshd.access()).await.unwrap();
}

#[tokio::test]
async fn an_unreachable_host_a_refused_key_and_a_bad_key_are_told_apart() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    let nobody = sshd::HostAccessWithoutHost::access();
    assert_eq!(runner.probe(&nobody).await.unwrap_err().category(), "HostUnreachable");
    std::fs::write(sshd.path("authorized"), other_public_key()).unwrap();
    let error = runner.probe(&sshd.access()).await.unwrap_err();
    assert_eq!(error.category(), "AuthFailed", "{error}");
    let bad = oikos::steps::HostAccess { private_key: SecretText::new("not a key"), ..sshd.access() };
    let error = runner.probe(&bad).await.unwrap_err();
    assert_eq!(error.category(), "BadKey");
    assert!(!format!("{error} {error:?} {bad:?}").contains("not a key"));
}

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
async fn no_more_than_eight_channels_are_open_at_once_and_the_others_wait() {
    let sshd = Arc::new(Sshd::start().await);
    let runner = Arc::new(Runner::new());
    let dir = sshd.path("seats");
    std::fs::create_dir(&dir).unwrap();
    let command = format!("cd {0}; : >s$$; ls | wc -l; sleep 0.3; rm s$$", dir.display());
    let steps: Vec<_> = (0..20)
        .map(|_| {
            let (runner, access, step) = (runner.clone(), sshd.access(), read_only(&command));
            tokio::spawn(async move { runner.run(&access, &step, &CancellationToken::new()).await.unwrap() })
        })
        .collect();
    for step in steps {
        let report = step.await.unwrap();
        assert_eq!(report.outcome, Outcome::Exited { code: 0 }, "{report:?}");
        let seats: u32 = report.stdout.text.trim().parse().unwrap();
        assert!(seats <= 8, "{seats}");
    }
    assert_eq!(sshd.read("log").matches("Accepted").count(), 1);
}

#[tokio::test]
async fn a_server_that_allows_one_session_makes_steps_wait_and_none_fail() {
    let sshd = Arc::new(Sshd::start_with("MaxSessions 1").await);
    let runner = Arc::new(Runner::new());
    let steps: Vec<_> = (0..10)
        .map(|number| {
            let (runner, access) = (runner.clone(), sshd.access());
            let step = Step { mutating: number % 2 == 0, ..step("echo seated") };
            tokio::spawn(async move { runner.run(&access, &step, &CancellationToken::new()).await.unwrap() })
        })
        .collect();
    for step in steps {
        assert_eq!(step.await.unwrap().stdout.text, "seated\n");
    }
}

#[tokio::test]
async fn the_pinned_one_of_several_host_keys_is_asked_for() {
    let path = std::env::temp_dir().join(format!("oikos-steps-ecdsa-{}", std::process::id()));
    let made = std::process::Command::new("ssh-keygen").args(["-q", "-t", "ecdsa", "-N", "", "-f"]).arg(&path).status();
    assert!(made.unwrap().success());
    let sshd = Sshd::start_with(&format!("HostKey {}", path.display())).await;
    let key = std::fs::read_to_string(path.with_extension("pub")).unwrap();
    let access = oikos::steps::HostAccess { known_hosts: vec![key], ..sshd.access() };
    let answer = Runner::new().probe(&access).await;
    std::fs::remove_file(path.with_extension("pub")).unwrap();
    std::fs::remove_file(path).unwrap();
    answer.unwrap();
    Runner::new().probe(&sshd.access()).await.unwrap();
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
}

#[tokio::test]
async fn output_that_was_removed_from_the_run_directory_does_not_hide_the_exit_code() {
    let (sshd, runner) = (Sshd::start().await, Runner::with_patience(Patience { after_end: Duration::from_secs(20) }));
    let command = format!(
        "cd {}/$OIKOS_ATTEMPT || exit; until rm err.head; do :; done; echo problem >&2; exit 6",
        sshd.runs().display()
    );
    let step = Step { timeout: Duration::from_secs(5), start_within: Duration::from_secs(5), ..step(&command) };
    let report = run(&runner, &sshd, &step).await;
    assert_eq!(report.outcome, Outcome::Exited { code: 6 }, "{report:?}");
    assert!(report.stderr.truncated && report.stderr.bytes > 0, "{report:?}");
    let again = runner.adopt(&sshd.access(), &step, &CancellationToken::new()).await;
    assert_eq!(again.outcome, Outcome::Exited { code: 6 }, "{again:?}");
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

#[tokio::test]
async fn the_environment_is_scrubbed_and_signals_have_their_default_action() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    for (place, mutating) in [(Place::Host, true), (Place::Host, false), (GUEST, true), (GUEST, false)] {
        // Signals 32 and up are the C library's own.
        let command = "env | sort; test -t 0 || echo no tty; cat; umask; grep SigIgn /proc/self/status | cut -c 18-";
        let report = run(&runner, &sshd, &Step { place, mutating, ..step(command) }).await;
        let text = report.stdout.text;
        for line in [
            "HOME=/root",
            "LC_ALL=C.UTF-8",
            "DEBIAN_FRONTEND=noninteractive",
            "NEEDRESTART_MODE=a",
            "PAGER=cat",
            "TERM=dumb",
            "no tty",
            "0022",
            "0000000",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {place:?} {mutating}\n{text}");
        }
        assert!(text.contains("\nPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"), "{text}");
        assert!(!text.contains("OIKOS_RUNS") && !text.contains("SSH_"), "{text}");
    }
}

#[tokio::test]
async fn noise_of_a_login_shell_is_not_output() {
    let sshd = Sshd::start_with("").await;
    // bash reads this file when it believes to be started by sshd, which an unset SHLVL tells it.
    std::fs::write(sshd.path(".bashrc"), "echo 'Welcome to the node'; echo 'careful' >&2\n").unwrap();
    let config = std::fs::read_to_string(sshd.path("config")).unwrap().replace(" SHLVL=1", "");
    std::fs::write(sshd.path("config"), config).unwrap();
    sshd.reload().await;
    let runner = Runner::new();
    for mutating in [true, false] {
        let report = run(&runner, &sshd, &Step { mutating, ..step("echo out; echo err >&2") }).await;
        assert_eq!((report.stdout.text.as_str(), report.stderr.text.as_str()), ("out\n", "err\n"), "{report:?}");
    }
}

#[tokio::test]
async fn output_is_kept_on_the_target_and_can_be_read_in_parts() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    for place in [Place::Host, GUEST] {
        let step = Step { place, ..step("seq 1 400000; echo problem >&2") };
        let report = run(&runner, &sshd, &step).await;
        let whole: String = (1..=400_000).map(|number| format!("{number}\n")).collect();
        assert_eq!(report.stdout.bytes, whole.len() as u64);
        let read = |stream, offset, length| {
            let (runner, access, id) = (&runner, sshd.access(), step.attempt_id.clone());
            async move { runner.read_output(&access, &id, place, stream, offset, length).await }
        };
        let part = read(Stream::Stdout, 100, 1000).await.unwrap();
        assert_eq!((part.offset, part.total), (100, whole.len() as u64));
        assert_eq!(part.bytes, &whole.as_bytes()[100..1100]);
        // The middle was not kept: the answer begins where output is kept again.
        let part = read(Stream::Stdout, 600_000, 1000).await.unwrap();
        assert_eq!(part.offset, whole.len() as u64 - 524_288);
        let end = read(Stream::Stdout, whole.len() as u64 - 10, 1000).await.unwrap();
        assert_eq!(end.bytes, &whole.as_bytes()[whole.len() - 10..]);
        assert_eq!(end.next_offset(), end.total);
        let error = read(Stream::Stderr, 0, 100).await.unwrap();
        assert_eq!(error.bytes, b"problem\n");
    }
    let absent = runner.read_output(&sshd.access(), "never-1", Place::Host, Stream::Stdout, 0, 10).await;
    assert_eq!(absent, Err(ReadOutputError::Absent("never-1".into())));
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
    assert!(facts.uptime > Duration::ZERO && facts.instance_id.contains(':'));
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

//! An attempt starts at most once, and not after its time.

use std::sync::Arc;
use std::time::Duration;

use oikos::steps::{NotStarted, Outcome, Place, Runner, Step};
use tokio_util::sync::CancellationToken;

use crate::sshd::{Proxy, Sshd};
use crate::{GUEST, run, step, until};

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

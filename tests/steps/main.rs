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
            assert_eq!(report.stderr.sha256, "1e1d2b4a0d3d8f7e7d5f2c0d0a7c3d9e", "digest");
        }
    }
}

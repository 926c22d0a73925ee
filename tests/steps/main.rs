//! Steps against a real sshd: each test is one promise of `oikos::steps`.

// A test that cannot go on has failed: that is what unwrap and panic say here.
#![allow(clippy::unwrap_used, clippy::panic)]

mod commands;
mod connections;
mod endings;
mod lost;
mod one_start;
mod output;
mod sshd;
mod targets;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use oikos::steps::{Place, Report, Runner, Step};
use sshd::Sshd;
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

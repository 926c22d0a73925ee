//! What a command printed is kept, counted and told from other noise.

use std::time::Duration;

use oikos::steps::{Outcome, Patience, Place, ReadOutputError, Runner, Step, Stream};
use tokio_util::sync::CancellationToken;

use crate::sshd::Sshd;
use crate::{GUEST, run, step};

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

//! The command that was given runs, in a clean environment, or is refused before it is sent.

use oikos::steps::{NotStarted, Outcome, Place, Runner, Step};
use tokio_util::sync::CancellationToken;

use crate::sshd::{HostAccessWithoutHost, Sshd};
use crate::{GUEST, read_only, run, step};

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
    let nobody = HostAccessWithoutHost::access();
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

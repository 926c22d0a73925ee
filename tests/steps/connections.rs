//! Connections: pinned keys, login, the number of channels.

use std::sync::Arc;

use oikos::steps::{ConnectError, HostAccess, Outcome, Runner, SecretText, Step};
use tokio_util::sync::CancellationToken;

use crate::sshd::{HostAccessWithoutHost, Sshd, other_public_key};
use crate::{read_only, step};

#[tokio::test]
async fn a_wrong_or_missing_pin_means_no_connection_and_an_error_that_says_what_to_do() {
    let (sshd, runner) = (Sshd::start().await, Runner::new());
    let wrong = HostAccess { known_hosts: vec![other_public_key()], ..sshd.access() };
    let error = runner.probe(&wrong).await.unwrap_err();
    let ConnectError::HostKeyMismatch { expected, offered, .. } = &error else { panic!("{error}") };
    assert!(expected[0].contains("SHA256:") && offered.contains("SHA256:") && &expected[0] != offered);
    assert!(error.to_string().contains(offered) && error.to_string().contains("replace its known host keys"));
    let none = HostAccess { known_hosts: vec![], ..sshd.access() };
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
    let nobody = HostAccessWithoutHost::access();
    assert_eq!(runner.probe(&nobody).await.unwrap_err().category(), "HostUnreachable");
    std::fs::write(sshd.path("authorized"), other_public_key()).unwrap();
    let error = runner.probe(&sshd.access()).await.unwrap_err();
    assert_eq!(error.category(), "AuthFailed", "{error}");
    let bad = HostAccess { private_key: SecretText::new("not a key"), ..sshd.access() };
    let error = runner.probe(&bad).await.unwrap_err();
    assert_eq!(error.category(), "BadKey");
    assert!(!format!("{error} {error:?} {bad:?}").contains("not a key"));
}

#[tokio::test]
async fn the_pinned_one_of_several_host_keys_is_asked_for() {
    let path = std::env::temp_dir().join(format!("oikos-steps-ecdsa-{}", std::process::id()));
    let made = std::process::Command::new("ssh-keygen").args(["-q", "-t", "ecdsa", "-N", "", "-f"]).arg(&path).status();
    assert!(made.unwrap().success());
    let sshd = Sshd::start_with(&format!("HostKey {}", path.display())).await;
    let key = std::fs::read_to_string(path.with_extension("pub")).unwrap();
    let access = HostAccess { known_hosts: vec![key], ..sshd.access() };
    let answer = Runner::new().probe(&access).await;
    std::fs::remove_file(path.with_extension("pub")).unwrap();
    std::fs::remove_file(path).unwrap();
    answer.unwrap();
    Runner::new().probe(&sshd.access()).await.unwrap();
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

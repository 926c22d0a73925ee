//! Hosts that cannot be reached: the reason stands on the Host and on the step, with what to do about it.

use std::process::Command;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use oikos::api::{ConnectionReason, ExecutionPhase, Host, PlanPhase};
use serde_json::{Value, json};

use crate::harness::{Lab, QUICK, step};

/// A new SSH key: private text, and the public half as `<type> <base64>`.
fn key_pair(lab: &Lab) -> (String, String) {
    let path = lab.standin.layout().join("another-key");
    let mut keygen = Command::new("ssh-keygen");
    keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"]).arg(&path);
    assert!(keygen.status().unwrap().success());
    let public = std::fs::read_to_string(path.with_extension("pub")).unwrap();
    (std::fs::read_to_string(&path).unwrap(), public.trim().to_owned())
}

async fn ready(lab: &Lab, host: &str, status: &str) -> Condition {
    let conditions = |host: &Host| host.status.as_ref().map(|it| it.conditions.clone()).unwrap_or_default();
    let is = |it: &Condition| it.type_ == "Ready" && it.status == status;
    let found = lab.until(host, &format!("Ready {status}"), |host: &Host| conditions(host).iter().any(is)).await;
    conditions(&found).into_iter().find(is).unwrap()
}

/// The host's condition and the end of a step there both give this reason and these words.
async fn is_said(lab: &Lab, host: Value, reason: &str, words: &[&str]) {
    let name = host["metadata"]["name"].as_str().unwrap().to_owned();
    lab.apply(&host).await;
    let target = format!("host:{name}");
    let steps = json!([{"name": "change", "target": target, "run": QUICK}]);
    lab.plan(&name, json!({"targets": [target], "steps": steps})).await;
    let condition = ready(lab, &name, "False").await;
    lab.approve(&name).await;
    lab.plan_until(&name, PlanPhase::Failed).await;
    let step = lab.execution_until(&format!("{name}-1-1"), ExecutionPhase::Failed).await;
    let message = step.message.unwrap();
    assert_eq!(
        (condition.reason.as_str(), step.reason.map(|code| code.to_string())),
        (reason, Some(reason.to_owned()))
    );
    for word in words {
        assert!(condition.message.contains(word), "{word:?} in {}", condition.message);
        assert!(message.contains(word), "{word:?} in {message}");
    }
    assert!(message.ends_with("nothing ran"), "{message}");
}

#[tokio::test]
async fn an_unreachable_host_is_named_with_its_address() {
    let lab = Lab::new("closed").await;
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let mut host = lab.host("closed");
    host["spec"]["port"] = json!(port);
    is_said(&lab, host, "HostUnreachable", &[&format!("127.0.0.1:{port}"), "refused"]).await;
}

#[tokio::test]
async fn a_missing_secret_or_key_of_a_secret_is_named() {
    let lab = Lab::new("secret").await;
    let mut host = lab.host("nosecret");
    host["spec"]["credentialSecretRef"] = json!({"name": "absent", "key": "id"});
    is_said(&lab, host, "MissingSecret", &["there is no Secret \"absent\"", "\"id\""]).await;
    let mut host = lab.host("nokey");
    host["spec"]["credentialSecretRef"]["key"] = json!("other");
    is_said(&lab, host, "MissingSecret", &["Secret \"pve-key\" has no key \"other\""]).await;
}

#[tokio::test]
async fn a_refused_login_names_the_user_and_the_key_and_a_broken_key_is_not_shown() {
    let lab = Lab::new("login").await;
    let (private, _) = key_pair(&lab);
    lab.secret("stranger", "ssh-privatekey", &private).await;
    let mut host = lab.host("stranger");
    host["spec"]["credentialSecretRef"]["name"] = json!("stranger");
    is_said(&lab, host, "AuthFailed", &["as root", "SHA256:", "authorized_keys"]).await;
    lab.secret("broken", "ssh-privatekey", "hunter2 is no key").await;
    let mut host = lab.host("broken");
    host["spec"]["credentialSecretRef"]["name"] = json!("broken");
    is_said(&lab, host, "BadKey", &["OpenSSH"]).await;
    let all = lab.kubectl(&["get", "oikos", "-o", "yaml"]).await.stdout;
    assert!(!all.contains("hunter2"));
}

#[tokio::test]
async fn another_host_key_than_the_pinned_one_is_never_spoken_to() {
    let lab = Lab::new("imposter").await;
    let (_, public) = key_pair(&lab);
    let mut host = lab.host("imposter");
    host["spec"]["knownHostKeys"] = json!([public]);
    is_said(&lab, host, "HostKeyMismatch", &["SHA256:", "nothing was sent"]).await;
    assert!(lab.effects().is_empty());
}

#[tokio::test]
async fn a_reinstalled_host_is_refused_until_its_new_key_is_pinned() {
    let lab = Lab::new("reinstalled").await;
    ready(&lab, "pve", "True").await;
    lab.standin.rotate_host_key().unwrap();
    lab.plan("first", json!({"steps": [step("change", QUICK)]})).await;
    lab.approve("first").await;
    lab.plan_until("first", PlanPhase::Failed).await;
    let refused = lab.execution_until("first-1-1", ExecutionPhase::Failed).await;
    assert_eq!(refused.reason, Some(ConnectionReason::HostKeyMismatch.into()));
    lab.apply(&lab.host("pve")).await;
    lab.plan("second", json!({"steps": [step("change", QUICK)]})).await;
    lab.approve("second").await;
    lab.plan_until("second", PlanPhase::Succeeded).await;
    assert_eq!(lab.effects(), ["quick"]);
}

//! The control plane of the tests, proven: accounts, tokens, audit, restart, and that it ends with its owner.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::api::{Api, ObjectMeta, PostParams};
use testbed::control_plane::{AuditEntry, ControlPlane, signal, wait_until_gone};

async fn plane() -> &'static ControlPlane {
    ControlPlane::shared().await.expect("the control plane starts")
}

fn config_map(name: &str) -> ConfigMap {
    ConfigMap { metadata: named(name), ..ConfigMap::default() }
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

#[tokio::test]
async fn the_server_names_the_pinned_version() {
    let version = plane().await.admin().client().await.unwrap().apiserver_version().await.unwrap();
    assert_eq!((version.major.as_str(), version.minor.as_str()), ("1", "37"));
    assert_eq!(version.git_version, "v1.37.2");
}

#[tokio::test]
async fn the_administrator_may_all_and_the_viewer_nothing() {
    let plane = plane().await;
    assert_eq!(plane.admin().kubectl(&["auth", "can-i", "*", "*"]).await.unwrap().stdout.trim(), "yes");
    let refused = plane.viewer().kubectl(&["get", "configmaps"]).await.unwrap();
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains(r#"User "viewer" cannot list resource "configmaps""#), "{}", refused.stderr);
}

#[tokio::test]
async fn an_operator_may_what_a_binding_says() {
    let plane = plane().await;
    let namespace = plane.namespace("operator").await.unwrap();
    let arguments = ["create", "rolebinding", "edit", "--clusterrole=edit", "--group=operators", "-n", &namespace];
    plane.admin().kubectl(&arguments).await.unwrap().ok().unwrap();
    plane.operator().wait_until_allowed("create", "configmaps", &namespace).await.unwrap();
    let created = plane.operator().kubectl(&["create", "configmap", "one", "-n", &namespace]).await.unwrap();
    assert_eq!(created.ok().unwrap().trim(), "configmap/one created");
}

#[tokio::test]
async fn kubectl_reads_objects_from_its_input() {
    let plane = plane().await;
    let namespace = plane.namespace("input").await.unwrap();
    let manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: two}}";
    let arguments = ["apply", "--server-side", "-n", &namespace, "-f", "-"];
    plane.admin().kubectl_with_input(&arguments, manifest).await.unwrap().ok().unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(plane.admin().client().await.unwrap(), &namespace);
    assert!(maps.get("two").await.is_ok());
}

#[tokio::test]
async fn a_service_account_has_a_real_token_and_only_its_own_rights() {
    let plane = plane().await;
    let namespace = plane.namespace("account").await.unwrap();
    let admin = plane.admin().client().await.unwrap();
    let accounts: Api<ServiceAccount> = Api::namespaced(admin, &namespace);
    let account = ServiceAccount { metadata: named("worker"), ..ServiceAccount::default() };
    accounts.create(&PostParams::default(), &account).await.unwrap();

    let worker = plane.service_account(&namespace, "worker").await.unwrap();
    let who = worker.kubectl(&["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"]).await.unwrap();
    assert_eq!(who.ok().unwrap(), format!("system:serviceaccount:{namespace}:worker"));
    let maps: Api<ConfigMap> = Api::namespaced(worker.client().await.unwrap(), &namespace);
    let refused = maps.create(&PostParams::default(), &config_map("three")).await.unwrap_err();
    assert!(matches!(&refused, kube::Error::Api(status) if status.is_forbidden()), "{refused}");
}

#[tokio::test]
async fn the_audit_log_counts_requests_by_user_verb_and_resource() {
    let plane = plane().await;
    let namespace = plane.namespace("audit").await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(plane.admin().client().await.unwrap(), &namespace);
    let map = maps.create(&PostParams::default(), &config_map("four")).await.unwrap();
    maps.replace("four", &PostParams::default(), &map).await.unwrap();
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    maps.replace("four", &dry, &map).await.unwrap();
    maps.get("absent").await.unwrap_err();
    let viewers: Api<ConfigMap> = Api::namespaced(plane.viewer().client().await.unwrap(), &namespace);
    viewers.list(&Default::default()).await.unwrap_err();

    let mut counts: BTreeMap<(String, String, u16), usize> = BTreeMap::new();
    let entries: Vec<AuditEntry> = plane.audit().await.unwrap();
    let here = entries.iter().filter(|entry| entry.namespace == namespace && entry.resource == "configmaps");
    for entry in here.clone() {
        *counts.entry((entry.user.clone(), entry.verb.clone(), entry.code)).or_default() += 1;
    }
    let expected = [
        (("admin", "create", 201), 1),
        (("admin", "get", 404), 1),
        (("admin", "update", 200), 2),
        (("viewer", "list", 403), 1),
    ];
    let expected = expected.map(|((user, verb, code), count)| ((user.to_owned(), verb.to_owned(), code), count));
    assert_eq!(counts, BTreeMap::from(expected));
    assert_eq!(here.filter(|entry| entry.is_write()).count(), 2, "a dry run writes nothing");
}

#[tokio::test]
async fn children_of_a_deleted_owner_and_a_deleted_namespace_are_collected() {
    let plane = plane().await;
    let namespace = plane.namespace("garbage").await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(plane.admin().client().await.unwrap(), &namespace);
    let owner = maps.create(&PostParams::default(), &config_map("owner")).await.unwrap();
    let mut child = config_map("child");
    child.metadata.owner_references = Some(vec![kube::Resource::owner_ref(&owner, &()).unwrap()]);
    maps.create(&PostParams::default(), &child).await.unwrap();
    maps.delete("owner", &Default::default()).await.unwrap();
    let arguments = ["wait", "--for=delete", "configmap/child", "--timeout=90s", "-n", &namespace];
    plane.admin().kubectl(&arguments).await.unwrap().ok().unwrap();
    let arguments = ["delete", "namespace", &namespace, "--timeout=90s"];
    plane.admin().kubectl(&arguments).await.unwrap().ok().unwrap();
}

#[tokio::test]
async fn a_restarted_api_server_keeps_its_address_data_and_tokens() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.admin().client().await.unwrap();
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
    let account = ServiceAccount { metadata: named("lasting"), ..ServiceAccount::default() };
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let lasting = plane.service_account("default", "lasting").await.unwrap();
    let url = plane.url().to_owned();

    plane.restart_apiserver().await.unwrap();

    assert_eq!(plane.url(), url);
    assert!(accounts.get("lasting").await.is_ok());
    let who = lasting.kubectl(&["auth", "whoami"]).await.unwrap();
    assert!(who.success(), "{}", who.stderr);
    let directory = plane.directory().to_owned();
    plane.stop().await.unwrap();
    assert!(!directory.exists());
}

/// The command with a directory of its own, and the servers' process ids once it is ready.
struct Running {
    process: Child,
    directory: PathBuf,
    servers: Vec<u32>,
}

fn up(test: &str) -> Running {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
    let mut process = Command::new(env!("CARGO_BIN_EXE_control-plane"))
        .args(["up", "--dir"])
        .arg(&directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).expect("one line of JSON when ready");
    assert!(Path::new(ready["kubeconfigs"]["operator"].as_str().unwrap()).exists());
    let servers = ["etcd", "kube-apiserver"]
        .map(|name| fs::read_to_string(directory.join(format!("{name}.pid"))).unwrap().trim().parse().unwrap());
    Running { process, directory, servers: servers.to_vec() }
}

fn down(directory: &Path) {
    let down = Command::new(env!("CARGO_BIN_EXE_control-plane")).args(["down", "--dir"]).arg(directory).status();
    assert!(down.unwrap().success());
}

fn assert_gone(running: &Running) {
    wait_until_gone(&running.directory, Duration::from_secs(60)).unwrap();
    for pid in &running.servers {
        // One that ended and was not waited for yet has no arguments any more.
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(arguments.is_empty(), "server {pid} still runs");
    }
}

#[test]
fn the_command_ends_with_its_standard_input() {
    let mut running = up("input-end");
    drop(running.process.stdin.take());
    assert!(running.process.wait().unwrap().success());
    assert_gone(&running);
}

#[test]
fn the_command_is_ended_by_down_and_a_second_down_is_no_error() {
    let mut running = up("down");
    down(&running.directory);
    assert!(running.process.wait().unwrap().success());
    assert_gone(&running);
    down(&running.directory);
}

#[test]
fn a_killed_owner_leaves_neither_servers_nor_data() {
    let mut running = up("killed");
    running.process.kill().unwrap();
    running.process.wait().unwrap();
    assert_gone(&running);
}

#[test]
fn what_a_killed_supervisor_left_is_cleaned_by_down() {
    let mut running = up("swept");
    let parent = |pid: u32| -> u32 {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().parse().unwrap()
    };
    let supervisor = parent(parent(running.servers[0])); // server, the shell that waits for it, the supervisor
    signal("KILL", &supervisor.to_string()).unwrap();
    running.process.kill().unwrap();
    running.process.wait().unwrap();
    assert!(running.directory.exists());
    down(&running.directory);
    assert_gone(&running);
}

#[test]
fn a_directory_with_other_files_is_refused_and_left_alone() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("foreign-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("precious"), "x").unwrap();
    let up = Command::new(env!("CARGO_BIN_EXE_control-plane"))
        .args(["up", "--ignore-stdin", "--dir"])
        .arg(&directory)
        .output()
        .unwrap();
    assert!(!up.status.success());
    assert!(String::from_utf8_lossy(&up.stderr).contains("not a control plane's directory"));
    down(&directory);
    assert!(directory.join("precious").exists());
    fs::remove_dir_all(&directory).unwrap();
}

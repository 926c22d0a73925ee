//! The chart as helm sees it: it lints, refuses typing errors, installs, upgrades and leaves the CRDs when it goes.

use std::{fs, path::Path};

use testbed::control_plane::ControlPlane;

use crate::cluster::{SYSTEM, chart, cluster};

fn documents(rendered: &str) -> Vec<serde_json::Value> {
    serde_saphyr::from_multiple(rendered).unwrap()
}

#[tokio::test]
async fn the_chart_lints_strictly_without_a_warning() {
    let lint = cluster().await.admin().helm(&["lint", "--strict", &chart()]).await.unwrap().ok().unwrap();
    assert!(!lint.contains("[WARNING]") && !lint.contains("[ERROR]"), "{lint}");
}

#[tokio::test]
async fn a_misspelt_value_is_refused() {
    for value in ["replicaCount=2", "image.tagg=1", "crds.keep=perhaps", "rbac.secretNamespaces={A_B}"] {
        let render = ["template", "oikos", &chart(), "--set", value];
        let answer = cluster().await.admin().helm(&render).await.unwrap();
        assert!(!answer.success() && answer.stderr.contains("values don't meet"), "{value}: {}", answer.stderr);
    }
}

#[tokio::test]
async fn the_charts_crds_are_the_generated_files_also_in_its_package() {
    let generated = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    let plane = cluster().await;
    let out = plane.directory().join("package");
    let package = ["package", &chart(), "--destination", out.to_str().unwrap()];
    plane.admin().helm(&package).await.unwrap().ok().unwrap();
    let archive = fs::read_dir(&out).unwrap().next().unwrap().unwrap().path();
    for source in [chart(), archive.to_str().unwrap().to_owned()] {
        let render = ["template", "oikos", &source, "--show-only", "templates/crds.yaml"];
        let rendered = plane.admin().helm(&render).await.unwrap().ok().unwrap();
        for file in fs::read_dir(&generated).unwrap() {
            let path = file.unwrap().path();
            let one: serde_json::Value = serde_saphyr::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            let name = one["metadata"]["name"].as_str().unwrap();
            let found = documents(&rendered)
                .into_iter()
                .find(|document| document["metadata"]["name"] == name)
                .unwrap_or_else(|| panic!("{name} is not in {source}"));
            assert_eq!(found["spec"], one["spec"], "{name} of {source}");
            assert_eq!(found["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
        }
    }
}

#[tokio::test]
async fn an_older_cluster_gets_no_mutating_policy_and_is_told_what_to_write() {
    let admin = cluster().await.admin();
    let render = ["template", "oikos", &chart(), "--kube-version", "1.35.0"];
    let rendered = admin.helm(&render).await.unwrap().ok().unwrap();
    assert!(
        !rendered.contains("kind: MutatingAdmissionPolicy") && rendered.contains("kind: ValidatingAdmissionPolicy")
    );
    let render = ["template", "oikos", &chart(), "--kube-version", "1.29.0"];
    let refused = admin.helm(&render).await.unwrap();
    assert!(refused.stderr.contains("incompatible with Kubernetes v1.29.0"), "{}", refused.stderr);
}

#[tokio::test]
async fn the_pod_meets_the_restricted_standard() {
    let admin = cluster().await.admin();
    let arguments = ["label", "namespace", SYSTEM, "pod-security.kubernetes.io/enforce=restricted", "--overwrite"];
    admin.kubectl(&arguments).await.unwrap().ok().unwrap();
    let shown = ["get", "deployment", "oikos", "-n", SYSTEM, "-o", "json"];
    let deployment: serde_json::Value =
        serde_json::from_str(&admin.kubectl(&shown).await.unwrap().ok().unwrap()).unwrap();
    let template = &deployment["spec"]["template"];
    let pod = serde_json::json!({
        "apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
        "metadata": {"name": "restricted", "labels": template["metadata"]["labels"]},
    });
    let create = ["create", "-n", SYSTEM, "--dry-run=server", "-f", "-"];
    let answer = admin.kubectl_with_input(&create, &pod.to_string()).await.unwrap();
    assert!(answer.success() && !answer.stderr.contains("would violate"), "{}", answer.stderr);
    assert_eq!(deployment["spec"]["strategy"]["type"], "Recreate");
    assert_eq!(deployment["spec"]["replicas"], 1);
}

/// The chart's documents that let somebody read Secrets, as `kind/namespace`.
async fn secrets(values: &[&str]) -> Vec<String> {
    let chart = chart();
    let render = [&["template", "oikos", &chart, "--namespace", SYSTEM], values].concat();
    let rendered = cluster().await.admin().helm(&render).await.unwrap().ok().unwrap();
    let documents = documents(&rendered);
    let name = |document: &serde_json::Value| document["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let roles: Vec<String> =
        documents.iter().filter(|document| document["rules"].to_string().contains("\"secrets\"")).map(name).collect();
    let binds = |document: &&serde_json::Value| roles.iter().any(|role| document["roleRef"]["name"] == *role);
    let shown = |document: &serde_json::Value| {
        format!("{}/{}", document["kind"].as_str().unwrap(), document["metadata"]["namespace"].as_str().unwrap_or("*"))
    };
    documents.iter().filter(binds).map(shown).collect()
}

#[tokio::test]
async fn secrets_are_read_in_named_namespaces_and_never_cluster_wide() {
    assert_eq!(secrets(&[]).await, [""; 0]);
    assert_eq!(secrets(&["--set", "watchNamespace=home"]).await, ["RoleBinding/home"]);
    let both = ["--set", "rbac.secretNamespaces={home,lab}"];
    assert_eq!(secrets(&both).await, ["RoleBinding/home", "RoleBinding/lab"]);
    let narrower = ["--set", "rbac.secretNamespaces={keys},watchNamespace=home"];
    assert_eq!(secrets(&narrower).await, ["RoleBinding/keys"]);
}

#[tokio::test]
async fn a_controller_of_one_namespace_is_bound_there_only() {
    let render = ["template", "oikos", &chart(), "--namespace", SYSTEM, "--set", "watchNamespace=home"];
    let rendered = cluster().await.admin().helm(&render).await.unwrap().ok().unwrap();
    let mut bindings: Vec<String> = documents(&rendered)
        .into_iter()
        .filter(|document| document["roleRef"].is_object())
        .map(|document| format!("{} {}", document["kind"], document["metadata"]["namespace"]))
        .collect();
    bindings.sort();
    let secrets_too = [r#""RoleBinding" "home""#, r#""RoleBinding" "home""#, r#""RoleBinding" "oikos-system""#];
    assert_eq!(bindings, secrets_too);
    assert!(rendered.contains("- name: OIKOS_NAMESPACE\n              value: home"), "{rendered}");
}

#[tokio::test]
async fn a_release_installs_upgrades_and_leaves_the_crds_when_it_goes() {
    let plane = ControlPlane::start().await.unwrap();
    let admin = plane.admin();
    let install = ["install", "oikos", &chart(), "--namespace", SYSTEM, "--create-namespace"];
    let notes = admin.helm(&install).await.unwrap().ok().unwrap();
    assert!(notes.contains("create rolebinding oikos-approver --clusterrole=oikos-approver"), "{notes}");
    let secrets = "WARNING: the controller may read no Secret";
    assert!(notes.contains(secrets) && notes.contains("rbac.secretNamespaces"), "{notes}");
    let upgrade = ["upgrade", "oikos", &chart(), "--namespace", SYSTEM, "--set", "logLevel=debug"];
    let upgrade = [upgrade.as_slice(), &["--set", "rbac.secretNamespaces={default}"]].concat();
    let notes = admin.helm(&upgrade).await.unwrap().ok().unwrap();
    assert!(!notes.contains(secrets), "{notes}");
    let shown = ["get", "deployment", "oikos", "-n", SYSTEM, "-o", "jsonpath={.spec.template.spec.containers[0].env}"];
    let env = admin.kubectl(&shown).await.unwrap().ok().unwrap();
    assert!(env.contains(r#"{"name":"RUST_LOG","value":"debug"}"#), "{env}");
    admin.helm(&["uninstall", "oikos", "--namespace", SYSTEM]).await.unwrap().ok().unwrap();
    let left = admin.kubectl(&["get", "crd", "-o", "name"]).await.unwrap().ok().unwrap();
    assert_eq!(left.lines().filter(|line| line.ends_with(".oikos.dev")).count(), 7, "{left}");
    let policies = ["get", "validatingadmissionpolicies,clusterroles", "-o", "name"];
    let left = admin.kubectl(&policies).await.unwrap().ok().unwrap();
    assert!(!left.contains("oikos"), "{left}");
    plane.stop().await.unwrap();
}

#[tokio::test]
async fn the_policies_expressions_are_checked_against_the_crds_without_a_warning() {
    let admin = cluster().await.admin();
    let parts = ["answers", "changes", "decisions", "grants", "messages", "ownership", "questions"];
    for policy in parts.map(|part| format!("oikos-{part}")) {
        let name = format!("validatingadmissionpolicy/{policy}");
        let checked = ["wait", "--for=jsonpath={.status.observedGeneration}=1", &name, "--timeout=60s"];
        admin.kubectl(&checked).await.unwrap().ok().unwrap();
        let warnings = ["get", &name, "-o", "jsonpath={.status.typeChecking.expressionWarnings}"];
        let warnings = admin.kubectl(&warnings).await.unwrap().ok().unwrap();
        assert!(warnings.is_empty(), "{policy}: {warnings}");
    }
}

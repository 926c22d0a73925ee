//! The demo, as a test: one approval, no further human action, every failure met and repaired.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use kube::{
    Api, Client, Config, ResourceExt,
    api::ListParams,
    config::{KubeConfigOptions, Kubeconfig},
};
use oikos::api::{AutonomyWindow, Execution, ExecutionPhase, Message, MessageKind, Plan, PlanPhase};
use testbed::demo::{Options, down, up};

/// Removes the demo whatever happens.
struct Demo(Options);

impl Drop for Demo {
    fn drop(&mut self) {
        if let Err(error) = down(&self.0) {
            eprintln!("{error:#}");
        }
    }
}

async fn client(dir: &Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(dir.join("plane/operator.kubeconfig")).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_main_job_succeeds_with_one_approval_and_every_failure_is_met_and_repaired() {
    let tree = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let binaries = Path::new(env!("CARGO_BIN_EXE_oikos")).parent().unwrap().to_owned();
    let dir = binaries.join("../demo-test");
    let demo = Demo(Options { dir: dir.clone(), tree, binaries, ask: false });
    up(&demo.0).await.unwrap();

    let client = client(&dir).await;
    let plan = Api::<Plan>::namespaced(client.clone(), "demo").get("typetype").await.unwrap();
    let status = plan.status.unwrap();
    assert_eq!(status.phase, PlanPhase::Succeeded);
    let windows = Api::<AutonomyWindow>::namespaced(client.clone(), "demo").list(&ListParams::default()).await.unwrap();
    let grants: Vec<_> = windows.iter().map(|window| &window.spec.granted_by).collect();
    assert_eq!(grants.len(), 1);
    assert!(grants[0].username == "operator" && grants[0].verified, "{grants:?}");

    let executions: Api<Execution> = Api::namespaced(client.clone(), "demo");
    let ran = executions.list(&ListParams::default()).await.unwrap().items;
    let failed = |code: i32, said: &str| {
        ran.iter().any(|execution| {
            let status = execution.status.as_ref().unwrap();
            let told = |it: &Option<oikos::api::Output>| it.as_ref().is_some_and(|it| it.text.contains(said));
            status.phase == ExecutionPhase::Failed
                && status.exit_code == Some(code)
                && (told(&status.stdout) || told(&status.stderr))
        })
    };
    assert!(failed(127, "docker: not found"), "Debian's docker.io has no docker command");
    assert!(failed(22, "error: 500"), "the mirror answers 500 once");
    assert!(failed(1, "typetype.service"), "the service points at a wrong path");
    for execution in &ran {
        let status = execution.status.as_ref().unwrap();
        assert!(status.phase.is_terminal(), "{} is {:?}", execution.name_any(), status.phase);
        assert!(status.authority.is_some(), "{} says by whose leave it ran", execution.name_any());
        assert_eq!(status.attempt, Some(1), "{} ran once", execution.name_any());
    }

    let evidence = &status.result.unwrap().evidence;
    let proof = executions.get(&evidence[0]).await.unwrap().status.unwrap();
    assert!(proof.stdout.unwrap().text.contains("TypeType"), "the evidence is the service's own answer");

    let messages = Api::<Message>::namespaced(client, "demo").list(&ListParams::default()).await.unwrap().items;
    assert!(messages.iter().all(|message| message.spec.kind == MessageKind::Turn), "nobody had to say anything");
    let mut sequences: Vec<_> = messages.iter().map(|message| message.spec.sequence).collect();
    sequences.sort_unstable();
    let expected: Vec<_> = (1..).take(sequences.len()).collect();
    assert_eq!(sequences, expected, "every turn was asked exactly once");
}

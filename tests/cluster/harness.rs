//! What every test starts from: one control plane for all, and for each test a namespace, a stand-in host of its own
//! and a controller. Tests wait for the watch event that brings the wanted state, never for time to pass.

use std::{fmt::Debug, pin::pin, time::Duration};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, Resource,
    api::{ListParams, PostParams},
    core::NamespaceResourceScope,
    runtime::{WatchStreamExt, watcher::watch_object},
};
use oikos::api::{AutonomyWindow, Execution, ExecutionPhase, ExecutionStatus, Plan, PlanPhase, PlanStatus};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use testbed::{
    chart::{ACCOUNT, SYSTEM},
    control_plane::{Access, ControlPlane, Output},
    standin::Standin,
};
use tokio::{sync::OnceCell, time::timeout};

use crate::controller::Controller;

/// How long anything may take before a test gives up; no test waits this long when all is well.
const LIMIT: Duration = Duration::from_secs(60);

/// A mutating step that notes its start, waits until the file `/root/go` is there, and notes its end.
pub const HELD: &str = "echo start >> /root/effects; until [ -e /root/go ]; do sleep 0.1; done; \
                        echo end >> /root/effects; echo done";
/// A mutating step that is over at once.
pub const QUICK: &str = "echo quick >> /root/effects";

/// The control plane with the chart in force.
pub async fn plane() -> &'static ControlPlane {
    static READY: OnceCell<&'static ControlPlane> = OnceCell::const_new();
    let install = async || {
        let plane = ControlPlane::shared().await.unwrap();
        testbed::chart::install(plane, &[]).await.unwrap();
        plane
    };
    READY.get_or_init(install).await
}

/// A namespace with a Host `pve`, its stand-in, and the controller that works there.
pub struct Lab {
    pub plane: &'static ControlPlane,
    pub namespace: String,
    /// The person who approves.
    pub operator: Access,
    /// The operator's client, to look and to wait.
    pub client: Client,
    pub standin: Standin,
    /// None while a test has none running.
    pub controller: Option<Controller>,
}

impl Lab {
    /// With a controller that is ready.
    pub async fn new(name: &str) -> Self {
        let mut lab = Self::on(plane().await, name).await;
        lab.start_controller().await;
        lab
    }

    /// On another control plane, with everything but a controller.
    pub async fn on(plane: &'static ControlPlane, name: &str) -> Self {
        let operator = plane.operator();
        let namespace = plane.namespace(name).await.unwrap();
        testbed::chart::let_read_secrets(plane, &namespace).await.unwrap();
        let client = operator.client().await.unwrap();
        let standin = Standin::start().unwrap();
        let lab = Self { plane, namespace, operator, client, standin, controller: None };
        lab.secret("pve-key", "ssh-privatekey", &lab.standin.private_key_openssh().unwrap()).await;
        lab.apply(&lab.host("pve")).await;
        lab
    }

    /// A Host object for the stand-in.
    pub fn host(&self, name: &str) -> Value {
        let known_hosts = self.standin.known_hosts_line().unwrap();
        let (_, key) = known_hosts.split_once(' ').unwrap();
        json!({
            "apiVersion": "oikos.dev/v1alpha1", "kind": "Host", "metadata": {"name": name},
            "spec": {
                "address": self.standin.address(), "port": self.standin.port(), "knownHostKeys": [key],
                "credentialSecretRef": {"name": "pve-key", "key": "ssh-privatekey"},
            },
        })
    }

    /// A Guest object on the stand-in.
    pub fn guest(name: &str, vmid: u32) -> Value {
        json!({
            "apiVersion": "oikos.dev/v1alpha1", "kind": "Guest", "metadata": {"name": name},
            "spec": {"hostRef": {"name": "pve"}, "vmid": vmid, "type": "LXC"},
        })
    }

    /// Makes a Secret of one key.
    pub async fn secret(&self, name: &str, key: &str, text: &str) {
        let secret = json!({"metadata": {"name": name}, "stringData": {key: text}});
        let secret: Secret = serde_json::from_value(secret).unwrap();
        let secrets: Api<Secret> = Api::namespaced(self.plane.admin().client().await.unwrap(), &self.namespace);
        secrets.create(&PostParams::default(), &secret).await.unwrap();
    }

    /// Starts a controller, in place of one that is there, and waits until it is ready.
    pub async fn start_controller(&mut self) {
        let controller = self.another_controller().await;
        controller.ready().await;
        self.controller = Some(controller);
    }

    /// Starts a controller with the chart's account.
    pub async fn another_controller(&self) -> Controller {
        let kubeconfig = self.plane.service_account_kubeconfig(SYSTEM, ACCOUNT).await.unwrap();
        Controller::start(&kubeconfig, &self.namespace)
    }

    /// The running controller.
    pub fn controller(&self) -> &Controller {
        self.controller.as_ref().unwrap()
    }

    /// Takes the running controller, to end it.
    pub fn take_controller(&mut self) -> Controller {
        self.controller.take().unwrap()
    }

    /// kubectl in the namespace, as the operator.
    pub async fn kubectl(&self, arguments: &[&str]) -> Output {
        let arguments = [&["-n", self.namespace.as_str()], arguments].concat();
        self.operator.kubectl(&arguments).await.unwrap()
    }

    /// `kubectl apply` as the operator.
    pub async fn apply(&self, object: &Value) {
        let apply = ["-n", self.namespace.as_str(), "apply", "-f", "-"];
        self.operator.kubectl_with_input(&apply, &object.to_string()).await.unwrap().ok().unwrap();
    }

    /// Applies a plan for `host:pve`; `spec` has what is particular about it.
    pub async fn plan(&self, name: &str, spec: Value) {
        let mut object = json!({
            "apiVersion": "oikos.dev/v1alpha1", "kind": "Plan", "metadata": {"name": name},
            "spec": {"goal": "prove a sentence", "targets": ["host:pve"]},
        });
        object["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        self.apply(&object).await;
    }

    /// Runs a line that a status shows, as the operator would copy it.
    pub async fn copied(&self, line: &str) -> Output {
        let words = words(line);
        assert_eq!(words[0], "kubectl", "{line}");
        let arguments: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        self.operator.kubectl(&arguments).await.unwrap()
    }

    /// Waits until the plan waits for an approval, and gives it by the line in its status.
    pub async fn approve(&self, plan: &str) {
        let status = self.plan_until(plan, PlanPhase::AwaitingApproval).await;
        self.copied(&status.approval.unwrap().command).await.ok().unwrap();
    }

    /// The API of a kind as the operator has it.
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Waits until the object is there and as wanted.
    pub async fn until<K>(&self, name: &str, what: &str, wanted: impl Fn(&K) -> bool) -> K
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + Clone
            + Debug
            + Serialize
            + DeserializeOwned
            + Send
            + 'static,
    {
        // A watch that fails is taken up again: some tests restart the API server.
        let mut states = pin!(watch_object(self.api::<K>(), name).default_backoff());
        let found = async {
            loop {
                match states.next().await {
                    Some(Ok(Some(object))) if wanted(&object) => return object,
                    Some(_) => {}
                    None => panic!("the watch of {name} ended"),
                }
            }
        };
        match timeout(LIMIT, found).await {
            Ok(object) => object,
            Err(_) => panic!("{name} never had {what}:\n{}", self.everything().await),
        }
    }

    /// Waits until the plan is in this phase; fails at once when it has ended in another.
    pub async fn plan_until(&self, name: &str, phase: PlanPhase) -> PlanStatus {
        let there = |plan: &Plan| {
            plan.status.as_ref().is_some_and(|status| status.phase == phase || status.phase.is_terminal())
        };
        let status = self.until(name, &format!("phase {phase:?}"), there).await.status.unwrap();
        if status.phase != phase {
            panic!("{name} is {:?}, not {phase:?}:\n{}", status.phase, self.everything().await);
        }
        status
    }

    /// Waits until the plan's status is as wanted.
    pub async fn plan_status(&self, name: &str, what: &str, wanted: impl Fn(&PlanStatus) -> bool) -> PlanStatus {
        self.until(name, what, |plan: &Plan| plan.status.as_ref().is_some_and(&wanted)).await.status.unwrap()
    }

    /// Waits until the Execution is in this phase; fails at once when it has ended in another.
    pub async fn execution_until(&self, name: &str, phase: ExecutionPhase) -> ExecutionStatus {
        let there = |execution: &Execution| {
            execution.status.as_ref().is_some_and(|status| status.phase == phase || status.phase.is_terminal())
        };
        let status = self.until(name, &format!("phase {phase:?}"), there).await.status.unwrap();
        if status.phase != phase {
            panic!("{name} is {:?}, not {phase:?}:\n{}", status.phase, self.everything().await);
        }
        status
    }

    /// How long an ended Execution took from its claim to its end, in whole seconds of the clock.
    pub async fn lasted(&self, name: &str) -> i64 {
        let status = self.api::<Execution>().get(name).await.unwrap().status.unwrap();
        let (start, end) = (status.start_time.unwrap().0, status.completion_time.unwrap().0);
        end.as_second() - start.as_second()
    }

    /// The names of all Executions.
    pub async fn executions(&self) -> Vec<String> {
        let list = self.api::<Execution>().list(&ListParams::default()).await.unwrap();
        list.items.into_iter().map(|it| it.metadata.name.unwrap()).collect()
    }

    /// All windows.
    pub async fn windows(&self) -> Vec<AutonomyWindow> {
        self.api::<AutonomyWindow>().list(&ListParams::default()).await.unwrap().items
    }

    /// Runs a command on the host behind the controller's back; its standard output.
    pub fn on_host(&self, command: &str) -> String {
        let output = self.standin.ssh(command).unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What the steps have noted on the host, a word for each.
    pub fn effects(&self) -> Vec<String> {
        let noted = self.on_host("cat /root/effects 2>/dev/null || true");
        noted.split_whitespace().map(str::to_owned).collect()
    }

    /// Lets [`HELD`] steps go on.
    pub fn release(&self) {
        self.on_host("touch /root/go");
    }

    /// All objects of the namespace, for the message of a failed test.
    async fn everything(&self) -> String {
        self.kubectl(&["get", "oikos", "-o", "yaml"]).await.stdout
    }
}

/// A declared step on `host:pve`.
pub fn step(name: &str, run: &str) -> Value {
    json!({"name": name, "target": "host:pve", "run": run})
}

/// A shell line's words: blanks separate, double quotes hold together.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    words
}

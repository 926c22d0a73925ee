//! One control plane with the chart applied, and for each test a namespace with what its people need.

use std::{fmt::Debug, time::Duration};

use kube::{
    Client, Resource,
    api::{Api, Patch, PatchParams, PostParams},
    core::NamespaceResourceScope,
};
use oikos::api::{
    Approval, AutonomyWindow, Execution, ExecutionApproval, ExecutionPhase, ExecutionStatus, Message, Plan, PlanPhase,
    PlanStatus,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
pub use testbed::chart::SYSTEM;
use testbed::control_plane::{Access, ControlPlane};
use tokio::{
    sync::OnceCell,
    time::{Instant, sleep},
};

/// The token of every plan here, until a test changes it.
pub const TOKEN: &str = "0123456789ab";
/// The line to copy that goes with it.
pub const COMMAND: &str = "kubectl annotate plan web oikos.dev/approve=0123456789ab";
/// The phrase of every destructive step here.
pub const PHRASE: &str = "destroy lxc:web 3f9c01ab";

/// The chart's directory.
pub fn chart() -> String {
    testbed::chart::directory().to_str().unwrap().to_owned()
}

/// The control plane with the chart applied and its policies in force. `operator` may approve, edit and describe the
/// fleet everywhere, `viewer` may edit everywhere and nothing else.
pub async fn cluster() -> &'static ControlPlane {
    static READY: OnceCell<&'static ControlPlane> = OnceCell::const_new();
    READY.get_or_init(install).await
}

async fn install() -> &'static ControlPlane {
    let plane = ControlPlane::shared().await.unwrap();
    apply_chart(plane, "1.37.2").await;
    wait_for_policies(plane).await;
    plane
}

/// Applies the chart as rendered for a Kubernetes version, and gives the people their roles.
pub async fn apply_chart(plane: &ControlPlane, version: &str) {
    testbed::chart::install_for(plane, version, &[]).await.unwrap();
}

/// New policies take effect a moment after they are stored, each by itself.
pub async fn wait_for_policies(plane: &ControlPlane) {
    testbed::chart::wait_for_policies(plane).await.unwrap();
}

/// Whether the chart's policies refused it.
pub fn is_refusal<T>(answer: &Result<T, kube::Error>) -> bool {
    matches!(answer, Err(kube::Error::Api(status)) if status.message.contains("oikos-guard: "))
}

/// Waits for something that follows a write by itself; fails after a minute.
pub async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition().await {
        assert!(Instant::now() < deadline, "{what} is not in force");
        sleep(Duration::from_millis(50)).await;
    }
}

/// A merge patch of annotations.
pub fn annotations(pairs: &[(&str, &str)]) -> Patch<Value> {
    let map: serde_json::Map<String, Value> =
        pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    Patch::Merge(json!({"metadata": {"annotations": map}}))
}

/// A merge patch that takes an annotation away.
pub fn without_annotation(key: &str) -> Patch<Value> {
    Patch::Merge(json!({"metadata": {"annotations": {key: null}}}))
}

/// The message of a refusal by the chart's policies.
#[track_caller]
pub fn refusal<T: Debug>(answer: Result<T, kube::Error>) -> String {
    let message = api_error(answer);
    let (_, words) = message.split_once("denied request: ").unwrap_or_else(|| panic!("not by a policy: {message}"));
    assert!(words.starts_with("oikos-guard: "), "{message}");
    words.to_owned()
}

/// The message of any refusal by the API server.
#[track_caller]
pub fn api_error<T: Debug>(answer: Result<T, kube::Error>) -> String {
    match answer {
        Err(kube::Error::Api(status)) => status.message,
        other => panic!("not refused: {other:?}"),
    }
}

/// A namespace and the cluster as each account sees it.
pub struct Room {
    pub namespace: String,
    /// Member of system:masters.
    pub admin: Client,
    /// The controller's ServiceAccount.
    pub controller: Client,
    /// May edit, describe the fleet and approve.
    pub operator: Client,
    /// May edit, not describe the fleet, not answer, not approve.
    pub viewer: Client,
}

/// A new namespace for a test.
pub async fn room(test: &str) -> Room {
    let plane = cluster().await;
    let namespace = plane.namespace(test).await.unwrap();
    Room::new(plane, namespace).await
}

/// The controller's account.
pub async fn controller() -> Access {
    cluster().await.service_account(SYSTEM, "oikos").await.unwrap()
}

impl Room {
    pub async fn new(plane: &ControlPlane, namespace: String) -> Self {
        Self {
            namespace,
            admin: plane.admin().client().await.unwrap(),
            controller: plane.service_account(SYSTEM, "oikos").await.unwrap().client().await.unwrap(),
            operator: plane.operator().client().await.unwrap(),
            viewer: plane.viewer().client().await.unwrap(),
        }
    }

    /// An account that has this one of the chart's roles in the room and no other right; `verb` is one on plans that it
    /// has by it. Its user name and client.
    pub async fn only(&self, role: &str, verb: &str) -> (String, Client) {
        let plane = cluster().await;
        let name = format!("only-{role}");
        for words in [
            vec!["create", "serviceaccount", &name],
            vec![
                "create",
                "rolebinding",
                &name,
                &format!("--clusterrole={role}"),
                &format!("--serviceaccount={}:{name}", self.namespace),
            ],
        ] {
            let words = [words, vec!["-n", &self.namespace]].concat();
            plane.admin().kubectl(&words).await.unwrap().ok().unwrap();
        }
        let access = plane.service_account(&self.namespace, &name).await.unwrap();
        access.wait_until_allowed(verb, "plans.oikos.dev", &self.namespace).await.unwrap();
        (access.username().to_owned(), access.client().await.unwrap())
    }

    fn api<K>(&self, client: &Client) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(client.clone(), &self.namespace)
    }

    pub fn plans(&self, client: &Client) -> Api<Plan> {
        self.api(client)
    }

    pub fn executions(&self, client: &Client) -> Api<Execution> {
        self.api(client)
    }

    pub fn windows(&self, client: &Client) -> Api<AutonomyWindow> {
        self.api(client)
    }

    pub fn messages(&self, client: &Client) -> Api<Message> {
        self.api(client)
    }

    /// Another kind, untyped, by its manifest.
    pub async fn create<K>(&self, client: &Client, object: Value) -> Result<K, kube::Error>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
    {
        let object: K = serde_json::from_value(object).unwrap();
        self.api(client).create(&PostParams::default(), &object).await
    }

    /// A plan that waits for [`TOKEN`].
    pub async fn plan(&self, name: &str) -> Plan {
        let plan: Plan = self.create(&self.operator, plan_object(name)).await.unwrap();
        self.set_token(&plan, TOKEN).await
    }

    /// What the controller does when the token changes.
    pub async fn set_token(&self, plan: &Plan, token: &str) -> Plan {
        let name = plan.metadata.name.as_deref().unwrap();
        let mut plan = self.plans(&self.controller).get(name).await.unwrap();
        let approval = Approval {
            token: token.into(),
            command: COMMAND.replace(TOKEN, token),
            digest: "d".repeat(64),
            nonce: "n".into(),
            ..Approval::default()
        };
        let phase = PlanPhase::AwaitingApproval;
        plan.status = Some(PlanStatus { phase, approval: Some(approval), ..PlanStatus::default() });
        self.plans(&self.controller).replace_status(name, &PostParams::default(), &plan).await.unwrap()
    }

    /// What the controller does when the plan stops after this Message for this reason.
    pub async fn block(&self, plan: &str, reason: &str, sequence: u32) {
        let blocked = json!({"reason": reason, "question": "Which colour?", "sequence": sequence});
        let status = Patch::Merge(json!({"status": {"phase": "Blocked", "blocked": blocked}}));
        self.plans(&self.controller).patch_status(plan, &PatchParams::default(), &status).await.unwrap();
    }

    /// A step of the plan as the controller would make it.
    pub fn execution_object(&self, plan: &Plan, name: &str) -> Execution {
        serde_json::from_value(json!({
            "apiVersion": "oikos.dev/v1alpha1", "kind": "Execution", "metadata": {"name": name},
            "spec": {"planRef": plan_ref(plan), "target": "lxc:web", "run": {"command": "pct destroy 101"}},
        }))
        .unwrap()
    }

    /// A step that waits: for the plan's token, or for the phrase when it is destructive.
    pub async fn waiting_execution(&self, plan: &Plan, name: &str, destructive: bool) -> Execution {
        let executions = self.executions(&self.controller);
        let object = self.execution_object(plan, name);
        let mut execution = executions.create(&PostParams::default(), &object).await.unwrap();
        let approval = ExecutionApproval {
            token: (!destructive).then(|| TOKEN.into()),
            phrase: destructive.then(|| PHRASE.into()),
            command: "kubectl annotate execution".into(),
        };
        let phase = ExecutionPhase::AwaitingApproval;
        execution.status = Some(ExecutionStatus { phase, approval: Some(approval), ..ExecutionStatus::default() });
        executions.replace_status(name, &PostParams::default(), &execution).await.unwrap()
    }

    /// A grant for the plan.
    pub fn window_object(&self, plan: &Plan, username: &str, via: &str) -> AutonomyWindow {
        serde_json::from_value(json!({
            "apiVersion": "oikos.dev/v1alpha1", "kind": "AutonomyWindow",
            "metadata": {"name": format!("{}-{TOKEN}", plan.metadata.name.as_deref().unwrap())},
            "spec": {
                "planRef": plan_ref(plan), "planDigest": "d".repeat(64), "class": "Assent", "targets": ["lxc:web"],
                "durationSeconds": 1800, "grantedBy": {"username": username, "via": via, "verified": false},
            },
        }))
        .unwrap()
    }
}

/// A plan with one step.
pub fn plan_object(name: &str) -> Value {
    json!({
        "apiVersion": "oikos.dev/v1alpha1", "kind": "Plan", "metadata": {"name": name},
        "spec": {
            "goal": "a web service", "targets": ["host:strong", "lxc:web"],
            "steps": [{"name": "look", "target": "host:strong", "run": "pct list"}],
        },
    })
}

pub fn plan_ref(plan: &Plan) -> Value {
    json!({"name": plan.metadata.name, "uid": plan.metadata.uid})
}

//! Execution: one step on one target, and its result.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ContainerSpec, CreatedGuest, ExecutionPhase, ExecutionReason, ObjectRef, Risk, SecretKeyRef, Target,
    execution_phase::{attempt_id_rule, phase_transition_rule, terminal_phase_rule},
    limits,
    names::NO_NUL_PATTERN,
};

/// One step of a plan. Never changes.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "oikos.dev",
    version = "v1alpha1",
    kind = "Execution",
    plural = "executions",
    namespaced,
    category = "oikos",
    status = "ExecutionStatus",
    derive = "PartialEq",
    doc = "One step on one target: a command or a container creation, and its real exit code, stdout and stderr.",
    validation = terminal_phase_rule(),
    validation = phase_transition_rule(),
    validation = attempt_id_rule(),
    validation = ("!has(oldSelf.status) || !has(oldSelf.status.attempt) || (has(self.status) && has(self.status.attempt) && self.status.attempt >= oldSelf.status.attempt)", "attempt never decreases"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Exit", type_ = "integer", json_path = ".status.exitCode"),
    printcolumn(name = "Risk", type_ = "string", json_path = ".status.risk.class"),
    printcolumn(name = "Target", type_ = "string", json_path = ".spec.target"),
    printcolumn(name = "Purpose", type_ = "string", json_path = ".spec.purpose"),
    printcolumn(name = "Command", type_ = "string", json_path = ".spec.run.command", priority = "1"),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.message", priority = "1"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    selectable = ".spec.planRef.name"
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = ("self == oldSelf", "an Execution's spec never changes"),
    validation = ("has(self.run) != has(self.createContainer)", "give exactly one of run and createContainer")
)]
pub struct ExecutionSpec {
    /// The plan that this step belongs to.
    pub plan_ref: ObjectRef,
    /// The Message whose tool call asked for the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::LONGEST_NAME))]
    pub message_ref: Option<String>,
    /// The id of that tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::LONGEST_CALL_ID))]
    pub call_id: Option<String>,
    /// The plan's step that this is, in a plan without an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::LONGEST_LABEL))]
    pub step_name: Option<String>,
    /// The target on which it runs.
    pub target: Target,
    /// A shell command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunSpec>,
    /// A container to create; the target is its host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create_container: Option<ContainerSpec>,
    /// What the step is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::LONGEST_PURPOSE))]
    pub purpose: Option<String>,
    /// The least risk that its author sees in it; the classifier may find a higher risk, and never lowers it.
    #[serde(default)]
    pub declared_risk: Risk,
    /// How long it may run, in seconds.
    #[serde(default = "default_timeout_seconds")]
    #[schemars(range(min = 1, max = limits::MOST_TIMEOUT_SECONDS))]
    pub timeout_seconds: u32,
}

fn default_timeout_seconds() -> u32 {
    limits::DEFAULT_TIMEOUT_SECONDS
}

/// A shell command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunSpec {
    /// Run by bash on hosts and by sh in guests; these very bytes run.
    #[schemars(length(min = 1, max = limits::LONGEST_COMMAND), regex(pattern = NO_NUL_PATTERN))]
    pub command: String,
}

impl Execution {
    /// Whether it is in a terminal phase.
    pub fn has_ended(&self) -> bool {
        self.status.as_ref().is_some_and(|status| status.phase.is_terminal())
    }
}

/// What the controller knows about a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionStatus {
    /// The phase of the step.
    pub phase: ExecutionPhase,
    /// The risk that the classifier has found, never below the declared risk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<RiskStatus>,
    /// What allowed it to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<Authority>,
    /// How to approve it, while it waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ExecutionApproval>,
    /// How many starts were tried. A step that only reads is tried up to three times. A step that changes anything is
    /// started at most once: a further attempt follows only when the host has said that the earlier one never started
    /// and never will.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The name of the run directory on the target: `<uid>-<attempt>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::LONGEST_ATTEMPT_ID))]
    pub attempt_id: Option<String>,
    /// Where it was sent: what its target stood for when it was claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<ResolvedTarget>,
    /// The guest that it has created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<CreatedGuest>,
    /// The exit code, when the command ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The name of the signal that ended the command, when one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// When it was claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
    /// Standard output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<Output>,
    /// Standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<Output>,
    /// A stable code for what happened, or for what the step waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<ExecutionReason>,
    /// What happened and what may be done about it, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::LONGEST_EXECUTION_MESSAGE))]
    pub message: Option<String>,
}

/// What a target stood for when a step was claimed. What became of the step is asked there, whatever the Host and Guest
/// objects say by then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedTarget {
    /// The name of the Host.
    #[schemars(length(max = limits::LONGEST_LABEL))]
    pub host: String,
    /// Its address.
    #[schemars(length(max = limits::LONGEST_NAME))]
    pub address: String,
    /// The port of its SSH server.
    pub port: u16,
    /// The login name there.
    #[schemars(length(max = limits::LONGEST_LOGIN))]
    pub user: String,
    /// The keys by which it is recognised, as `<type> SHA256:<fingerprint>`.
    #[schemars(length(max = limits::MOST_HOST_KEYS))]
    pub host_keys: Vec<String>,
    /// The Secret that holds the private key to log in with.
    pub credential_secret_ref: SecretKeyRef,
    /// The guest's VMID; absent for a step on the host itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vmid: Option<u32>,
}

/// The risk of a step, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RiskStatus {
    /// The class of the risk.
    pub class: Risk,
    /// Why, with the worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::MOST_RISK_REASONS))]
    pub reasons: Vec<String>,
    /// Everything that the step acts on, the place where it runs included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::MOST_AFFECTED_TARGETS))]
    pub affected_targets: Vec<String>,
}

/// What allowed a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AuthorityKind {
    /// Nothing was needed: it changes nothing.
    ReadOnly,
    /// An open window that covers the plan as it stands.
    Window,
    /// The approved plan names this very destructive step.
    PlanStep,
    /// A window opened for destruction on this one target.
    DestructiveWindow,
    /// An approval of this very step.
    Approval,
}

/// What allowed a step to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Authority {
    /// What allowed it.
    pub kind: AuthorityKind,
    /// The AutonomyWindow's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Who granted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<String>,
}

/// How to approve a waiting step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionApproval {
    /// The plan's token, when a window is what is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The phrase to type, when the step is destructive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phrase: Option<String>,
    /// The kubectl line to copy.
    pub command: String,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// One captured stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// Beginning and end of what the step wrote, without control characters.
    #[schemars(length(max = limits::LONGEST_OUTPUT))]
    pub text: String,
    /// How many bytes the step wrote.
    pub bytes: i64,
    /// Whether the text leaves bytes out.
    #[serde(default)]
    pub truncated: bool,
    /// How many secrets were taken out of the text; the run directory on the target keeps what was written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redactions: u32,
    /// SHA-256 of everything that the step wrote, when it is known and nothing was taken out: a short secret could be
    /// found again by trying.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

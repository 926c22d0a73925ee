//! Plan: a goal, its targets, and the steps or the agent that carry it out.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{
    CustomResource, KubeSchema,
    core::{Message, Rule},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    BlockedReason, ContainerSpec, NameRef, Risk, Target, limits,
    names::{LABEL_PATTERN, NO_NUL_PATTERN},
};

fn name_length_rule() -> Rule {
    let longest = limits::LONGEST_LABEL;
    let message = format!("a Plan's name has at most {longest} characters: the names of its steps begin with it");
    Rule::new(format!("size(self.metadata.name) <= {longest}")).message(Message::Message(message))
}

/// What is to be achieved, on which targets, and by which steps or agent.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "oikos.dev",
    version = "v1alpha1",
    kind = "Plan",
    plural = "plans",
    namespaced,
    category = "oikos",
    status = "PlanStatus",
    derive = "PartialEq",
    doc = "A goal, its targets, and the steps or the agent that carry it out once a person has approved it.",
    validation = ("!has(oldSelf.status) || !(oldSelf.status.phase in ['Succeeded', 'Failed', 'Cancelled']) || (has(self.status) && self.status.phase == oldSelf.status.phase && self.spec == oldSelf.spec)", "a finished plan never changes"),
    validation = name_length_rule(),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Targets", type_ = "string", json_path = ".spec.targets"),
    printcolumn(name = "Token", type_ = "string", json_path = ".status.approval.token"),
    printcolumn(name = "Window-Ends", type_ = "string", json_path = ".status.window.expiryTime"),
    printcolumn(name = "Steps", type_ = "integer", json_path = ".status.executions"),
    printcolumn(name = "Goal", type_ = "string", json_path = ".spec.goal", priority = "1"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = ("has(self.agentRef) || (has(self.steps) && size(self.steps) > 0)", "give steps, an agentRef, or both"),
    validation = ("!has(self.steps) || self.steps.all(s, s.target in self.targets)", "every step's target must be among the plan's targets")
)]
pub struct PlanSpec {
    /// What the plan is to achieve, in words. The agent works towards it, and people read it before they approve.
    #[schemars(length(min = 1, max = limits::LONGEST_GOAL))]
    pub goal: String,
    /// Every host and guest that the plan may change: `host:<Host>`, `lxc:<Guest>` or `vm:<Guest>`.
    /// A guest that a step creates is named here as well.
    #[schemars(length(min = 1, max = limits::MOST_TARGETS))]
    pub targets: Vec<Target>,
    /// The Agent that carries the plan out. Without one, the steps run in order and the first failure ends the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_ref: Option<NameRef>,
    /// The steps to carry out. An agent is given them and may add its own within the approved scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::MOST_STEPS))]
    pub steps: Vec<PlanStep>,
    /// How long one approval lasts, in seconds: 10 to 1800.
    #[serde(default = "default_window_seconds")]
    #[schemars(range(min = limits::LEAST_WINDOW_SECONDS, max = limits::MOST_WINDOW_SECONDS))]
    pub window_seconds: u32,
    /// Limits at which the plan stops and says why.
    #[serde(default)]
    pub limits: PlanLimits,
    /// While true no new step starts; a running step finishes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// Once true the running step is stopped and the plan ends as Cancelled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
}

fn default_window_seconds() -> u32 {
    limits::MOST_WINDOW_SECONDS
}

/// One declared step: a command or a container to create.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = ("has(self.run) != has(self.createContainer)", "give exactly one of run and createContainer"))]
pub struct PlanStep {
    /// A short name; each step should have one of its own.
    #[schemars(length(min = 1, max = limits::LONGEST_LABEL), regex(pattern = LABEL_PATTERN))]
    pub name: String,
    /// The target on which it runs; one of the plan's targets.
    pub target: Target,
    /// The shell command: run by bash on hosts and by sh in guests, at most 64 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = limits::LONGEST_COMMAND), regex(pattern = NO_NUL_PATTERN))]
    pub run: Option<String>,
    /// A container to create and start; the target is its host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create_container: Option<ContainerSpec>,
    /// What the step is for, for people who read the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::LONGEST_PURPOSE))]
    pub purpose: Option<String>,
    /// How long the step may run, in seconds; 600 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = limits::MOST_TIMEOUT_SECONDS))]
    pub timeout_seconds: Option<u32>,
}

/// Limits at which the plan stops and says why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PlanLimits {
    /// How many model requests may be made. A turn that only reads counts a quarter.
    #[schemars(range(min = 1, max = 1000))]
    pub iterations: u32,
    /// How often the same command may fail on the same target in a row.
    #[schemars(range(min = 1, max = 100))]
    pub consecutive_failures: u32,
    /// How many seconds may pass from the first approval to the end of the work.
    #[schemars(range(min = 60, max = 604_800))]
    pub deadline_seconds: u32,
}

impl Default for PlanLimits {
    fn default() -> Self {
        Self { iterations: 40, consecutive_failures: 4, deadline_seconds: 14_400 }
    }
}

/// The phase of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum PlanPhase {
    /// The agent looks around and writes a proposal.
    Planning,
    /// A person has to approve, by `status.approval.command`.
    #[default]
    AwaitingApproval,
    /// Steps run.
    Running,
    /// A destructive step waits for its typed phrase.
    AwaitingConfirmation,
    /// Only the operator can help; `status.blocked` says how.
    Blocked,
    /// The goal was reached and verified.
    Succeeded,
    /// A step of a plan without an agent failed.
    Failed,
    /// A person denied the plan. Approving the new token starts it after all.
    Denied,
    /// A person cancelled the plan.
    Cancelled,
}

impl PlanPhase {
    /// Whether nothing follows any more.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

/// What the controller knows about a plan. Its size does not depend on how long the plan runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanStatus {
    /// The phase of the plan.
    pub phase: PlanPhase,
    /// `Approved` and `Succeeded`; there is no `Ready`, so that tools that wait for health do not hang on an
    /// unapproved plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::MOST_CONDITIONS))]
    pub conditions: Vec<Condition>,
    /// The generation of the spec that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How to approve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// The window that is open now; absent when none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowSummary>,
    /// Model requests so far, rounded up; a turn that only reads counts a quarter.
    #[serde(default)]
    pub iterations: u32,
    /// Executions so far.
    #[serde(default)]
    pub executions: u32,
    /// Executions that ended without success.
    #[serde(default)]
    pub failures: u32,
    /// When the plan was first approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// When the plan ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
    /// The result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<PlanResult>,
    /// Why the plan is Blocked, and what is needed to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Blocked>,
    /// The risk of each declared step, and what the gate will answer to it once the plan is approved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::MOST_STEPS))]
    pub steps: Vec<StepRisk>,
    /// The guests among the targets that the plan has created.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::MOST_TARGETS))]
    pub created: Vec<CreatedGuest>,
}

/// How to approve a plan, and which decisions were handled already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Approves the plan exactly as it stands. It changes with the plan and after every grant, denial and expiry.
    pub token: String,
    /// The kubectl line to copy.
    pub command: String,
    /// SHA-256 of what an approval covers: what the names of targets and agent stand for, the steps with their risk and
    /// time limit, the goal that an agent is given, and the limits.
    pub digest: String,
    /// A value from which the token is made; it changes with every decision, so that a token can be used once.
    pub nonce: String,
    /// What the latest grant covers; absent after a denial or revocation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<GrantedPlan>,
    /// The latest token that was acted upon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled: Option<String>,
}

/// What the latest grant of a plan covers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrantedPlan {
    /// The digest that the grant names.
    #[schemars(length(max = limits::DIGEST_LENGTH))]
    pub digest: String,
    /// Everything that the digest was made from, so that a difference can be said in words.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(length(max = limits::MOST_FACTS))]
    pub facts: BTreeMap<String, String>,
    /// VMIDs that were protected, by Host, at any time since the grant: they stay so as long as it lasts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(length(max = limits::MOST_FACTS))]
    pub protected: BTreeMap<String, BTreeSet<u32>>,
}

/// A guest that a step has created and registered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedGuest {
    /// Its target.
    pub target: Target,
    /// The uid of its Guest object.
    #[schemars(length(max = limits::LONGEST_UID))]
    pub uid: String,
    /// Its VMID.
    pub vmid: u32,
}

/// An open window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WindowSummary {
    /// The AutonomyWindow's name.
    pub name: String,
    /// When it ends.
    pub expiry_time: Time,
}

/// The result of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanResult {
    /// What was done and found.
    #[schemars(length(max = limits::LONGEST_PLAN_TEXT))]
    pub summary: String,
    /// The Executions that verified the goal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::MOST_EVIDENCE))]
    pub evidence: Vec<String>,
}

/// Why a plan does not go on by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Blocked {
    /// A stable code.
    pub reason: BlockedReason,
    /// The question to the operator, or what went wrong and what to do about it.
    #[schemars(length(max = limits::LONGEST_PLAN_TEXT))]
    pub question: String,
    /// The sequence of the Message after which the plan stopped. An operator answers with a Message of the same sequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u32>,
    /// The kubectl line with which to answer, when words can help.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// What the gate will answer to a declared step once the plan is approved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum StepAnswer {
    /// It starts.
    Allowed,
    /// It destroys, and starts because the approved plan names it.
    AllowedByName,
    /// A person has to type its phrase.
    NeedsConfirmation,
    /// It never starts; the plan is not offered for approval.
    #[default]
    Refused,
}

/// The risk of a declared step, and what will come of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepRisk {
    /// The step's name.
    pub name: String,
    /// The class of the risk.
    pub risk: Risk,
    /// Why it is in this class.
    #[schemars(length(max = limits::LONGEST_RISK_REASON))]
    pub reason: String,
    /// What the gate will answer once the plan is approved.
    #[serde(default)]
    pub answer: StepAnswer,
    /// Why it would be refused, when it would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::LONGEST_RISK_REASON))]
    pub refusal: Option<String>,
    /// Everything that the step acts on, the place where it runs included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::MOST_AFFECTED_TARGETS))]
    pub affected_targets: Vec<String>,
}

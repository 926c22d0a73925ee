//! AutonomyWindow: the grant. Creating one is approving.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{
    CustomResource, KubeSchema,
    core::{Message, Rule},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ObjectRef, Target, limits};

fn destructive_window_rule() -> Rule {
    let most = limits::MOST_DESTRUCTIVE_WINDOW_SECONDS;
    Rule::new(format!("self.class != 'Destructive' || (size(self.targets) == 1 && self.durationSeconds <= {most})"))
        .message(Message::Message(format!("a destructive window has one target and lasts at most {most} seconds")))
}

/// Which plan is approved, as it stood, on which targets, for how long, and by whom.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "oikos.dev",
    version = "v1alpha1",
    kind = "AutonomyWindow",
    plural = "autonomywindows",
    namespaced,
    category = "oikos",
    status = "AutonomyWindowStatus",
    derive = "PartialEq",
    doc = "A grant: this plan, as it stood, on these targets, for this long. Its name is <plan>-<token>.",
    validation = ("!has(oldSelf.status) || !(oldSelf.status.phase in ['Expired', 'Revoked']) || (has(self.status) && self.status.phase == oldSelf.status.phase)", "an expired or revoked grant stays so"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Plan", type_ = "string", json_path = ".spec.planRef.name"),
    printcolumn(name = "Class", type_ = "string", json_path = ".spec.class"),
    printcolumn(name = "Granted-By", type_ = "string", json_path = ".spec.grantedBy.username"),
    printcolumn(name = "Ends", type_ = "string", json_path = ".status.expiryTime"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    selectable = ".spec.planRef.name"
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = (
        "self.planRef == oldSelf.planRef && self.planDigest == oldSelf.planDigest && self.class == oldSelf.class && self.targets == oldSelf.targets && self.durationSeconds == oldSelf.durationSeconds && self.grantedBy == oldSelf.grantedBy && has(self.reason) == has(oldSelf.reason) && (!has(self.reason) || self.reason == oldSelf.reason) && has(self.executionRef) == has(oldSelf.executionRef) && (!has(self.executionRef) || self.executionRef == oldSelf.executionRef)",
        "only revoked may change"
    ),
    validation = ("!(has(oldSelf.revoked) && oldSelf.revoked) || (has(self.revoked) && self.revoked)", "a revoked grant stays revoked"),
    validation = destructive_window_rule()
)]
pub struct AutonomyWindowSpec {
    /// The plan that is approved.
    pub plan_ref: ObjectRef,
    /// `status.approval.digest` of the plan as it was approved; a changed plan is not covered.
    #[schemars(length(min = limits::DIGEST_LENGTH, max = limits::DIGEST_LENGTH), regex(pattern = "^[0-9a-f]{64}$"))]
    pub plan_digest: String,
    /// What it allows.
    pub class: WindowClass,
    /// The targets that it covers.
    #[schemars(length(min = 1, max = limits::MOST_TARGETS))]
    pub targets: Vec<Target>,
    /// How long it lasts, in seconds from when it opens: at most 1800, and at most 900 for destruction.
    #[schemars(range(min = 1, max = limits::MOST_WINDOW_SECONDS))]
    pub duration_seconds: u32,
    /// Who granted it and how.
    pub granted_by: Grant,
    /// Why it was granted, in the person's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::LONGEST_PERSONS_REASON))]
    pub reason: Option<String>,
    /// The destructive step that was confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_ref: Option<ObjectRef>,
    /// Once true no step starts under this grant any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub revoked: bool,
}

/// What a grant allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum WindowClass {
    /// Configuration changes on the plan's targets, and the destructive steps that the plan names.
    Assent,
    /// Destructive steps on one target.
    Destructive,
}

/// Who granted it and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Grant {
    /// The user's name, as the API server knows it.
    #[schemars(length(min = 1, max = limits::LONGEST_NAME))]
    pub username: String,
    /// Whether an admission policy has checked that the name is the caller's.
    #[serde(default)]
    pub verified: bool,
    /// How it was granted.
    pub via: GrantVia,
}

/// How a grant was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum GrantVia {
    /// The approve annotation; the controller made the window.
    Annotation,
    /// The typed phrase on a destructive Execution; the controller made the window.
    Confirmation,
    /// A person created the window.
    Manual,
    /// The chat front end created the window as the person.
    Chat,
}

/// The state of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum WindowPhase {
    /// Steps may start under it.
    Active,
    /// Its time has passed.
    Expired,
    /// It was revoked, or never took effect; `status.message` says why.
    Revoked,
}

/// What the controller knows of a grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutonomyWindowStatus {
    /// The state of the grant.
    pub phase: WindowPhase,
    /// When it opened, by the controller's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_at: Option<Time>,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiry_time: Option<Time>,
    /// Why it is not in effect, when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::LONGEST_WINDOW_MESSAGE))]
    pub message: Option<String>,
}

//! The custom resources of group `oikos.dev` and the words they share. No client, no runtime, no clock.

// Takes the keys of the `printcolumn`s of one kind for one another.
#![allow(clippy::duplicated_attributes)]

mod agent;
pub mod condition;
mod container;
mod crds;
mod execution;
mod host;
mod message;
mod plan;
mod reference;
mod target;
mod window;

pub use agent::{Agent, AgentLimits, AgentSpec, AgentStatus, Provider};
pub use container::ContainerSpec;
pub use crds::all as crds;
pub use execution::{
    Authority, AuthorityKind, Execution, ExecutionApproval, ExecutionPhase, ExecutionSpec, ExecutionStatus, Output,
    RiskStatus, RunSpec,
};
pub use host::{Guest, GuestKind, GuestSpec, GuestStatus, Host, HostSpec, HostStatus};
pub use message::{Message, MessageSpec, Role, ToolCall, ToolResult, Usage};
pub use oikos_risk::Risk;
pub use plan::{
    Approval, Blocked, Plan, PlanLimits, PlanPhase, PlanResult, PlanSpec, PlanStatus, PlanStep, StepRisk, WindowSummary,
};
pub use reference::{NameRef, ObjectRef, SecretKeyRef};
pub use target::{Target, TargetError, TargetKind};
pub use window::{AutonomyWindow, AutonomyWindowSpec, AutonomyWindowStatus, Grant, GrantVia, WindowClass, WindowPhase};

/// The API group.
pub const GROUP: &str = "oikos.dev";
/// The annotation that approves: its value is the token shown in status.
pub const APPROVE: &str = "oikos.dev/approve";
/// The annotation that denies: its value is the token shown in status.
pub const DENY: &str = "oikos.dev/deny";
/// The annotation that confirms a destructive Execution: its value is the phrase shown in status.
pub const CONFIRM: &str = "oikos.dev/confirm";
/// Why something was approved or denied, in the person's words.
pub const REASON: &str = "oikos.dev/reason";
/// Who wrote the decision; stamped by admission over whatever the caller wrote.
pub const APPROVED_BY: &str = "oikos.dev/approved-by";
/// The label on every child of a Plan, with the Plan's name.
pub const PLAN_LABEL: &str = "oikos.dev/plan";

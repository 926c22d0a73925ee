//! The custom resources of group `oikos.dev`, and what they share: targets, names, limits, reasons and conditions.
//!
//! Invariant: no client, no runtime, no clock.

// Takes the keys of the `printcolumn`s of one kind for one another.
#![allow(clippy::duplicated_attributes)]

mod agent;
pub mod child;
pub mod condition;
mod container;
mod crds;
pub mod digest;
mod execution;
mod execution_phase;
mod host;
pub mod limits;
mod message;
pub mod names;
mod plan;
mod reason;
mod reference;
mod target;
pub mod text;
mod window;

pub use agent::{Agent, AgentLimits, AgentSpec, AgentStatus, Provider};
pub use container::ContainerSpec;
pub use crds::all as crds;
pub use execution::{
    Authority, AuthorityKind, Execution, ExecutionApproval, ExecutionSpec, ExecutionStatus, Output, ResolvedTarget,
    RiskStatus, RunSpec,
};
pub use execution_phase::ExecutionPhase;
pub use host::{Guest, GuestKind, GuestSpec, GuestStatus, Host, HostSpec, HostStatus};
pub use message::{Author, Message, MessageKind, MessageSpec, ToolCall, ToolResult, Usage};
pub use names::{
    ANSWER, ANSWERED_BY, ANSWERED_SEQUENCE, APPROVE, APPROVED_BY, CONFIRM, DENY, GROUP, PLAN_LABEL, REASON,
};
pub use oikos_risk::Risk;
pub use plan::{
    Approval, Blocked, CreatedGuest, GrantedPlan, Plan, PlanLimits, PlanPhase, PlanResult, PlanSpec, PlanStatus,
    PlanStep, StepAnswer, StepRisk, WindowSummary,
};
pub use reason::{
    BlockedReason, ConnectionReason, EventReason, ExecutionReason, HostReason, PlanReason, Reason, ReasonCode,
};
pub use reference::{NameRef, ObjectRef, SecretKeyRef};
pub use target::{Target, TargetError, TargetKind};
pub use window::{AutonomyWindow, AutonomyWindowSpec, AutonomyWindowStatus, Grant, GrantVia, WindowClass, WindowPhase};

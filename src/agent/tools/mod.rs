//! What the model may ask for. Everything that touches a target becomes an Execution; approving is not a tool.

mod parse;
mod schema;

pub use parse::parse;
pub use schema::{ToolSchema, schemas};

use crate::api::{ContainerSpec, Risk, Target};

/// The tools' names, in the order in which the model is told of them.
pub const NAMES: [&str; 6] = ["run", "create_container", "read_output", "list_inventory", "ask_operator", "finish"];

/// Most bytes that one `read_output` gives.
pub const LONGEST_READ: u32 = 16_384;

/// A call that can be acted upon.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolRequest {
    /// Run a shell command.
    Run {
        /// The target that it runs on.
        target: Target,
        /// These very bytes run.
        command: String,
        /// What it is for.
        purpose: Option<String>,
        /// The least risk that the model sees in it; the judged risk may be higher, never lower.
        declared_risk: Risk,
        /// Time limit in seconds, 1 to 7200; the controller's default if none.
        timeout_seconds: Option<u32>,
    },
    /// Create and start a container.
    CreateContainer {
        /// The host that it is created on.
        host: Target,
        /// What it looks like.
        container: ContainerSpec,
        /// What it is for.
        purpose: Option<String>,
    },
    /// Read more of a step's output.
    ReadOutput {
        /// The Execution's name.
        execution: String,
        /// The stream that is read.
        stream: Stream,
        /// The first byte that is read, counted from 0.
        offset: u64,
        /// Number of bytes, 1 to [`LONGEST_READ`].
        length: u32,
    },
    /// List hosts and guests.
    ListInventory,
    /// Ask for something that only the operator has; the plan waits.
    AskOperator {
        /// The question.
        question: String,
    },
    /// Report that the goal is reached.
    Finish {
        /// What was done and found.
        summary: String,
        /// The steps that verified the goal.
        evidence: Vec<String>,
    },
}

/// An output stream of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl ToolRequest {
    /// The name of the tool that was called.
    pub fn name(&self) -> &'static str {
        match self {
            ToolRequest::Run { .. } => "run",
            ToolRequest::CreateContainer { .. } => "create_container",
            ToolRequest::ReadOutput { .. } => "read_output",
            ToolRequest::ListInventory => "list_inventory",
            ToolRequest::AskOperator { .. } => "ask_operator",
            ToolRequest::Finish { .. } => "finish",
        }
    }

    /// Whether an Execution answers the call; the other results are given inline.
    pub fn is_step(&self) -> bool {
        matches!(self, ToolRequest::Run { .. } | ToolRequest::CreateContainer { .. })
    }
}

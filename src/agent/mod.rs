//! Nomos, the agent: what it is told, what it may ask for, and one request to its model.
//!
//! Owns the system prompt, the tools, the transcript as a model sees it and the two wire formats. It knows the custom
//! resources but no Kubernetes client, and writes nothing: the controller stores its answers as Messages and carries
//! out its calls as Executions. Invariant: nothing here can approve, widen or lower anything.

mod anthropic;
mod arguments;
mod context;
mod entry;
mod error;
mod finish;
pub mod limits;
mod model;
mod openai;
pub mod prompt;
mod raw_reply;
mod result;
pub mod tools;
pub mod transcript;
mod wire;

pub use crate::api::names::{execution_name, message_name};
pub use context::{KnownTarget, TurnContext};
pub use entry::{CallResult, Entry, Reply, ReplyKind, ToolUse, TurnRequest};
pub use error::{ErrorCategory, ModelError};
pub use finish::check_finish;
pub use model::Model;
pub use prompt::system_prompt;
pub use result::{render_result, untrusted};

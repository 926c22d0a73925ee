//! The transcript in neutral words: what both wire formats are rendered from and parsed into.

use crate::api::{BlockedReason, ToolCall, Usage};

/// One entry of a transcript, oldest first. Results stand directly after the Assistant entry whose calls they answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Words of the operator or of the controller.
    User(String),
    /// A turn of the model.
    Assistant {
        /// What it said; may be empty when there are calls.
        text: String,
        /// What it asked for.
        calls: Vec<ToolCall>,
        /// Provider fields to be replayed, as [`Reply::opaque`] gave them.
        opaque: Option<String>,
    },
    /// Exactly one result for each call of the Assistant entry before, in the order of the calls.
    Results(Vec<CallResult>),
}

/// What came of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// The call's id.
    pub call_id: String,
    /// What the model reads.
    pub text: String,
    /// Whether the call failed.
    pub is_error: bool,
}

/// Everything that one model request depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnRequest {
    /// The constant part: [`super::system_prompt`].
    pub system: String,
    /// The transcript; the first and the newest entry are never Assistant.
    pub entries: Vec<Entry>,
    /// Whether the model may call tools.
    pub tools: ToolUse,
    /// Tokens that the model may write.
    pub max_tokens: u32,
}

/// Whether a model may call tools in its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolUse {
    /// It may call them.
    Offered,
    /// It may only speak, as in the closing turn.
    Withheld,
}

/// What a model answered, within the bounds of a Message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// What it said, at most 131,072 characters.
    pub text: String,
    /// What it asked for: at most 32 calls, each with an id that is unique in the transcript. Calls that were cut off
    /// or that came with a refusal are not among them.
    pub calls: Vec<ToolCall>,
    /// Provider fields that have to be sent back unchanged, as JSON text.
    pub opaque: Option<String>,
    /// Why the model stopped, in its provider's word.
    pub stop_reason: Option<String>,
    /// The model that answered, as the server names it.
    pub model: Option<String>,
    /// Tokens; none means unknown and never zero.
    pub usage: Option<Usage>,
    /// What kind of answer this is.
    pub kind: ReplyKind,
}

/// What kind of answer a model gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReplyKind {
    /// It asks for something; there may be text as well.
    Calls,
    /// Only words.
    Text,
    /// Reasoning only: nothing was said and nothing asked for.
    ReasoningOnly,
    /// Nothing at all.
    Empty,
    /// The model or its provider declined. Its calls are not to be run.
    Refusal,
    /// The answer reached its length limit before a call was whole.
    Cut,
}

impl ReplyKind {
    /// The code of a note about an answer of this kind.
    pub fn reason(self) -> BlockedReason {
        match self {
            ReplyKind::Calls => BlockedReason::ReplyCalls,
            ReplyKind::Text => BlockedReason::ReplyTextOnly,
            ReplyKind::ReasoningOnly => BlockedReason::ReplyReasoningOnly,
            ReplyKind::Empty => BlockedReason::ReplyEmpty,
            ReplyKind::Refusal => BlockedReason::ReplyRefused,
            ReplyKind::Cut => BlockedReason::ReplyCut,
        }
    }
}

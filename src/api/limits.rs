//! Every limit and default of the API, once: the schemas, the CEL rules and the decisions use these.
//!
//! Lengths count characters, as OpenAPI's `maxLength` does, unless a name says bytes. `LONGEST_` is for texts, `MOST_`
//! for lists and numbers.

/// Targets of a plan, and of a window that covers it.
pub const MOST_TARGETS: usize = 16;
/// Steps that a plan may declare.
pub const MOST_STEPS: usize = 64;
/// Results that a plan may name as the evidence of its success.
pub const MOST_EVIDENCE: usize = 16;
/// Reasons that are kept for the risk of one step.
pub const MOST_RISK_REASONS: usize = 8;
/// Affected targets that are kept for the risk of one step.
pub const MOST_AFFECTED_TARGETS: usize = 32;
/// Facts that an approval of a plan covers: those of its targets and their hosts, its steps, its agent, its limits.
pub const MOST_FACTS: usize = 400;
/// Conditions of one object.
pub const MOST_CONDITIONS: usize = 8;
/// Pinned host keys of one Host.
pub const MOST_HOST_KEYS: usize = 8;
/// Protected guests of one Host.
pub const MOST_PROTECTED_GUESTS: usize = 256;
/// Tools that one turn of the agent may call.
pub const MOST_CALLS: usize = 32;

/// The shortest window that a plan may ask for, in seconds.
pub const LEAST_WINDOW_SECONDS: u32 = 10;
/// The longest window, in seconds; also the length of one for which the plan gives none.
pub const MOST_WINDOW_SECONDS: u32 = 1800;
/// The longest window for destruction, in seconds.
pub const MOST_DESTRUCTIVE_WINDOW_SECONDS: u32 = 900;
/// How long a step may run when its author gives no limit, in seconds.
pub const DEFAULT_TIMEOUT_SECONDS: u32 = 600;
/// The longest limit that a step may have, in seconds.
pub const MOST_TIMEOUT_SECONDS: u32 = 7200;
/// How often a read-only step is tried when its connection breaks.
pub const READ_ATTEMPTS: u32 = 3;
/// How many answers in a row may come without a tool call.
pub const MOST_TEXT_ONLY_TURNS: u32 = 3;

/// The name of an object, as Kubernetes has it.
pub const LONGEST_NAME: usize = 253;
/// The name of a Plan, a Host, a Guest or a step: an RFC 1123 label.
pub const LONGEST_LABEL: usize = 63;
/// A login name.
pub const LONGEST_LOGIN: usize = 64;
/// The uid of an object.
pub const LONGEST_UID: usize = 64;
/// An attempt id: a uid and a number.
pub const LONGEST_ATTEMPT_ID: usize = 64;
/// A target: a prefix such as `host:` and a label.
pub const LONGEST_TARGET: usize = 68;
/// A plan's goal.
pub const LONGEST_GOAL: usize = 8192;
/// A command, which is also at most this many bytes.
pub const LONGEST_COMMAND: usize = 65_536;
/// What a step is for.
pub const LONGEST_PURPOSE: usize = 1024;
/// What a Message says.
pub const LONGEST_TEXT: usize = 131_072;
/// The name of a model, as its server knows it.
pub const LONGEST_MODEL_NAME: usize = 253;
/// Why a model stopped, in the words of its server.
pub const LONGEST_STOP_REASON: usize = 253;
/// The fields of a provider that are sent back to it.
pub const LONGEST_OPAQUE: usize = 262_144;
/// The id of a tool call.
pub const LONGEST_CALL_ID: usize = 256;
/// One fact that an approval covers.
pub const LONGEST_FACT: usize = 4096;
/// The beginning of a command or a text in a fact, beside its digest.
pub const LONGEST_FACT_EXCERPT: usize = 120;
/// The name of a tool, as a model wrote it.
pub const LONGEST_TOOL_NAME: usize = 128;
/// The arguments of a tool call, which are also at most this many bytes.
pub const LONGEST_ARGUMENTS: usize = 131_072;
/// The controller's own answer to a tool call.
pub const LONGEST_TOOL_RESULT: usize = 65_536;
/// A digest: SHA-256 in hexadecimal.
pub const DIGEST_LENGTH: usize = 64;
/// Why a person approved or denied.
pub const LONGEST_PERSONS_REASON: usize = 1024;
/// An answer by annotation; a Message has room for more.
pub const LONGEST_ANSWER: usize = 4096;
/// Why the risk of a declared step is what it is.
pub const LONGEST_RISK_REASON: usize = 1024;
/// One of several reasons for the risk of a step.
pub const LONGEST_SINGLE_RISK_REASON: usize = 300;
/// What became of an Execution, in words.
pub const LONGEST_EXECUTION_MESSAGE: usize = 8192;
/// A window's message.
pub const LONGEST_WINDOW_MESSAGE: usize = 1024;
/// A plan's question to the operator, or its summary.
pub const LONGEST_PLAN_TEXT: usize = 16_384;
/// Head and tail of one captured stream.
pub const LONGEST_OUTPUT: usize = 16_384;
/// A condition's message as we write it; Kubernetes would allow 32,768 characters.
pub const LONGEST_CONDITION_MESSAGE: usize = 1024;
/// An Event's note, which Kubernetes limits to 1024 bytes.
pub const LONGEST_EVENT_NOTE: usize = 1000;

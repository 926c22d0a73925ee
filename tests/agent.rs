//! The agent against the scripted model server, in both wire formats.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "agent/conversation.rs"]
mod conversation;
#[path = "agent/errors.rs"]
mod errors;
#[path = "agent/fixtures.rs"]
mod fixtures;
#[path = "agent/replies.rs"]
mod replies;
#[path = "agent/tools.rs"]
mod tools;
#[path = "agent/transcript.rs"]
mod transcript;
#[path = "agent/typetype.rs"]
mod typetype;

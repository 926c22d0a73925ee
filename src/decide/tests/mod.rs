//! Tests of the decisions: each kind by itself, and whole stories.

mod execution;
mod plan;
mod samples;
mod story;
mod window;

//! The shell's grammar: from a text to the commands in it.
//!
//! Owns what each node of the syntax tree means; must not know any command. A node without a rule is Destructive.

mod condition;
mod expansions;
mod functions;
mod guard;
mod loops;
mod parts;
mod redirects;
mod scan;
mod script;
mod simple;
mod walk;

pub use script::{nested_script, whole_script};

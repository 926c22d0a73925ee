//! How the task of an Execution treats its attempt.

/// Whether an attempt is started, or may have been started by an earlier process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Start it.
    Start,
    /// Find out what became of it.
    Adopt,
}

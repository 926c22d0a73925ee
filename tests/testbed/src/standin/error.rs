//! What can go wrong while a stand-in is set up or taken down.

use std::path::{Path, PathBuf};

/// A stand-in could not be prepared, reached or removed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The machine lacks something; the text says what to do about it.
    #[error("the Proxmox stand-in cannot run on this machine: {0}")]
    Machine(String),
    /// A file operation failed.
    #[error("{action} {path}: {source}")]
    File {
        /// What was being done.
        action: &'static str,
        /// To which file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// An external program could not be started or failed.
    #[error("{program} failed: {reason}")]
    Program {
        /// The program with its arguments.
        program: String,
        /// Its exit status and the end of its standard error.
        reason: String,
    },
    /// The supervisor ended or answered nonsense.
    #[error("the supervisor of the stand-in: {0}")]
    Supervisor(String),
    /// The directory holds something that no stand-in made.
    #[error("{0} is not a stand-in's directory (no marker file); nothing was touched")]
    ForeignDirectory(PathBuf),
}

impl Error {
    /// Wraps an I/O error with what was done to which file.
    pub fn file(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { action, path, source }
    }
}

/// Shorthand for this module's results.
pub type Result<T> = std::result::Result<T, Error>;

//! What names mean whatever command gets them: paths, guests, units, packages, variables, and words that say that
//! something is lost.
//!
//! Must not know any command, nor the shell.

pub mod environment;
pub mod guests;
pub mod paths;
pub mod suspicion;
pub mod units;

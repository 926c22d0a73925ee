//! The custom resources of group `oikos.dev` and the words they share. No client, no runtime, no clock.

mod risk;
mod target;

pub use risk::Risk;
pub use target::{Target, TargetError, TargetKind};

//! How much harm a command can do.

use serde::{Deserialize, Serialize};

/// How much harm a step can do. Ordered: joining two risks is `max`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Risk {
    /// Proven to change nothing. The default is for records that were stored without a class; the classifier itself
    /// never uses it.
    #[default]
    ReadOnly,
    /// Changes configuration or software; can be undone with ordinary means.
    ConfigMutation,
    /// May lose data, a guest, access or availability, or cannot be understood.
    Destructive,
}

impl Risk {
    /// The name in snake case, as `oikos classify` prints it.
    pub fn snake_case(self) -> &'static str {
        match self {
            Risk::ReadOnly => "read_only",
            Risk::ConfigMutation => "config_mutation",
            Risk::Destructive => "destructive",
        }
    }
}

//! What an assignment to an environment or shell variable can do.

use crate::{
    Risk,
    tables::{ListName, Tables},
};

/// Whether a variable selects what code other commands run.
pub fn is_critical(name: &str, tables: &Tables) -> bool {
    tables.lists(ListName::EnvironmentCritical, name) || tables.lists(ListName::EnvironmentNumbers, name)
}

/// The class of giving `name` this value; `value` is `None` when it is not known.
/// `prefix` marks an environment for one command; otherwise it is a shell variable.
pub fn class_of(name: &str, value: Option<&str>, prefix: bool, tables: &Tables) -> Risk {
    if tables.lists(ListName::EnvironmentInert, name) {
        return Risk::ReadOnly;
    }
    if tables.lists(ListName::EnvironmentNumbers, name) {
        let digits = value.is_some_and(|value| value.bytes().all(|b| b.is_ascii_digit()));
        return if digits { Risk::ReadOnly } else { Risk::Destructive };
    }
    if value.is_some_and(|value| is_harmless(name, value, tables)) {
        return Risk::ReadOnly;
    }
    if name == "IFS" {
        // It changes how words split, which the judgement takes into account.
        return if prefix { Risk::ReadOnly } else { Risk::ConfigMutation };
    }
    if tables.lists(ListName::EnvironmentSetting, name) {
        return Risk::ConfigMutation;
    }
    if is_critical(name, tables) {
        return Risk::Destructive;
    }
    if prefix { Risk::ConfigMutation } else { Risk::ReadOnly }
}

/// Whether this value is harmless for a name that otherwise is not.
fn is_harmless(name: &str, value: &str, tables: &Tables) -> bool {
    match name {
        "PATH" => value.split(':').all(|part| tables.lists(ListName::PathsTrusted, part) || part == "$PATH"),
        _ => tables
            .members(ListName::EnvironmentHarmless)
            .iter()
            .any(|member| member.split_once('=') == Some((name, value))),
    }
}

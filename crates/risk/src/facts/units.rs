//! Services and packages without which a system cannot be reached or does not work.

use super::paths;
use crate::{
    Risk,
    tables::{Kind, ListName, Tables},
    words::{Value, Word},
};

/// The class of acting on a unit and why, when it is more than a change.
pub fn class_of(kind: Kind, word: &Word<'_>, guest: bool, tables: &Tables) -> Option<(Risk, String)> {
    if word.value != Value::Known {
        let risk = if kind == Kind::StopUnit { Risk::Destructive } else { Risk::ConfigMutation };
        return Some((risk, "which unit is meant is not known".to_owned()));
    }
    let name = word.text.rsplit_once('.').filter(|(_, kind)| is_unit_kind(kind)).map_or(&*word.text, |(name, _)| name);
    if word.text.contains('/') && (!guest || paths::is_temporary(&word.text, tables)) {
        return Some((Risk::Destructive, format!("{} is a unit file whose content is not known", word.text)));
    }
    let guest_scope = word.text.strip_suffix(".scope").is_some_and(|id| id.bytes().all(|b| b.is_ascii_digit()));
    let lists = |list: ListName| tables.lists(list, name);
    let access = lists(ListName::UnitsAccess);
    let node = guest_scope || lists(ListName::UnitsNode) || tables.lists(ListName::UnitsNode, &word.text);
    let begin = word.text.split(['*', '?', '[']).next().filter(|begin| begin.len() < word.text.len());
    let power =
        begin.is_some_and(|begin| tables.members(ListName::UnitsPower).iter().any(|unit| unit.starts_with(begin)));
    if lists(ListName::UnitsPower) || power && kind == Kind::Unit {
        let risk = if guest { Risk::ConfigMutation } else { Risk::Destructive };
        return Some((risk, format!("{name} takes the system away")));
    }
    let lost = match kind {
        Kind::StopUnit => access || node,
        Kind::RestartUnit => !guest && lists(ListName::UnitsRestart),
        _ => false,
    };
    let target = kind != Kind::Unit && word.text.ends_with(".target");
    let glob = word.text.contains(['*', '?', '[']) && kind != Kind::Unit;
    (lost || target || glob)
        .then(|| (Risk::Destructive, format!("{} carries the way to this system or its guests", word.text)))
}

fn is_unit_kind(kind: &str) -> bool {
    matches!(
        kind,
        "service"
            | "socket"
            | "target"
            | "timer"
            | "mount"
            | "path"
            | "slice"
            | "scope"
            | "swap"
            | "device"
            | "automount"
    )
}

/// Whether removing a package breaks the system or the way to it.
pub fn is_critical_package(name: &str, tables: &Tables) -> bool {
    tables.lists(ListName::PackagesCritical, name)
}

//! `systemd-run`, services, and settings of the kernel.

use super::general::*;
use crate::{
    Locus, Risk, access,
    context::{Findings, Scope},
    facts::{environment, units},
    invocation::Invocation,
    tables::{Kind, ListName},
    words::{Value, Word},
};

/// `systemd-run -p NAME=VALUE`.
pub fn run_property(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let (name, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
    match name {
        "Environment" => {
            for setting in value.split_whitespace().map(|part| part.trim_matches(['"', '\''])) {
                run_environment(&Word { text: setting.into(), ..word.borrow() }, scope, findings);
            }
        }
        "PassEnvironment" => {
            for name in value.split_whitespace() {
                run_environment(&Word { text: name.into(), ..word.borrow() }, scope, findings);
            }
        }
        "StandardOutput" | "StandardError" => {
            if let Some(("file" | "append" | "truncate", path)) = value.split_once(':') {
                access::writes(&Word { text: path.into(), ..word.borrow() }, "systemd-run", scope, findings);
            }
        }
        "EnvironmentFile" => {
            findings.add(
                scope,
                Risk::Destructive,
                "systemd-run:property",
                format!("{value} may set any variable"),
                None,
            );
        }
        _ => {}
    }
    let begins = ["Exec", "OnFailure", "OnSuccess", "Bind"].iter().any(|begin| name.starts_with(begin));
    if begins || name.ends_with("Action") || name.contains("Root") || word.value != Value::Known {
        findings.add(
            scope,
            Risk::Destructive,
            "systemd-run:property",
            format!("{} may execute something", word.shown()),
            None,
        );
    }
}

/// `systemd-run -E NAME=VALUE`.
pub fn run_environment(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let (name, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
    let value = (word.value == Value::Known).then_some(value);
    let risk = environment::class_of(name, value, true, scope.tables());
    if risk > Risk::ReadOnly {
        findings.add(
            scope,
            risk,
            format!("environment:{name}"),
            format!("{name} may change what the command does"),
            None,
        );
    }
}

/// `service NAME ACTION`.
pub fn service(call: &Invocation<'_, '_, '_>, scope: &Scope, findings: &mut Findings) {
    if call.argv.len() == 2 && call.argv[1..].iter().any(|word| word.is("--status-all") || word.is("--list")) {
        return;
    }
    let (Some(name), Some(action)) = (call.operands.first(), call.operands.get(1)) else {
        return findings.add(scope, Risk::ConfigMutation, "service:unknown", "what is done is not known", None);
    };
    let kind = match action.literal() {
        Some("status") => return,
        Some("stop") => Kind::StopUnit,
        Some("restart" | "force-reload") => Kind::RestartUnit,
        _ => Kind::Unit,
    };
    findings.add(scope, Risk::ConfigMutation, "service:change", "changes a service", None);
    if let Some((risk, message)) = units::class_of(kind, name, scope.locus() == Locus::Guest, scope.tables()) {
        findings.add(scope, risk, "service:unit", message, None);
    }
}

/// `sysctl`: `name=value` sets.
pub fn sysctl(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    for word in &call.operands {
        if word.text.contains('=') || word.value >= Value::ScriptValue {
            let fatal = scope
                .tables()
                .members(ListName::SysctlFatal)
                .iter()
                .any(|name| word.text.replace('/', ".").starts_with(name));
            let risk = if fatal { Risk::Destructive } else { Risk::ConfigMutation };
            findings.add(scope, risk, "sysctl:set", format!("sets {}", word.shown()), None);
        }
    }
}

//! Operands and options' values, by the kind that the table gives them.

use super::{nested, request};
use crate::{
    Locus, Risk, access,
    context::{Findings, Scope, Shell},
    facts::{paths, units},
    invocation::Invocation,
    tables::Kind,
    words::{Input, Value, Word},
};

/// Judges an operand or an option's value by its kind.
pub fn value(call: &Invocation<'_, '_, '_>, kind: Kind, word: &Word<'_>, scope: &mut Scope, findings: &mut Findings) {
    let name = call.name;
    match kind {
        Kind::Any | Kind::Num | Kind::True | Kind::Command | Kind::Line | Kind::InContainer => {}
        Kind::Read => access::reads(word, scope, findings),
        Kind::Write => access::writes(word, name, scope, findings),
        Kind::GuestFile => access::writes(word, name, &scope.in_guest(), findings),
        Kind::Directory => access::fills(word, name, scope, findings),
        Kind::Remove => lose(name, word, scope, findings),
        Kind::Set => {
            findings.add(scope, Risk::ConfigMutation, call.code("set"), format!("sets {}", word.shown()), None)
        }
        Kind::Destroy => {
            let message = format!("acts on {} for good", word.shown());
            findings.add(scope, Risk::Destructive, call.code("destroy"), message, None)
        }
        Kind::Code => {
            findings.add(scope, Risk::Destructive, format!("{name}:code"), "executes code that is not judged", None)
        }
        Kind::Shell => nested::word(word, Shell::Sh, name, scope, findings),
        Kind::Host => {
            findings.affects_host(Some(word));
            findings.add(scope, Risk::ConfigMutation, format!("{name}:other-system"), "acts on another system", None);
        }
        Kind::OnSystem => on_system(name, word, scope, findings),
        Kind::Vmid => {
            if scope.class_of(call.form().effect) > Risk::ReadOnly {
                findings.affects_guest(Some(word));
            }
        }
        Kind::Sid => {
            let vmid = word.text.rsplit(':').next().and_then(|id| id.split('-').next()).unwrap_or("");
            findings.affects_guest(Some(&word.with_text(vmid)));
        }
        Kind::InGuest => findings.affects_guest(Some(word)),
        Kind::Request(rule) => request::value(rule, name, word, scope, findings),
        Kind::Checked(rule) => super::judge_value(rule, call, word, scope, findings),
        Kind::Unit | Kind::StopUnit | Kind::RestartUnit => {
            let guest = scope.locus() == Locus::Guest;
            if let Some((risk, message)) = units::class_of(kind, word, guest, scope.tables()) {
                findings.add(scope, risk, call.code("unit"), message, None);
            }
        }
        Kind::Package => package(call, word, scope, findings),
        Kind::Url => url(name, word, scope, findings),
        Kind::DomainName => domain_name(name, word, scope, findings),
        Kind::Mode => {
            if sets_identity(&word.text, scope.locus() == Locus::Guest) {
                let message = "gives a program another user's rights";
                findings.add(scope, Risk::Destructive, format!("{name}:setuid"), message, None);
            }
        }
    }
}

/// Another system, on which the rest of the words runs.
fn on_system(name: &str, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let host = word.text.rsplit('@').next().unwrap_or("");
    findings.affects_host(Some(&word.with_text(host)));
    findings.add(scope, Risk::ConfigMutation, format!("{name}:other-system"), "runs on another system", None);
    if *scope.input() != Input::Closed && findings.secrets_shown_so_far() {
        findings.add(scope, Risk::Destructive, format!("{name}:sends-secret"), "sends a secret away", None);
    }
    if word.may_be_option() {
        let message = "which system is meant is not known";
        findings.add(scope, Risk::Destructive, format!("{name}:unknown-host"), message, None);
    }
}

/// A package that is removed; one that ends in `+` is installed instead.
fn package(call: &Invocation<'_, '_, '_>, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let critical = units::is_critical_package(&word.text, scope.tables());
    if critical || word.value != Value::Known && !word.text.ends_with('+') {
        let message = "removes a package that the system needs";
        findings.add(scope, Risk::Destructive, call.code("package"), message, None);
    }
}

/// A URL that is asked: what stands in it is sent to another system.
fn url(name: &str, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let local = ["http://127.", "http://localhost", "https://127.", "https://localhost"];
    if word.substituted && !local.iter().any(|begin| word.text.starts_with(begin)) {
        let message = "sends a command's output to another system";
        findings.add(scope, Risk::Destructive, format!("{name}:sends-output"), message, Some("write the URL out"));
    } else if word.value >= Value::ScriptValue {
        let message = "which URL is asked is not known";
        findings.add(scope, Risk::ConfigMutation, format!("{name}:unknown-url"), message, None);
    }
}

/// A name that is resolved: the servers of a domain see what is asked for below it.
fn domain_name(name: &str, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let asks_below = word.ending.contains('.') || word.text.contains("….");
    if word.substituted && asks_below {
        let message = "sends a command's output away";
        findings.add(scope, Risk::Destructive, format!("{name}:sends-output"), message, None);
    }
}

/// A file or directory is removed: only a literal path to something temporary is not a loss.
fn lose(name: &str, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    // `"$tmp"/*` is everything when there is no $tmp.
    let wide = word.glob && word.expanded;
    let temporary = word.value == Value::Known && paths::is_temporary(&word.text, scope.tables()) && !wide;
    let risk = if temporary { Risk::ConfigMutation } else { Risk::Destructive };
    let rest = word.ending.as_str();
    let message = match word.value {
        // `rm -rf "$directory"/data`
        Value::ScriptValue | Value::Unknown if word.text.is_empty() && rest.starts_with('/') => {
            format!("removes {}, which is {rest} if the part that is not known expands to nothing", word.shown())
        }
        _ if wide => format!("removes {}, which is everything if the variable expands to nothing", word.shown()),
        _ => format!("removes {}", word.shown()),
    };
    findings.add(scope, risk, format!("{name}:remove"), message, None);
}

/// In a guest the group's identity alone is what shared directories have: `chmod 2775`.
fn sets_identity(mode: &str, guest: bool) -> bool {
    if mode.bytes().all(|b| b.is_ascii_digit()) {
        let special = mode.len().checked_sub(4).map_or(b'0', |at| mode.as_bytes()[at]);
        return !(matches!(special, b'0' | b'1') || guest && matches!(special, b'2' | b'3'));
    }
    mode.split(',').any(|part| part.contains('s') && !part.contains('-'))
}

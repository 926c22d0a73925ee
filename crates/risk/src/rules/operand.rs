//! Operands and options' values, by the kind that the table gives them.

use super::nested;
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
    let guest = scope.locus() == Locus::Guest;
    match kind {
        Kind::Any | Kind::Num | Kind::True | Kind::Command | Kind::Line => {}
        Kind::Sid => {
            let vmid = word.text.rsplit(':').next().and_then(|id| id.split('-').next()).unwrap_or("").to_owned();
            findings.affects_guest(Some(&Word { text: vmid.into(), ..word.borrow() }));
        }
        Kind::Read => access::reads(word, scope, findings),
        Kind::DomainName => {
            let asks_below = word.ending.contains('.') || word.text.contains("….");
            if word.substituted && asks_below {
                findings.add(
                    scope,
                    Risk::Destructive,
                    format!("{name}:sends-output"),
                    "sends a command's output away",
                    None,
                );
            }
        }
        Kind::GuestFile => access::writes(word, name, &scope.in_guest(), findings),
        Kind::Write => access::writes(word, name, scope, findings),
        Kind::Directory => access::fills(word, name, scope, findings),
        Kind::Remove => lose(name, word, scope, findings),
        Kind::Set => {
            findings.add(scope, Risk::ConfigMutation, call.code("set"), format!("sets {}", word.shown()), None)
        }
        Kind::Destroy => findings.add(
            scope,
            Risk::Destructive,
            call.code("destroy"),
            format!("acts on {} for good", word.shown()),
            None,
        ),
        Kind::Code => {
            findings.add(scope, Risk::Destructive, format!("{name}:code"), "executes code that is not judged", None)
        }
        Kind::Shell => nested::word(word, Shell::Sh, name, scope, findings),
        Kind::Host => {
            findings.affects_host(Some(word));
            findings.add(scope, Risk::ConfigMutation, format!("{name}:other-system"), "acts on another system", None);
        }
        Kind::OnSystem => {
            let host = word.text.rsplit('@').next().unwrap_or("").to_owned();
            findings.affects_host(Some(&Word { text: host.into(), ..word.borrow() }));
            findings.add(scope, Risk::ConfigMutation, format!("{name}:other-system"), "runs on another system", None);
            if *scope.input() != Input::Closed && findings.secrets_shown_so_far() {
                let message = "sends a secret away";
                findings.add(scope, Risk::Destructive, format!("{name}:sends-secret"), message, None);
            }
            if word.may_be_option() {
                findings.add(
                    scope,
                    Risk::Destructive,
                    format!("{name}:unknown-host"),
                    "which system is meant is not known",
                    None,
                );
            }
        }
        Kind::Vmid => {
            if scope.class_of(call.form().effect) > Risk::ReadOnly {
                findings.affects_guest(Some(word));
            }
        }
        Kind::InGuest => findings.affects_guest(Some(word)),
        Kind::InContainer => {}
        Kind::Checked(rule) => super::judge_value(rule, call, word, scope, findings),
        Kind::Unit | Kind::StopUnit | Kind::RestartUnit => {
            if let Some((risk, message)) = units::class_of(kind, word, guest, scope.tables()) {
                findings.add(scope, risk, call.code("unit"), message, None);
            }
        }
        Kind::Package => {
            if word.text.ends_with('+') && !units::is_critical_package(&word.text, scope.tables()) {
                return;
            }
            if units::is_critical_package(&word.text, scope.tables()) || word.value != Value::Known {
                findings.add(
                    scope,
                    Risk::Destructive,
                    call.code("package"),
                    "removes a package that the system needs",
                    None,
                );
            }
        }
        Kind::Url => {
            let local = ["http://127.", "http://localhost", "https://127.", "https://localhost"];
            if word.substituted && !local.iter().any(|begin| word.text.starts_with(begin)) {
                findings.add(
                    scope,
                    Risk::Destructive,
                    format!("{name}:sends-output"),
                    "sends a command's output to another system",
                    Some("write the URL out"),
                );
            } else if word.value >= Value::ScriptValue {
                findings.add(
                    scope,
                    Risk::ConfigMutation,
                    format!("{name}:unknown-url"),
                    "which URL is asked is not known",
                    None,
                );
            }
        }
        Kind::Mode => {
            if sets_identity(&word.text, guest) {
                findings.add(
                    scope,
                    Risk::Destructive,
                    format!("{name}:setuid"),
                    "gives a program another user's rights",
                    None,
                );
            }
        }
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

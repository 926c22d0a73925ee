//! The general rule: joins what a table says about a command, its verb, its options and its operands.
//!
//! Owns the meaning of the tables' words; must not know any single command.

use super::{nested, operand, suspect};
use crate::{
    Risk,
    context::{Findings, Scope},
    facts::{paths, suspicion},
    invocation::{Invocation, is_true},
    tables::{Effect, Kind, Takes},
    words::{Input, Value},
};

/// The rule for all commands that have none of their own.
pub fn general(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    if !verb_is_certain(call, scope, findings) {
        return;
    }
    let form = call.form();
    let mut effect = call.effect();
    let pretends = call.is_dry_run();
    if pretends {
        effect.host = Risk::ReadOnly;
        effect.guest = Risk::ReadOnly;
    }
    if call.is_bounded() {
        (effect.unbounded, effect.interactive, effect.runs_stdin) = (false, false, false);
    }
    if call.runs_something() {
        // What it does alone (`env`, `lvm`) it does not do then.
        (effect.sensitive, effect.interactive, effect.runs_stdin) = (false, false, false);
    }
    report(call, effect, form.hint, scope, findings);
    given_options(call, scope, findings);
    unlisted(call, scope, findings);
    doubt(call, scope, findings);
    if !pretends {
        operands(call, scope, findings);
        nested::command(call, scope, findings);
    }
}

/// Without a known verb nothing else can be said.
fn verb_is_certain(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) -> bool {
    let Some(words) = &call.unknown_verb else { return true };
    let known = !words.contains('…');
    let risk = if call.entry.prefixes || !known { Risk::Destructive } else { Risk::ConfigMutation };
    let risk = risk.max(scope.class_of(call.entry.form.effect));
    findings.add(
        scope,
        risk,
        format!("{}:unknown-verb", call.name),
        format!("{words} is not one known verb of {}", call.name),
        Some("write the verb out"),
    );
    suspect::program(call.name, call.argv, scope, findings);
    options_only(call, scope, findings);
    false
}

/// Joins an effect of the present command.
pub fn report(
    call: &Invocation<'_, '_, '_>,
    effect: Effect,
    hint: Option<&str>,
    scope: &Scope,
    findings: &mut Findings,
) {
    findings.raise_flags(scope, effect);
    if effect.runs_stdin && *scope.input() != Input::Closed {
        findings.add(scope, Risk::Destructive, call.code("piped-code"), "executes what comes through a pipe", hint);
    }
    if effect.all_guests {
        findings.affects_guest(None);
    }
    let risk = scope.class_of(effect);
    if risk > Risk::ReadOnly || effect.unbounded || effect.interactive {
        let message = match risk {
            Risk::Destructive => "loses data or availability, or cannot be undone",
            Risk::ConfigMutation => "changes the system",
            Risk::ReadOnly if effect.unbounded => "does not end by itself",
            Risk::ReadOnly => "needs a person at a terminal",
        };
        findings.add(scope, risk, call.code("change"), message, hint.or(way_out(effect)));
    }
}

/// What to do instead of something that nobody can wait for, when the table says nothing better.
pub fn way_out(effect: Effect) -> Option<&'static str> {
    match (effect.unbounded, effect.interactive) {
        (true, _) => Some("give it an end: a count if it takes one, or `timeout 30 …`"),
        (_, true) => Some("nobody is at the terminal: look for a form that prints and ends"),
        _ => None,
    }
}

/// Judges the options alone, for commands whose operands have a rule of their own.
pub fn options_only(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    given_options(call, scope, findings);
    unlisted(call, scope, findings);
}

fn given_options(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    let pretends = call.is_dry_run();
    let ends = call.is_bounded();
    for given in call.options.iter().filter(|given| !(pretends && given.opt.effect.skipped_in_dry_run)) {
        let mut effect = match given.opt.takes {
            Takes::Maybe(Kind::True) if !is_true(given.value.as_ref()) => Effect::READ,
            _ => given.opt.effect,
        };
        effect.unbounded &= !ends;
        findings.raise_flags(scope, effect);
        if effect.all_guests {
            findings.affects_guest(None);
        }
        let risk = scope.class_of(effect);
        if risk > Risk::ReadOnly || effect.unbounded || effect.interactive {
            let name = given.opt.name.trim_start_matches('-');
            let message = match (risk, effect.unbounded, effect.interactive) {
                (_, true, _) => format!("{} does not end by itself", shown(given.opt.name)),
                (_, _, true) => format!("{} needs a person at a terminal", shown(given.opt.name)),
                (Risk::Destructive, ..) => format!("{} executes something or loses data", shown(given.opt.name)),
                _ => format!("{} changes something", shown(given.opt.name)),
            };
            findings.add(
                scope,
                risk,
                format!("{}:option-{name}", call.name),
                message,
                given.opt.hint.or(way_out(effect)),
            );
        }
        let kind = match given.opt.takes {
            Takes::Nothing => continue,
            Takes::Value(kind) | Takes::Maybe(kind) => kind,
        };
        if let Some(value) = &given.value {
            operand::value(call, kind, value, scope, findings);
        }
    }
}

fn shown(name: &str) -> String {
    if name.starts_with('-') { name.to_owned() } else { format!("-{name}") }
}

fn unlisted(call: &Invocation<'_, '_, '_>, scope: &Scope, findings: &mut Findings) {
    for option in &call.unlisted {
        // A misspelt or newer form of a dangerous option is no safer than the one that is known.
        let stem = option.get(..5).filter(|stem| stem.starts_with("--"));
        let all = call.form().options.iter().chain(&call.entry.form.options);
        let near = stem.is_some_and(|stem| {
            all.into_iter().any(|opt| scope.class_of(opt.effect) == Risk::Destructive && opt.name.starts_with(stem))
        });
        let suspected = near || suspicion::of_option(option, scope.locus(), scope.tables()).is_some();
        findings.add(
            scope,
            if suspected { Risk::Destructive } else { Risk::ConfigMutation },
            format!("{}:unlisted-option", call.name),
            format!("{option} is not an option known to be harmless"),
            None,
        );
        unlisted_value(call, option, scope, findings);
    }
}

/// What may be the value of an option that is not listed may be what it writes.
fn unlisted_value(call: &Invocation<'_, '_, '_>, option: &str, scope: &Scope, findings: &mut Findings) {
    let letter = option.strip_prefix('-').filter(|letter| !letter.starts_with('-') && letter.chars().count() == 1);
    let is = |text: &str| match letter {
        Some(letter) => text.starts_with('-') && !text.starts_with("--") && text.contains(letter),
        None => text == option,
    };
    for word in call.argv.iter().filter(|word| is(&word.text)) {
        let own = word.text.find('/').map(|slash| &word.text[slash..]);
        let written = own.and_then(|path| paths::writing(path, true, scope.locus(), scope.tables()));
        if let Some((Risk::Destructive, message)) = written {
            findings.add(scope, Risk::Destructive, format!("{}:unlisted-value", call.name), message, None);
        }
    }
}

fn doubt(call: &Invocation<'_, '_, '_>, scope: &Scope, findings: &mut Findings) {
    if call.computed_option {
        findings.add(scope, Risk::Destructive, "shell:computed-option", "which option is given is not known", None);
    }
    let inert = call.form().inert;
    let runs = call.form().operands.iter().any(|kind| matches!(kind, Kind::Command | Kind::Line));
    let harmless = match call.doubt {
        None => true,
        // A word that splits may become the nested command.
        Some(_) if runs && call.doubt_splits => false,
        Some(Value::Unknown) => inert && call.argv.iter().all(|word| word.value != Value::Unknown || word.glob),
        Some(_) => inert,
    };
    if !harmless {
        findings.add(
            scope,
            Risk::ConfigMutation,
            format!("{}:unknown-word", call.name),
            "a word that is not known may be an option",
            Some("put -- before it, or write it out"),
        );
    }
}

fn operands(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    let form = call.form();
    for (at, operand) in call.operands.iter().enumerate() {
        match form.operands.get(at).copied().or(form.rest) {
            Some(kind) => operand::value(call, kind, operand, scope, findings),
            None => findings.add(
                scope,
                Risk::ConfigMutation,
                call.code("operand"),
                format!("{} is one operand more than is known to be harmless", operand.shown()),
                None,
            ),
        }
    }
}

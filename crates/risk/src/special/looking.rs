//! Operands and options that decide whether a tool only looks: hosts, certificates, jumps, processes.

use crate::{
    Risk,
    judge::Judge,
    rule::{Case, general, options_only},
    word::{Value, Word},
};

/// Another system that is asked; it counts as acted on where the command does more than ask.
pub fn peer(judge: &mut Judge, case: &Case<'_, '_, '_>, word: &Word<'_>) {
    let effects = case.args.given.iter().map(|given| given.opt.effect).chain([case.form().effect]);
    let acts = effects.map(|effect| judge.class(effect)).any(|risk| risk > Risk::ReadOnly);
    if acts || case.args.no_verb.is_some() || !case.args.unlisted.is_empty() {
        let host = word.text.rsplit(['@', '/']).next().unwrap_or("").to_owned();
        let known = (word.value == Value::Known).then(|| Word::known(host));
        judge.affects_host(known.as_ref());
    }
}

/// A command of a router's own shell: `show …` only shows.
pub fn show(judge: &mut Judge, word: &Word<'_>) {
    let verb = word.text.split_whitespace().next().unwrap_or("");
    if word.value != Value::Known || !matches!(verb, "show" | "sh" | "sho") || word.text.contains(['>', '\n', ';']) {
        judge.find(Risk::Destructive, "router:command", format!("{} may cut the way here", word.shown()), None);
    }
}

/// `ovs-vsctl show -- del-br vmbr0`: after `--` another command may follow.
pub fn one_command(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    if case.argv.iter().any(|word| word.is("--") || word.value != Value::Known) {
        judge.find(Risk::Destructive, case.code("more"), "more commands may follow", None);
    }
}

/// Hosts that only pass `ssh` through: `ssh -J user@a,b c`.
pub fn jump(judge: &mut Judge, word: &Word<'_>) {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '@' | ':' | ',' | '[' | ']');
    if word.value != Value::Known || word.text.starts_with('-') || !word.text.chars().all(plain) {
        judge.find(Risk::Destructive, "ssh:option", format!("-J {} may execute something", word.shown()), None);
    }
}

/// `taskset -cp 812` shows, `taskset -cp 0-3 812` sets.
pub fn taskset(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    let process = case.has("p") || case.has("--pid");
    if !process {
        return general(judge, case);
    }
    options_only(judge, case);
    let known = case.argv.iter().all(|word| word.value == Value::Known);
    let words = case.argv[1..].iter().filter(|word| !word.may_be_option()).count();
    if words > 1 || !known {
        judge.find(Risk::ConfigMutation, "taskset:set", "binds a process to processors", None);
    }
}

/// `hdparm -W /dev/sda` shows, `hdparm -W 0 /dev/sda` sets: what is no device is a value.
pub fn devices(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    if case.args.operands.iter().any(|word| !word.text.starts_with('/')) {
        judge.find(Risk::ConfigMutation, format!("{}:set", case.name), "sets a property of the disk", None);
    }
}

//! Hypervisors, routers and switches: their addresses and the commands of their own shells.

use super::general::*;
use crate::{
    Risk,
    context::{Findings, Scope},
    invocation::Invocation,
    tables::ListName,
    words::{Value, Word},
};

/// The hypervisor of `virsh -c`.
pub fn hypervisor(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if word.literal().is_none_or(|uri| !uri.contains(":///") || uri.contains('+')) {
        findings.affects_host(Some(word));
        findings.add(scope, Risk::ConfigMutation, "virsh:other-system", "acts on another system", None);
    }
}

/// A line for a router's shell: `show` asks.
pub fn router_line(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let first = word.literal().and_then(|text| text.split_whitespace().next());
    let is_in = |list: ListName| first.is_some_and(|first| scope.tables().lists(list, first));
    let risk = match () {
        () if is_in(ListName::RouterReads) => return,
        () if is_in(ListName::RouterChanges) => Risk::ConfigMutation,
        () => Risk::Destructive,
    };
    findings.add(scope, risk, "vtysh:line", format!("{} is not known to change nothing", word.shown()), None);
}

/// `ovs-vsctl show -- del-br vmbr0`: after `--` another command may follow.
pub fn one_command(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    if call.argv.iter().any(|word| word.is("--") || word.value != Value::Known) {
        findings.add(scope, Risk::Destructive, call.code("more"), "more commands may follow", None);
    }
}

/// Another system that is asked; it counts as acted on where the command does more than ask.
pub fn peer(call: &Invocation<'_, '_, '_>, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let effects = call.options.iter().map(|given| given.opt.effect).chain([call.form().effect]);
    let acts = effects.map(|effect| scope.class_of(effect)).any(|risk| risk > Risk::ReadOnly);
    if acts || call.unknown_verb.is_some() || !call.unlisted.is_empty() {
        let host = word.text.rsplit(['@', '/']).next().unwrap_or("").to_owned();
        let known = (word.value == Value::Known).then(|| Word::known(host));
        findings.affects_host(known.as_ref());
    }
}

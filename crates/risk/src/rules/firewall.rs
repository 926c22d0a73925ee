//! Packet filters: `iptables` and `nft`.

use super::general::*;
use crate::{
    Risk,
    context::{Findings, Scope},
    invocation::Invocation,
    words::{Value, Word},
};

/// `iptables`, `ip6tables`, `ebtables`: what flushes, replaces or drops may lock everybody out.
pub fn firewall(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    let input = call.argv.iter().any(|word| word.is("INPUT") || word.is("OUTPUT"));
    let drops = call.argv.iter().any(|word| word.is("DROP") || word.is("REJECT"));
    if input && drops {
        findings.add(scope, Risk::Destructive, "firewall:lockout", "may drop the connection to this system", None);
    }
}

/// `nft`: all words make one text of statements, separated by `;`. With `-c` nothing happens, whatever they say.
pub fn nft(argv: &[Word<'_>], scope: &Scope, findings: &mut Findings) {
    const FLAGS: &[&str] = &["--handle", "--json", "--numeric", "--stateless", "--check", "--terse", "--echo"];
    let (mut checks, mut file) = (false, false);
    let mut words = argv[1..].iter().peekable();
    while let Some(word) = words.next_if(|word| word.text.starts_with('-')) {
        let unknown = match word.literal() {
            Some("-v" | "--version" | "-V" | "-h" | "--help") => return,
            Some(flag) if FLAGS.contains(&flag) => {
                checks |= flag == "--check";
                false
            }
            Some(flag)
                if flag.len() > 1 && flag[1..].trim_end_matches('f').chars().all(|c| "ajnNsSytceTupo".contains(c)) =>
            {
                checks |= flag.contains('c');
                if flag.ends_with('f') {
                    file = true;
                    words.next();
                }
                false
            }
            Some("--file") => {
                file = true;
                words.next();
                false
            }
            _ => true,
        };
        if unknown {
            findings.add(scope, Risk::Destructive, "nft:option", "an option that is not known", None);
            return;
        }
    }
    if checks {
        return;
    }
    if file {
        return findings.add(
            scope,
            Risk::Destructive,
            "nft:file",
            "executes a file of commands",
            Some("check it with nft -c -f"),
        );
    }
    let mut text = String::new();
    for word in words {
        if word.value != Value::Known {
            findings.add(scope, Risk::Destructive, "nft:unknown-word", "what is done is not known", None);
        }
        text.push_str(&word.text);
        text.push(' ');
    }
    for statement in text.split([';', '\n']).map(str::trim).filter(|statement| !statement.is_empty()) {
        nft_statement(statement, scope, findings);
    }
}

fn nft_statement(statement: &str, scope: &Scope, findings: &mut Findings) {
    match statement.split_whitespace().next().unwrap_or("") {
        "list" | "describe" => {}
        "monitor" => {
            findings.does_not_end(scope);
            findings.add(scope, Risk::ReadOnly, "nft:monitor", "does not end by itself", Some("use nft list ruleset"));
        }
        "add" | "create" | "insert" | "rename"
            if !((statement.contains("drop") || statement.contains("reject"))
                && (statement.contains("input") || statement.contains("INPUT") || statement.contains("policy"))) =>
        {
            findings.add(scope, Risk::ConfigMutation, "nft:change", "changes the packet filter", None);
        }
        _ => findings.add(scope, Risk::Destructive, "nft:destroy", "removes rules or may lock everybody out", None),
    }
}

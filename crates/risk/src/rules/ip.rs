//! `ip`: objects and commands, every part abbreviated at will.

use super::{judge_argv, nested};
use crate::{
    Locus, Risk,
    context::{Findings, Scope},
    tables::ListName,
    words::Word,
};

/// `ip [OPTIONS] OBJECT [COMMAND …]`, every part abbreviated at will.
pub fn ip(argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    let mut at = 1;
    while let Some(word) = argv.get(at) {
        match word.literal() {
            Some("-n" | "-netns" | "-l" | "-loops" | "-rc" | "-rcvbuf") => at += 2,
            Some("-force") | None => {
                return findings.add(scope, Risk::Destructive, "ip:unknown-word", "what is done is not known", None);
            }
            Some(text) if text.starts_with("-b") && !"-brief".starts_with(text) => {
                return findings.add(scope, Risk::Destructive, "ip:batch", "executes a file of commands", None);
            }
            Some("-b") => {
                return findings.add(scope, Risk::Destructive, "ip:batch", "executes a file of commands", None);
            }
            Some(text) if text.starts_with('-') => at += 1,
            Some(_) => break,
        }
    }
    let Some(object) = argv.get(at).and_then(Word::literal) else { return };
    let object = scope
        .tables()
        .members(ListName::IpObjects)
        .iter()
        .find(|known| known.starts_with(object))
        .copied()
        .unwrap_or("");
    let words: Vec<Option<&str>> = argv[at + 1..].iter().map(Word::literal).collect();
    match object {
        "" => findings.add(scope, Risk::Destructive, "ip:unknown-verb", "what is done is not known", None),
        "help" => {}
        "monitor" => {
            findings.does_not_end(scope);
            findings.add(scope, Risk::ReadOnly, "ip:monitor", "does not end by itself", Some("use ip -s link"));
        }
        "netns" => ip_netns(argv, at + 1, scope, findings),
        "vrf" => ip_vrf(argv, at + 1, scope, findings),
        _ => ip_object(object, &words, scope, findings),
    }
}

fn ip_netns(argv: &[Word<'_>], at: usize, scope: &mut Scope, findings: &mut Findings) {
    match argv.get(at).and_then(Word::literal) {
        None if argv.len() <= at => {}
        Some(verb)
            if !verb.is_empty() && "list-id".starts_with(verb) && verb != "l" || verb_is(argv.get(at), "list") => {}
        Some(verb) if "identify".starts_with(verb) || "pids".starts_with(verb) => {}
        Some(verb) if "exec".starts_with(verb) => match argv.get(at + 2..) {
            Some(words) if !words.is_empty() => {
                // With `-all` there is no name before the command: both readings count.
                if argv[..at].iter().any(|word| word.text.starts_with("-a")) {
                    judge_argv(&argv[at + 1..], scope, findings);
                }
                nested::own_process(words, scope, findings);
            }
            _ => findings.add(scope, Risk::Destructive, "ip:netns-exec", "what is executed is not known", None),
        },
        Some(verb) if "add".starts_with(verb) => {
            findings.add(scope, Risk::ConfigMutation, "ip:netns-add", "adds a namespace", None)
        }
        _ => {
            findings.add(scope, Risk::Destructive, "ip:netns", "removes a network namespace or is not understood", None)
        }
    }
}

fn verb_is(word: Option<&Word<'_>>, verb: &str) -> bool {
    word.and_then(Word::literal).is_some_and(|text| !text.is_empty() && verb.starts_with(text))
}

/// `ip vrf exec NAME COMMAND…`; all else only shows, as far as it is known what is done.
fn ip_vrf(argv: &[Word<'_>], at: usize, scope: &Scope, findings: &mut Findings) {
    let Some(verb) = argv.get(at) else { return };
    let is = |known: &str| verb_is(Some(verb), known);
    if is("exec") {
        return nested::own_process(argv.get(at + 2..).unwrap_or_default(), scope, findings);
    }
    if !["show", "list", "identify", "pids", "help"].into_iter().any(is) {
        findings.add(scope, Risk::Destructive, "ip:unknown-verb", "what is done is not known", None);
    }
}

fn ip_object(object: &str, words: &[Option<&str>], scope: &Scope, findings: &mut Findings) {
    let Some(first) = words.first() else { return };
    let Some(first) = first else {
        return findings.add(scope, Risk::Destructive, "ip:unknown-verb", "what is done is not known", None);
    };
    let verb =
        scope.tables().members(ListName::IpVerbs).iter().find(|verb| verb.starts_with(first)).copied().unwrap_or("");
    // `s` is the first of set and show that the object has.
    let verb = match (verb, object) {
        ("save", "link" | "tunnel" | "tuntap" | "token" | "netconf") if "set".starts_with(first) => "set",
        (verb, _) => verb,
    };
    let is_in = |list: ListName| scope.tables().lists(list, verb);
    let holds = |list: ListName| words.iter().flatten().any(|word| scope.tables().lists(list, word));
    let code = format!("ip:{object}-{verb}");
    if is_in(ListName::IpReads) || verb.is_empty() && (object == "link" || words.contains(&Some("dev"))) {
        return;
    }
    if is_in(ListName::IpAdds) {
        let refuses = verb != "test" && holds(ListName::IpRefuses);
        let (risk, message) = if refuses {
            (Risk::Destructive, "refuses what it matches")
        } else {
            (Risk::ConfigMutation, "changes the network")
        };
        return findings.add(scope, risk, code, message, None);
    }
    if is_in(ListName::IpSets) {
        let default_route = object == "route" && words.contains(&Some("default")) && scope.locus() == Locus::Host;
        let cuts = holds(ListName::IpCuts) || default_route;
        let risk = if cuts { Risk::Destructive } else { Risk::ConfigMutation };
        return findings.add(scope, risk, code, "changes the network", None);
    }
    let hint = "add the new address or route before removing the old one";
    findings.add(scope, Risk::Destructive, code, "may cut the way to this system", Some(hint));
}

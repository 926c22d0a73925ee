//! `ip`: objects and commands, every part abbreviated at will.

use super::{judge_argv, nested};
use crate::{
    Locus, Risk,
    context::{Findings, Scope},
    words::Word,
};

/// In the order in which `ip` looks for the object that a beginning means.
const IP_OBJECTS: &[&str] = &[
    "address",
    "addrlabel",
    "maddress",
    "route",
    "rule",
    "neighbor",
    "neighbour",
    "ntable",
    "ntbl",
    "link",
    "l2tp",
    "fou",
    "ila",
    "macsec",
    "tunnel",
    "tunl",
    "tuntap",
    "tap",
    "token",
    "tcpmetrics",
    "monitor",
    "xfrm",
    "mroute",
    "mrule",
    "netns",
    "netconf",
    "vrf",
    "sr",
    "nexthop",
    "mptcp",
    "ioam",
    "help",
    "stats",
];

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
    let object = IP_OBJECTS.iter().find(|known| known.starts_with(object)).copied().unwrap_or("");
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

fn ip_vrf(argv: &[Word<'_>], at: usize, scope: &Scope, findings: &mut Findings) {
    if verb_is(argv.get(at), "exec") {
        let words = argv.get(at + 2..).unwrap_or(&[]);
        nested::own_process(words, scope, findings);
    }
}

fn ip_object(object: &str, words: &[Option<&str>], scope: &Scope, findings: &mut Findings) {
    const VERBS: &[&str] = &[
        "add", "append", "change", "delete", "flush", "get", "help", "list", "lst", "metrics", "prepend", "replace",
        "restore", "save", "set", "show", "showdump", "test", "property", "afstats", "xstats",
    ];
    let Some(first) = words.first() else { return };
    let Some(first) = first else {
        return findings.add(scope, Risk::Destructive, "ip:unknown-verb", "what is done is not known", None);
    };
    let verb = VERBS.iter().find(|verb| verb.starts_with(first)).copied().unwrap_or("");
    // `s` is the first of set and show that the object has.
    let verb = match (verb, object) {
        ("save", "link" | "tunnel" | "tuntap" | "token" | "netconf") if "set".starts_with(first) => "set",
        (verb, _) => verb,
    };
    match verb {
        "list" | "lst" | "show" | "get" | "help" | "save" | "showdump" | "afstats" | "xstats" | "metrics" => {}
        "add" | "append" | "prepend" if words.iter().any(|word| matches!(word, Some("prohibit" | "blackhole"))) => {
            findings.add(scope, Risk::Destructive, format!("ip:{object}-{verb}"), "refuses what it matches", None);
        }
        "add" | "append" | "prepend" | "test" => {
            findings.add(scope, Risk::ConfigMutation, format!("ip:{object}-{verb}"), "changes the network", None);
        }
        "change" | "replace" | "set" | "property" => {
            let down =
                words.contains(&Some("down")) || words.contains(&Some("netns")) || words.contains(&Some("nomaster"));
            let lost = down || (matches!(object, "route") && words.contains(&Some("default")));
            let risk =
                if lost && (scope.locus() == Locus::Host || down) { Risk::Destructive } else { Risk::ConfigMutation };
            findings.add(scope, risk, format!("ip:{object}-{verb}"), "changes the network", None);
        }
        "" if object == "link" || words.contains(&Some("dev")) => {}
        _ => findings.add(
            scope,
            Risk::Destructive,
            format!("ip:{object}-{verb}"),
            "may cut the way to this system",
            Some("add the new address or route before removing the old one"),
        ),
    }
}

//! Processes, users, intervals and databases of the system.

use super::general::*;
use crate::{
    Locus, Risk,
    context::{Findings, Scope},
    facts::guests,
    invocation::Invocation,
    tables::ListName,
    words::{Value, Word},
};

/// `kill`: signal 0 asks only; 1 and negative numbers mean init and whole groups.
pub fn kill(argv: &[Word<'_>], scope: &Scope, findings: &mut Findings) {
    let mut targets = &argv[1..];
    let signal = match targets.first().and_then(Word::literal) {
        Some("-l" | "-L" | "--list" | "--table" | "--help" | "--version") => return,
        Some("-s" | "--signal" | "-n") => {
            // A signal that is not known may be the worst.
            let signal = targets.get(1).and_then(Word::literal).unwrap_or("KILL").to_owned();
            targets = targets.get(2..).unwrap_or(&[]);
            signal
        }
        Some("--") => String::new(),
        Some(text) if text.starts_with('-') => {
            targets = &targets[1..];
            text.trim_start_matches("--signal=").trim_start_matches('-').to_owned()
        }
        _ => String::new(),
    };
    if targets.first().is_some_and(|word| word.is("--")) {
        targets = &targets[1..];
    }
    let group = |word: &Word<'_>| {
        word.value == Value::Unknown || matches!(&*word.text, "1" | "0") || word.text.starts_with('-')
    };
    let abrupt = matches!(signal.trim_start_matches("SIG"), "9" | "KILL" | "19" | "STOP");
    let computed = targets.iter().any(|word| word.value >= Value::ScriptValue);
    let guests = if computed && scope.on_host() { findings.named_processes() } else { Vec::new() };
    let of_guests = !guests.is_empty();
    if signal != "0" {
        guests.into_iter().for_each(|guest| findings.affects(guest));
    }
    if targets.iter().any(group) {
        findings.add(scope, Risk::Destructive, "kill:everything", "may end init or every process", None);
    } else if signal != "0" && scope.on_host() && computed && (abrupt || of_guests) {
        findings.add(
            scope,
            Risk::Destructive,
            "kill:computed",
            "which process of the host ends is not known",
            Some("use the tool of the service or guest: systemctl stop, pct shutdown, qm shutdown"),
        );
    } else if signal != "0" {
        findings.add(scope, Risk::ConfigMutation, "kill:process", "ends a process", None);
    }
}

/// `pkill NAME`, `killall NAME`: a name that is short, a pattern or a part of the system ends too much.
pub fn kill_by_name(argv: &[Word<'_>], scope: &Scope, findings: &mut Findings) {
    let command = argv[0].text.to_string();
    let mut names = Vec::new();
    let mut asks = false;
    let mut wide = false;
    for word in &argv[1..] {
        match word.literal() {
            Some("-0" | "-l" | "--list" | "-c" | "--count" | "-V" | "--version") => asks = true,
            Some(
                "-9" | "-15" | "-1" | "-2" | "-HUP" | "-TERM" | "-KILL" | "-INT" | "-USR1" | "-USR2" | "-SIGTERM"
                | "-SIGKILL" | "-SIGHUP" | "-f" | "-x" | "-q" | "-e" | "-w" | "-n" | "-o" | "--full" | "--exact",
            ) => {}
            Some(text) if text.starts_with('-') => wide = true,
            Some(text) => names.push(text.to_owned()),
            None => wide = true,
        }
    }
    if asks {
        return;
    }
    for name in &names {
        if guests::is_any_process(name) {
            findings.affects_guest(None);
        }
        if let Some((_, id)) = name.split_once("id ") {
            findings.affects_guest(Some(&Word::known(id.trim_end_matches(['$', ' ']))));
            wide = true;
        }
    }
    let plain = |name: &String| {
        name.len() >= 3
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | ' ' | '.'))
            && !scope.tables().members(ListName::ProcessesKept).iter().any(|part| name.contains(part))
    };
    if wide || names.is_empty() || !names.iter().all(plain) {
        findings.add(
            scope,
            Risk::Destructive,
            format!("{command}:everything"),
            "may end processes that the system needs",
            None,
        );
    } else {
        findings.add(scope, Risk::ConfigMutation, format!("{command}:process"), "ends processes by name", None);
    }
}

/// `useradd`, `usermod`, `groupadd` …: groups that are as good as root are an access change everywhere.
pub fn usermod(argv: &[Word<'_>], scope: &Scope, findings: &mut Findings) {
    let root = argv[1..].iter().any(|word| {
        word.value >= Value::ScriptValue
            || word.text.split([',', '=']).any(|part| scope.tables().lists(ListName::GroupsRoot, part))
            || matches!(
                word.literal(),
                Some(
                    "-L" | "--lock"
                        | "-e"
                        | "--expiredate"
                        | "-o"
                        | "--non-unique"
                        | "0"
                        | "-p"
                        | "--password"
                        | "-R"
                        | "--root"
                        | "-P"
                        | "--prefix"
                )
            )
    });
    let risk = if root || scope.locus() == Locus::Host { Risk::Destructive } else { Risk::ConfigMutation };
    findings.add(scope, risk, format!("{}:access", argv[0].text), "changes who may do what", None);
}

/// `vmstat 1`: an interval without a count does not end.
pub fn interval(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    general(call, scope, findings);
    let number = |word: &&Word<'_>| word.literal().is_some_and(|text| text.parse::<f64>().is_ok());
    if call.operands.iter().filter(number).count() == 1 {
        findings.does_not_end(scope);
        let name = call.name;
        findings.add(
            scope,
            Risk::ReadOnly,
            format!("{name}:unbounded"),
            "does not end by itself",
            Some("add a count: 1 5"),
        );
    }
}

/// A database of `getent`: two of them hold password hashes.
pub fn database(word: &Word<'_>, _scope: &Scope, findings: &mut Findings) {
    if word.value != Value::Known || matches!(&*word.text, "shadow" | "gshadow") {
        findings.shows_secrets();
    }
}

/// `ntpq -c COMMAND`: what is not known to ask changes the daemon.
pub fn ntp_query(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let asks = word.literal().and_then(|text| text.split_whitespace().next());
    if !asks.is_some_and(|command| scope.tables().lists(ListName::NtpQueries, command)) {
        findings.add(scope, Risk::ConfigMutation, "ntpq:command", "a command that is not known to be a query", None);
    }
}

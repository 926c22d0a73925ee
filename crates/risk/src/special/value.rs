//! Values and operands whose meaning decides: options of ssh and apt, bind mounts, compose verbs.

use super::target;
use crate::{
    Locus, Risk, environment,
    judge::Judge,
    options::borrow,
    paths,
    rule::{Case, general},
    table::Kind,
    units,
    word::{Value, Word},
};

/// `ssh -o NAME=VALUE`: names that execute nothing.
pub fn ssh_option(judge: &mut Judge, word: &Word<'_>) {
    const HARMLESS: &[&str] = &[
        "batchmode",
        "connecttimeout",
        "connectionattempts",
        "stricthostkeychecking",
        "loglevel",
        "serveraliveinterval",
        "serveralivecountmax",
        "passwordauthentication",
        "pubkeyauthentication",
        "identitiesonly",
        "port",
        "user",
        "requesttty",
        "controlmaster",
        "controlpersist",
        "tcpkeepalive",
        "addressfamily",
        "preferredauthentications",
        "numberofpasswordprompts",
        "checkhostip",
        "compression",
        "kbdinteractiveauthentication",
        "gssapiauthentication",
    ];
    let name = word.text.split(['=', ' ']).next().unwrap_or("").to_ascii_lowercase();
    let known_hosts = matches!(word.literal(), Some("UserKnownHostsFile=/dev/null" | "GlobalKnownHostsFile=/dev/null"));
    if !(known_hosts || (HARMLESS.contains(&name.as_str()) && word.value == Value::Known)) {
        judge.find(Risk::Destructive, "ssh:option", format!("-o {} may execute something", word.shown()), None);
    }
}

/// A header of an HTTP request: `@file` reads one.
pub fn header(judge: &mut Judge, word: &Word<'_>) {
    if let Some(file) = word.text.strip_prefix('@') {
        judge.find(Risk::ConfigMutation, "curl:header-file", "sends what stands in a file", None);
        if paths::is_secret(file, word.value == Value::Known) {
            judge.shows_secrets();
            judge.find(Risk::Destructive, "curl:sends-secret", format!("sends {file} away"), None);
        }
    }
    let low = word.text.to_ascii_lowercase();
    if low.starts_with("authorization") || low.contains("token") || low.starts_with("cookie") {
        judge.shows_secrets();
    }
}

/// A Unix socket behind an HTTP request: Docker's takes the machine over, but only by other methods than GET.
pub fn socket(judge: &mut Judge, word: &Word<'_>) {
    if word.value != Value::Known {
        judge.find(Risk::ConfigMutation, "curl:socket", "which socket is asked is not known", None);
    }
}

/// `systemd-run -p NAME=VALUE`.
pub fn run_property(judge: &mut Judge, word: &Word<'_>) {
    let (name, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
    match name {
        "Environment" => {
            for setting in value.split_whitespace().map(|part| part.trim_matches(['"', '\''])) {
                run_environment(judge, &Word { text: setting.into(), ..borrow(word) });
            }
        }
        "PassEnvironment" => {
            for name in value.split_whitespace() {
                run_environment(judge, &Word { text: name.into(), ..borrow(word) });
            }
        }
        "EnvironmentFile" => {
            judge.find(Risk::Destructive, "systemd-run:property", format!("{value} may set any variable"), None);
        }
        _ => {}
    }
    if name.starts_with("Exec") || name.starts_with("OnFailure") || name.contains("Root") || word.value != Value::Known
    {
        judge.find(Risk::Destructive, "systemd-run:property", format!("{} may execute something", word.shown()), None);
    }
}

/// `systemd-run -E NAME=VALUE`.
pub fn run_environment(judge: &mut Judge, word: &Word<'_>) {
    let (name, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
    let value = (word.value == Value::Known).then_some(value);
    let risk = environment::judge(name, value, true);
    if risk > Risk::ReadOnly {
        judge.find(risk, format!("environment:{name}"), format!("{name} may change what the command does"), None);
    }
}

/// `less` and the like: `+COMMAND` executes.
pub fn pager(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    if case.args.operands.iter().any(|word| word.text.starts_with('+')) {
        judge.find(Risk::Destructive, "pager:command", "a pager command may execute something", None);
    }
}

/// `script -c COMMAND FILE`: what it runs goes on after the terminal is gone.
pub fn script(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    let detached = std::mem::replace(&mut judge.detached, true);
    general(judge, case);
    judge.detached = detached;
}

/// `date`: an operand that is not a format sets the clock.
pub fn date(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    if case.args.operands.iter().any(|word| !word.text.starts_with('+')) {
        judge.find(Risk::ConfigMutation, "date:set", "sets the clock", Some("begin a format with +"));
    }
}

/// `sysctl`: `name=value` sets.
pub fn sysctl(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    for word in &case.args.operands {
        if word.text.contains('=') || word.value >= Value::Data {
            let code = [
                "kernel.core_pattern",
                "kernel.modprobe",
                "kernel.hotplug",
                "kernel.sysrq",
                "kernel.panic",
                "kernel.poweroff_cmd",
            ];
            let fatal = code.iter().any(|name| word.text.replace('/', ".").starts_with(name));
            let risk = if fatal { Risk::Destructive } else { Risk::ConfigMutation };
            judge.find(risk, "sysctl:set", format!("sets {}", word.shown()), None);
        }
    }
}

/// `ping` without a count does not end.
pub fn ping(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    if case.has("f") {
        judge.find(Risk::ConfigMutation, "ping:flood", "floods the network", None);
    }
    if case.name != "fping" && !case.has("c") && !case.has("w") && !case.has("V") {
        judge.flag(crate::effect::Effect { unbounded: true, ..crate::effect::Effect::READ });
        judge.find(Risk::ReadOnly, "ping:endless", "does not end by itself", Some("use ping -c 3"));
    }
}

/// `service NAME ACTION`.
pub fn service(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    if case.argv.len() == 2 && case.argv[1..].iter().any(|word| word.is("--status-all") || word.is("--list")) {
        return;
    }
    let (Some(name), Some(action)) = (case.args.operands.first(), case.args.operands.get(1)) else {
        return judge.find(Risk::ConfigMutation, "service:unknown", "what is done is not known", None);
    };
    let kind = match action.literal() {
        Some("status") => return,
        Some("stop") => Kind::StopUnit,
        Some("restart" | "force-reload") => Kind::RestartUnit,
        _ => Kind::Unit,
    };
    judge.find(Risk::ConfigMutation, "service:change", "changes a service", None);
    if let Some((risk, message)) = units::judge(kind, name, judge.locus == Locus::Guest) {
        judge.find(risk, "service:unit", message, None);
    }
}

const ETHTOOL_READS: &[&str] = &[
    "-i",
    "-S",
    "-k",
    "-a",
    "-c",
    "-g",
    "-l",
    "-n",
    "-u",
    "-T",
    "-m",
    "-P",
    "-x",
    "-h",
    "--driver",
    "--statistics",
    "--show-features",
    "--show-offload",
    "--show-pause",
    "--show-coalesce",
    "--show-ring",
    "--show-channels",
    "--show-nfc",
    "--show-ntuple",
    "--show-time-stamping",
    "--module-info",
    "--dump-module-eeprom",
    "--show-permaddr",
    "--show-rxfh",
    "--show-rxfh-indir",
    "--show-priv-flags",
    "--show-eee",
    "--show-fec",
    "--show-tunnels",
    "--show-phy-tunable",
    "--get-phy-tunable",
    "--get-tunable",
    "--get-plca-cfg",
    "--get-plca-status",
    "--show-mm",
    "--show-module",
    "--version",
    "--help",
];

/// What the driver or the card does with packets, which the inverse command takes back and which keeps the link.
const ETHTOOL_CHANGES: &[&str] =
    &["-K", "--features", "--offload", "-C", "--coalesce", "-p", "--identify", "--set-eee", "--set-priv-flags"];

/// Whether `ethtool` only sets what keeps the link: features, or `-s DEVICE wol g`.
fn keeps_the_link(argv: &[Word<'_>]) -> bool {
    let [_, action, _device, settings @ ..] = argv else { return false };
    let known = action.value == Value::Known && settings.iter().all(|word| word.value == Value::Known);
    let sets = |name: &str| matches!(name, "wol" | "sopass" | "msglvl");
    let change = matches!(&*action.text, "-s" | "--change");
    known
        && !settings.is_empty()
        && (ETHTOOL_CHANGES.contains(&&*action.text)
            || change && settings.chunks(2).all(|pair| pair.len() == 2 && sets(&pair[0].text)))
}

/// Old network tools: listing is harmless, setting may cut the way.
pub fn net_tool(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    let words: Vec<&str> = case.argv[1..].iter().map(|word| word.text.as_ref()).collect();
    let reads = |word: &&str| ETHTOOL_READS.contains(word);
    // `ethtool` knows by its first word what it does; the others only name what it reads.
    if case.name == "ethtool" && words.first().is_some_and(reads) && case.argv[1].value == Value::Known {
        return;
    }
    if case.name == "ethtool" && keeps_the_link(case.argv) {
        return judge.find(Risk::ConfigMutation, "ethtool:setting", "changes a setting of a network card", None);
    }
    let harmless = match case.name {
        "arp" => words.iter().all(|word| matches!(*word, "-a" | "-n" | "-e" | "-an" | "-v")),
        "route" => words.iter().all(|word| matches!(*word, "-n" | "-e" | "-ee" | "-v" | "-6")),
        "ifconfig" | "iwconfig" => words.len() <= 1 && words.iter().all(|word| !word.contains('=')),
        "ethtool" => words.len() == 1 && !words[0].starts_with('-'),
        "bridge" | "tc" => {
            let named: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
            // Not every beginning: `bridge link s` sets, `tc qdisc l` links.
            let lists =
                matches!(named.get(1), None | Some(&("show" | "sho" | "sh" | "list" | "lis" | "ls" | "lst" | "help")));
            lists && !named.first().is_some_and(|object| "monitor".starts_with(object))
        }
        "iw" => matches!(
            words.as_slice(),
            ["dev" | "list" | "phy" | "features" | "commands" | "help" | "--version"]
                | ["reg", "get"]
                | ["phy", _, "info" | "channels"]
                | ["phy", _, "reg", "get"]
                | [_, "info" | "link"]
                | [_, "station" | "scan" | "survey" | "mpath", "dump"]
                | ["dev", _, "info" | "link"]
                | ["dev", _, "get", "power_save"]
                | ["dev", _, "station" | "scan" | "survey" | "mpath", "dump"]
                | ["dev", _, "station", "get", _]
        ),
        "mii-tool" => words.iter().all(|word| !word.starts_with('-') || matches!(*word, "-v" | "-vv" | "--verbose")),
        "vconfig" => words.is_empty(),
        "brctl" => words.first().is_some_and(|word| word.starts_with("show")),
        _ => false,
    };
    let batch = words.iter().any(|word| word.starts_with("-b") && (*word == "-b" || !"-brief".starts_with(word)));
    let known = !batch && case.argv.iter().all(|word| word.value == Value::Known);
    if !(harmless && known) {
        judge.find(Risk::Destructive, format!("{}:change", case.name), "may cut the way to this system", None);
    }
}

/// The system in `host:path`.
fn remote_host<'w>(word: &'w Word<'_>) -> Option<&'w str> {
    word.text.split_once(':').filter(|(host, _)| !host.contains('/')).map(|(host, _)| host)
}

/// `rsync`: another system in an operand, a device or protected directory as target.
pub fn rsync(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    for operand in &case.args.operands {
        if let Some((host, _)) = operand.text.split_once(':').filter(|(host, _)| !host.contains('/')) {
            let host = host.rsplit('@').next().unwrap_or(host).to_owned();
            judge.affects_host(Some(&Word::known(host)));
        }
    }
    let pretends = case.pretends();
    if let Some((target, sources)) = case.args.operands.split_last() {
        sources.iter().filter(|source| remote_host(source).is_none()).for_each(|source| judge.reads(source));
        if remote_host(target).is_some() && !pretends {
            sources.iter().for_each(|source| target::sent_file(judge, case, source));
        }
    }
    if let Some(target) = case.args.operands.last().filter(|word| !word.text.contains(':') && !pretends) {
        judge.writes(target, "rsync");
    }
}

/// `vmstat 1`: an interval without a count does not end.
pub fn interval(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    let number = |word: &&Word<'_>| word.literal().is_some_and(|text| text.parse::<f64>().is_ok());
    if case.args.operands.iter().filter(number).count() == 1 {
        judge.flag(crate::effect::Effect { unbounded: true, ..crate::effect::Effect::READ });
        let name = case.name;
        judge.find(Risk::ReadOnly, format!("{name}:endless"), "does not end by itself", Some("add a count: 1 5"));
    }
}

/// `scp`: a secret that leaves the system cannot be called back.
pub fn copy_away(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    let Some((target, sources)) = case.args.operands.split_last() else { return };
    for word in &case.args.operands {
        if let Some(host) = remote_host(word) {
            let host = host.rsplit('@').next().unwrap_or("").to_owned();
            judge.affects_host(Some(&Word::known(host)));
        }
    }
    sources.iter().filter(|source| remote_host(source).is_none()).for_each(|source| judge.reads(source));
    match remote_host(target) {
        Some(_) => sources.iter().for_each(|source| target::sent_file(judge, case, source)),
        None => judge.writes(target, case.name),
    }
}

/// A package to install; one that ends in `-` is removed instead.
pub fn apt_package(judge: &mut Judge, word: &Word<'_>) {
    if word.text.ends_with('-') || word.ending.ends_with('-') {
        judge.find(Risk::Destructive, "apt:package", format!("removes {}", word.shown()), None);
    }
}

/// A time to sleep: `infinity` does not end.
pub fn span(judge: &mut Judge, word: &Word<'_>) {
    if word.text.to_ascii_lowercase().starts_with("inf") {
        judge.flag(crate::effect::Effect { unbounded: true, ..crate::effect::Effect::READ });
        judge.find(Risk::ReadOnly, "sleep:endless", "does not end by itself", Some("name a number of seconds"));
    }
}

/// `smartctl -l scterc,70,70` sets what `-l scterc` shows.
pub fn smart_log(judge: &mut Judge, word: &Word<'_>) {
    if word.value != Value::Known || word.text.starts_with("scterc,") {
        judge.find(Risk::ConfigMutation, "smartctl:set", "sets a property of the disk", None);
    }
}

/// `env -u NAME`.
pub fn unset(judge: &mut Judge, word: &Word<'_>) {
    let risk = environment::judge(&word.text, None, true);
    if risk > Risk::ReadOnly || word.value != Value::Known {
        judge.find(Risk::ConfigMutation, "env:unset", format!("{} may matter to the command", word.shown()), None);
    }
}

/// A program that comes through a pipe is not known at all.
pub fn program_file(judge: &mut Judge, word: &Word<'_>) {
    if word.value != Value::Known || word.text == "-" || word.text.starts_with("/dev/") {
        judge.find(Risk::Destructive, "shell:piped-code", "executes what comes through a pipe", None);
    }
}

/// `git`: a directory given by its path may be one that the system needs.
pub fn git(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    for operand in case.args.operands.iter().filter(|word| word.text.starts_with('/')) {
        judge.fills(operand, "git");
    }
}

/// A database of `getent`: two of them hold password hashes.
pub fn database(judge: &mut Judge, word: &Word<'_>) {
    if word.value != Value::Known || matches!(&*word.text, "shadow" | "gshadow") {
        judge.shows_secrets();
    }
}

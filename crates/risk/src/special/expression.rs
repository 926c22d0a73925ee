//! Commands whose arguments are an expression: `find`, `ip`, packet filters.

use crate::{
    Locus, Risk,
    judge::Judge,
    rule::{Case, general},
    word::{Value, Word},
};

/// Tests and actions of `find` that take a value and change nothing.
const FIND_VALUES: &[&str] = &[
    "-amin",
    "-anewer",
    "-atime",
    "-cmin",
    "-cnewer",
    "-ctime",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-links",
    "-lname",
    "-mmin",
    "-mtime",
    "-name",
    "-newer",
    "-path",
    "-perm",
    "-regex",
    "-samefile",
    "-size",
    "-type",
    "-uid",
    "-used",
    "-user",
    "-wholename",
    "-xtype",
    "-context",
    "-maxdepth",
    "-mindepth",
    "-regextype",
    "-printf",
    "-files0-from",
    "-newermt",
    "-newerct",
    "-newerat",
    "-newermm",
    "-newercm",
    "-newerBt",
    "-newercc",
    "-neweraa",
];
/// Tests and actions without a value that change nothing.
const FIND_FLAGS: &[&str] = &[
    "-a",
    "-and",
    "-o",
    "-or",
    "-not",
    "!",
    "(",
    ")",
    ",",
    "-empty",
    "-executable",
    "-false",
    "-nogroup",
    "-nouser",
    "-readable",
    "-true",
    "-writable",
    "-print",
    "-print0",
    "-ls",
    "-prune",
    "-quit",
    "-d",
    "-daystart",
    "-depth",
    "-follow",
    "-ignore_readdir_race",
    "-mount",
    "-noleaf",
    "-noignore_readdir_race",
    "-nowarn",
    "-warn",
    "-xdev",
    "-H",
    "-L",
    "-P",
    "-E",
    "-X",
    "-x",
    "-s",
    "--help",
    "--version",
    "-help",
    "-version",
];

/// `find START… EXPRESSION`.
pub fn find(judge: &mut Judge, argv: &[Word<'_>]) {
    let start = argv.get(1).filter(|word| word.value != Value::Open && !word.text.starts_with(['-', '(', '!']));
    let start = start.map_or_else(|| "./".to_owned(), |word| word.text.to_string());
    let mut at = 1;
    let mut expression = false;
    while let Some(word) = argv.get(at) {
        at += 1;
        let Some(text) = word.literal() else {
            if word.value >= Value::Data && (expression || word.splits || word.value == Value::Open) {
                judge.find(
                    Risk::ConfigMutation,
                    "find:unknown-word",
                    "a word that is not known may be an action",
                    None,
                );
            }
            continue;
        };
        expression |= text.starts_with('-');
        if FIND_FLAGS.contains(&text)
            || text.starts_with("-O")
            || text.starts_with("-newer") && text.len() < 9 && !FIND_VALUES.contains(&text)
        {
            continue;
        }
        if FIND_VALUES.contains(&text) {
            if argv.get(at).is_some_and(|word| word.splits && word.value >= Value::Data) {
                judge.find(
                    Risk::ConfigMutation,
                    "find:unknown-word",
                    "a word that is not known may be an action",
                    None,
                );
            }
            if argv.get(at).is_some_and(|word| names_a_secret(&word.text)) {
                judge.shows_secrets();
            }
            at += 1;
            continue;
        }
        match text {
            "-D" => at += 1,
            "-exec" | "-execdir" => at = find_exec(judge, argv, at, text, &start),
            "-ok" | "-okdir" => {
                judge.find(Risk::Destructive, "find:ok", "asks a person before each execution", Some("use -exec"));
                return;
            }
            "-delete" => judge.find(
                Risk::Destructive,
                "find:delete",
                "removes what it finds",
                Some("look at the list with -print first"),
            ),
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                judge.find(Risk::Destructive, "find:write", format!("{text} writes a file"), None);
                return;
            }
            _ if text.starts_with('-') && text.len() > 1 => {
                judge.find(Risk::ConfigMutation, "find:unlisted-option", format!("{text} is not a known test"), None);
            }
            _ => judge.reads(word),
        }
    }
}

/// Whether files of this name hold secrets wherever they lie.
fn names_a_secret(name: &str) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name);
    matches!(base, "shadow" | "gshadow" | "sudoers" | "authkey" | "environ")
        || crate::paths::is_secret(&format!("/{base}"), true)
}

/// Judges `-exec COMMAND… ;`; returns where the expression goes on.
fn find_exec(judge: &mut Judge, argv: &[Word<'_>], from: usize, action: &str, start: &str) -> usize {
    let end = (from..argv.len())
        .find(|at| argv[*at].is(";") || (argv[*at].is("+") && *at > from && argv[*at - 1].is("{}")))
        .unwrap_or(argv.len());
    let words: Vec<Word<'_>> = argv[from..end]
        .iter()
        .map(|word| {
            if word.value == Value::Known && word.text.contains("{}") {
                let begin = word.text.split("{}").next().unwrap_or("");
                let known = if begin.is_empty() { start.to_owned() } else { begin.to_owned() };
                let value = if action == "-execdir" || !known.starts_with('-') { Value::Tail } else { Value::Data };
                Word::partly(known, value)
            } else {
                crate::options::borrow(word)
            }
        })
        .collect();
    if words.is_empty() || end == argv.len() {
        judge.find(Risk::Destructive, "find:exec", "what -exec runs is not known", None);
        return end + 1;
    }
    if words[0].value != Value::Known {
        judge.find(Risk::Destructive, "find:exec", "executes the files that it finds", None);
        return end + 1;
    }
    let saved = judge.placeholder.replace("{}".to_owned());
    let outer = judge.argv.clone();
    judge.argv_of(&words);
    judge.dispatch(&words);
    judge.argv = outer;
    judge.placeholder = saved;
    end + 1
}

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
pub fn ip(judge: &mut Judge, argv: &[Word<'_>]) {
    let mut at = 1;
    while let Some(word) = argv.get(at) {
        match word.literal() {
            Some("-n" | "-netns" | "-l" | "-loops" | "-rc" | "-rcvbuf") => at += 2,
            Some("-force") | None => {
                return judge.find(Risk::Destructive, "ip:unknown-word", "what is done is not known", None);
            }
            Some(text) if text.starts_with("-b") && !"-brief".starts_with(text) => {
                return judge.find(Risk::Destructive, "ip:batch", "executes a file of commands", None);
            }
            Some("-b") => return judge.find(Risk::Destructive, "ip:batch", "executes a file of commands", None),
            Some(text) if text.starts_with('-') => at += 1,
            Some(_) => break,
        }
    }
    let Some(object) = argv.get(at).and_then(Word::literal) else { return };
    let object = IP_OBJECTS.iter().find(|known| known.starts_with(object)).copied().unwrap_or("");
    let words: Vec<Option<&str>> = argv[at + 1..].iter().map(Word::literal).collect();
    match object {
        "" => judge.find(Risk::Destructive, "ip:unknown-verb", "what is done is not known", None),
        "help" => {}
        "monitor" => {
            judge.flag(crate::effect::Effect { unbounded: true, ..crate::effect::Effect::READ });
            judge.find(Risk::ReadOnly, "ip:monitor", "does not end by itself", Some("use ip -s link"));
        }
        "netns" => ip_netns(judge, argv, at + 1),
        "vrf" => ip_vrf(judge, argv, at + 1),
        _ => ip_object(judge, object, &words),
    }
}

fn ip_netns(judge: &mut Judge, argv: &[Word<'_>], at: usize) {
    match argv.get(at).and_then(Word::literal) {
        None if argv.len() <= at => {}
        Some(verb)
            if !verb.is_empty() && "list-id".starts_with(verb) && verb != "l" || verb_is(argv.get(at), "list") => {}
        Some(verb) if "identify".starts_with(verb) || "pids".starts_with(verb) => {}
        Some(verb) if "exec".starts_with(verb) => match argv.get(at + 2..) {
            Some(words) if !words.is_empty() => {
                // With `-all` there is no name before the command: both readings count.
                if argv[..at].iter().any(|word| word.text.starts_with("-a")) {
                    judge.dispatch(&argv[at + 1..]);
                }
                judge.argv_of(words);
                judge.dispatch(words);
            }
            _ => judge.find(Risk::Destructive, "ip:netns-exec", "what is executed is not known", None),
        },
        Some(verb) if "add".starts_with(verb) => {
            judge.find(Risk::ConfigMutation, "ip:netns-add", "adds a namespace", None)
        }
        _ => judge.find(Risk::Destructive, "ip:netns", "removes a network namespace or is not understood", None),
    }
}

fn verb_is(word: Option<&Word<'_>>, verb: &str) -> bool {
    word.and_then(Word::literal).is_some_and(|text| !text.is_empty() && verb.starts_with(text))
}

fn ip_vrf(judge: &mut Judge, argv: &[Word<'_>], at: usize) {
    if verb_is(argv.get(at), "exec") {
        let words = argv.get(at + 2..).unwrap_or(&[]);
        judge.argv_of(words);
        judge.dispatch(words);
    }
}

fn ip_object(judge: &mut Judge, object: &str, words: &[Option<&str>]) {
    const VERBS: &[&str] = &[
        "add", "append", "change", "delete", "flush", "get", "help", "list", "lst", "metrics", "prepend", "replace",
        "restore", "save", "set", "show", "showdump", "test", "property", "afstats", "xstats",
    ];
    let Some(first) = words.first() else { return };
    let Some(first) = first else {
        return judge.find(Risk::Destructive, "ip:unknown-verb", "what is done is not known", None);
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
            judge.find(Risk::Destructive, format!("ip:{object}-{verb}"), "refuses what it matches", None);
        }
        "add" | "append" | "prepend" | "test" => {
            judge.find(Risk::ConfigMutation, format!("ip:{object}-{verb}"), "changes the network", None);
        }
        "change" | "replace" | "set" | "property" => {
            let down =
                words.contains(&Some("down")) || words.contains(&Some("netns")) || words.contains(&Some("nomaster"));
            let lost = down || (matches!(object, "route") && words.contains(&Some("default")));
            let risk =
                if lost && (judge.locus == Locus::Host || down) { Risk::Destructive } else { Risk::ConfigMutation };
            judge.find(risk, format!("ip:{object}-{verb}"), "changes the network", None);
        }
        "" if object == "link" || words.contains(&Some("dev")) => {}
        _ => judge.find(
            Risk::Destructive,
            format!("ip:{object}-{verb}"),
            "may cut the way to this system",
            Some("add the new address or route before removing the old one"),
        ),
    }
}

/// `iptables`, `ip6tables`, `ebtables`: what flushes, replaces or drops may lock everybody out.
pub fn firewall(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    let input = case.argv.iter().any(|word| word.is("INPUT") || word.is("OUTPUT"));
    let drops = case.argv.iter().any(|word| word.is("DROP") || word.is("REJECT"));
    if input && drops {
        judge.find(Risk::Destructive, "firewall:lockout", "may drop the connection to this system", None);
    }
}

/// `nft`: all words make one text of statements, separated by `;`. With `-c` nothing happens, whatever they say.
pub fn nft(judge: &mut Judge, argv: &[Word<'_>]) {
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
            judge.find(Risk::Destructive, "nft:option", "an option that is not known", None);
            return;
        }
    }
    if checks {
        return;
    }
    if file {
        return judge.find(
            Risk::Destructive,
            "nft:file",
            "executes a file of commands",
            Some("check it with nft -c -f"),
        );
    }
    let mut text = String::new();
    for word in words {
        if word.value != Value::Known {
            judge.find(Risk::Destructive, "nft:unknown-word", "what is done is not known", None);
        }
        text.push_str(&word.text);
        text.push(' ');
    }
    for statement in text.split([';', '\n']).map(str::trim).filter(|statement| !statement.is_empty()) {
        nft_statement(judge, statement);
    }
}

fn nft_statement(judge: &mut Judge, statement: &str) {
    match statement.split_whitespace().next().unwrap_or("") {
        "list" | "describe" => {}
        "monitor" => {
            judge.flag(crate::effect::Effect { unbounded: true, ..crate::effect::Effect::READ });
            judge.find(Risk::ReadOnly, "nft:monitor", "does not end by itself", Some("use nft list ruleset"));
        }
        "add" | "create" | "insert" | "rename"
            if !((statement.contains("drop") || statement.contains("reject"))
                && (statement.contains("input") || statement.contains("INPUT") || statement.contains("policy"))) =>
        {
            judge.find(Risk::ConfigMutation, "nft:change", "changes the packet filter", None);
        }
        _ => judge.find(Risk::Destructive, "nft:destroy", "removes rules or may lock everybody out", None),
    }
}

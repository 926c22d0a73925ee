//! Builtins of the shell that have a grammar of their own.

use crate::{
    Locus, Risk, environment, guests,
    judge::{Input, Judge},
    word::{Binding, Value, Word, is_name},
};

/// `test` and `[`: an unknown word must not become the operator `-v`, which evaluates a subscript.
pub fn test(judge: &mut Judge, argv: &[Word<'_>]) {
    let mut words = &argv[1..];
    if argv[0].text == "[" && words.last().is_some_and(|word| word.is("]")) {
        words = &words[..words.len() - 1];
    }
    if words.iter().any(|word| word.is("-v") || word.is("-R")) {
        judge.evaluates("`-v` evaluates a subscript as code", None);
    } else if words.iter().any(|word| word.value >= Value::Data && word.splits && word.text.is_empty()) {
        judge.find(
            Risk::ConfigMutation,
            "test:unquoted",
            "an unquoted variable may become an operator",
            Some("quote it: [ \"$x\" = y ]"),
        );
    } else if words.iter().any(|word| word.value >= Value::Data) && !operators_are_known(words) {
        judge.find(Risk::ConfigMutation, "test:operator", "which operator is used is not known", None);
    }
}

/// Whether each part between `-a` and `-o` has its operator where the shell looks for it.
fn operators_are_known(words: &[Word<'_>]) -> bool {
    const BINARY: &[&str] = &["=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];
    let joins = |word: &Word<'_>| word.is("-a") || word.is("-o");
    words.split(joins).all(|part| {
        let part = if part.first().is_some_and(|word| word.is("!")) { &part[1..] } else { part };
        match part {
            [_] => true,
            [operator, _] => operator.literal().is_some_and(|text| text.starts_with('-') && text.len() == 2),
            [_, operator, _] => operator.literal().is_some_and(|text| BINARY.contains(&text)),
            _ => false,
        }
    })
}

/// `printf FORMAT …`; `-v` assigns.
pub fn printf(judge: &mut Judge, argv: &[Word<'_>]) {
    match argv.get(1) {
        Some(first) if first.text.starts_with("-v") => {
            let name = argv.get(2).and_then(Word::literal).unwrap_or("");
            if is_name(name) && !environment::is_critical(name) {
                judge.bind(name, Binding::Data);
                judge.bash_only("`printf -v`");
            } else {
                judge.find(Risk::Destructive, "printf:variable", "sets a variable that is not a plain name", None);
            }
        }
        Some(first) if first.value >= Value::Data && first.splits => {
            judge.find(Risk::ConfigMutation, "printf:unknown-word", "the format may be the option -v", None);
        }
        _ => {}
    }
}

/// `export`, `declare`, `local`, `readonly`, `typeset`, `unset`.
pub fn declare(judge: &mut Judge, argv: &[Word<'_>]) {
    let command = argv[0].text.to_string();
    let mut maps = false;
    for word in &argv[1..] {
        if word.text.starts_with('-') && word.value == Value::Known {
            if word.text.contains('p') {
                judge.shows_secrets();
            }
            if word.text.contains(['n', 'i', 'f']) && command != "export" {
                judge.evaluates("changes how a name is evaluated", None);
            }
            maps |= word.text.contains('A');
            continue;
        }
        let (name, value) = match word.text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.text.as_ref(), None),
        };
        if maps {
            judge.maps.push(name.to_owned());
        }
        if !is_name(name) {
            judge.find(Risk::Destructive, format!("{command}:computed"), "which variable is meant is not known", None);
            continue;
        }
        match value {
            Some(value) => declared_value(judge, &command, name, value, word.value == Value::Known),
            None if command == "unset" => unset(judge, name),
            None => {}
        }
    }
}

/// `declare NAME=VALUE`: with an attribute set before, the value may be evaluated.
fn declared_value(judge: &mut Judge, command: &str, name: &str, value: &str, known: bool) {
    if value.contains(['[', '$', '`', '(']) && !matches!(command, "export" | "readonly" | "unset") {
        judge.find(Risk::Destructive, format!("{command}:code"), "the value may be evaluated as code", None);
    }
    judge.value_may_be_evaluated(value);
    let literal = known.then_some(value);
    judge.assignment(name, literal, command == "export");
    judge.bind(name, literal.map_or(Binding::Data, |text| Binding::Text(text.to_owned())));
    if name == "IFS" {
        judge.plain_splitting = false;
    }
}

/// `unset NAME`.
fn unset(judge: &mut Judge, name: &str) {
    if environment::is_critical(name) {
        let message = format!("{name} matters to other commands");
        judge.find(Risk::ConfigMutation, "unset:environment", message, None);
    } else if judge.may_be_function(name) {
        let message = format!("{name} is a function before and something else after");
        judge.find(Risk::Destructive, "unset:function", message, None);
    } else {
        judge.bind(name, Binding::Data);
    }
}

/// `read NAME…`.
pub fn read(judge: &mut Judge, argv: &[Word<'_>]) {
    if let Input::Text(text) = judge.input.clone() {
        judge.value_may_be_evaluated(&text);
    }
    let mut words = argv[1..].iter();
    while let Some(word) = words.next() {
        let Some(text) = word.literal() else {
            return judge.find(Risk::Destructive, "read:computed", "which variable is set is not known", None);
        };
        if let Some(letters) = text.strip_prefix('-') {
            if letters.ends_with(['a', 'd', 'i', 'n', 'N', 'p', 't', 'u']) {
                if letters.ends_with('a') {
                    continue;
                }
                words.next();
            }
            continue;
        }
        if !is_name(text) || environment::is_critical(text) {
            judge.find(Risk::Destructive, "read:variable", format!("sets {text}"), None);
        }
        judge.bind(text, Binding::Data);
    }
}

/// `set -euo pipefail`, `set -x`.
pub fn set(judge: &mut Judge, argv: &[Word<'_>]) {
    for word in &argv[1..] {
        let known = word.literal().is_some_and(|text| {
            text.strip_prefix(['-', '+']).is_some_and(|letters| letters.chars().all(|c| "euxofvCEThn".contains(c)))
                || matches!(
                    text,
                    "pipefail"
                        | "errexit"
                        | "nounset"
                        | "noglob"
                        | "noclobber"
                        | "errtrace"
                        | "xtrace"
                        | "verbose"
                        | "posix"
                        | "functrace"
                )
        });
        if word.literal().is_none_or(|text| text.contains('k') && text != "--") {
            judge.find(Risk::Destructive, "set:keyword", "turns arguments of commands into their environment", None);
        }
        if word.is("--") || !known {
            return judge.find(
                Risk::ConfigMutation,
                "set:parameters",
                "changes parameters that are not followed",
                None,
            );
        }
        if word.literal().is_some_and(|text| text.contains('n')) && word.is("-n") {
            judge.find(Risk::ConfigMutation, "set:no-execution", "the rest is not executed", None);
        }
    }
}

/// `eval WORDS…`: only what is known is judged.
pub fn eval(judge: &mut Judge, argv: &[Word<'_>]) {
    let shell = judge.shell;
    if argv.iter().any(|word| word.value != Value::Known) {
        judge.forget_variables();
        return judge.find(
            Risk::Destructive,
            "eval:computed-code",
            "what is executed is not known",
            Some("run the command itself"),
        );
    }
    let text: Vec<&str> = argv[1..].iter().map(|word| word.text.as_ref()).collect();
    if !text.is_empty() {
        judge.nested_script(&text.join(" "), shell);
    }
    judge.forget_variables();
}

/// `exec COMMAND…`, or redirects only.
pub fn exec(judge: &mut Judge, argv: &[Word<'_>]) {
    let Some(rest) = argv.get(1..).filter(|rest| !rest.is_empty()) else { return };
    if rest[0].text.starts_with('-') {
        return judge.find(Risk::Destructive, "exec:option", "runs a program under another name", None);
    }
    judge.argv_of(rest);
    judge.dispatch(rest);
}

/// `let`: arithmetic.
pub fn arithmetic(judge: &mut Judge, _argv: &[Word<'_>]) {
    judge.forget_variables();
    judge.evaluates("bash evaluates variables in arithmetic as code", None);
}

/// `kill`: signal 0 asks only; 1 and negative numbers mean init and whole groups.
pub fn kill(judge: &mut Judge, argv: &[Word<'_>]) {
    let mut targets = &argv[1..];
    let signal = match targets.first().and_then(Word::literal) {
        Some("-l" | "-L" | "--list" | "--table" | "--help" | "--version") => return,
        Some("-s" | "--signal" | "-n") => {
            let signal = targets.get(1).and_then(Word::literal).unwrap_or("").to_owned();
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
    let group =
        |word: &Word<'_>| word.value == Value::Open || matches!(&*word.text, "1" | "0") || word.text.starts_with('-');
    let abrupt = matches!(signal.trim_start_matches("SIG"), "9" | "KILL" | "19" | "STOP");
    let computed = targets.iter().any(|word| word.value >= Value::Data);
    let guests = if computed && judge.locus == Locus::Host { judge.mentioned.clone() } else { Vec::new() };
    let of_guests = !guests.is_empty();
    if signal != "0" {
        guests.into_iter().for_each(|guest| judge.affects(guest));
    }
    if targets.iter().any(group) {
        judge.find(Risk::Destructive, "kill:everything", "may end init or every process", None);
    } else if signal != "0" && judge.locus == Locus::Host && computed && (abrupt || of_guests) {
        judge.find(
            Risk::Destructive,
            "kill:computed",
            "which process of the host ends is not known",
            Some("use the tool of the service or guest: systemctl stop, pct shutdown, qm shutdown"),
        );
    } else if signal != "0" {
        judge.find(Risk::ConfigMutation, "kill:process", "ends a process", None);
    }
}

/// `shift`: which parameter is which is not followed.
pub fn shift(judge: &mut Judge, _argv: &[Word<'_>]) {
    judge.forget_parameters();
}

/// `cd DIRECTORY`, `pushd DIRECTORY`.
pub fn cd(judge: &mut Judge, argv: &[Word<'_>]) {
    let operand = argv[1..].iter().find(|word| !matches!(word.literal(), Some("-L" | "-P" | "-e" | "--")));
    match operand {
        None => judge.enter_directory(&Word::known("/root")),
        Some(word) if word.is("-") => judge.enter_directory(&Word::partly("", Value::Data)),
        Some(word) => judge.enter_directory(word),
    }
}

/// `useradd`, `usermod`, `groupadd` …: groups that are as good as root are an access change everywhere.
pub fn usermod(judge: &mut Judge, argv: &[Word<'_>]) {
    const ROOT: &[&str] =
        &["sudo", "root", "wheel", "adm", "docker", "lxd", "lxc", "disk", "shadow", "kvm", "libvirt", "staff"];
    let root = argv[1..].iter().any(|word| {
        word.value >= Value::Data
            || word.text.split([',', '=']).any(|part| ROOT.contains(&part))
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
    let risk = if root || judge.locus == Locus::Host { Risk::Destructive } else { Risk::ConfigMutation };
    judge.find(risk, format!("{}:access", argv[0].text), "changes who may do what", None);
}

/// `mapfile NAME`, `readarray NAME`.
pub fn mapfile(judge: &mut Judge, argv: &[Word<'_>]) {
    judge.bash_only("`mapfile`");
    if let Input::Text(text) = judge.input.clone() {
        judge.value_may_be_evaluated(&text);
    }
    let mut words = argv[1..].iter();
    while let Some(word) = words.next() {
        match word.literal() {
            Some("-t") => {}
            Some("-d" | "-n" | "-O" | "-s" | "-u") => {
                words.next();
            }
            Some(name) if is_name(name) && !environment::is_critical(name) => judge.bind(name, Binding::Data),
            _ => judge.find(Risk::Destructive, "mapfile:callback", "may execute code for each line", None),
        }
    }
}

/// `pkill NAME`, `killall NAME`: a name that is short, a pattern or a part of the system ends too much.
pub fn kill_by_name(judge: &mut Judge, argv: &[Word<'_>]) {
    const SYSTEM: &[&str] = &[
        "ssh", "systemd", "init", "pve", "pmxcfs", "corosync", "kvm", "qemu", "lxc", "dbus", "udev", "bash", "root",
        "network", "spice", "login",
    ];
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
            judge.affects_guest(None);
        }
        if let Some((_, id)) = name.split_once("id ") {
            judge.affects_guest(Some(&Word::known(id.trim_end_matches(['$', ' ']))));
            wide = true;
        }
    }
    let plain = |name: &String| {
        name.len() >= 3
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | ' ' | '.'))
            && !SYSTEM.iter().any(|part| name.contains(part))
    };
    if wide || names.is_empty() || !names.iter().all(plain) {
        judge.find(Risk::Destructive, format!("{command}:everything"), "may end processes that the system needs", None);
    } else {
        judge.find(Risk::ConfigMutation, format!("{command}:process"), "ends processes by name", None);
    }
}

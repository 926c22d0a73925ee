//! Commands that move bytes: `dd`, `tar`, `mv`, `chmod -R`.

use crate::{
    Locus, Risk,
    judge::Judge,
    paths,
    rule::{Case, general},
    word::{Value, Word},
};

/// `dd if=… of=…`.
pub fn dd(judge: &mut Judge, argv: &[Word<'_>]) {
    for word in &argv[1..] {
        match word.text.split_once('=') {
            Some(("of", path)) => {
                let target = Word { text: path.into(), ..crate::options::borrow(word) };
                judge.writes(&target, "dd");
            }
            Some(("if", path)) => judge.reads(&Word { text: path.into(), ..crate::options::borrow(word) }),
            Some((
                "bs" | "count" | "skip" | "seek" | "ibs" | "obs" | "cbs" | "status" | "conv" | "iflag" | "oflag",
                _,
            )) => {}
            _ if word.is("--help") || word.is("--version") => {}
            _ => judge.find(Risk::Destructive, "dd:operand", "what is written is not known", None),
        }
    }
}

/// `tar`, also with old-style options without a dash. False: the table goes on.
pub fn tar(judge: &mut Judge, argv: &[Word<'_>]) -> bool {
    let Some(first) = argv.get(1).and_then(Word::literal) else { return false };
    if first.starts_with('-') || first.is_empty() {
        return false;
    }
    // Old style: letters first, their values after them in order.
    let mut words: Vec<Word<'_>> = vec![Word::known("tar")];
    let mut values = argv[2..].iter();
    for letter in first.chars() {
        words.push(Word::known(format!("-{letter}")));
        if "fCTXbIgFHKLNV".contains(letter)
            && let Some(value) = values.next()
        {
            words.push(crate::options::borrow(value));
        }
    }
    words.extend(values.map(crate::options::borrow));
    judge.dispatch(&words);
    true
}

/// `mv`: the source is gone, which matters when the target swallows it.
pub fn move_files(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    let operands = &case.args.operands;
    if judge.locus == Locus::Guest && renames_log(judge, operands) && !case.has("t") && !case.has("--target-directory")
    {
        return;
    }
    let target = case.value(&["t", "--target-directory"]).or(operands.last());
    if let Some(target) = target {
        if target.is("/dev/null") {
            judge.find(Risk::Destructive, "mv:lost", "moves files to nowhere", None);
        }
        judge.writes(target, "mv");
        lands_on(judge, case, target);
    }
    let sources = operands.len().saturating_sub(1);
    for source in &operands[..sources] {
        let path = paths::normalise(&source.text);
        let top = path.trim_end_matches('/');
        let system = source.text.starts_with('/') && top.matches('/').count() < 2;
        if system && !matches!(top, "/opt" | "/srv" | "/mnt" | "/home" | "/data" | "/tmp" | "/media") {
            judge.find(Risk::Destructive, "mv:lost", format!("moves {} away", source.shown()), None);
        }
        if paths::is_fatal(&paths::normalise(&source.text), judge.locus) {
            judge.find(Risk::Destructive, "mv:lost", format!("moves {} away", source.shown()), None);
        }
    }
}

/// Whether a log gets another name beside the old one, as rotating does: `mv access.log access.log.1`.
fn renames_log(judge: &Judge, operands: &[Word<'_>]) -> bool {
    let [from, to] = operands else { return false };
    let place = |word: &Word<'_>| {
        let path = paths::normalise(judge.resolved(&word.text).first().map_or("", String::as_str));
        let (directory, name) = path.rsplit_once('/')?;
        let log = word.value == Value::Known && !word.glob && path.starts_with("/var/log/");
        log.then(|| (directory.to_owned(), name.to_owned()))
    };
    let (Some((directory, old)), Some((beside, new))) = (place(from), place(to)) else { return false };
    let stem = old.split('.').next().unwrap_or("");
    let log = old.contains(".log") || PLAIN_LOGS.contains(&old.as_str());
    directory == beside && log && new != old && !stem.is_empty() && new.starts_with(stem)
}

/// Logs that are files and do not say so in their names.
const PLAIN_LOGS: &[&str] = &[
    "syslog",
    "messages",
    "secure",
    "maillog",
    "cron",
    "debug",
    "dmesg",
    "boot",
    "mail.err",
    "mail.info",
    "mail.warn",
];

/// The target may be a directory: the files then keep their names.
fn lands_on(judge: &mut Judge, case: &Case<'_, '_, '_>, target: &Word<'_>) {
    for source in &case.args.operands {
        let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or("");
        let path = format!("{}/{name}", target.text.trim_end_matches('/'));
        let fatal = judge.resolved(&path).iter().any(|path| paths::is_fatal(&paths::normalise(path), judge.locus));
        if target.value == Value::Known && !name.is_empty() && fatal {
            judge.find(Risk::Destructive, format!("{}:write", case.name), format!("writes to {path}"), None);
        }
    }
}

/// Writers whose last operand is the target: `cp`, `install`, `ln`.
pub fn truncating(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    if let Some(target) = case.value(&["t", "--target-directory"]).or(case.args.operands.last()) {
        judge.writes(target, case.name);
        lands_on(judge, case, target);
    }
    let sources = case.args.operands.len().saturating_sub(1);
    for source in &case.args.operands[..sources] {
        judge.reads(source);
        let path = paths::normalise(&source.text);
        let code = ["/lib/", "/usr/", "/bin/", "/sbin/", "/dev/null"].iter().any(|begin| path.starts_with(begin));
        if matches!(case.name, "ln" | "link") && paths::is_fatal(&path, judge.locus) && !code {
            judge.find(
                Risk::Destructive,
                "ln:protected",
                format!("another name for {} would be written as if it were harmless", source.shown()),
                None,
            );
        }
    }
}

/// `chmod`, `chown`, `chgrp`: recursively over the system they break it.
pub fn recursive_mode(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    let recursive = case.has("R") || case.has("--recursive");
    // chmod and chown have the mode or owner first, if no option says it.
    let first = usize::from(case.entry.name != "setfacl" && !case.has("--reference"));
    for operand in case.args.operands.iter().skip(first) {
        let path = paths::normalise(&operand.text);
        let top = path == "/" || (path.starts_with('/') && path.trim_end_matches('/').matches('/').count() < 2);
        let system =
            top && !matches!(path.trim_end_matches('/'), "/srv" | "/opt" | "/mnt" | "/home" | "/data" | "/tmp");
        let fatal = paths::is_fatal(&path, judge.locus) && operand.value == Value::Known;
        let everywhere = operand.value == Value::Tail && path == "/";
        if everywhere || (recursive && (system || operand.value >= Value::Data)) || fatal {
            judge.find(
                Risk::Destructive,
                format!("{}:system", case.name),
                format!("changes the rights of {}", operand.shown()),
                None,
            );
        }
    }
}

/// `mount`: over a directory of the system it hides what the system needs.
pub fn mount(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    if case
        .value(&["o", "--options"])
        .is_some_and(|word| word.text.contains("remount") && word.text.split(',').any(|part| part == "ro"))
    {
        judge.find(Risk::Destructive, "mount:read-only", "makes a mounted file system read-only", None);
    }
    let Some(target) = case.args.operands.last().filter(|_| case.args.operands.len() > 1) else { return };
    let path = paths::normalise(&target.text);
    let free = ["/mnt", "/media", "/srv", "/opt", "/home", "/data", "/tmp", "/run", "/backup"];
    let known = target.value == Value::Known && free.iter().any(|begin| path.starts_with(begin));
    let top = path.trim_end_matches('/').matches('/').count() < 2;
    if !known && (top || paths::is_fatal(&path, judge.locus)) {
        judge.find(Risk::Destructive, "mount:system", format!("hides {}", target.shown()), None);
    }
}

/// `umount`: what the system or its guests live on must stay.
pub fn umount(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    for target in &case.args.operands {
        let path = paths::normalise(&target.text);
        let system = [
            "/",
            "/boot",
            "/boot/efi",
            "/usr",
            "/var",
            "/var/lib/vz",
            "/etc/pve",
            "/home",
            "/proc",
            "/sys",
            "/dev",
            "/run",
            "/tmp",
        ];
        if target.value != Value::Known || system.contains(&path.as_str()) || path.starts_with("/var/lib/") {
            judge.find(Risk::Destructive, "umount:system", format!("takes {} away", target.shown()), None);
        }
    }
}

/// `parted DEVICE print`.
pub fn parted(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    let prints = case.args.operands.len() > 1
        && case.args.unlisted.is_empty()
        && case.args.operands.iter().skip(1).all(|word| {
            matches!(
                word.literal(),
                Some(
                    "print"
                        | "free"
                        | "all"
                        | "list"
                        | "devices"
                        | "unit"
                        | "s"
                        | "B"
                        | "MiB"
                        | "GiB"
                        | "GB"
                        | "MB"
                        | "TB"
                        | "TiB"
                        | "KiB"
                        | "%"
                        | ";"
                        | "quit"
                )
            )
        })
        && case.args.operands[1..].iter().any(|word| word.is("print"));
    if !prints {
        general(judge, case);
    }
}

/// A request of `debugfs -R`: without `-w` it cannot write to the file system, but some write files elsewhere.
pub fn debugfs(judge: &mut Judge, word: &Word<'_>) {
    const READS: &[&str] = &[
        "stat",
        "ls",
        "cat",
        "stats",
        "show_super_stats",
        "ncheck",
        "icheck",
        "blocks",
        "bmap",
        "bd",
        "block_dump",
        "testb",
        "testi",
        "lsdel",
        "list_deleted_inodes",
        "htree",
        "htree_dump",
        "imap",
        "inode_dump",
        "idump",
        "id",
        "ex",
        "extents",
        "dump_extents",
        "ea_list",
        "ffb",
        "ffi",
        "find_free_block",
        "find_free_inode",
        "dirsearch",
        "show_debugfs_params",
        "params",
        "supported_features",
        "filefrag",
        "dump_mmp",
        "dx_hash",
        "list_quota",
        "lq",
        "get_quota",
        "gq",
    ];
    let verb = word.text.split_whitespace().next().unwrap_or("");
    if word.value != Value::Known || !READS.contains(&verb) {
        judge.find(Risk::Destructive, "debugfs:request", format!("{} may write", word.shown()), None);
    }
}

//! Paths: which hold secrets, which must not be written, and which hold trusted programs.

use crate::{
    Locus, Risk,
    tables::{ListName, Tables},
};

/// Removes `.`, `..` and doubled slashes from an absolute path.
pub fn normalise(path: &str) -> String {
    if !path.starts_with('/') {
        return path.to_owned();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let mut out = format!("/{}", parts.join("/"));
    if path.ends_with('/') && out.len() > 1 {
        out.push('/');
    }
    out
}

/// The program that a command word names: itself, or its last part in a trusted directory.
pub fn command_name(text: &str, tables: &Tables) -> Option<String> {
    if !text.contains('/') {
        return Some(text.to_owned());
    }
    let path = normalise(text);
    let (directory, name) = path.rsplit_once('/')?;
    tables.lists(ListName::PathsTrusted, directory).then(|| name.to_owned())
}

/// Bash's network pseudo-files.
pub fn is_network(path: &str) -> bool {
    path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")
}

/// Whether reading a path shows secrets.
pub fn is_secret(path: &str, whole: bool, tables: &Tables) -> bool {
    let path = normalise(path);
    if path.ends_with(".pub") || is_certificate(&path) {
        return false;
    }
    let key = path.starts_with("/etc/ssh/ssh_host_") && !path.ends_with(".pub");
    let named = whole && {
        let file = path.rsplit('/').next().unwrap_or("").to_ascii_lowercase();
        tables.members(ListName::PathsSecretNames).iter().any(|mark| file.contains(mark))
    };
    key || named
        || path.contains("/.ssh/id_") && !path.ends_with(".pub")
        || tables.members(ListName::PathsSecret).iter().any(|prefix| path.starts_with(prefix))
        || (whole && tables.members(ListName::PathsSecretEndings).iter().any(|suffix| path.ends_with(suffix)))
}

/// Whether a file holds certificates, which are public, and no key.
fn is_certificate(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or("");
    name.ends_with(".pem")
        && ["cert", "chain", "ca.", "-ca", "pve-ssl"].iter().any(|mark| name.contains(mark))
        && !name.contains("key")
}

/// Whether a shell pattern may name a secret.
pub fn may_match_secret(pattern: &str, tables: &Tables) -> bool {
    tables.members(ListName::PathsSecretFiles).iter().any(|path| matches_glob(pattern.as_bytes(), path.as_bytes(), 64))
}

/// `*`, `?` and `[…]`, where `[…]` stands for any one character.
fn matches_glob(pattern: &[u8], path: &[u8], budget: usize) -> bool {
    let Some(budget) = budget.checked_sub(1) else { return true };
    match (pattern.first(), path.first()) {
        (None, None) => true,
        (Some(b'*'), _) => {
            let stop = path.iter().position(|b| *b == b'/').unwrap_or(path.len());
            (0..=stop).any(|skip| matches_glob(&pattern[1..], &path[skip..], budget))
        }
        (Some(b'['), Some(c)) if *c != b'/' => {
            let end = pattern.iter().position(|b| *b == b']').map_or(pattern.len(), |at| at + 1);
            matches_glob(&pattern[end..], &path[1..], budget)
        }
        (Some(b'?'), Some(c)) if *c != b'/' => matches_glob(&pattern[1..], &path[1..], budget),
        (Some(a), Some(b)) if a == b => matches_glob(&pattern[1..], &path[1..], budget),
        _ => false,
    }
}

/// The class of writing to a path and why; `None` when it writes nothing. `whole` is false for a known beginning.
pub fn writing(path: &str, whole: bool, locus: Locus, tables: &Tables) -> Option<(Risk, String)> {
    if path.starts_with('?') {
        return Some((Risk::Destructive, "writes into a directory that is not known".to_owned()));
    }
    let path = normalise(&climbed(path));
    if whole && tables.lists(ListName::PathsSinks, &path) || path.starts_with("/dev/fd/") {
        return None;
    }
    if tables.members(ListName::PathsSettings).iter().any(|prefix| path.starts_with(prefix)) && whole {
        return Some((Risk::ConfigMutation, format!("changes the setting {path}")));
    }
    if path.starts_with("/var/lib/vz/template/") && path.matches('/').count() > 5 - usize::from(!whole) {
        return Some((Risk::ConfigMutation, format!("writes the template {path}")));
    }
    if whole && tables.members(ListName::PathsDatabase).iter().any(|prefix| path.starts_with(prefix)) {
        return Some((Risk::Destructive, format!("writes to {path}, which holds a database")));
    }
    if is_fatal(&path, locus, tables) {
        return Some((Risk::Destructive, format!("writes to {path}, which keeps the system running or safe")));
    }
    if !whole && may_become_fatal(&path, locus, tables) || path == "/" {
        return Some((Risk::Destructive, format!("may write below {path} what keeps the system running or safe")));
    }
    if !whole && (path == "/" || path.matches('/').count() < 2 && path.starts_with('/')) {
        return Some((Risk::Destructive, format!("writes to a file whose path is not known beyond {path}")));
    }
    Some((Risk::ConfigMutation, format!("writes to {path}")))
}

/// A relative path that climbs out of its directory is judged as if it climbed to the top.
fn climbed(path: &str) -> String {
    if path.starts_with('/') || !path.split('/').any(|part| part == "..") {
        return path.to_owned();
    }
    let rest: Vec<&str> = path.split('/').skip_while(|part| matches!(*part, ".." | "." | "")).collect();
    format!("/{}", rest.join("/"))
}

/// Whether losing or rewriting this path loses the system, its guests or the way to it.
pub fn is_fatal(path: &str, locus: Locus, tables: &Tables) -> bool {
    let below = |list: ListName| {
        tables.members(list).iter().any(|prefix| path.starts_with(prefix) || path == prefix.trim_end_matches('/'))
    };
    below(ListName::PathsFatal)
        || tables.lists(ListName::PathsFatalFiles, path)
        || path.contains("/.ssh/authorized_keys")
        || path.contains("/.bashrc")
        || (locus == Locus::Host && below(ListName::PathsFatalOnNode))
}

/// Whether a path that begins like this may turn out to be fatal.
fn may_become_fatal(path: &str, locus: Locus, tables: &Tables) -> bool {
    let above = |list: ListName| tables.members(list).iter().any(|entry| entry.starts_with(path));
    path.len() > 1
        && (above(ListName::PathsFatal)
            || above(ListName::PathsFatalFiles)
            || (locus == Locus::Host && above(ListName::PathsFatalOnNode)))
}

/// A directory into which an archive or several files are written; the class and why.
pub fn filling(path: &str, locus: Locus, tables: &Tables) -> Option<(Risk, String)> {
    let path = normalise(path);
    writing(&format!("{}/", path.trim_end_matches('/')), false, locus, tables)
}

/// Directories in which everything is temporary.
pub fn is_temporary(path: &str, tables: &Tables) -> bool {
    let path = normalise(path);
    tables.members(ListName::PathsTemporary).iter().any(|prefix| path.starts_with(prefix) && path.len() > prefix.len())
}

//! What an unknown program may do, by the words that it is given.
//!
//! Destructive needs only suspicion: a program that no table knows, told to `delete`, is not an ordinary change.

use super::paths;
use crate::{
    Locus,
    tables::{ListName, Tables},
    words::{Value, Word},
};

/// Why a program that is not known is suspected to lose something, given this argument vector.
pub fn of(argv: &[Word<'_>], locus: Locus, tables: &Tables) -> Option<String> {
    let (head, rest) = argv.split_first()?;
    let name = head.text.rsplit('/').next().unwrap_or("");
    let name = name.split_once('.').map_or(name, |(stem, _)| stem);
    if let Some(word) = loses(name, true, tables) {
        return Some(format!("its name says {word}"));
    }
    let mut verbs = 0;
    for word in rest.iter().filter(|word| word.value == Value::Known) {
        let option = word.text.starts_with('-');
        verbs += usize::from(!option);
        if let Some(lost) = loses(&word.text, !option && verbs <= 2, tables) {
            return Some(format!("it is told to {lost}"));
        }
    }
    let operand = rest.iter().find_map(|word| system_path(word, locus, tables));
    operand.map(|path| format!("it is given {path}"))
}

/// The word for which an option that is not listed is suspected.
pub fn of_option(option: &str, locus: Locus, tables: &Tables) -> Option<String> {
    let name = option.split('=').next().unwrap_or(option);
    if !name.starts_with("--") {
        return None;
    }
    let lost = words(name).find(|word| tables.lists(ListName::SuspectLoss, word) && word != "force");
    let runs = words(name).find(|word| locus == Locus::Host && tables.lists(ListName::SuspectCode, word));
    lost.or(runs)
}

/// The word by which `text` says that something is lost; a `verb` has more of them.
pub fn loses(text: &str, verb: bool, tables: &Tables) -> Option<String> {
    // A cache that is emptied fills itself again.
    if text.len() > 200 || words(text).any(|word| word == "cache") {
        return None;
    }
    words(text)
        .find(|word| tables.lists(ListName::SuspectLoss, word) || verb && tables.lists(ListName::SuspectVerbs, word))
}

/// A device, or a place that keeps the system running or safe.
fn system_path(word: &Word<'_>, locus: Locus, tables: &Tables) -> Option<String> {
    let text = word.text.rsplit('=').next().unwrap_or(&word.text);
    let path = paths::normalise(text);
    let device = tables.members(ListName::SuspectDevices).iter().any(|prefix| path.starts_with(prefix));
    let kept = tables
        .members(ListName::SuspectDirectories)
        .iter()
        .any(|kept| path == *kept || path.starts_with(&format!("{kept}/")));
    (locus == Locus::Host && (device || kept)).then_some(path)
}

/// The words of a name or option: runs of letters, and their parts where small letters become capitals.
fn words(text: &str) -> impl Iterator<Item = String> {
    let runs = text.split(|c: char| !c.is_ascii_alphabetic()).filter(|run| run.len() > 1);
    runs.flat_map(|run| {
        let mut parts = vec![run.to_ascii_lowercase()];
        let capitals = run
            .char_indices()
            .skip(1)
            .filter(|(at, c)| c.is_ascii_uppercase() && run.as_bytes()[at - 1].is_ascii_lowercase());
        let cuts: Vec<usize> = std::iter::once(0).chain(capitals.map(|(at, _)| at)).chain([run.len()]).collect();
        if cuts.len() > 2 {
            parts.extend(cuts.windows(2).map(|cut| run[cut[0]..cut[1]].to_ascii_lowercase()));
        }
        parts
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::TABLES;

    fn suspected(line: &str) -> bool {
        let argv: Vec<Word<'_>> = line.split(' ').map(Word::known).collect();
        of(&argv, Locus::Host, &TABLES).is_some()
    }

    #[test]
    fn an_unknown_program_that_is_told_to_lose_something_is_suspected() {
        for line in [
            "widget delete all",
            "widget --recursive-delete x",
            "ldapwipe ou=people",
            "pg_drop_other 15 main",
            "tool-uninstall.sh",
            "send org.Manager.PowerOff",
            "drive --PSIDrevert x",
            "ctl CfgLdDel",
            "app db:reset",
            "lowlevel --file=/dev/sdb",
            "mount.x /etc/pve",
        ] {
            assert!(suspected(line), "{line}");
        }
        for line in ["widget list", "widget create x", "app cache:clear", "widget --format json", "widget start web"] {
            assert!(!suspected(line), "{line}");
        }
    }

    #[test]
    fn an_unlisted_option_that_loses_or_runs_something_is_suspected() {
        assert!(of_option("--delete-after", Locus::Guest, &TABLES).is_some());
        assert!(of_option("--post-renderer=x", Locus::Host, &TABLES).is_some());
        assert!(of_option("--post-renderer=x", Locus::Guest, &TABLES).is_none());
        assert!(of_option("--force", Locus::Host, &TABLES).is_none());
        assert!(of_option("--no-color", Locus::Host, &TABLES).is_none());
    }
}

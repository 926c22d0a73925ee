//! `python -c`, `perl -e`, `node FILE`: programs in languages that are not judged.

use crate::{
    Locus, Risk,
    effect::Effect,
    judge::{Input, Judge},
    rule::{Case, general},
    word::{Value, Word},
};

/// What in a program's text shows that it destroys.
const DESTRUCTIVE: &[&str] = &[
    "rmtree",
    "remove_tree",
    "rmSync",
    "rm_rf",
    "unlinkSync",
    "rmdirSync",
    "unlink",
    "os.remove",
    "rmdir",
    "shutil.move",
    "rm -",
    "mkfs",
    "wipefs",
    "dd if",
    "zfs destroy",
    "zpool",
    "pct destroy",
    "qm destroy",
    "/dev/sd",
    "/dev/nvme",
    "DROP ",
    "reboot",
    "shutdown",
    "poweroff",
    "b64decode",
    "base64",
    "exec(",
    "eval(",
    "FileUtils.rm",
    "truncate",
];

/// `python3 -c CODE`, `perl -e CODE`, `node FILE`: code in a language that is not judged.
pub fn interpreter(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    if only_asks(judge, case) {
        return case.args.operands.iter().for_each(|file| judge.reads(file));
    }
    let risk = if judge.locus == Locus::Host { Risk::Destructive } else { Risk::ConfigMutation };
    let code =
        case.args.given.iter().filter(|given| matches!(given.opt.name, "c" | "e" | "E" | "r" | "--eval" | "--print"));
    let mut inline: Vec<Option<&str>> = code.map(|given| given.value.as_ref().and_then(Word::literal)).collect();
    let first = case.args.operands.first();
    let asks = |name: &str| matches!(name, "--version" | "V" | "--help" | "h" | "v");
    let input = judge.input.clone();
    if inline.is_empty()
        && let Input::Text(text) = &input
        && (first.is_some_and(|word| word.is("-"))
            || first.is_none() && !case.has("m") && !case.args.given.iter().any(|given| asks(given.opt.name)))
    {
        inline.push(Some(text));
    }
    for code in &inline {
        let hostile = code.is_none_or(|code| DESTRUCTIVE.iter().any(|mark| code.contains(mark)));
        let risk = if hostile { Risk::Destructive } else { risk };
        judge.find(risk, format!("{}:code", case.name), "executes code that is not judged", None);
    }
    if !inline.is_empty() {
        return;
    }
    match first {
        Some(word) if word.value >= Value::Data && judge.input != Input::Closed => judge.find(
            Risk::Destructive,
            format!("{}:piped-code", case.name),
            "may execute what comes through a pipe",
            None,
        ),
        Some(_) => {
            judge.find(risk, format!("{}:program-file", case.name), "executes a program that is not judged", None);
            judge.suspect(case.name, &case.args.operands);
        }
        None if case.has("m") && case.name.starts_with("php") => {}
        None if case.has("m") => judge.find(risk, format!("{}:module", case.name), "runs a module", None),
        None if case.args.given.iter().any(|given| asks(given.opt.name)) => {}
        None if judge.input == Input::Closed => {
            judge.flag(Effect { interactive: true, ..Effect::READ });
            judge.find(Risk::ConfigMutation, format!("{}:interactive", case.name), "waits for a person", None);
        }
        None => judge.find(
            Risk::Destructive,
            format!("{}:piped-code", case.name),
            "executes what comes through a pipe",
            None,
        ),
    }
}

/// `php -i`, `php -l FILE`, `python3 -m json.tool FILE`: no code of the file is executed.
fn only_asks(judge: &Judge, case: &Case<'_, '_, '_>) -> bool {
    let mut given = case.args.given.iter();
    if case.name.starts_with("php") {
        let asks = |name: &str| matches!(name, "i" | "l" | "m" | "v");
        return !case.args.given.is_empty() && given.all(|given| asks(given.opt.name));
    }
    let module = |value: Option<&Word<'_>>| value.is_some_and(|module| module.is("json.tool"));
    // Where the script has gone, another json/tool.py may lie.
    judge.directories.is_empty()
        && case.args.operands.len() < 2
        && !case.args.given.is_empty()
        && given.all(|given| given.opt.name == "m" && module(given.value.as_ref()))
}

//! `python -c`, `perl -e`, `node FILE`: programs in languages that are not judged.

use crate::{
    api::Risk,
    risk::{
        Locus,
        effect::Effect,
        judge::{Input, Judge},
        rule::{Case, general},
        word::Value,
    },
};

/// What in a program's text shows that it destroys.
const DESTRUCTIVE: &[&str] = &[
    "rmtree",
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
    let risk = if judge.locus == Locus::Host { Risk::Destructive } else { Risk::ConfigMutation };
    let code =
        case.args.given.iter().filter(|given| matches!(given.opt.name, "c" | "e" | "E" | "r" | "--eval" | "--print"));
    let mut inline = false;
    for given in code {
        inline = true;
        let hostile = given
            .value
            .as_ref()
            .is_none_or(|code| code.value != Value::Known || DESTRUCTIVE.iter().any(|mark| code.text.contains(mark)));
        let risk = if hostile { Risk::Destructive } else { risk };
        judge.find(risk, format!("{}:code", case.name), "executes code that is not judged", None);
    }
    if inline {
        return;
    }
    match case.args.operands.first() {
        Some(word) if word.value >= Value::Data && judge.input != Input::Closed => judge.find(
            Risk::Destructive,
            format!("{}:piped-code", case.name),
            "may execute what comes through a pipe",
            None,
        ),
        Some(_) => {
            judge.find(risk, format!("{}:program-file", case.name), "executes a program that is not judged", None)
        }
        None if case.has("m") && case.name.starts_with("php") => {}
        None if case.has("m") => judge.find(risk, format!("{}:module", case.name), "runs a module", None),
        None if case
            .args
            .given
            .iter()
            .any(|given| matches!(given.opt.name, "--version" | "V" | "--help" | "h" | "v")) => {}
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

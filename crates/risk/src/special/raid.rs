//! Tools of RAID controllers: objects and verbs in an order of their own.

use crate::{
    Risk,
    judge::Judge,
    rule::{Case, general},
    word::Value,
};

/// What `megacli` may be told first when it shall only show something.
const MEGACLI_READS: &[&str] = &[
    "-ldinfo",
    "-ldpdinfo",
    "-pdlist",
    "-pdinfo",
    "-adpallinfo",
    "-adpcount",
    "-adpgettime",
    "-adpgetprop",
    "-adpbbucmd",
    "-cfgdsply",
    "-encinfo",
    "-encstatus",
    "-showsummary",
    "-showvpd",
    "-phyinfo",
    "-ldgetprop",
    "-ldgetnum",
    "-pdgetnum",
    "-pdgetmissing",
    "-ldnum",
    "-pdnum",
    "-version",
    "-v",
    "-h",
    "-help",
];

/// `storcli /c0 show`, `megacli -LDInfo -Lall -aALL`, `ssacli ctrl all show status`.
pub fn raid(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    let words: Vec<String> = case.argv[1..].iter().map(|word| word.text.to_ascii_lowercase()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let known = case.argv.iter().all(|word| word.value == Value::Known);
    let verb = words.iter().position(|word| !word.starts_with('/')).unwrap_or(words.len());
    let file = words.iter().any(|word| word.contains("file"));
    let reads = match case.entry.name {
        "megacli" => {
            words.first().is_some_and(|word| MEGACLI_READS.contains(word))
                && words[1..].iter().all(|word| {
                    ["-a", "-l", "-physdrv", "[", "-nolog", "-cache", "-name", "-get", "-page"]
                        .iter()
                        .any(|begin| word.starts_with(begin))
                })
        }
        "ssacli" => match words.iter().position(|word| *word == "show") {
            Some(at) => {
                words[at + 1..].iter().all(|word| matches!(*word, "status" | "detail" | "config" | "ssdinfo"))
                    && words[..at].iter().all(|word| {
                        matches!(*word, "ctrl" | "controller" | "all" | "ld" | "pd" | "array" | "allunassigned")
                            || matches!(*word, "logicaldrive" | "physicaldrive" | "enclosure")
                            || word.contains([':', '=']) && !file
                            || word.len() <= 2
                    })
            }
            None => matches!(words.as_slice(), ["version" | "help"]),
        },
        _ => {
            verb <= 1 && words.get(verb) == Some(&"show") && !file
                || matches!(words.as_slice(), ["-v" | "-h" | "help" | "version"] | ["help", _])
        }
    };
    if !(reads && known) {
        let locates = known && matches!(words.get(verb..), Some(["start" | "stop", "locate"]));
        let risk = if locates { Risk::ConfigMutation } else { Risk::Destructive };
        judge.find(risk, format!("{}:change", case.name), "may lose what the controller's disks hold", None);
    }
}

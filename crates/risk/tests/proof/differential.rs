//! Random lines and programs: what was judged ReadOnly is given to the real shell, sed or awk.

use std::collections::BTreeSet;

use oikos_risk::{Locus, Risk, classify};

use crate::{
    argv_oracle::{REAL, names, objection, run},
    corpus::{LINES, shown},
    random::{Random, mutant, rounds, soup},
    sandbox::{Root, find},
};

#[test]
fn shells_execute_nothing_else_on_random_lines() {
    let root = Root::new(REAL, &names(LINES.iter().map(|line| line.command.as_str())));
    let mut wrong = Vec::new();
    for (locus, salt) in [(Locus::Host, 1), (Locus::Guest, 2)] {
        let mut random = Random::new(salt);
        let mut texts: BTreeSet<String> = BTreeSet::new();
        for round in 0..rounds(20_000) {
            let text = if round % 2 == 0 { soup(&mut random) } else { mutant(&mut random) };
            // A NUL cannot be given to a program at all.
            if !text.contains('\0') && classify(&text, locus).risk == Risk::ReadOnly {
                texts.insert(text);
            }
        }
        let texts: Vec<String> = texts.into_iter().filter(|text| !crate::corpus::is_unbounded(text, locus)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).take(rounds(1500)).collect();
        assert!(texts.len() > 500, "vacuous: {} lines judged ReadOnly", texts.len());
        let mut ran = 0;
        for (text, outcome) in texts.iter().zip(run(&root, locus, &texts)) {
            ran += usize::from(!outcome.ran.is_empty());
            wrong.extend(objection(&root, locus, text, &outcome));
        }
        println!("{locus:?}: {} random lines judged ReadOnly, {ran} of them ran something", texts.len());
        assert!(ran > texts.len() / 4, "vacuous: {ran} of {} ran something", texts.len());
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

const SED: &[&str] = &[
    "s/a/b/", "s,a,b,", "e id", "e", "w f", "W f", "p", "d", "n", "N", "D", "P", "G", "h", "x", "=", "l", "q", "Q",
    "z", "F", "r a", "R a", "{", "}", ";", ";", "\n", "\\", "\\\n", "/", "/a/", "\\,a,", "1", "$", "!", ",", "+1",
    "~2", "0", "g", "I", "M", "y/a/b/", "a\\\n", "a b", "i\\", "c x", ":a", ":a;", "ba", "b", "t", "T x", "v", "v 4.2",
    "#", "#n", "[", "]", "[/]", "[^/]", "&", "\\1", "\\n", "\\/", " ", "s", "a", "b", ".", "*", "-",
];
const AWK: &[&str] = &[
    "print",
    "print ",
    "printf ",
    "\"%s\"",
    "$1",
    "$0",
    ">",
    ">>",
    "\"f\"",
    "|",
    "/",
    "/",
    "a",
    "b",
    "++",
    "--",
    "+",
    "-",
    "*",
    "(",
    ")",
    "{",
    "}",
    ";",
    "\n",
    "\"",
    "\\\"",
    "system(\"id\")",
    "system(a)",
    "getline",
    "getline ",
    "<",
    "<\"f\"",
    "=",
    "==",
    "~",
    "!",
    "1",
    "2",
    "BEGIN",
    "END",
    " ",
    " ",
    "[",
    "]",
    "\\",
    "\\\n",
    "#",
    "close(\"f\")",
    ",",
    "if(",
    "?",
    ":",
    "&&",
    "||",
    "return ",
    " in ",
    "@a()",
    "function g(x)",
    "while(",
    "for(;;)",
    "exit",
    "NR",
    "/\"/",
    "/x/",
    "\"/\"",
    "gsub(/a/,\"b\")",
    "%",
    "^",
    ".",
    "fflush()",
    "delete a",
    "length",
    "substr($0,1)",
    "next",
    "else ",
    "do ",
];

/// Random programs; every third begins with one that people write.
fn programs(salt: u64, usual: &[&str], pieces: &[&str], judged: impl Fn(&str) -> String) -> Vec<String> {
    let mut random = Random::new(salt);
    let mut texts = BTreeSet::new();
    for round in 0..rounds(20_000) {
        let mut text = if round % 3 == 0 { (*random.of(usual)).to_owned() } else { String::new() };
        for _ in 0..1 + random.below(7) {
            let at = if text.is_empty() { 0 } else { random.below(text.len() + 1) };
            text.insert_str(at, random.of::<&str>(pieces));
        }
        if !text.contains('\'') && classify(&judged(&text), Locus::Host).risk == Risk::ReadOnly {
            texts.insert(text);
        }
    }
    texts.into_iter().take(rounds(1500)).collect()
}

fn programs_do_nothing(program: &str, arguments: &str, texts: &[String]) {
    assert!(texts.len() > 300, "vacuous: {} programs judged ReadOnly", texts.len());
    // `e` and `system` go through /bin/sh, which is a stub here.
    let stubs: BTreeSet<String> = ["id", "sh"].map(str::to_owned).into();
    let root = Root::new(&["dash", "timeout", program], &stubs);
    let lines: Vec<String> =
        texts.iter().map(|text| format!("cd /w; printf 'a\\nb\\n' | /bin/{program} {arguments} '{text}'")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut wrong = Vec::new();
    for (text, outcome) in texts.iter().zip(root.run_all("/bin/dash -c", &lines)) {
        if !(outcome.ran.is_empty() && outcome.changed.is_empty()) {
            wrong.push(format!("{}: ran {:?}, changed {:?}", shown(text), outcome.ran, outcome.changed));
        }
    }
    println!("{program}: {} random programs judged ReadOnly", texts.len());
    assert!(wrong.is_empty(), "{program}: {}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn sed_executes_and_writes_nothing_on_random_programs() {
    let usual = [
        "s/a/b/g",
        "1,3p",
        "/a/d",
        ":a;N;$!ba;s/\\n/ /g",
        "/a/,/b/{s/a/b/;p}",
        "$=",
        "s#a#b#;s/ *$//",
        "y/ab/ba/",
        "1i\\\nx",
    ];
    let texts = programs(3, &usual, SED, |text| format!("sed '{text}' f"));
    programs_do_nothing("sed", "", &texts);
}

#[test]
fn awk_executes_and_writes_nothing_on_random_programs() {
    let usual = [
        "{print $1}",
        "NR>1{print $2}",
        "/a/{n++} END{print n/2}",
        "{s+=$1} END{print s/1024 \" MB\"}",
        "$3>=1000 {print $1, $3}",
        "BEGIN{FS=\":\"} {a[$1]++} END{for(k in a) print k, a[k]}",
        "{gsub(/\"/,\"\"); print}",
        "{i++/1; j--/2}",
        "{print a++/2; x=b--/3}",
    ];
    let texts = programs(4, &usual, AWK, |text| format!("awk -v a=id '{text}' f"));
    let found: Vec<&str> = ["mawk", "gawk", "original-awk"].into_iter().filter(|awk| find(awk).is_some()).collect();
    assert!(!found.is_empty(), "no awk here");
    for awk in found {
        programs_do_nothing(awk, "-v a=id", &texts);
    }
}

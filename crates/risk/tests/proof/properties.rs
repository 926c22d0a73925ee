//! What holds for every line: more text never lowers, another spelling changes nothing, nothing panics.

use std::sync::LazyLock;

use oikos_risk::{Affected, Locus, Risk, Verdict, classify};
use proptest::{prelude::*, sample::select};

use crate::{
    corpus::{LINES, Line, letter, shown, why},
    random::{Random, mutant, rounds, soup},
};

/// Lines that shells understand and to which something can be added on the same line.
pub static OPEN: LazyLock<Vec<&'static Line>> = LazyLock::new(|| {
    let open = |line: &&Line| {
        let verdict = classify(&line.command, line.locus);
        let parsed = !verdict.reasons.iter().any(|reason| {
            ["unparsable", "control", "invisible", "complex", "continuation"]
                .iter()
                .any(|code| reason.code.contains(code))
        });
        parsed
            && !line.command.contains("<<")
            && !line.command.contains('#')
            && !line.command.ends_with(['\\', '&', ';'])
    };
    LINES.iter().filter(open).collect()
});

fn open() -> impl Strategy<Value = &'static Line> {
    select(OPEN.clone())
}

fn first_word(command: &str) -> &str {
    command.split_whitespace().next().unwrap_or("")
}

/// Lines that begin with the name of a program, so that a wrapper or an assignment can stand before it.
pub fn begins_with_program(line: &Line) -> bool {
    let word = first_word(&line.command);
    const SHELL: &[&str] = &[
        "alias", "export", "declare", "typeset", "readonly", "unset", "read", "eval", "exec", "trap", "set", "shopt",
        "hash", "enable", "local", "let", "mapfile", "compgen", "builtin", "source", ".", ":", "coproc", "!",
        "command", "wait", "jobs", "umask", "ulimit", "history", "fc", "cd", "type", "exit", "[[", "((", "if", "while",
        "until", "for", "case", "select", "function", "{", "(", "time", "kill",
    ];
    !SHELL.contains(&word) && !word.contains(['=', '(', '[', '<', '>', '`', '$', '{'])
}

/// Not lower in class, no flag and nothing that is acted on forgotten.
fn keeps_under(wrapper: &str, more: &Verdict, less: &Verdict) -> Result<(), String> {
    if more.risk < less.risk {
        return Err(format!("{} < {}: {}", letter(more.risk), letter(less.risk), why(less)));
    }
    // What is refused to be judged at all says nothing about what it would do.
    if more.reasons.iter().any(|reason| reason.code.starts_with("shell:") && reason.risk == Risk::Destructive) {
        return Ok(());
    }
    let flags = [
        (more.flags.sensitive, less.flags.sensitive, "sensitive"),
        (more.flags.unbounded, less.flags.unbounded, "unbounded"),
        (more.flags.interactive, less.flags.interactive, "interactive"),
    ];
    // `timeout` ends what does not end by itself.
    let ends = |name: &str| name == "unbounded" && wrapper.starts_with("timeout");
    if let Some((.., name)) = flags.iter().find(|(more, less, name)| less & !more && !ends(name)) {
        return Err(format!("{name} is forgotten"));
    }
    // Where it is not known any more what is acted on, the answer says so.
    let unknown = more.affected.iter().any(|affected| matches!(affected, Affected::Unknown | Affected::Host(_)));
    match less.affected.difference(&more.affected).next().filter(|_| !unknown) {
        Some(forgotten) => Err(format!("{forgotten:?} is forgotten")),
        None => Ok(()),
    }
}

fn keeps(more: &Verdict, less: &Verdict) -> Result<(), String> {
    keeps_under("", more, less)
}

/// Checks something for every open line; returns how many were tried.
fn for_all(of: impl Fn(&Line) -> bool, change: impl Fn(&str) -> Vec<String>) -> usize {
    let (mut tried, mut wrong) = (0, Vec::new());
    for line in OPEN.iter().filter(|line| of(line)) {
        let less = classify(&line.command, line.locus);
        for text in change(&line.command) {
            tried += 1;
            if let Err(message) = keeps_under(&text, &classify(&text, line.locus), &less) {
                wrong.push(format!("{:?} {}: {message}", line.locus, shown(&text)));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    tried
}

pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// How many random cases each property gets: `PROPTEST_CASES`, or 3000.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(3000)
}

/// What random cases found once: the two parts, and what joins them.
const FOUND: &[(&str, &str, &str)] = &[
    ("systemctl restart nginx", " | ", "foo() { ls; }; unset -f foo; foo"),
    ("uptime", " | ", "f() { x=/etc/passwd; }; x=/tmp/a; while read -r l; do echo a > $x; f; done < /etc/hosts"),
    ("uptime", " | ", "f() { x=/etc/passwd; }; x=/tmp/a; f; echo a > $x"),
];

#[test]
fn joins_that_once_lowered_do_so_no_more() {
    for (one, join, two) in FOUND {
        let whole = classify(&format!("{one}{join}{two}"), Locus::Host);
        for part in [one, two] {
            assert_eq!(keeps(&whole, &classify(part, Locus::Host)), Ok(()), "{one}{join}{two}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn another_part_never_lowers(one in open(), two in open(), join in select(vec!["; ", "\n", " && ", " || ", " | ", " & "])) {
        // In a pipe `cd` changes the directory of its own subshell only.
        prop_assume!(join != " | " || !(one.command.contains("cd ") || two.command.contains("cd ")));
        let text = format!("{}{join}{}", one.command, two.command);
        let whole = classify(&text, one.locus);
        for part in [one, two] {
            let part = classify(&part.command, one.locus);
            prop_assert_eq!(keeps(&whole, &part), Ok(()), "{}", shown(&text));
        }
    }

    #[test]
    fn a_part_within_another_s_syntax_never_lowers(one in open(), form in select(vec![
        "if true; then %; fi", "while false; do %; done", "for i in a b; do %; done", "( % )", "{ %; }", "f() { %; }; f",
        "case a in a) %;; esac", "! { %; }", "echo \"$( %)\"", "x=$( %)", "true && { %; } || true", "cat <<EOF\n$( %)\nEOF",
        "if %; then :; fi", "until %; do break; done", "for i in $( %); do :; done", "{ %; } 2>/dev/null", "( % ) | cat", "{ %; } &",
    ])) {
        let text = form.replace('%', &one.command);
        prop_assert_eq!(keeps(&classify(&text, one.locus), &classify(&one.command, one.locus)), Ok(()), "{}", shown(&text));
    }

    #[test]
    fn any_text_is_judged_without_a_panic_and_the_answer_is_whole(text in any::<String>()) {
        whole_answer(&text);
    }

    #[test]
    fn any_ascii_is_judged_without_a_panic_and_the_answer_is_whole(text in "[ -~\n\t]{0,200}") {
        whole_answer(&text);
    }
}

/// What every answer must be, and the relation of the two places.
fn whole_answer(text: &str) {
    let host = classify(text, Locus::Host);
    let guest = classify(text, Locus::Guest);
    for verdict in [&host, &guest] {
        let highest = verdict.reasons.iter().map(|reason| reason.risk).max();
        assert_eq!(highest.unwrap_or(Risk::ReadOnly), verdict.risk, "{}", shown(text));
        for reason in &verdict.reasons {
            if let Some(span) = &reason.span {
                assert!(text.get(span.clone()).is_some(), "{}: {span:?}", shown(text));
            }
        }
    }
    let bash_only = guest.reasons.iter().any(|reason| reason.code == "shell:bash-only");
    assert!(guest.risk <= host.risk || bash_only, "{}: host {:?}, guest: {}", shown(text), host.risk, why(&guest));
    assert_eq!(host, classify(text, Locus::Host), "not the same twice");
}

#[test]
fn every_line_of_the_corpus_and_its_mutants_get_a_whole_answer() {
    LINES.iter().for_each(|line| whole_answer(&line.command));
    let mut random = Random::new(6);
    let mut judged = [0; 3];
    for round in 0..rounds(20_000) {
        let text = if round % 2 == 0 { soup(&mut random) } else { mutant(&mut random) };
        whole_answer(&text);
        judged[classify(&text, Locus::Host).risk as usize] += 1;
    }
    assert!(judged.iter().all(|count| *count > rounds(300)), "vacuous: {judged:?}");
}

#[test]
fn what_is_cut_off_anywhere_gets_a_whole_answer() {
    for line in LINES.iter().filter(|line| line.locus == Locus::Host) {
        for at in (0..line.command.len()).filter(|at| line.command.is_char_boundary(*at)) {
            whole_answer(&line.command[..at]);
        }
    }
}

#[test]
fn a_wrapper_never_lowers() {
    const WRAPPERS: &[&str] = &[
        "sudo -n ",
        "sudo -u root -- ",
        "timeout 5 ",
        "timeout -s KILL --foreground 5 ",
        "nice ",
        "nice -n 5 ",
        "nohup ",
        "setsid ",
        "env ",
        "env -i ",
        "env LC_ALL=C ",
        "ionice -c3 ",
        "ionice -c 2 -n 7 ",
        "stdbuf -oL ",
        "command ",
        "chrt -b 0 ",
        "taskset -c 0 ",
    ];
    let tried =
        for_all(begins_with_program, |command| WRAPPERS.iter().map(|wrapper| format!("{wrapper}{command}")).collect());
    assert!(tried > 10_000, "{tried}");
}

#[test]
fn a_shell_around_it_never_lowers() {
    let tried = for_all(
        |line| line.locus == Locus::Host,
        |command| {
            let quoted = quoted(command);
            vec![
                format!("bash -c {quoted}"),
                format!("bash -euo pipefail -c {quoted}"),
                format!("eval {quoted}"),
                format!("ssh pve2 {quoted}"),
            ]
        },
    );
    assert!(tried > 2000, "{tried}");
    for_all(
        |line| line.locus == Locus::Guest,
        |command| vec![format!("sh -c {}", quoted(command)), format!("sh -ec {}", quoted(command))],
    );
}

#[test]
fn what_runs_in_a_guest_is_judged_as_in_a_guest() {
    let mut wrong = Vec::new();
    for line in OPEN.iter().filter(|line| line.locus == Locus::Guest) {
        let inner = classify(&line.command, Locus::Guest);
        let quoted = quoted(&line.command);
        for outer in [
            "pct exec 101 -- sh -c",
            "pct exec 101 --keep-env 0 -- sh -c",
            "lxc-attach -n 101 -- sh -c",
            "qm guest exec 104 -- sh -c",
        ] {
            let text = format!("{outer} {quoted}");
            let verdict = classify(&text, Locus::Host);
            let vmid = Affected::Vmid(if outer.starts_with("qm") { 104 } else { 101 });
            if verdict.risk != inner.risk || !verdict.affected.contains(&vmid) {
                wrong.push(format!("{}: {} {:?}: {}", shown(&text), letter(inner.risk), verdict.risk, why(&verdict)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_redirect_never_lowers() {
    let more =
        [" > /opt/x", " >> /opt/x", " 2>/dev/null", " >/dev/null 2>&1", " 3< /etc/hosts", " 2>> /opt/x", " >| /opt/x"];
    let tried = for_all(|_| true, |command| more.iter().map(|more| format!("{command}{more}")).collect());
    assert!(tried > 10_000, "{tried}");
    let before =
        for_all(begins_with_program, |command| vec![format!(">/opt/x {command}"), format!("2>/dev/null {command}")]);
    assert!(before > 2000, "{before}");
}

#[test]
fn a_write_to_a_protected_file_makes_anything_destructive() {
    for target in [
        "/etc/passwd",
        "/etc/pve/storage.cfg",
        "/dev/sda",
        "/root/.ssh/authorized_keys",
        "\"$OUT\"",
        "/etc/sudoers.d/x",
    ] {
        for line in OPEN.iter() {
            for text in [format!("{} > {target}", line.command), format!("{} >> {target}", line.command)] {
                assert_eq!(classify(&text, line.locus).risk, Risk::Destructive, "{:?} {}", line.locus, shown(&text));
            }
        }
    }
}

#[test]
fn an_assignment_never_lowers() {
    let tried = for_all(begins_with_program, |command| {
        ["LC_ALL=C", "TZ=UTC", "FOO=bar", "A=$(hostname)", "LD_PRELOAD=/tmp/x"]
            .iter()
            .map(|set| format!("{set} {command}"))
            .collect()
    });
    assert!(tried > 3000, "{tried}");
    for_all(
        |_| true,
        |command| {
            vec![
                format!("other=1; {command}"),
                format!("export LANG=C; {command}"),
                format!("OTHER=$(hostname)\n{command}"),
            ]
        },
    );
    for line in OPEN.iter().filter(|line| begins_with_program(line)) {
        for set in ["LD_PRELOAD=/tmp/x", "PATH=/tmp", "BASH_ENV=/tmp/x", "IFS=x LD_AUDIT=/tmp/x"] {
            let text = format!("{set} {}", line.command);
            assert_eq!(classify(&text, line.locus).risk, Risk::Destructive, "{}", shown(&text));
        }
        let text = format!("FOO=bar {}", line.command);
        assert!(classify(&text, line.locus).risk > Risk::ReadOnly, "{}", shown(&text));
    }
}

#[test]
fn a_substitution_counts_wherever_it_stands() {
    for line in OPEN.iter() {
        for word in [
            "$(rm -rf /srv)",
            "\"$(rm -rf /srv)\"",
            "`rm -rf /srv`",
            "\"a`rm -rf /srv`b\"",
            "${x:-$(rm -rf /srv)}",
            "$((1+$(rm -rf /srv)))",
        ] {
            let text = format!("{} {word}", line.command);
            assert_eq!(classify(&text, line.locus).risk, Risk::Destructive, "{:?} {}", line.locus, shown(&text));
        }
    }
    // A word makes an interpreter read a file instead of what comes through the pipe.
    let tried = for_all(
        |line| !line.command.contains("| python3"),
        |command| {
            vec![format!("{command} $(cat /srv/x)"), format!("{command} \"$(cat /srv/x)\""), format!("{command} $x")]
        },
    );
    assert!(tried > 5000, "{tried}");
}

#[test]
fn what_generators_give_is_of_every_class() {
    for locus in [Locus::Host, Locus::Guest] {
        for risk in [Risk::ReadOnly, Risk::ConfigMutation, Risk::Destructive] {
            let count =
                OPEN.iter().filter(|line| line.locus == locus && classify(&line.command, locus).risk == risk).count();
            assert!(count >= 80, "{locus:?} {risk:?}: {count}");
        }
    }
}

//! No text costs much more than its length is worth, and none that is not understood is trusted.
//!
//! Time is counted as the processor time of this thread, and compared with that of an ordinary line.

use std::fs;

use oikos_risk::{Locus, Risk, classify};

use crate::{
    corpus::shown,
    hostile,
    random::{Random, mutant, rounds, soup},
};

/// Processor time of this thread so far, in nanoseconds.
fn spent() -> u64 {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    stat.split(' ').next().unwrap().parse().unwrap()
}

/// Processor time of one judgement, from enough of them to be measured, in nanoseconds.
fn cost(text: &str) -> f64 {
    classify(text, Locus::Host);
    let (start, mut calls) = (spent(), 0);
    while calls < 4 || spent() - start < 12_000_000 {
        classify(text, Locus::Host);
        calls += 1;
    }
    (spent() - start) as f64 / f64::from(calls)
}

const ORDINARY: &str = "journalctl -u nginx --since '1 hour ago' --no-pager | grep -iE 'error|fail' | awk '{print $5}' | sort | uniq -c | head -n 20";

#[test]
fn hostile_nesting_costs_no_more_than_many_ordinary_lines() {
    let usual = cost(ORDINARY);
    let mut worst = (0.0, String::new());
    for (name, text) in hostile::texts(&[8, 12, 64, 500, 8000]) {
        let times = cost(&text) / usual;
        if times > worst.0 {
            worst = (times, name);
        }
    }
    println!("the worst costs {:.0} ordinary lines: {}", worst.0, worst.1);
    // An ordinary line takes some 15 microseconds; 1 ms is 70 of them.
    assert!(worst.0 < 200.0, "{:.0} x: {}", worst.0, worst.1);
}

#[test]
fn cost_grows_with_length_and_no_faster() {
    type Shape = fn(usize) -> String;
    let shapes: [Shape; 6] = [
        |size| format!("cat > /opt/x <<'EOF'\n{}EOF", "a line of text $HOME\n".repeat(size / 21)),
        |size| format!("cat > /opt/x <<EOF\n{}EOF", "a line of text $HOME\n".repeat(size / 21)),
        |size| format!("echo {}", "x".repeat(size)),
        |size| format!("echo {}", "word ".repeat(size / 5)),
        |size| format!("echo '{}'", "a b ".repeat(size / 4)),
        |size| "ls /etc; ".repeat(size / 9),
    ];
    for shape in shapes {
        let (small, large) = (cost(&shape(4 << 10)), cost(&shape(63 << 10)));
        assert!(large < small * 16.0 * 4.0, "{:?}: {small:.0} ns, then {large:.0} ns", &shape(40)[..30]);
    }
}

#[test]
fn what_no_parser_understands_is_destructive() {
    let mut random = Random::new(7);
    let mut broken = 0;
    for round in 0..rounds(10_000) {
        let text = if round % 2 == 0 { soup(&mut random) } else { mutant(&mut random) };
        if rable::parse(&text, false).is_err() {
            broken += 1;
            for locus in [Locus::Host, Locus::Guest] {
                assert_eq!(classify(&text, locus).risk, Risk::Destructive, "{}", shown(&text));
            }
        }
    }
    assert!(broken > rounds(500), "vacuous: {broken}");
    for text in [
        "",
        " ",
        "\n",
        "\t\n ",
        "ls\0",
        "ls\r",
        "\u{feff}ls",
        "ls \u{202e}x",
        "'",
        "\"",
        "`",
        "$(",
        "((",
        "if",
        "<<",
        "ls &&",
        "|",
        ")",
    ] {
        assert_eq!(classify(text, Locus::Host).risk, Risk::Destructive, "{}", shown(text));
    }
    assert_eq!(classify(&"ls;".repeat(22_000), Locus::Host).risk, Risk::Destructive);
}

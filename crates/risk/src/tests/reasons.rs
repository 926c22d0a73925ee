//! Whether reasons say where in a text the offending command stands, and what the shell makes of it.

use crate::{Locus, Reason, classify};

fn worst(command: &str) -> Reason {
    classify(command, Locus::Host).reasons.into_iter().next().expect("a reason")
}

#[test]
fn a_reason_names_the_line_of_the_command_in_a_text_of_several_lines() {
    for (command, line) in [
        ("ls /srv\ndf -h\nzpool destroy tank\nuptime", 3),
        ("for pool in a b; do\n  zpool destroy $pool\ndone", 2),
        ("bash <<'EOF'\nset -e\nzpool destroy tank\nEOF", 3),
        ("pct exec 104 -- sh -c 'ls\nmkfs.ext4 /dev/sdb'", 2),
        ("n='ä'\n\nzpool destroy tank", 3),
        ("df -h\necho \"$(zpool destroy tank)\"", 2),
    ] {
        let message = worst(command).message;
        assert!(message.starts_with(&format!("line {line}: ")), "{command}: {message}");
    }
    assert!(!worst("zpool destroy tank").message.starts_with("line"));
}

#[test]
fn a_reason_points_at_the_bytes_of_a_nested_command() {
    let command = "sh -c 'df -h\nzpool destroy tank'";
    let span = worst(command).span.expect("a span");
    assert_eq!(&command[span], "zpool destroy tank");
}

#[test]
fn a_reason_says_what_expands_to_nothing() {
    for (command, part) in [
        ("x=''; $x", "the command expands to nothing"),
        ("rm -rf \"$directory\"/data", "which is /data if the part that is not known expands to nothing"),
        ("rm -rf \"$directory\"/*", "expands to nothing"),
    ] {
        let reasons = classify(command, Locus::Host).reasons;
        assert!(reasons.iter().any(|reason| reason.message.contains(part)), "{command}: {reasons:?}");
    }
    assert_eq!(worst("d=/srv; x=; rm -rf $x $d/data").argv, ["rm", "-rf", "/srv/data"]);
}

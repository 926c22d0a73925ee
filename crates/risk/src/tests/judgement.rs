//! What a verdict says besides its class: targets, flags, hints, spans, unwrapped commands.

use std::collections::BTreeSet;

use crate::{Affected, Locus, Risk, Verdict, classify};

fn host(command: &str) -> Verdict {
    classify(command, Locus::Host)
}

fn affected(command: &str) -> Vec<Affected> {
    host(command).affected.into_iter().collect()
}

#[test]
fn the_guests_that_a_command_acts_on_are_named() {
    let guest = |vmid| Affected::Vmid(vmid);
    assert_eq!(affected("pct destroy 105"), [guest(105)]);
    assert_eq!(affected("pct exec 105 -- systemctl restart nginx"), [guest(105)]);
    assert_eq!(affected("for i in 101 102; do pct stop $i; done"), [guest(101), guest(102)]);
    assert_eq!(affected("for i in {101..103}; do qm shutdown $i; done"), [guest(101), guest(102), guest(103)]);
    assert_eq!(affected("sudo timeout 60 pct des 105 --purge"), [guest(105)]);
    assert_eq!(affected("sh -c 'qm start 104'"), [guest(104)]);
    assert_eq!(affected("pvesh create /nodes/n/qemu/104/status/start"), [guest(104)]);
    assert_eq!(affected("ha-manager crm-command stop ct:105 0"), [guest(105)]);
    assert_eq!(affected("pct clone 101 120"), [guest(101), guest(120)]);
    assert_eq!(affected("lxc-attach -n 101 -- ls"), [guest(101)]);
    assert_eq!(affected("id=105; pct stop $id"), [guest(105)]);
}

#[test]
fn other_systems_are_named() {
    assert_eq!(affected("ssh root@pve2 uptime"), [Affected::Host("pve2".into())]);
    assert_eq!(affected("systemctl -H pve2 status"), [Affected::Host("pve2".into())]);
    assert_eq!(affected("rsync -a src/ pve2:/dst/"), [Affected::Host("pve2".into())]);
}

#[test]
fn a_guest_that_the_text_does_not_name_is_unknown() {
    for command in [
        "pct stop \"$id\"",
        "for i in $(pct list | awk '{print $1}'); do pct stop $i; done",
        "pct list | awk '{print $1}' | xargs -n1 pct stop",
        "while read -r id; do qm shutdown $id; done < ids",
        "pvenode stopall",
        "ssh \"$h\" uptime",
    ] {
        assert!(host(command).affected.contains(&Affected::Unknown), "{command}");
    }
}

#[test]
fn looking_at_guests_affects_none() {
    for command in ["pct list", "pct config 101", "qm status 104", "pvesh get /nodes/n/lxc/101/config"] {
        assert_eq!(host(command).affected, BTreeSet::new(), "{command}");
        assert_eq!(host(command).risk, Risk::ReadOnly, "{command}");
    }
}

#[test]
fn secrets_that_are_read_are_flagged() {
    for command in [
        "cat /etc/shadow",
        "cat /etc/pve/priv/authkey.key",
        "env",
        "cat /proc/1/environ",
        "pct pull 101 /etc/shadow /tmp/s",
        "docker inspect web",
        "cat /root/.ssh/id_ed25519",
        "cat /etc/shado?",
        "grep x /etc/../etc/shadow",
        "pveum ticket x",
        "wc -l < /etc/shadow",
    ] {
        assert!(host(command).flags.sensitive, "{command}");
    }
    for command in ["cat /etc/hosts", "cat /root/.ssh/id_ed25519.pub", "ls /etc/pve/nodes"] {
        assert!(!host(command).flags.sensitive, "{command}");
    }
}

#[test]
fn what_does_not_end_is_flagged_with_a_way_out() {
    for command in [
        "tail -f /var/log/syslog",
        "journalctl -fu nginx",
        "watch df",
        "top",
        "docker logs -f web",
        "ping 10.0.0.1",
        "while true; do date; sleep 1; done",
        "docker stats",
        "vmstat 1",
        "ip monitor",
        "dmesg --follow",
    ] {
        let verdict = host(command);
        assert!(verdict.flags.unbounded, "{command}");
        assert!(
            verdict.reasons.iter().any(|reason| reason.hint.is_some()) || command.starts_with("dmesg"),
            "{command}"
        );
    }
    for command in [
        "tail -n 5 x",
        "top -bn1",
        "docker stats --no-stream",
        "ping -c 3 10.0.0.1",
        "vmstat 1 3",
        "timeout 5 tail -f x",
        "while true; do date; break; done",
    ] {
        assert!(!host(command).flags.unbounded, "{command}");
    }
}

#[test]
fn what_needs_a_person_is_flagged() {
    for command in
        ["pct enter 101", "qm monitor 104", "vim /etc/hosts", "less x", "bash", "ssh pve2", "python3", "sudo -s"]
    {
        let verdict = host(command);
        assert!(verdict.flags.interactive || verdict.risk == Risk::Destructive, "{command}");
    }
}

#[test]
fn a_reason_shows_the_command_that_really_runs_and_where_it_stands() {
    let command = "uptime; sudo timeout 60 pct destroy 105";
    let verdict = host(command);
    let reason = &verdict.reasons[0];
    assert_eq!(reason.code, "pct:destroy");
    assert_eq!(reason.argv, ["pct", "destroy", "105"]);
    assert_eq!(&command[reason.span.clone().unwrap()], "sudo timeout 60 pct destroy 105");
}

#[test]
fn spans_are_bytes_also_after_letters_beyond_ascii() {
    let command = "echo 'größe'; rm -rf /srv/ü";
    let verdict = host(command);
    assert_eq!(&command[verdict.reasons[0].span.clone().unwrap()], "rm -rf /srv/ü");
}

#[test]
fn a_proof_names_every_command() {
    let verdict = host("df -h | sort -k5 && uptime");
    let codes: Vec<&str> = verdict.reasons.iter().map(|reason| reason.code.as_str()).collect();
    assert_eq!(codes, ["df:read", "sort:read", "uptime:read"]);
    assert!(verdict.reasons.iter().all(|reason| reason.risk == Risk::ReadOnly));
}

#[test]
fn the_worst_reason_comes_first() {
    let verdict = host("ls; touch /opt/x; rm -rf /srv; id");
    assert!(verdict.reasons.windows(2).all(|pair| pair[0].risk >= pair[1].risk));
    assert_eq!(verdict.reasons[0].risk, verdict.risk);
}

#[test]
fn nothing_makes_the_shape_guard_slow_or_the_stack_overflow() {
    let nested = |open: &str, close: &str, depth: usize| format!("{}ls{}", open.repeat(depth), close.repeat(depth));
    for command in [
        nested("$(", ")", 20_000),
        nested("(", ")", 20_000),
        nested("{ ", "; }", 5_000),
        nested("`", "`", 500),
        nested("\"$(", ")\"", 200),
        nested("if true; then ", "; fi", 2_000),
        "! ".repeat(30_000) + "ls",
        nested("${x:-", "}", 4_000),
        "a;".repeat(30_000),
        "{a,".repeat(20_000),
        "<<A ".repeat(10_000),
        "x".repeat(65 * 1024),
        "sh -c ".repeat(4_000) + "ls",
        "sudo ".repeat(1_500) + "ls",
        "env A=1 ".repeat(900) + "ls",
        "[[ ".to_owned() + &"( ".repeat(3_000),
        "case x in ".repeat(600),
        "echo $((".to_owned() + &"(".repeat(4_000),
    ] {
        let verdict = host(&command);
        assert_eq!(verdict.risk, Risk::Destructive, "{}", &command[..40]);
    }
}

#[test]
fn a_long_here_document_is_only_data() {
    let text = format!("cat > /opt/app/config <<'EOF'\n{}EOF\n", "key = value; rm -rf / $(x) `y`\n".repeat(300));
    assert_eq!(classify(&text, Locus::Guest).risk, Risk::Destructive, "more separators than the guard lets through");
    let text = format!("cat > /opt/app/config <<'EOF'\n{}EOF\n", "key = value\n".repeat(1_200));
    assert_eq!(classify(&text, Locus::Guest).risk, Risk::ConfigMutation);
}

use proptest::prelude::*;

use super::*;

/// A value that is made here, so that no text of this repository looks like a real secret.
fn letters(length: usize) -> String {
    "Ab3dEf6hIjKlMn0pQrStUvWxYz12".chars().cycle().take(length).collect()
}

fn shapes(text: &str) -> String {
    Redactor::default().redact(text).text
}

#[test]
fn common_shapes_are_taken_out_and_what_names_them_stays() {
    let secret = letters(40);
    for (before, after) in [
        (format!("remote: https://bob:{secret}@git.example/x.git"), "remote: https://bob:[redacted]@git.example/x.git"),
        (format!("https://{secret}@git.example/x.git"), "https://[redacted]@git.example/x.git"),
        (
            format!("> Authorization: Bearer {secret}\n> Accept: */*"),
            "> Authorization: Bearer [redacted]\n> Accept: */*",
        ),
        (format!("authorization: Basic {secret}="), "authorization: Basic [redacted]"),
        (format!("curl -H 'X-Api-Key: {secret}' http://x"), "curl -H 'X-Api-Key: [redacted]' http://x"),
        (format!("ghp_{secret}"), "[redacted]"),
        (format!("key sk-ant-api03-{secret}."), "key [redacted]."),
        (format!("token=eyJ{secret}.eyJ{secret}.{secret} end"), "token=[redacted] end"),
        (format!("root:$y$j9T${secret}:19000:0"), "root:[redacted]:19000:0"),
        (format!("PrivateKey = {}=", letters(43)), "PrivateKey = [redacted]"),
        (format!("MYSQL_ROOT_PASSWORD={secret}"), "MYSQL_ROOT_PASSWORD=[redacted]"),
        (format!(r#"{{"db_password": "{secret}", "port": 5}}"#), r#"{"db_password": "[redacted]", "port": 5}"#),
        (format!("PVEAPIToken=root@pam!ci={}", "0".repeat(36)), "PVEAPIToken=root@pam!ci=[redacted]"),
    ] {
        let redacted = Redactor::default().redact(&before);
        assert_eq!((redacted.text.as_str(), redacted.count), (after, 1), "{before}");
    }
}

#[test]
fn what_an_operator_needs_to_read_stays() {
    for text in [
        "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "uid 0b9d4c1e-6d0c-4a52-9f0e-1d2c3b4a5f60",
        "password: must be at least 12 characters",
        "http://localhost:8080/x?y=z@w",
        "ssh://git@example.org:22/x",
        "export TOKEN=$(kubectl create token oikos)",
        "256 SHA256:uNiVztksCsDhcc0u9e8BgrJXVGDJqs2d2bHj8jJmzA0 root@pve (ED25519)",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFx root@pve",
        "authorization is required",
        "task-bearer of news",
    ] {
        assert_eq!(Redactor::default().redact(text), Redacted { text: text.to_owned(), count: 0 });
    }
}

fn private_key(kind: &str) -> String {
    let lines: Vec<_> = (0..8).map(|number| format!("{number}{}", letters(63))).collect();
    format!("-----BEGIN {kind}PRIVATE KEY-----\n{}\n-----END {kind}PRIVATE KEY-----", lines.join("\n"))
}

#[test]
fn a_private_key_is_taken_out_also_when_the_text_cuts_it() {
    for kind in ["", "OPENSSH ", "RSA ", "ENCRYPTED "] {
        let text = format!("before\n{}\nafter\n", private_key(kind));
        assert_eq!(shapes(&text), "before\n[redacted]\nafter\n");
        let (head, tail) = text.split_at(200);
        assert_eq!(Redactor::default().redact_part(head, Part::Head).text, "before\n[redacted]");
        assert_eq!(Redactor::default().redact_part(tail, Part::Tail).text, "[redacted]\nafter\n");
    }
}

#[test]
fn a_known_value_is_taken_out_in_every_form() {
    let value = format!("line one {}\nline \"two\" {}\n", letters(20), letters(30));
    let redactor = Redactor::new([value.as_str()]);
    let base64 = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &value);
    let json = serde_json::to_string(&value).unwrap();
    for text in [value.trim(), &base64, json.trim_matches('"').trim_end_matches("\\n"), value.lines().nth(1).unwrap()] {
        assert_eq!(redactor.redact(&format!("<{text}>")).text, "<[redacted]>", "{text}");
    }
}

#[test]
fn a_short_value_is_left_alone() {
    assert_eq!(Redactor::new(["root", ""]).redact("root and more").count, 0);
}

#[test]
fn a_longer_value_wins_over_one_that_it_contains() {
    let redactor = Redactor::new(["secret-one", "secret-one-and-two"]);
    assert_eq!(redactor.redact("secret-one-and-two secret-one").text, "[redacted] [redacted]");
}

proptest! {
    /// However a text is cut, no twelve bytes of a known value that stood in it are left beside the cut.
    #[test]
    fn a_cut_leaves_no_part_of_a_known_value(before in "[ a-z\n]{0,30}", after in "[ a-z\n]{0,30}", at in 0usize..100) {
        let value = letters(40);
        let text = format!("{before}{value}{after}");
        let at = at.min(text.len());
        let redactor = Redactor::new([value.as_str()]);
        let head = redactor.redact_part(&text[..at], Part::Head).text;
        let tail = redactor.redact_part(&text[at..], Part::Tail).text;
        for piece in value.as_bytes().windows(12) {
            let piece = std::str::from_utf8(piece).unwrap();
            prop_assert!(!head.contains(piece) && !tail.contains(piece), "{head:?} {tail:?}");
        }
    }

    #[test]
    fn any_text_is_answered_and_a_second_pass_finds_nothing_new(text in "\\PC*") {
        let redactor = Redactor::new(["a-known-value"]);
        let once = redactor.redact(&text);
        prop_assert_eq!(&redactor.redact(&once.text).text, &once.text);
    }
}

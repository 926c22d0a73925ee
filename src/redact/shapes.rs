//! Shapes of secrets that nobody mistakes for something else.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{Part, REPLACEMENT, Redacted};

/// A pattern; what the group `keep` matched stays, and so does what the group `after` matched.
struct Shape(&'static str);

/// Earlier ones come first, since a later one could take away what they are recognised by.
const SHAPES: &[Shape] = &[
    // Private keys: PEM, OpenSSH and PGP, whole or cut off at the end of the text; also with `\n` for the line breaks.
    Shape(
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)",
    ),
    // The key lines of PuTTY's format.
    Shape(r"(?P<keep>Private-Lines: *\d+)(?:\r?\n[A-Za-z0-9+/=]+)+"),
    Shape(r"\bAGE-SECRET-KEY-1[A-Z0-9]{20,}"),
    // The user's password in a URL; the name before it stays.
    Shape(r"(?P<keep>\b[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#:@]*:)[^\s/?#]+(?P<after>@)"),
    Shape(r"(?P<keep>\bhttps?://)[^\s/?#:@]{16,}(?P<after>@)"),
    // Headers that authorise: the scheme stays, all that follows on the line goes.
    Shape(
        r#"(?i)(?P<keep>\b(?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|digest|negotiate|token|apikey)\s+)?)(?P<secret>[^\s"'][^\r\n"']*)"#,
    ),
    Shape(r#"(?i)(?P<keep>\b(?:set-)?cookie["']?: *["']?)[^\s"'][^\r\n"']*"#),
    Shape(
        r#"(?i)(?P<keep>\b(?:x-api-key|x-auth-token|x-vault-token|private-token|csrfpreventiontoken)["']?\s*[:=]\s*["']?)[^\s"',;]+"#,
    ),
    Shape(r"(?P<keep>(?i:\bbearer)\s+)[A-Za-z0-9._~+/=-]{16,}"),
    Shape(r"(?P<keep>PVEAPIToken=[^\s=]+=)[0-9A-Fa-f-]{8,}"),
    Shape(r"\bPVE(?:MAIL)?:[^\s:]+:[0-9A-F]{8}::[A-Za-z0-9+/=]{20,}"),
    // Tokens that name their issuer.
    Shape(r"\bgh[pousr]_[A-Za-z0-9]{20,}"),
    Shape(r"\bgithub_pat_[A-Za-z0-9_]{20,}"),
    Shape(r"\bgl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|imt)-[A-Za-z0-9_=-]{16,}"),
    Shape(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    Shape(r"\bsk-(?:ant-|proj-|or-|svcacct-)?[A-Za-z0-9_-]{20,}"),
    Shape(r"\b[rsp]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    Shape(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    Shape(r"\bAIza[0-9A-Za-z_-]{35}"),
    Shape(r"\bya29\.[0-9A-Za-z_-]{20,}"),
    Shape(r"\b(?:npm|hf|dop_v1|doo_v1|dor_v1|shpat|shpss)_[A-Za-z0-9]{20,}"),
    Shape(r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    Shape(r"\bpypi-[A-Za-z0-9_-]{32,}"),
    Shape(r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    Shape(r"\bhv[sbr]\.[A-Za-z0-9_-]{20,}"),
    Shape(r"\btskey-[a-z]+-[A-Za-z0-9]+-[A-Za-z0-9]{16,}"),
    Shape(r"\bK10[0-9a-f]{32,}::[^\s:]+:[^\s]+"),
    // A JSON web token, also of a service account.
    Shape(r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    // Password hashes as in /etc/shadow; a guess can be tried against one.
    Shape(r"\$(?:1|2[abxy]|5|6|7|y|gy|sha1|argon2(?:id|i|d))\$[A-Za-z0-9./,=+$-]{16,}"),
    // The keys of WireGuard.
    Shape(r"(?P<keep>\b(?:PrivateKey|PresharedKey)\s*=\s*)[A-Za-z0-9+/]{42,43}="),
    // Variables and options whose name says what they hold.
    Shape(
        r#"(?P<keep>\b[A-Z0-9_]*(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIALS?)(?:_[A-Z0-9]+)*=["']?)[^\s"'$]{4,}"#,
    ),
    Shape(
        r#"(?i)(?P<keep>"(?:[a-z0-9_.-]*[_.-])?(?:password|passwd|secret|token|api_?key|access_?key|private_?key|client_?secret)"\s*:\s*")(?:[^"\\]|\\.){4,}"#,
    ),
];

static PATTERNS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| SHAPES.iter().filter_map(|Shape(pattern)| Regex::new(pattern).ok()).collect());

/// The end of a private key whose beginning was cut off.
static KEY_END: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\A[A-Za-z0-9+/=\s\\]*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----").ok());

pub fn replace(text: &str, part: Part) -> Redacted {
    let mut redacted = Redacted { text: text.to_owned(), count: 0 };
    if part.cut_before() {
        KEY_END.iter().for_each(|pattern| replace_all(pattern, &mut redacted));
    }
    PATTERNS.iter().for_each(|pattern| replace_all(pattern, &mut redacted));
    redacted
}

fn replace_all(pattern: &Regex, redacted: &mut Redacted) {
    let mut count = 0;
    let replaced = pattern.replace_all(&redacted.text, |found: &Captures<'_>| {
        let group = |name| found.name(name).map_or("", |group| group.as_str());
        let secret = &found[0][group("keep").len()..found[0].len() - group("after").len()];
        // What was replaced already, as a known value or by an earlier shape, is not counted twice.
        if secret == REPLACEMENT {
            return found[0].to_owned();
        }
        count += 1;
        format!("{}{REPLACEMENT}{}", group("keep"), group("after"))
    });
    if count > 0 {
        redacted.text = replaced.into_owned();
        redacted.count += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_can_be_compiled() {
        assert_eq!(PATTERNS.len(), SHAPES.len());
        assert!(KEY_END.is_some());
    }
}

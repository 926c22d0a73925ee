//! Output as it is shown: head and tail of a stream, counted, digested and made harmless.

use std::ops::Range;

use sha2::{Digest, Sha256};

/// Bytes of a stream that are sent back and shown, from its beginning and from its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub head: usize,
    pub tail: usize,
}

pub(crate) const STDOUT: Limits = Limits { head: 4 * 1024, tail: 8 * 1024 };
pub(crate) const STDERR: Limits = Limits { head: 2 * 1024, tail: 4 * 1024 };

/// Bytes of each stream that a run directory keeps from its beginning, and as many from its end.
pub(crate) const KEPT_BYTES: usize = 512 * 1024;
// supervisor.sh divides it into blocks: of 8192 bytes for dd, of 512 for ulimit.
const _: () = assert!(KEPT_BYTES.is_multiple_of(8192));

/// A stream of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Head and tail (4 and 8 KiB of stdout, 2 and 4 KiB of stderr) as UTF-8 without control characters; a line in
    /// between says how much was left out.
    pub text: String,
    /// Length of the whole stream in bytes; at least this much if a process that outlived the step held it open.
    pub bytes: u64,
    /// Whether something was left out of `text`.
    pub truncated: bool,
    /// Where in `text` the line stands that says so, in bytes.
    pub cut: Option<Range<usize>>,
    /// SHA-256 of the whole stream in lower-case hex; empty when it is not known.
    pub sha256: String,
}

impl Captured {
    /// From what the target sent: `total` and `sha256` are of the whole stream, where it knows them.
    pub(crate) fn from_parts(head: &[u8], tail: &[u8], total: Option<u64>, sha256: Option<String>) -> Self {
        let sent = (head.len() + tail.len()) as u64;
        let bytes = total.unwrap_or(sent).max(sent);
        if bytes == sent {
            let whole = [head, tail].concat();
            let sha256 =
                sha256.unwrap_or_else(|| if total.is_some() { hex(&Sha256::digest(&whole)) } else { String::new() });
            return Self { text: sanitise(&whole), bytes, truncated: false, cut: None, sha256 };
        }
        let (head, tail) = (whole_characters_before(head), whole_characters_after(tail));
        let left_out = bytes - (head.len() + tail.len()) as u64;
        let mut text = sanitise(head);
        let from = text.len();
        text.push_str(&format!("\n[... {left_out} bytes left out ...]\n"));
        let cut = Some(from..text.len());
        text.push_str(&sanitise(tail));
        Self { text, bytes, truncated: true, cut, sha256: sha256.unwrap_or_default() }
    }
}

/// Reads a stream to its end and keeps head and tail of it.
#[derive(Debug)]
pub(crate) struct Capture {
    limits: Limits,
    head: Vec<u8>,
    tail: Vec<u8>,
    total: u64,
    digest: Sha256,
}

impl Capture {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, head: Vec::new(), tail: Vec::new(), total: 0, digest: Sha256::new() }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.digest.update(bytes);
        let (head, rest) = bytes.split_at(bytes.len().min(self.limits.head - self.head.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.limits.tail)..];
        self.tail.extend_from_slice(rest);
        // Drop in large steps: shifting the buffer for every packet would cost more than reading it.
        if self.tail.len() > 2 * self.limits.tail {
            self.tail.drain(..self.tail.len() - self.limits.tail);
        }
    }

    pub(crate) fn finish(mut self) -> Captured {
        self.tail.drain(..self.tail.len().saturating_sub(self.limits.tail));
        Captured::from_parts(&self.head, &self.tail, Some(self.total), Some(hex(&self.digest.finalize())))
    }
}

/// Text that is safe to store, log and show: UTF-8 with replacement characters for the rest, no escape sequences, no
/// control characters but newline and tab, a carriage return as a newline, no bidirectional or invisible formatting.
pub fn sanitise(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut clean = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => skip_escape_sequence(&mut characters),
            '\u{9b}' => skip_until(&mut characters, |end| ('\u{40}'..='\u{7e}').contains(&end)),
            '\r' if characters.peek() == Some(&'\n') => {}
            '\r' => clean.push('\n'),
            '\n' | '\t' => clean.push(character),
            _ if character.is_control() || is_invisible(character) => {}
            _ => clean.push(character),
        }
    }
    clean
}

type Characters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_escape_sequence(characters: &mut Characters<'_>) {
    match characters.peek() {
        Some('[') => {
            characters.next();
            skip_until(characters, |end| ('\u{40}'..='\u{7e}').contains(&end));
        }
        Some(']' | 'P' | 'X' | '^' | '_') => skip_string(characters),
        Some('\u{20}'..='\u{2f}') => skip_until(characters, |end| ('\u{30}'..='\u{7e}').contains(&end)),
        Some('\u{30}'..='\u{7e}') => {
            characters.next();
        }
        _ => {}
    }
}

/// A newline ends every sequence, so that a stray escape cannot swallow the rest of an output.
fn skip_until(characters: &mut Characters<'_>, is_end: impl Fn(char) -> bool) {
    while let Some(&character) = characters.peek() {
        if character == '\n' {
            return;
        }
        characters.next();
        if is_end(character) {
            return;
        }
    }
}

fn skip_string(characters: &mut Characters<'_>) {
    while let Some(&character) = characters.peek() {
        if character == '\n' {
            return;
        }
        characters.next();
        match character {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                if characters.peek() == Some(&'\\') {
                    characters.next();
                }
                return;
            }
            _ => {}
        }
    }
}

fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

fn whole_characters_before(bytes: &[u8]) -> &[u8] {
    let start_of_last = bytes.len().saturating_sub(4);
    match bytes[start_of_last..].iter().rposition(|&byte| byte & 0xc0 != 0x80) {
        Some(last)
            if std::str::from_utf8(&bytes[start_of_last + last..]).is_err_and(|error| error.error_len().is_none()) =>
        {
            &bytes[..start_of_last + last]
        }
        _ => bytes,
    }
}

fn whole_characters_after(bytes: &[u8]) -> &[u8] {
    let continuation = bytes.iter().take(3).take_while(|&&byte| byte & 0xc0 == 0x80).count();
    &bytes[continuation..]
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_stored_without_control_characters() {
        for (raw, clean) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}after", "after"),
            ("\u{1b}]8;;http://x\u{1b}\\link", "link"),
            ("50%\r100%\r\n", "50%\n100%\n"),
            ("a\0b\u{8}c", "abc"),
            ("\u{202e}evil\u{2066}\u{200b}", "evil"),
            ("\u{1b}[12\nnext", "\nnext"),
            ("\u{1b}(Bx\u{9b}1my", "xy"),
        ] {
            assert_eq!(sanitise(raw.as_bytes()), clean, "{raw:?}");
        }
        assert_eq!(sanitise(b"a\xffb"), "a\u{fffd}b");
    }

    #[test]
    fn a_long_stream_keeps_head_and_tail_and_is_counted_whole() {
        let whole: Vec<u8> = (0..100_000u32).flat_map(|number| format!("{number}\n").into_bytes()).collect();
        let mut capture = Capture::new(STDERR);
        whole.chunks(977).for_each(|chunk| capture.push(chunk));
        let captured = capture.finish();
        assert_eq!(captured.bytes, whole.len() as u64);
        assert_eq!(captured.sha256, hex(&Sha256::digest(&whole)));
        assert!(captured.truncated);
        assert!(captured.text.starts_with("0\n1\n2\n"));
        assert!(captured.text.ends_with("99998\n99999\n"));
        assert!(captured.text.contains(&format!("[... {} bytes left out ...]", whole.len() - 6 * 1024)));
    }

    #[test]
    fn a_short_stream_is_kept_whole() {
        let mut capture = Capture::new(STDOUT);
        capture.push(&[b'x'; 12 * 1024]);
        let captured = capture.finish();
        assert!(!captured.truncated);
        assert_eq!(captured.text.len(), 12 * 1024);
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        let whole = "ä".repeat(20_000);
        let mut capture = Capture::new(Limits { head: 4095, tail: 8191 });
        capture.push(whole.as_bytes());
        assert!(!capture.finish().text.contains('\u{fffd}'));
    }
}

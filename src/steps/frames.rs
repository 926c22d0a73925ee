//! What a script on the target answers: lines that start with a mark only the two of us know, and counted bytes.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

/// A mark for one exchange. Output of commands and noise of logins do not contain it, short of guessing 64 bits.
pub(crate) fn new_mark() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(COUNTER.fetch_add(1, Ordering::Relaxed));
    format!("@oikos-{:016x}", hasher.finish())
}

/// One marked line, and the bytes that it announced.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub word: &'a str,
    pub rest: &'a str,
    pub data: &'a [u8],
}

impl<'a> Frame<'a> {
    pub(crate) fn words(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.rest.split_whitespace()
    }
}

/// The frames in `bytes`. A frame whose bytes did not all arrive ends the list.
pub(crate) fn parse<'a>(mark: &str, bytes: &'a [u8]) -> Vec<Frame<'a>> {
    let mut frames = Vec::new();
    let mut rest = bytes;
    while let Some((line, after)) = next_line(mark, rest) {
        let (word, words) = line.split_once(' ').unwrap_or((line, ""));
        let length = announced(word, words);
        if length > after.len() {
            break;
        }
        let (data, after) = after.split_at(length);
        frames.push(Frame { word, rest: words.trim(), data });
        rest = after;
    }
    frames
}

/// Bytes that follow a line: `OUTPUT <stream> <head> <tail>`, `PART <offset> <length> <total>`.
fn announced(word: &str, words: &str) -> usize {
    let number = |index: usize| words.split_whitespace().nth(index).and_then(|word| word.parse::<usize>().ok());
    match word {
        "OUTPUT" => number(1).unwrap_or(0).saturating_add(number(2).unwrap_or(0)),
        "PART" => number(1).unwrap_or(0),
        _ => 0,
    }
}

fn next_line<'a>(mark: &str, bytes: &'a [u8]) -> Option<(&'a str, &'a [u8])> {
    let start = format!("\n{mark} ");
    let at = find(bytes, start.as_bytes())? + start.len();
    let end = at + bytes[at..].iter().position(|&byte| byte == b'\n')?;
    let line = std::str::from_utf8(&bytes[at..end]).ok()?;
    Some((line, &bytes[end + 1..]))
}

/// Position of `needle` in `bytes`.
pub(crate) fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_between_the_noise_of_a_login() {
        let bytes = b"Welcome!\n\n@m HELLO x 12\nnoise\n@m OUTPUT out 3 2\nabcde\n@m DONE\n";
        let frames = parse("@m", bytes);
        let found: Vec<_> = frames.iter().map(|frame| (frame.word, frame.rest, frame.data)).collect();
        assert_eq!(found, [("HELLO", "x 12", &b""[..]), ("OUTPUT", "out 3 2", &b"abcde"[..]), ("DONE", "", &b""[..])]);
    }

    #[test]
    fn output_that_looks_like_a_frame_is_output() {
        let bytes = b"\n@m OUTPUT out 9 0\n\n@m DONE\n\n@m DONE\n";
        assert_eq!(parse("@m", bytes)[0].data, b"\n@m DONE\n");
        assert_eq!(parse("@m", bytes).len(), 2);
    }

    #[test]
    fn a_frame_that_breaks_off_is_none() {
        assert_eq!(parse("@m", b"\n@m OUTPUT out 10 0\nabc").len(), 0);
        assert_eq!(parse("@m", b"\n@m DON").len(), 0);
        assert_eq!(parse("@m", b"\n@m OUTPUT out 18446744073709551615 9\nabc").len(), 0);
    }

    #[test]
    fn marks_differ() {
        assert_ne!(new_mark(), new_mark());
    }
}

//! The shape guard: looks at raw bytes before the parser, so that no text can cost it more than it should.
//!
//! It never interprets quotes: what a guard believes about quoting a hostile text can make wrong.

/// Longest text in bytes that is looked at at all.
pub const MAX_BYTES: usize = 64 * 1024;
/// Longest text in bytes outside here-documents: nobody types more than this.
const MAX_CODE_BYTES: usize = 8 * 1024;
/// Most substitutions (`$(`, `<(`, `>(`, backticks): the parser's time grows with the cube of their nesting.
const MAX_SUBSTITUTIONS: usize = 12;
/// Most opening brackets and braces, and words that open a compound command.
const MAX_OPENERS: usize = 64;
/// Most `;`, `&`, `|` in one text.
const MAX_SEPARATORS: usize = 512;
/// Most words outside here-documents: each wrapper reads those that follow it anew.
const MAX_WORDS: usize = 1200;
/// Most lines.
const MAX_LINES: usize = 1500;
/// Most lines of a text with here-documents, whose bodies are data.
const MAX_DOCUMENT_LINES: usize = 8192;

/// Why a text is not parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing to judge.
    Empty,
    /// A bound above was exceeded.
    TooComplex,
    /// NUL, carriage return or another control character.
    Control,
    /// A character that is invisible or changes the direction of writing.
    Invisible,
    /// A backslash at a line's end within a word: parsers disagree about it.
    Continuation,
}

/// Refuses what must not reach the parser.
pub fn check(text: &str) -> Result<(), Refusal> {
    if text.len() > MAX_BYTES {
        return Err(Refusal::TooComplex);
    }
    let shape = Shape::of(text.as_bytes())?;
    if shape.blank {
        return Err(Refusal::Empty);
    }
    if !shape.ascii && text.chars().any(invisible) {
        return Err(Refusal::Invisible);
    }
    let document = shape.documents > 0;
    let too_long = !document && text.len() > MAX_CODE_BYTES;
    let openers = shape.openers + if document { 0 } else { shape.keywords };
    if too_long
        || shape.substitutions > MAX_SUBSTITUTIONS
        || openers > MAX_OPENERS * if document { 4 } else { 1 }
        || shape.keywords > if document { MAX_OPENERS * 2 } else { MAX_OPENERS / 2 }
        || shape.separators > MAX_SEPARATORS
        || shape.words > MAX_WORDS && !document
        || shape.lines > if document { MAX_DOCUMENT_LINES } else { MAX_LINES }
    {
        return Err(Refusal::TooComplex);
    }
    Ok(())
}

#[derive(Default)]
struct Shape {
    blank: bool,
    ascii: bool,
    substitutions: usize,
    openers: usize,
    keywords: usize,
    separators: usize,
    words: usize,
    lines: usize,
    documents: usize,
}

impl Shape {
    fn of(bytes: &[u8]) -> Result<Self, Refusal> {
        let mut shape = Shape { blank: true, ascii: true, ..Shape::default() };
        let mut previous = b' ';
        for (at, &byte) in bytes.iter().enumerate() {
            shape.count(byte, previous);
            match byte {
                b'\n' if previous == b'\\' && !continuation_between_words(bytes, at) => {
                    return Err(Refusal::Continuation);
                }
                b'\n' | b'\t' | b' ' => {}
                0..=31 | 127 => return Err(Refusal::Control),
                128..=255 => {
                    shape.ascii = false;
                    shape.blank = false;
                }
                b'i' | b'w' | b'u' | b'f' | b'c' | b's' | b'!' | b't' | b'd' | b'e'
                    if matches!(previous, b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b'(' | b'{') =>
                {
                    shape.blank = false;
                    shape.keywords += usize::from(opens_compound(&bytes[at..]));
                }
                _ => shape.blank = false,
            }
            previous = byte;
        }
        Ok(shape)
    }

    fn count(&mut self, byte: u8, previous: u8) {
        match byte {
            b'(' => {
                self.openers += 1;
                self.substitutions += usize::from(matches!(previous, b'$' | b'<' | b'>'));
            }
            b' ' => self.words += usize::from(previous != b' '),
            b'{' => self.openers += 1,
            b'`' => self.substitutions += 1,
            b';' | b'&' | b'|' => self.separators += 1,
            b'\n' => self.lines += 1,
            b'<' => self.documents += usize::from(previous == b'<'),
            _ => {}
        }
    }
}

/// Whether the backslash-newline ending at `at` stands after a blank, so that it joins no two halves of a word.
fn continuation_between_words(bytes: &[u8], at: usize) -> bool {
    at < 2 || matches!(bytes[at - 2], b' ' | b'\t')
}

fn opens_compound(rest: &[u8]) -> bool {
    const WORDS: [&[u8]; 9] = [b"if", b"while", b"until", b"for", b"case", b"select", b"!", b"time", b"coproc"];
    WORDS.iter().any(|word| {
        rest.starts_with(word) && rest.get(word.len()).is_none_or(|next| matches!(next, b' ' | b'\t' | b'\n'))
    })
}

/// Format, zero-width and direction characters, and blanks that no shell splits at.
fn invisible(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}'
        | '\u{3000}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}

//! Takes secrets out of text before anything keeps it or sends it: status, logs, events, Messages and the model.
//!
//! Two kinds of secrets are found: values that are known, because they were read from a Secret, in each form in which a
//! program commonly prints them; and shapes that nobody mistakes, such as a private key or a provider's token. A
//! password that stands alone in a line, and that no Secret named, cannot be told from a word: it stays.

mod known;
mod shapes;

use known::KnownValues;

/// What stands where a secret stood.
pub const REPLACEMENT: &str = "[redacted]";

/// A text without the secrets that were found, and how many there were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redacted {
    /// The text, with [`REPLACEMENT`] in place of each secret.
    pub text: String,
    /// How many were replaced.
    pub count: u32,
}

/// What a text is part of: a secret may have been cut in two where the text begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// Its beginning: the last bytes may be the first ones of a secret.
    Head,
    /// Its end: the first bytes may be the last ones of a secret.
    Tail,
    /// Something from its middle: both may be.
    Middle,
}

impl Part {
    fn cut_before(self) -> bool {
        matches!(self, Self::Tail | Self::Middle)
    }

    fn cut_after(self) -> bool {
        matches!(self, Self::Head | Self::Middle)
    }
}

/// Finds secrets: common shapes, and the values that it was given.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    known: KnownValues,
}

impl Redactor {
    /// Also finds these values: as they are, line by line, in base64 and as JSON writes them. One that is shorter than
    /// six bytes is left alone, since it would take ordinary words out of every text.
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        Self { known: KnownValues::new(values) }
    }

    /// The text without secrets.
    pub fn redact(&self, text: &str) -> Redacted {
        self.redact_part(text, Part::Whole)
    }

    /// The same for a piece of a longer text.
    pub fn redact_part(&self, text: &str, part: Part) -> Redacted {
        let known = self.known.replace(text, part);
        let shapes = shapes::replace(&known.text, part);
        Redacted { count: known.count + shapes.count, ..shapes }
    }
}

#[cfg(test)]
mod tests;

//! Where in the whole text a command stands: bytes for spans, lines for people.

use std::ops::Range;

use super::judge::Judge;

impl Judge {
    /// The byte at which a character of the whole text stands.
    pub fn bytes(&self, character: usize) -> usize {
        self.offset
            + match &self.wide {
                None => character.min(self.length),
                Some(text) => text.char_indices().nth(character).map_or(text.len(), |(byte, _)| byte),
            }
    }

    /// Where a nested text stands word for word in the whole one, in bytes, if it does so once.
    pub fn place_of(&self, text: &str) -> Option<usize> {
        let mut places = self.whole.match_indices(text);
        let (at, _) = places.next().filter(|_| text.len() >= 4)?;
        places.next().is_none().then_some(at)
    }

    /// The number of the line at which a reason's command begins, when there are several.
    pub fn line_of(&self, span: Option<&Range<usize>>) -> Option<usize> {
        let before = self.whole.get(..span?.start)?;
        self.whole.trim_end().contains('\n').then(|| before.matches('\n').count() + 1)
    }
}

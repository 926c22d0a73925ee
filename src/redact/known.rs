//! Values that are known to be secret.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::{Engine, engine::general_purpose::STANDARD};

use super::{Part, REPLACEMENT, Redacted};

/// A shorter value is not looked for: it would be found inside ordinary words.
const SHORTEST_VALUE: usize = 6;
/// A shorter line of a value is not looked for on its own, nor is a shorter piece at the cut of a text.
const SHORTEST_LINE: usize = 12;

/// The values, in each form in which they are looked for.
#[derive(Clone, Debug, Default)]
pub struct KnownValues {
    forms: Vec<String>,
    /// `None` when there is nothing to look for.
    searcher: Option<AhoCorasick>,
}

impl KnownValues {
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let forms: Vec<String> = values.into_iter().flat_map(forms_of).collect::<BTreeSet<_>>().into_iter().collect();
        if forms.is_empty() {
            return Self::default();
        }
        // A build fails only beyond 2^31 bytes of patterns; Secrets have at most 1 MiB.
        let searcher = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&forms).ok();
        Self { forms, searcher }
    }

    pub fn replace(&self, text: &str, part: Part) -> Redacted {
        let Some(searcher) = &self.searcher else { return Redacted { text: text.to_owned(), count: 0 } };
        let begins = if part.cut_before() { self.end_of_a_form_before(text) } else { 0 };
        let ends = if part.cut_after() { self.start_of_a_form_after(text, begins) } else { text.len() };
        let mut redacted = Redacted::default();
        if begins > 0 {
            redacted.push_secret();
        }
        let mut after = begins;
        for found in searcher.find_iter(&text[begins..ends]) {
            redacted.text.push_str(&text[after..begins + found.start()]);
            redacted.push_secret();
            after = begins + found.end();
        }
        redacted.text.push_str(&text[after..ends]);
        if ends < text.len() {
            redacted.push_secret();
        }
        redacted
    }

    /// How many first bytes of the text are the last ones of a secret that was cut.
    fn end_of_a_form_before(&self, text: &str) -> usize {
        let longest = |form: &String| {
            let most = form.len().min(text.len());
            (SHORTEST_LINE..=most)
                .rev()
                .find(|&length| text.as_bytes()[..length] == form.as_bytes()[form.len() - length..])
        };
        self.forms.iter().filter_map(longest).filter(|&length| text.is_char_boundary(length)).max().unwrap_or(0)
    }

    /// Where the first bytes of a secret that was cut begin, at the end of the text.
    fn start_of_a_form_after(&self, text: &str, from: usize) -> usize {
        let rest = &text.as_bytes()[from..];
        let longest = |form: &String| {
            let most = form.len().min(rest.len());
            (SHORTEST_LINE..=most).rev().find(|&length| rest[rest.len() - length..] == form.as_bytes()[..length])
        };
        let length = self
            .forms
            .iter()
            .filter_map(longest)
            .filter(|&length| text.is_char_boundary(text.len() - length))
            .max()
            .unwrap_or(0);
        text.len() - length
    }
}

impl Redacted {
    fn push_secret(&mut self) {
        self.text.push_str(REPLACEMENT);
        self.count += 1;
    }
}

/// The forms in which programs print a value: raw, its lines, in base64 (as a Secret holds it), and escaped as in JSON.
fn forms_of(value: &str) -> Vec<String> {
    let trimmed = value.trim();
    if trimmed.len() < SHORTEST_VALUE {
        return Vec::new();
    }
    let mut forms = vec![trimmed.to_owned(), STANDARD.encode(value), STANDARD.encode(trimmed)];
    // Without the padding and the last digits, which depend on what follows the value.
    forms.push(STANDARD.encode(&trimmed.as_bytes()[..trimmed.len() / 3 * 3]));
    if let Ok(json) = serde_json::to_string(trimmed) {
        forms.push(json.trim_matches('"').to_owned());
    }
    if trimmed.contains('\n') {
        let lines = trimmed.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_LINE);
        // The first and last line of a key say what it is and are in every key.
        forms.extend(lines.filter(|line| !line.starts_with("-----")).map(ToOwned::to_owned));
    }
    forms.retain(|form| form.len() >= SHORTEST_VALUE);
    forms
}

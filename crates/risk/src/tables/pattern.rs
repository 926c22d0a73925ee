//! Patterns for argument vectors: `show|list * mtu ?...`.
//!
//! Each word of a pattern stands for one word: for one of the choices between `|`, for any that is no option (`*`), or
//! for any at all (`?`). Three dots after it make it stand for any number of words. A choice with blanks stands in
//! single quotes.

/// A word of a call, as far as a pattern looks at it.
#[derive(Clone, Copy, Debug)]
pub struct Argument<'w> {
    /// The exact text, when it is known.
    pub text: Option<&'w str>,
    /// Whether the command may take it for an option.
    pub may_be_option: bool,
    /// Whether it may become several words.
    pub may_split: bool,
}

/// A pattern for all words of a call, or for its operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Its words.
    pub words: Vec<PatternWord>,
}

/// One word of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternWord {
    /// The texts of which it is one.
    pub choices: Vec<&'static str>,
    /// Whether it stands for any number of words.
    pub repeats: bool,
}

impl Pattern {
    /// Reads a pattern as a table writes it.
    pub fn read(text: &'static str) -> Self {
        let mut words = Vec::new();
        for text in split(text, char::is_whitespace).filter(|text| !text.is_empty()) {
            let (text, repeats) = text.strip_suffix("...").map_or((text, false), |text| (text, true));
            words.push(PatternWord {
                choices: split(text, |c| c == '|').map(|choice| choice.trim_matches('\'')).collect(),
                repeats,
            });
        }
        Self { words }
    }

    /// Whether the first word may be this one.
    pub fn begins_with(&self, name: &str) -> bool {
        self.words.first().is_some_and(|word| word.choices.contains(&name))
    }

    /// Whether these are such words.
    pub fn matches(&self, given: &[Argument<'_>]) -> bool {
        match_words(&self.words, given)
    }
}

fn match_words(words: &[PatternWord], given: &[Argument<'_>]) -> bool {
    let Some((word, rest)) = words.split_first() else { return given.is_empty() };
    let first_fits = given.split_first().filter(|(first, _)| word.is_one(first, word.repeats));
    if word.repeats {
        return match_words(rest, given) || first_fits.is_some_and(|(_, others)| match_words(words, others));
    }
    first_fits.is_some_and(|(_, others)| match_words(rest, others))
}

impl PatternWord {
    fn is_one(&self, given: &Argument<'_>, several: bool) -> bool {
        self.choices.iter().any(|choice| match *choice {
            "?" => several || !given.may_split,
            "*" => !given.may_be_option && !given.may_split,
            choice => given.text == Some(choice),
        })
    }
}

/// The parts between separators that do not stand in quotes.
fn split(text: &'static str, separates: impl Fn(char) -> bool) -> impl Iterator<Item = &'static str> {
    let mut quoted = false;
    text.split(move |c| {
        quoted ^= c == '\'';
        separates(c) && !quoted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &'static str, words: &[&str]) -> bool {
        let given: Vec<Argument<'_>> = words
            .iter()
            .map(|word| Argument { text: Some(word), may_be_option: word.starts_with('-'), may_split: false })
            .collect();
        Pattern::read(pattern).matches(&given)
    }

    #[test]
    fn a_pattern_stands_for_all_words_and_for_nothing_else() {
        assert!(matches("phy * info|channels", &["phy", "phy0", "channels"]));
        assert!(!matches("phy * info|channels", &["phy", "phy0"]));
        assert!(!matches("phy * info|channels", &["phy", "-x", "info"]));
        assert!(matches("-s|-j... show|list *...", &["-j", "-s", "list", "dev", "eth0"]));
        assert!(!matches("-s|-j... show|list *...", &["list", "-x"]));
        assert!(matches("cut '-d ' -f1", &["cut", "-d ", "-f1"]));
        assert!(matches("awk '{print $2}'|'{print $NF}'", &["awk", "{print $NF}"]));
        assert!(matches("", &[]) && !matches("", &["x"]));
    }
}

//! Cutting texts to the lengths that the API server accepts.

/// The text, or its beginning and an ellipsis: at most `longest` bytes, and so at most that many characters.
pub fn shortened(text: &str, longest: usize) -> String {
    const ELLIPSIS: &str = "…";
    if text.len() <= longest {
        return text.to_owned();
    }
    let Some(room) = longest.checked_sub(ELLIPSIS.len()) else { return String::new() };
    let end = (0..=room).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}{ELLIPSIS}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_a_character_and_says_so() {
        assert_eq!(shortened("äöü", 5), "ä…");
        assert_eq!(shortened("abc", 3), "abc");
        assert_eq!((shortened("abcd", 3), shortened("abcd", 2)), ("…".to_owned(), String::new()));
    }
}

//! Where statements of SQL end. The dialects disagree about quotes and comments: where they would read on at different
//! places, nothing is proven.

/// The statements without strings and comments; `None` where they may end elsewhere in some dialect.
pub fn split(text: &str) -> Option<Vec<String>> {
    let mut statements = vec![String::new()];
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let current = statements.last_mut()?;
        let after = &rest[c.len_utf8()..];
        if matches!(c, '\\' | '.') && current.trim().is_empty() {
            let (line, next) = meta(rest)?;
            current.push_str(&line);
            statements.push(String::new());
            rest = next;
            continue;
        }
        rest = match c {
            '\'' | '"' | '`' => {
                // A quoted name may be a function's.
                current.push_str(if c == '\'' { " x " } else { "quoted" });
                quoted(after, c)?
            }
            '[' => {
                let (inside, next) = brackets(after)?;
                current.push_str(&inside);
                next
            }
            '-' if after.starts_with('-') => comment(&after[1..])?,
            '#' => operator_or_comment(after)?,
            '/' if after.starts_with(['*', '/']) => return None,
            '$' if after.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$')) => return None,
            ';' => {
                statements.push(String::new());
                after
            }
            c => {
                current.push(c.to_ascii_uppercase());
                after
            }
        };
    }
    Some(statements)
}

/// Whether a text holds a variable of psql outside of a cast: `:name`, `:'name'`.
pub fn has_variables(text: &str) -> bool {
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let begins = chars.peek().is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '\'' | '"' | '{'));
        if c == ':' && before != ':' && begins {
            return true;
        }
        before = c;
    }
    false
}

/// A command of the client, which ends with its line; what stands after it.
fn meta(text: &str) -> Option<(String, &str)> {
    let (line, next) = text.split_once('\n').unwrap_or((text, ""));
    let bare = line.trim_end().trim_end_matches(';');
    // What stands after it may be a statement to one client and a word to another.
    (!bare.contains(';')).then(|| (bare.to_ascii_uppercase(), next))
}

/// What stands after a string or name in quotes.
fn quoted(text: &str, quote: char) -> Option<&str> {
    let end = text.find(quote)?;
    let inside = &text[..end];
    // Some dialects take a backslash for an escape, others do not.
    let backslashes = inside.len() - inside.trim_end_matches('\\').len();
    if backslashes % 2 == 1 {
        return None;
    }
    // To some a backtick is an operator.
    let plain = |c: char| c.is_alphanumeric() || "_-. $".contains(c);
    if quote == '`' && (!inside.chars().all(plain) || inside.contains("--")) {
        return None;
    }
    Some(&text[end + 1..])
}

/// A name in brackets or a subscript: what it holds must be the same statement in both readings.
fn brackets(text: &str) -> Option<(String, &str)> {
    let (inside, next) = text.split_once(']')?;
    let [one] = split(inside)?.try_into().ok()?;
    let same = !inside.contains(['\n', '[']) && !inside.contains("--") && !next.trim_start().starts_with('(');
    same.then(|| (format!("[{one}]"), next))
}

/// The rest of a line after `--`; to some this is a comment only before a blank.
fn comment(text: &str) -> Option<&str> {
    text.chars().next().is_none_or(char::is_whitespace).then(|| text.split_once('\n').map_or("", |(_, next)| next))
}

/// `#` begins a comment or is an operator: nothing in the rest of its line may read differently then.
fn operator_or_comment(text: &str) -> Option<&str> {
    let line = text.split('\n').next().unwrap_or(text);
    let open = line.contains(['\'', '"', '`', ';', '[', '#', '\\', '$']) || line.contains("--") || line.contains("/");
    (!open).then_some(text)
}

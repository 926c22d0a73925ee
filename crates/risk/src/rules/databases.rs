//! Database clients: a statement is ReadOnly when it is a query of functions known to change nothing.

use super::{general::*, statements};
use crate::{
    Locus, Risk, access,
    context::{Findings, Scope},
    invocation::Invocation,
    tables::{ListName, Tables},
    words::{Input, Word},
};

/// A setting of the whole server: some name programs, libraries or files.
fn server_setting(name: &str) -> Risk {
    let code =
        ["COMMAND", "LIBRAR", "PATH", "FILE", "DIRECTOR", "PRELOAD", "PROVIDER"].iter().any(|part| name.contains(part));
    if code { Risk::Destructive } else { Risk::ConfigMutation }
}

/// `psql -c`, `mysql -e`: every statement counts.
pub fn sql(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    statements(call, &[], scope, findings);
}

/// `sqlite3 FILE SQL`: operands after the file are statements too.
pub fn sqlite(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    statements(call, call.operands.get(1..).unwrap_or_default(), scope, findings);
}

fn statements(call: &Invocation<'_, '_, '_>, operands: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    options_only(call, scope, findings);
    for given in &call.options {
        if matches!(given.opt.name, "h" | "--host")
            && let Some(host) = given.value.as_ref().filter(|host| !is_local(host))
        {
            findings.affects_host(Some(host));
            findings.add(
                scope,
                Risk::ConfigMutation,
                format!("{}:other-system", call.name),
                "acts on another system",
                None,
            );
        }
    }
    let inline = call
        .options
        .iter()
        .filter(|given| matches!(given.opt.name, "c" | "e" | "q" | "--command" | "--execute" | "--query" | "-cmd"));
    let mut statements: Vec<&Word<'_>> = inline.filter_map(|given| given.value.as_ref()).collect();
    statements.extend(operands);
    if statements.is_empty() && (call.is_dry_run() || call.has("f") || call.has("--file")) {
        return;
    }
    if statements.is_empty() {
        return without_statement(call, scope, findings);
    }
    for statement in statements {
        match statement.literal() {
            Some(text) => report(call, text, scope, findings),
            None => findings.add(
                scope,
                Risk::Destructive,
                format!("{}:computed-code", call.name),
                "what is executed is not known",
                Some("write the statement out"),
            ),
        }
    }
}

fn is_local(host: &Word<'_>) -> bool {
    host.literal().is_some_and(|host| matches!(host, "localhost" | "127.0.0.1" | "::1") || host.starts_with('/'))
}

fn without_statement(call: &Invocation<'_, '_, '_>, scope: &Scope, findings: &mut Findings) {
    match scope.input().clone() {
        Input::Text(text) => report(call, &text, scope, findings),
        Input::Closed => {
            findings.needs_a_person();
            findings.add(
                scope,
                Risk::ConfigMutation,
                format!("{}:interactive", call.name),
                "waits for a person",
                Some("give the statement as an argument"),
            );
        }
        Input::Fetched(_) | Input::Opaque => {
            findings.add(
                scope,
                Risk::Destructive,
                format!("{}:piped-code", call.name),
                "executes what is not known",
                None,
            );
        }
    }
}

fn report(call: &Invocation<'_, '_, '_>, text: &str, scope: &Scope, findings: &mut Findings) {
    if shows_secrets(text, scope.tables()) {
        findings.shows_secrets();
    }
    if let Some(file) = copied_to(text) {
        access::writes(&Word::known(file), call.name, scope, findings);
        let message = "writes a copy of the database";
        return findings.add(scope, Risk::ConfigMutation, format!("{}:copy", call.name), message, None);
    }
    let mut risk = text_class(text, scope.locus(), scope.tables());
    if call.options.iter().any(|given| matches!(given.opt.name, "v" | "--variable")) && statements::has_variables(text)
    {
        // The value becomes a part of the statement.
        risk = Risk::Destructive;
    }
    let message = match risk {
        Risk::ReadOnly => return,
        Risk::ConfigMutation => "the statement changes data or is not known to be a query",
        Risk::Destructive => "the statement loses data or executes something",
    };
    findings.add(scope, risk, format!("{}:statement", call.name), message, None);
}

/// The file that a copy of the whole database goes to: `.backup FILE`, `VACUUM INTO 'FILE'`.
fn copied_to(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches(';');
    let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    let file = match words.as_slice() {
        [".backup" | ".save" | ".clone", file] | [".backup" | ".save", "main", file] => file,
        [vacuum, into, file] if vacuum.eq_ignore_ascii_case("vacuum") && into.eq_ignore_ascii_case("into") => file,
        _ => return None,
    };
    let file = file.trim_matches(['\'', '"']);
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@…".contains(c);
    (!file.is_empty() && !file.starts_with('-') && file.chars().all(plain)).then(|| file.to_owned())
}

/// The class of all statements in a text.
fn text_class(text: &str, locus: Locus, tables: &Tables) -> Risk {
    if text.contains("/*!") || text.contains("$$") || text.contains("\\!") {
        return Risk::Destructive;
    }
    let Some(statements) = statements::split(text) else { return Risk::Destructive };
    statements.iter().map(|statement| statement_class(statement, locus, tables)).max().unwrap_or(Risk::Destructive)
}

fn statement_class(statement: &str, locus: Locus, tables: &Tables) -> Risk {
    let trimmed = statement.trim();
    if trimmed.is_empty() {
        return Risk::ReadOnly;
    }
    if let Some(meta) = trimmed.strip_prefix(['\\', '.']) {
        return meta_class(meta, tables);
    }
    // `\\G` at the end only changes the output's form; other backslashes are commands of the client.
    let bare = trimmed.strip_suffix("\\G").unwrap_or(trimmed);
    if bare.contains('\\') {
        return Risk::Destructive;
    }
    let words: Vec<&str> =
        trimmed.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| !word.is_empty()).collect();
    let has = |list: ListName| words.iter().any(|word| tables.lists(list, word));
    match words.as_slice() {
        ["FLUSH", ..] => return Risk::ConfigMutation,
        ["PRAGMA", ..] => return pragma_class(trimmed, tables),
        ["ALTER", "SYSTEM", "RESET", _] => return Risk::ConfigMutation,
        ["ALTER", "SYSTEM", "SET", name, ..] => return server_setting(name),
        ["GRANT", ..] if grants_one_database(trimmed, &words, tables) && locus == Locus::Guest => {
            return Risk::ConfigMutation;
        }
        ["GRANT", ..] => return Risk::Destructive,
        _ => {}
    }
    if has(ListName::SqlLoses) {
        return Risk::Destructive;
    }
    let first = words.first().copied().unwrap_or("");
    let query = match first {
        _ if tables.lists(ListName::SqlQueries, first) => {
            !has(ListName::SqlNotQuery) && calls_are_harmless(trimmed, tables)
        }
        _ => tables.lists(ListName::SqlShows, first) && !trimmed.contains('('),
    };
    match first {
        _ if query => Risk::ReadOnly,
        // They run programs of the client: no place makes that a mere change.
        "TEE" | "PAGER" | "EDIT" => Risk::Destructive,
        "UPDATE" if !words.contains(&"WHERE") => Risk::Destructive,
        _ if tables.lists(ListName::SqlChanges, first) || locus == Locus::Guest => Risk::ConfigMutation,
        _ => Risk::Destructive,
    }
}

/// `PRAGMA NAME` shows; `NAME = VALUE` and `NAME(VALUE)` set, unless the brackets hold what is asked about.
fn pragma_class(statement: &str, tables: &Tables) -> Risk {
    let rest = statement.trim_start_matches("PRAGMA");
    let name = rest.split(['(', '=']).next().unwrap_or(rest).trim();
    let name = name.rsplit('.').next().unwrap_or(name).trim();
    let asks = tables.lists(ListName::SqlPragmaQuestions, name);
    let shows = tables.lists(ListName::SqlPragmas, name) && !rest.contains('(') || asks;
    if shows && !rest.contains('=') { Risk::ReadOnly } else { Risk::ConfigMutation }
}

/// Rights on the objects of one database, as applications want them; not the whole server, not the right to grant.
fn grants_one_database(statement: &str, words: &[&str], tables: &Tables) -> bool {
    words.contains(&"ON")
        && !statement.contains("*.*")
        && !words.iter().any(|word| tables.lists(ListName::SqlWideRights, word))
}

/// Whether a statement shows passwords, their hashes or tokens.
fn shows_secrets(text: &str, tables: &Tables) -> bool {
    let text = text.to_ascii_lowercase();
    tables.members(ListName::SqlSecrets).iter().any(|mark| text.contains(mark))
}

/// Meta commands of psql (`\dt`) and sqlite3 (`.tables`).
fn meta_class(meta: &str, tables: &Tables) -> Risk {
    let name = meta.split_whitespace().next().unwrap_or("");
    if tables.lists(ListName::SqlMeta, name) && !meta.contains(['|', '\\', '>', '`']) {
        Risk::ReadOnly
    } else {
        Risk::Destructive
    }
}

/// Whether each word before a parenthesis is known to change nothing.
fn calls_are_harmless(statement: &str, tables: &Tables) -> bool {
    let mut word = String::new();
    let mut last = String::new();
    for c in statement.chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            last = std::mem::take(&mut word);
        }
        match c {
            '(' if !last.is_empty() && !tables.lists(ListName::SqlCalls, &last) => return false,
            ' ' | '\t' | '\n' => {}
            _ => last.clear(),
        }
    }
    true
}

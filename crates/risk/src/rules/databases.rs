//! Database clients: a statement is ReadOnly when it is a query of functions known to change nothing.

use super::general::*;
use crate::{
    Locus, Risk, access,
    context::{Findings, Scope},
    invocation::Invocation,
    words::{Input, Word},
};

/// Whether a list of words holds this one.
fn listed(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

/// Words that may stand before a parenthesis in a query and change nothing.
const HARMLESS_CALLS: &str = "ABS AGE ALL AND ANY ARRAY ARRAY_AGG ARRAY_LENGTH ARRAY_TO_STRING AS AVG BETWEEN BOOL_AND BOOL_OR BY CASE CAST \
     CEIL CEILING CHAR CHAR_LENGTH COALESCE COL_DESCRIPTION CONCAT CONCAT_WS COUNT CURRENT_CATALOG CURRENT_DATABASE \
     CURRENT_DATE CURRENT_SCHEMA CURRENT_SETTING CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DATABASE DATALENGTH DATE \
     DATEDIFF DATETIME DATE_ADD DATE_FORMAT DATE_PART DATE_SUB DATE_TRUNC DAY DECIMAL DENSE_RANK DISTINCT ELSE END \
     EXCEPT EXISTS EXTRACT FILTER FLOOR FORMAT FORMAT_TYPE FROM FROM_UNIXTIME GREATEST GROUP_CONCAT HAVING HEX HOUR \
     IF IFNULL IIF IN INET_SERVER_ADDR INET_SERVER_PORT INITCAP INSTR INTERSECT INTERVAL IS JOIN JSONB_ARRAY_LENGTH \
     JSONB_BUILD_OBJECT JSON_AGG JSON_ARRAY_LENGTH JSON_BUILD_OBJECT JSON_EXTRACT JSON_OBJECT JSON_VALUE JULIANDAY \
     LAG LEAD LEAST LEFT LENGTH LIKE LIMIT LOCATE LOWER LPAD LTRIM MAX MIN MOD MONTH NOT NOW NTILE NULLIF NUMERIC \
     OBJ_DESCRIPTION OFFSET ON OR ORDER OVER PERCENTILE_CONT PG_BACKEND_PID PG_BLOCKING_PIDS PG_COLUMN_SIZE \
     PG_CONF_LOAD_TIME PG_CURRENT_WAL_LSN PG_DATABASE_SIZE PG_GET_CONSTRAINTDEF PG_GET_EXPR PG_GET_INDEXDEF \
     PG_GET_USERBYID PG_GET_VIEWDEF PG_INDEXES_SIZE PG_IS_IN_RECOVERY PG_LAST_WAL_RECEIVE_LSN PG_LAST_WAL_REPLAY_LSN \
     PG_LAST_XACT_REPLAY_TIMESTAMP PG_LS_WALDIR PG_POSTMASTER_START_TIME PG_RELATION_SIZE PG_SIZE_PRETTY \
     PG_TABLESPACE_SIZE PG_TABLE_IS_VISIBLE PG_TABLE_SIZE PG_TOTAL_RELATION_SIZE PG_WAL_LSN_DIFF POSITION POWER \
     PRINTF QUOTE_IDENT RANGE RANK REGCLASS REGEXP REGEXP_MATCHES REGEXP_REPLACE REPLACE RIGHT ROUND ROW ROW_NUMBER \
     ROW_TO_JSON RPAD RTRIM SEC_TO_TIME SELECT SIGN SOME SPLIT_PART SQLITE_VERSION SQRT STDDEV STRFTIME STRING_AGG \
     SUBSTR SUBSTRING SUM SYSDATE THEN TIME TIMEDIFF TIMESTAMPDIFF TOTAL TO_CHAR TO_DATE TO_JSON TO_TIMESTAMP TRIM \
     TYPEOF UNION UNIX_TIMESTAMP UNNEST UPPER USER USING UTC_TIMESTAMP VALUES VARCHAR VARIANCE VERSION WEEK WHEN \
     WHERE WITH YEAR";

/// Words that make a statement that begins as a query something else.
const NOT_A_QUERY: &str = "INTO UPDATE DELETE INSERT DROP TRUNCATE ALTER CREATE GRANT REVOKE COPY CALL EXECUTE DO LOAD_FILE OUTFILE \
     DUMPFILE ATTACH MERGE LOCK ANALYZE SET";

/// Words that lose data wherever they stand.
const LOSES: &str = "SYSTEM SOURCE DROP TRUNCATE DELETE ATTACH OUTFILE DUMPFILE SHUTDOWN PURGE REVOKE PROGRAM LO_EXPORT \
     LO_IMPORT PG_TERMINATE_BACKEND LOAD_EXTENSION WRITEFILE EDIT RESET KILL";

/// What `PRAGMA` shows without changing anything.
const PRAGMAS: &str = "TABLE_INFO TABLE_XINFO TABLE_LIST INDEX_LIST INDEX_INFO INDEX_XINFO FOREIGN_KEY_LIST FOREIGN_KEYS \
     FOREIGN_KEY_CHECK INTEGRITY_CHECK QUICK_CHECK JOURNAL_MODE PAGE_COUNT PAGE_SIZE DATABASE_LIST USER_VERSION \
     SCHEMA_VERSION FREELIST_COUNT COMPILE_OPTIONS ENCODING CACHE_SIZE FUNCTION_LIST COLLATION_LIST MODULE_LIST \
     PRAGMA_LIST AUTO_VACUUM BUSY_TIMEOUT SYNCHRONOUS WAL_AUTOCHECKPOINT APPLICATION_ID DATA_VERSION MMAP_SIZE \
     TEMP_STORE LOCKING_MODE SECURE_DELETE QUERY_ONLY RECURSIVE_TRIGGERS ANALYSIS_LIMIT MAX_PAGE_COUNT THREADS";

/// A setting of the whole server: some name programs, libraries or files.
fn server_setting(name: &str) -> Risk {
    let code =
        ["COMMAND", "LIBRAR", "PATH", "FILE", "DIRECTOR", "PRELOAD", "PROVIDER"].iter().any(|part| name.contains(part));
    if code { Risk::Destructive } else { Risk::ConfigMutation }
}

/// `psql -c`, `mysql -e`, `sqlite3 FILE SQL`: every statement counts.
pub fn sql(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
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
    if call.entry.name == "sqlite3" {
        statements.extend(call.operands.iter().skip(1));
    }
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
    if shows_secrets(text) {
        findings.shows_secrets();
    }
    if let Some(file) = copied_to(text) {
        access::writes(&Word::known(file), call.name, scope, findings);
        let message = "writes a copy of the database";
        return findings.add(scope, Risk::ConfigMutation, format!("{}:copy", call.name), message, None);
    }
    let risk = text_class(text, scope.locus());
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
fn text_class(text: &str, locus: Locus) -> Risk {
    if text.contains("/*!") || text.contains("$$") || text.contains("\\!") {
        return Risk::Destructive;
    }
    let Some(statements) = split(text) else { return Risk::Destructive };
    statements.iter().map(|statement| statement_class(statement, locus)).max().unwrap_or(Risk::ReadOnly)
}

/// The statements without strings and comments; `None` when a string does not end.
fn split(text: &str) -> Option<Vec<String>> {
    let mut statements = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let current = statements.last_mut()?;
        match c {
            '\'' | '"' | '`' => {
                loop {
                    match chars.next()? {
                        '\\' => {
                            chars.next();
                        }
                        end if end == c => break,
                        _ => {}
                    }
                }
                // A quoted name may be a function's.
                current.push_str(if c == '\'' { " x " } else { "quoted" });
            }
            '-' if chars.peek() == Some(&'-') => {
                while chars.peek().is_some_and(|c| *c != '\n') {
                    chars.next();
                }
            }
            '/' if chars.peek() == Some(&'*') => return None,
            ';' => statements.push(String::new()),
            c => current.push(c.to_ascii_uppercase()),
        }
    }
    Some(statements)
}

fn statement_class(statement: &str, locus: Locus) -> Risk {
    let trimmed = statement.trim();
    if trimmed.is_empty() {
        return Risk::ReadOnly;
    }
    if let Some(meta) = trimmed.strip_prefix(['\\', '.']) {
        return meta_class(meta);
    }
    // `\\G` at the end only changes the output's form; other backslashes are commands of the client.
    let bare = trimmed.strip_suffix("\\G").unwrap_or(trimmed);
    if bare.contains('\\') {
        return Risk::Destructive;
    }
    let words: Vec<&str> =
        trimmed.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| !word.is_empty()).collect();
    let has = |list: &str| words.iter().any(|word| listed(list, word));
    match words.as_slice() {
        ["FLUSH", ..] => return Risk::ConfigMutation,
        ["PRAGMA", names @ ..] => {
            let shows = !trimmed.contains('=') && names.iter().any(|name| listed(PRAGMAS, name));
            return if shows { Risk::ReadOnly } else { Risk::ConfigMutation };
        }
        ["ALTER", "SYSTEM", "RESET", _] => return Risk::ConfigMutation,
        ["ALTER", "SYSTEM", "SET", name, ..] => return server_setting(name),
        ["GRANT", ..] if grants_one_database(trimmed, &words) && locus == Locus::Guest => return Risk::ConfigMutation,
        ["GRANT", ..] => return Risk::Destructive,
        _ => {}
    }
    if has(LOSES) {
        return Risk::Destructive;
    }
    let first = words.first().copied().unwrap_or("");
    let query = match first {
        "SELECT" | "WITH" | "TABLE" | "VALUES" | "EXPLAIN" => !has(NOT_A_QUERY) && calls_are_harmless(trimmed),
        "SHOW" | "DESCRIBE" | "DESC" | "USE" => !trimmed.contains('('),
        _ => false,
    };
    match first {
        _ if query => Risk::ReadOnly,
        "TEE" | "PAGER" | "EDIT" => Risk::Destructive,
        "UPDATE" if !words.contains(&"WHERE") => Risk::Destructive,
        "SELECT" | "WITH" | "EXPLAIN" | "INSERT" | "UPDATE" | "CREATE" | "ALTER" | "GRANT" | "ANALYZE" | "REINDEX"
        | "VACUUM" | "CLUSTER" | "CHECKPOINT" | "COMMENT" | "BEGIN" | "COMMIT" | "START" | "SET" | "REFRESH"
        | "CHECK" | "OPTIMIZE" | "RENAME" => Risk::ConfigMutation,
        _ if locus == Locus::Guest => Risk::ConfigMutation,
        _ => Risk::Destructive,
    }
}

/// Rights on the objects of one database, as applications want them; not the whole server, not the right to grant.
fn grants_one_database(statement: &str, words: &[&str]) -> bool {
    const WIDE: &str = "SUPER SUPERUSER OPTION FILE RELOAD PROCESS ADMIN PROXY";
    words.contains(&"ON") && !statement.contains("*.*") && !words.iter().any(|word| listed(WIDE, word))
}

/// Whether a statement shows passwords, their hashes or tokens.
fn shows_secrets(text: &str) -> bool {
    const MARKS: &str = "passw passwd secret token authentication_string pg_authid pg_shadow api_key apikey private_key credential \
     rolpassword";
    let text = text.to_ascii_lowercase();
    MARKS.split(' ').any(|mark| text.contains(mark))
}

/// Meta commands of psql (`\dt`) and sqlite3 (`.tables`).
fn meta_class(meta: &str) -> Risk {
    const HARMLESS: &str = "L L+ LIST D D+ DT DT+ DU DU+ DN DI DV DS DF DX DP DB DRDS CONNINFO X TIMING ENCODING TABLES SCHEMA DATABASES \
     INDEXES INDICES HEADERS MODE DUMP DBINFO SHOW STATS HELP WIDTH FULLSCHEMA Q QUIT EXIT PSET DBCONFIG VERSION C";
    let name = meta.split_whitespace().next().unwrap_or("");
    if listed(HARMLESS, name) && !meta.contains(['|', '\\', '>']) { Risk::ReadOnly } else { Risk::Destructive }
}

/// Whether each word before a parenthesis is known to change nothing.
fn calls_are_harmless(statement: &str) -> bool {
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
            '(' if !last.is_empty() && !listed(HARMLESS_CALLS, &last) => return false,
            ' ' | '\t' | '\n' => {}
            _ => last.clear(),
        }
    }
    true
}

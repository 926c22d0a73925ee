//! HTTP clients: what they send, where they write, which method they use.

use crate::{
    Risk,
    judge::{Input, Judge},
    rule::{Case, general},
    suspicion,
    word::{Value, Word},
};

/// `curl` and `wget`.
pub fn fetch(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    let name = case.name;
    for url in &case.args.operands {
        scheme(judge, name, url);
    }
    let local = case.args.operands.iter().all(is_local);
    // Then what would be sent becomes a part of the URL.
    let asks = case.has("G") || case.has("--get");
    let mut changing = false;
    for given in &case.args.given {
        let Some(value) = &given.value else { continue };
        if value.substituted && !local {
            judge.find(
                Risk::Destructive,
                format!("{name}:sends-output"),
                "sends a command's output to another system",
                Some("write the value out"),
            );
        }
        match given.opt.name {
            "--url" => scheme(judge, name, value),
            "X" | "--request" | "--method" => {
                method(judge, name, value);
                changing |= !matches!(value.literal(), Some("GET" | "HEAD" | "OPTIONS"));
            }
            "d" | "--data" | "--data-raw" | "--data-binary" | "--data-urlencode" | "--data-ascii" | "--json" | "F"
            | "--form" | "--variable" | "--url-query" | "T" | "--upload-file" | "--post-file" | "--body-file"
            | "--post-data" | "--body-data" => {
                body(judge, name, given.opt.name, value);
                let query = matches!(given.opt.name, "--variable" | "--url-query");
                changing |= !(query || asks && (given.opt.name == "d" || given.opt.name.starts_with("--data")));
            }
            "w" | "--write-out" if value.text.contains("%output") || value.value != Value::Known => {
                judge.find(Risk::Destructive, "curl:write-out", "may write a file", None);
            }
            // Without `=` it is a file of cookies, which are sent.
            "b" | "--cookie" if !value.text.contains('=') => body(judge, name, "--post-file", value),
            "b" | "--cookie" | "--etag-compare" => judge.reads(value),
            "o" | "--output" | "O" | "--output-document" if !value.is("-") => judge.writes(value, name),
            _ => {}
        }
    }
    if changing {
        judge.find(Risk::ConfigMutation, format!("{name}:sends"), "sends something to a server", None);
    }
    if changing && let Some(word) = case.args.operands.iter().find_map(|url| suspicion::loses(path_of(&url.text), true))
    {
        judge.find(Risk::Destructive, format!("{name}:loses"), format!("asks a server to {word}"), None);
    }
    if name == "wget" && !case.has("--spider") && !to_stdout(case) {
        judge.find(
            Risk::ConfigMutation,
            "wget:write",
            "writes a file",
            Some("use wget -qO- or curl -fsS to look only"),
        );
    }
}

fn to_stdout(case: &Case<'_, '_, '_>) -> bool {
    case.value(&["O", "--output-document"])
        .is_some_and(|word| word.is("-") || word.is("/dev/stdout") || word.is("/dev/null"))
}

fn method(judge: &mut Judge, name: &str, value: &Word<'_>) {
    match value.literal().map(str::to_ascii_uppercase).as_deref() {
        Some("GET" | "HEAD" | "OPTIONS") => {}
        Some("POST" | "PUT" | "PATCH") => {
            judge.find(Risk::ConfigMutation, format!("{name}:method"), "asks a server to change something", None);
        }
        _ => judge.find(Risk::Destructive, format!("{name}:method"), "asks a server to delete something", None),
    }
}

/// What is sent: a secret that leaves the system cannot be called back.
fn body(judge: &mut Judge, name: &str, option: &str, value: &Word<'_>) {
    let text = value.text.as_ref();
    let whole = matches!(option, "T" | "--upload-file" | "--post-file" | "--body-file");
    let encoded = matches!(option, "--data-urlencode" | "--variable" | "--url-query");
    let form = matches!(option, "F" | "--form");
    let text = if form { text.split(';').next().unwrap_or("") } else { text };
    let included = text.split_once("=<").filter(|_| form).map(|(_, file)| file);
    let file = text.split_once('@').filter(|(key, _)| key.is_empty() || key.ends_with('=') || encoded);
    let file = file.map(|(_, file)| file).or(included);
    let file = if whole { Some(text) } else { file };
    if file == Some("-") && judge.sensitive() {
        return judge.find(Risk::Destructive, format!("{name}:sends-secret"), "sends a secret away", None);
    }
    if let Some(file) = file
        && crate::paths::is_secret(file, true)
    {
        judge.shows_secrets();
        judge.find(Risk::Destructive, format!("{name}:sends-secret"), format!("sends {file} away"), None);
    } else if value.value >= Value::Data {
        judge.find(Risk::ConfigMutation, format!("{name}:sends-unknown"), "what is sent is not known", None);
    }
}

/// Schemes other than HTTP, FTP and files speak to services in their own protocols.
fn scheme(judge: &mut Judge, name: &str, url: &Word<'_>) {
    let Some((scheme, rest)) = url.text.split_once("://") else { return };
    match scheme.to_ascii_lowercase().as_str() {
        "http" | "https" | "ftp" | "ftps" => {}
        "file" => judge.reads(&Word {
            text: format!("/{}", rest.split_once('/').map_or("", |(_, path)| path)).into(),
            ..crate::options::borrow(url)
        }),
        _ => judge.find(Risk::Destructive, format!("{name}:scheme"), "speaks another protocol than HTTP", None),
    }
}

/// The path and query of a URL.
fn path_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split_once('/').map_or("", |(_, path)| path)
}

fn is_local(url: &Word<'_>) -> bool {
    let rest = url.text.split_once("://").map_or(url.text.as_ref(), |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or("");
    let host = host.rsplit('@').next().unwrap_or("").rsplit_once(':').map_or(host, |(host, _)| host);
    matches!(host, "127.0.0.1" | "localhost" | "[::1]")
}

/// `openssl s_client` sends what it reads.
pub fn s_client(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    general(judge, case);
    let sends = match &judge.input {
        Input::Closed => false,
        Input::Text(text) => text.len() > 64,
        _ => true,
    };
    if sends {
        let risk = if judge.sensitive() { Risk::Destructive } else { Risk::ConfigMutation };
        judge.find(risk, "openssl:sends", "sends what it reads to another system", Some("give it < /dev/null"));
    }
}

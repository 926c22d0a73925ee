//! Values that name code or a setting that selects code, where most values are harmless names.

use super::nested;
use crate::{
    Risk, access,
    context::{Findings, Scope, Shell},
    facts::paths,
    invocation::Invocation,
    tables::ListName,
    words::{Value, Word},
};

/// Code that is found by a name and is not known: as executing a file.
fn named_code(call: &Invocation<'_, '_, '_>, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let risk = if scope.on_host() { Risk::Destructive } else { Risk::ConfigMutation };
    findings.add(
        scope,
        risk,
        format!("{}:code", call.name),
        format!("{} is code that is not known", word.shown()),
        None,
    );
}

/// A format of `pandoc`: a name with extensions; a file is a program in Lua.
pub fn format(call: &Invocation<'_, '_, '_>, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let name = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-'));
    if !word.literal().is_some_and(name) {
        named_code(call, word, scope, findings);
    }
}

/// What `pandoc` is given: a document, or the word that makes it an interpreter or a server.
pub fn document(call: &Invocation<'_, '_, '_>, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if word.value > Value::KnownPrefix || scope.tables().lists(ListName::DocumentPrograms, &word.text) {
        return named_code(call, word, scope, findings);
    }
    access::reads(word, scope, findings);
}

/// A picture of ImageMagick: before a colon stands the name of what reads it, and some execute what they read.
pub fn picture(call: &Invocation<'_, '_, '_>, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let text = word.text.as_ref();
    let reader = text.split_once(':').map(|(reader, _)| reader).filter(|reader| !reader.contains('/'));
    let plain =
        reader.is_none_or(|reader| scope.tables().lists(ListName::PictureFormats, &reader.to_ascii_lowercase()));
    if !plain || text.starts_with(['|', '@']) {
        return named_code(call, word, scope, findings);
    }
    access::reads(word, scope, findings);
}

/// `set -o NAME` of a shell: names that load nothing and change no meaning.
pub fn shell_option(call: &Invocation<'_, '_, '_>, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if !word.literal().is_some_and(|name| scope.tables().lists(ListName::ShellOptions, name)) {
        findings.add(
            scope,
            Risk::ConfigMutation,
            format!("{}:shell-option", call.name),
            format!("-o {} is not known to be harmless", word.shown()),
            None,
        );
    }
}

/// A macro of `rpm`: a name alone; `%(…)` and `%{lua:…}` execute what they hold.
pub fn macro_name(call: &Invocation<'_, '_, '_>, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let bare = |text: &str| {
        let name = text.strip_prefix('%').unwrap_or(text);
        let inner = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
        let inner = inner.trim_start_matches(['?', '!']);
        inner.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if !word.literal().is_some_and(bare) {
        findings.add(scope, Risk::Destructive, format!("{}:macro", call.name), "a macro may execute something", None);
    }
}

/// The file that `strace` writes, or the program after `|` or `!` that it starts.
pub fn trace_file(call: &Invocation<'_, '_, '_>, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    match word.text.strip_prefix(['|', '!']) {
        Some(code) => {
            let code = Word { text: code.into(), ..word.borrow() };
            nested::word(&code, Shell::Sh, call.name, &mut scope.clone(), findings);
        }
        None => access::writes(word, call.name, scope, findings),
    }
}

/// A repository that `git` speaks to: `ext::…` and other helpers execute, an address that begins with a dash is an option.
pub fn git_source(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let helper = word.text.split_once("::").is_some_and(|(helper, _)| {
        !helper.is_empty() && helper.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '+'))
    });
    if helper || word.text.contains("://-") {
        let message = format!("{} makes git execute a program", word.shown());
        findings.add(scope, Risk::Destructive, "git:transport", message, Some("use an https or ssh address"));
    }
}

/// What `git push` pushes: `+main` overwrites the other side, `:main` deletes there.
pub fn git_refspec(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if word.text.starts_with(['+', ':']) {
        let message = format!("{} loses what the other side has", word.shown());
        findings.add(scope, Risk::Destructive, "git:refspec", message, None);
    }
}

/// The name of a setting of `git config`: some hold a program that git runs later.
pub fn git_setting(call: &Invocation<'_, '_, '_>, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let name = word.text.to_ascii_lowercase();
    let code = scope.tables().lists(ListName::GitCodeSettings, &name);
    // With one operand it only shows the setting.
    if call.operands.len() > 1 && (code || word.value != Value::Known) {
        let message = format!("{} decides what code git runs", word.shown());
        findings.add(scope, Risk::Destructive, "git:setting", message, None);
    }
}

/// A configuration that may load modules or scripts: the system's own is trusted.
pub fn config(call: &Invocation<'_, '_, '_>, word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    let path = paths::normalise(&word.text);
    if word.value != Value::Known || !path.starts_with("/etc/") {
        return named_code(call, word, scope, findings);
    }
    access::reads(word, scope, findings);
}

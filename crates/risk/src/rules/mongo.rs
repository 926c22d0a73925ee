//! `mongosh --eval`: a chain of calls that are known to ask and change nothing.

use crate::{
    Risk,
    context::{Findings, Scope},
    tables::{ListName, Tables},
    words::Word,
};

/// The code of `--eval`.
pub fn eval(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if word.literal().is_none_or(|text| !asks(text.trim().trim_end_matches(';'), scope.tables())) {
        findings.add(scope, Risk::Destructive, "mongosh:code", "executes code that is not known to be a query", None);
    }
}

/// Whether an expression only calls what asks.
fn asks(text: &str, tables: &Tables) -> bool {
    let plain = text.replace('"', "'").replace(": ", ":").replace("{ ", "{").replace(" }", "}");
    if tables.lists(ListName::MongoAsks, plain.strip_suffix(".ok").unwrap_or(&plain)) {
        return true;
    }
    let computes = [";", "=", "`", "[", "+", "function", "$where", "$function", "$accumulator", "$out", "$merge", "\n"];
    if computes.iter().any(|sign| text.contains(sign)) {
        return false;
    }
    let mut calls = text.split('(').rev().skip(1);
    calls.all(|head| {
        let name = head.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$')).next().unwrap_or("");
        tables.lists(ListName::MongoReads, name)
    })
}

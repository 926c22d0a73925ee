//! `mongosh --eval`: a chain of calls that are known to ask and change nothing.

use crate::{
    Risk,
    context::{Findings, Scope},
    words::Word,
};

/// Methods that change nothing, whatever their arguments.
const READS: &[&str] = &[
    "stats",
    "status",
    "serverStatus",
    "hostInfo",
    "hello",
    "isMaster",
    "conf",
    "version",
    "getName",
    "getCollectionNames",
    "getCollectionInfos",
    "getCollection",
    "getSiblingDB",
    "getMongo",
    "getDBNames",
    "getIndexes",
    "getProfilingStatus",
    "getReplicationInfo",
    "printReplicationInfo",
    "printSecondaryReplicationInfo",
    "countDocuments",
    "estimatedDocumentCount",
    "count",
    "distinct",
    "find",
    "findOne",
    "limit",
    "skip",
    "sort",
    "project",
    "explain",
    "toArray",
    "pretty",
    "totalSize",
    "dataSize",
    "storageSize",
    "totalIndexSize",
    "currentOp",
    "getUsers",
    "getRoles",
    "print",
    "printjson",
    "stringify",
    "toString",
    "length",
    "keys",
    "ObjectId",
    "ISODate",
];

/// The code of `--eval`.
pub fn eval(word: &Word<'_>, scope: &Scope, findings: &mut Findings) {
    if word.literal().is_none_or(|text| !asks(text.trim().trim_end_matches(';'))) {
        findings.add(scope, Risk::Destructive, "mongosh:code", "executes code that is not known to be a query", None);
    }
}

/// Whether an expression only calls what asks.
fn asks(text: &str) -> bool {
    let pings = ["db.adminCommand('ping')", "db.adminCommand({ping:1})", "db.runCommand({ping:1})", "show dbs"];
    let plain = text.replace('"', "'").replace(": ", ":").replace("{ ", "{").replace(" }", "}");
    if pings.iter().any(|ping| plain == *ping || plain.strip_suffix(".ok") == Some(ping)) {
        return true;
    }
    let computes = [";", "=", "`", "[", "+", "function", "$where", "$function", "$accumulator", "$out", "$merge", "\n"];
    if computes.iter().any(|sign| text.contains(sign)) {
        return false;
    }
    let mut calls = text.split('(').rev().skip(1);
    calls.all(|head| {
        let name = head.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$')).next().unwrap_or("");
        READS.contains(&name)
    })
}

//! `redis-cli`: its commands by name.

use super::general::*;
use crate::{
    Risk,
    context::{Findings, Scope},
    invocation::Invocation,
    tables::Effect,
    words::Value,
};

/// `redis-cli [OPTIONS] COMMAND …`.
pub fn redis(call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    const READS: &[&str] = &[
        "ping",
        "info",
        "get",
        "mget",
        "strlen",
        "exists",
        "keys",
        "scan",
        "dbsize",
        "ttl",
        "pttl",
        "type",
        "llen",
        "lrange",
        "lindex",
        "hget",
        "hgetall",
        "hkeys",
        "hlen",
        "smembers",
        "scard",
        "sismember",
        "zrange",
        "zcard",
        "zscore",
        "time",
        "lastsave",
        "role",
        "object",
        "memory",
        "slowlog",
        "latency",
        "command",
        "echo",
        "randomkey",
        "xlen",
        "xrange",
        "xinfo",
        "hmget",
        "hexists",
        "hvals",
        "hscan",
        "sscan",
        "zscan",
        "zcount",
        "zrank",
        "zrevrange",
        "zrangebyscore",
        "sinter",
        "sunion",
        "srandmember",
        "getrange",
        "getbit",
        "bitcount",
        "expiretime",
        "lpos",
        "xpending",
        "xrevrange",
        "pfcount",
        "geopos",
        "geosearch",
        "lolwut",
    ];
    const ASKS: &[&str] =
        &["--bigkeys", "--memkeys", "--hotkeys", "--scan", "--version", "v", "--stat", "--latency", "--monitor"];
    const FEEDS: &[&str] = &["monitor", "subscribe", "psubscribe", "ssubscribe"];
    const WRITES: &[&str] = &[
        "set",
        "mset",
        "hset",
        "lpush",
        "rpush",
        "sadd",
        "zadd",
        "expire",
        "incr",
        "decr",
        "publish",
        "bgsave",
        "save",
        "setex",
        "select",
        "persist",
        "setnx",
        "hincrby",
        "incrby",
        "decrby",
        "append",
        "zincrby",
        "xadd",
        "bgrewriteaof",
    ];
    /// Settings that change neither files nor rights.
    const SETTINGS: &[&str] = &[
        "maxmemory",
        "maxmemory-policy",
        "maxmemory-samples",
        "timeout",
        "tcp-keepalive",
        "loglevel",
        "hz",
        "slowlog-log-slower-than",
        "slowlog-max-len",
        "latency-monitor-threshold",
        "lazyfree-lazy-eviction",
    ];
    options_only(call, scope, findings);
    let words: Vec<String> = call.operands.iter().map(|word| word.text.to_ascii_lowercase()).collect();
    let known = call.operands.iter().all(|word| word.value <= Value::KnownPrefix);
    let risk = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] if ASKS.iter().any(|option| call.has(option)) => Risk::ReadOnly,
        ["config", "get", ..]
        | ["client", "list" | "info", ..]
        | ["cluster", "info" | "nodes", ..]
        | ["acl", "list" | "whoami", ..] => Risk::ReadOnly,
        ["acl", "log", "reset"] | ["config", "resetstat"] => Risk::ConfigMutation,
        [first, ..] if FEEDS.contains(first) => Risk::ReadOnly,
        ["pubsub", "channels" | "numsub" | "numpat" | "shardchannels", ..]
        | ["client", "id" | "getname" | "trackinginfo", ..]
        | ["cluster", "slots" | "shards" | "myid" | "keyslot" | "countkeysinslot" | "links", ..]
        | ["acl", "users" | "cat" | "log" | "getuser", ..]
        | ["module", "list"]
        | ["script", "exists", ..] => Risk::ReadOnly,
        ["slowlog" | "latency", "reset", ..] | ["memory", "purge", ..] => Risk::ConfigMutation,
        ["config", "set", name, _] if SETTINGS.contains(name) => Risk::ConfigMutation,
        ["config", "rewrite"] => Risk::ConfigMutation,
        [first, ..] if READS.contains(first) => Risk::ReadOnly,
        [first, ..] if WRITES.contains(first) => Risk::ConfigMutation,
        _ => Risk::Destructive,
    };
    let secret = |word: &str| ["pass", "auth", "*"].iter().any(|mark| word.contains(mark));
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["config", "get", names @ ..] if names.iter().any(|name| secret(name)) => {
            findings.shows_secrets();
        }
        ["acl", "list" | "getuser", ..] => findings.shows_secrets(),
        [first, ..] if FEEDS.contains(first) => {
            let feed = Effect { unbounded: true, ..Effect::READ };
            findings.raise_flags(scope, feed);
            findings.add(scope, Risk::ReadOnly, "redis-cli:unbounded", "does not end by itself", way_out(feed));
        }
        _ => {}
    }
    let risk = if known { risk } else { risk.max(Risk::ConfigMutation) };
    if risk > Risk::ReadOnly {
        findings.add(scope, risk, "redis-cli:command", "changes or loses data, or is not known", None);
    }
}

//! Composes what is sent to `sh -s` on a target from the embedded scripts: pure text, quoted once.

use super::capture::{KEPT_BYTES, STDERR, STDOUT};
use super::step::{Place, Step};

/// Where the run directories are, on hosts and in guests alike: on persistent storage, so that a claim outlives a
/// restart.
pub(crate) const RUNS: &str = "/var/lib/oikos/runs";

const PREAMBLE: &str = include_str!("preamble.sh");
const COMMON: &str = include_str!("common.sh");
const WRAPPER: &str = include_str!("wrapper.sh");
const SUPERVISOR: &str = include_str!("supervisor.sh");
const DIRECT: &str = include_str!("direct.sh");
const FACTS: &str = include_str!("facts.sh");
const OUTPUT: &str = include_str!("output.sh");
const CLAIMS: &str = include_str!("claims.sh");

/// The command of the SSH exec request: a POSIX shell that reads its script from standard input. Simple words only,
/// so that any login shell understands them.
pub(crate) fn remote_shell(place: Place) -> String {
    match place {
        Place::Host => "exec /bin/sh -s".into(),
        Place::Guest { vmid } => format!("exec pct exec {vmid} --keep-env 0 -- /bin/sh -s"),
    }
}

/// Words of the shell that runs the command itself.
fn command_shell(place: Place) -> &'static str {
    match place {
        Place::Host => "bash --noprofile --norc",
        Place::Guest { .. } => "sh",
    }
}

/// One word for the shell, whatever is in it.
pub(crate) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Words joined to one command line.
pub(crate) fn quote_all<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> String {
    words.into_iter().map(|word| quote(word.as_ref())).collect::<Vec<_>>().join(" ")
}

/// A script around variables, functions and the function to call.
struct Script {
    text: String,
}

/// `name=value`, a line of a script.
fn assignment(name: &str, value: impl ToString) -> String {
    format!("{name}={}\n", quote(&value.to_string()))
}

/// The supervisor runs in a shell of its own, so it carries its limits and the common functions itself.
fn supervisor() -> String {
    [
        assignment("kept_bytes", KEPT_BYTES),
        assignment("out_shown", STDOUT.head + STDOUT.tail),
        assignment("err_shown", STDERR.head + STDERR.tail),
        COMMON.into(),
        SUPERVISOR.into(),
    ]
    .concat()
}

impl Script {
    fn new(mark: &str, place: Place, id: &str) -> Self {
        Self { text: "main() {\n".into() }
            .set("mark", mark)
            .set("id", id)
            .set("runs", RUNS)
            .set("shell", command_shell(place))
    }

    fn set(mut self, name: &str, value: impl ToString) -> Self {
        self.text += &assignment(name, value);
        self
    }

    /// A function body is parsed whole before any of it runs: a stream that breaks off runs nothing.
    fn call(mut self, functions: &str, entry: &str) -> String {
        self.text += PREAMBLE;
        self.text += COMMON;
        self.text += functions;
        self.text += &format!("{entry}\n}}\nmain </dev/null\n");
        self.text
    }
}

fn with_limits(script: Script) -> Script {
    script
        .set("out_head", STDOUT.head)
        .set("out_tail", STDOUT.tail)
        .set("err_head", STDERR.head)
        .set("err_tail", STDERR.tail)
}

/// Claims the attempt, runs the command, waits for its end. `start_limit` is the target's uptime in centiseconds after
/// which it refuses; `instance` the boot it must be.
pub(crate) fn start(mark: &str, step: &Step, instance: &str, start_limit: u64) -> String {
    with_limits(Script::new(mark, step.place, &step.attempt_id))
        .set("instance", instance)
        .set("start_limit", start_limit)
        .set("seconds", step.seconds())
        .set("command", &step.command)
        .set("supervisor", supervisor())
        .call(WRAPPER, "start")
}

/// Finds out what became of an attempt; forbids its start if there was none; waits while it runs.
pub(crate) fn observe(mark: &str, step: &Step) -> String {
    with_limits(Script::new(mark, step.place, &step.attempt_id)).call(WRAPPER, "mkdir -p \"$runs\"\nobserve")
}

/// Ends an attempt, or forbids its start.
pub(crate) fn cancel(mark: &str, step: &Step) -> String {
    Script::new(mark, step.place, &step.attempt_id).call(WRAPPER, "cancel")
}

/// Runs a command straight on the channel.
pub(crate) fn direct(mark: &str, id: &str, place: Place, command: &str, seconds: u64) -> String {
    Script::new(mark, place, id).set("seconds", seconds).set("command", command).call(DIRECT, "direct")
}

/// Ends a command that runs straight on a channel.
pub(crate) fn stop(mark: &str, id: &str, place: Place) -> String {
    Script::new(mark, place, id).call(DIRECT, "stop")
}

/// Asks for instance, uptime and tools, and on a host for its versions.
pub(crate) fn facts(mark: &str, place: Place) -> String {
    let versions = if place == Place::Host { "yes" } else { "" };
    Script::new(mark, place, "facts").set("versions", versions).call(FACTS, "facts")
}

/// Reads a part of a stream that a run directory keeps.
pub(crate) fn output(mark: &str, id: &str, place: Place, stream: &str, offset: u64, length: u32) -> String {
    Script::new(mark, place, id)
        .set("stream", stream)
        .set("offset", offset)
        .set("length", length)
        .call(OUTPUT, "output")
}

/// Lists the run directories whose names begin with `prefix`.
pub(crate) fn claims(mark: &str, prefix: &str) -> String {
    Script::new(mark, Place::Host, prefix).call(CLAIMS, "claims")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_leaves_one_word() {
        for (text, word) in
            [("plain", "'plain'"), ("", "''"), ("it's", r"'it'\''s'"), ("$(x) `y` \\ \" \n", "'$(x) `y` \\ \" \n'")]
        {
            assert_eq!(quote(text), word);
        }
        assert_eq!(quote_all(["pct", "list all"]), "'pct' 'list all'");
    }

    #[test]
    fn a_guest_is_entered_without_the_login_environment_and_with_a_shell_on_standard_input() {
        assert_eq!(remote_shell(Place::Guest { vmid: 101 }), "exec pct exec 101 --keep-env 0 -- /bin/sh -s");
    }

    #[test]
    fn a_script_that_breaks_off_is_not_a_complete_command() {
        let script = direct("@m", "a-1", Place::Host, "touch /tmp/x", 5);
        let body = script.strip_suffix("}\nmain </dev/null\n").unwrap();
        assert!(body.starts_with("main() {\n"));
    }
}

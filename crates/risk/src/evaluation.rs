//! Texts that bash evaluates as arithmetic or as a subscript: it executes the substitutions in them.

use crate::{
    Risk, access,
    context::{Findings, Scope, Script},
    words::{arithmetic, quoting},
};

/// A word of the script, which a variable may come to hold: arithmetic would execute what its subscripts hold.
pub fn word_may_be_evaluated(text: &str, scope: &Scope, findings: &mut Findings) {
    if let Some((_, subscript)) = text.split_once('[') {
        value_may_be_evaluated(subscript, scope, findings);
    }
}

/// The value of a variable, which may also become a part of a subscript: `((a[$n]))`.
pub fn value_may_be_evaluated(text: &str, scope: &Scope, findings: &mut Findings) {
    if (text.contains("$(") || text.contains('`')) && findings.is_evaluated_now(text) {
        execute(text, scope, findings);
    }
}

/// Variables that an arithmetic text sets.
pub fn assigns_in(text: &str, scope: &Scope, findings: &mut Findings) {
    arithmetic::assigned(text, &mut |name| access::assigns(name, None, false, scope, findings));
}

/// Bash evaluates something as arithmetic that is not known to be a number, and so may evaluate any such text.
pub fn evaluates(message: &'static str, hint: Option<&str>, scope: &Scope, findings: &mut Findings) {
    findings.add(scope, Risk::ConfigMutation, "shell:arithmetic", message, hint);
    for text in findings.take_evaluable() {
        execute(&text, scope, findings);
    }
}

/// Judges the substitutions in a text, as they would stand between double quotes.
fn execute(text: &str, scope: &Scope, findings: &mut Findings) {
    match quoting::as_quoted(text) {
        Some(text) => {
            let script = Script { text: &text, shell: scope.shell(), arguments: Vec::new() };
            findings.judge_script(script, &mut scope.clone());
        }
        None => {
            let message = "a substitution that is not understood";
            findings.add(scope, Risk::Destructive, "shell:obfuscated", message, None);
        }
    }
}

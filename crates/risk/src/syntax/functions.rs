//! Functions of a script: each is judged where it is called, with what it is given there.
//!
//! Invariant: no function goes out of scope without having been judged.

use std::rc::Rc;

use rable::Node;

use super::{judge_node, scan};
use crate::{
    Risk,
    context::{Findings, Function, MAX_DEPTH, Scope, parameter},
    tables::ListName,
    words::{Input, Word},
};

/// `name() { body; }`
pub fn define(name: &str, body: &Node, scope: &mut Scope, findings: &mut Findings) {
    let tables = scope.tables();
    let relied_on = tables.knows_output_of(name)
        || tables.command(name).is_some_and(|entry| tables.lists(ListName::ReliedOnTables, entry.table));
    if relied_on || scope.state().functions().iter().any(|function| *function.name == *name) {
        findings.add(
            scope,
            Risk::Destructive,
            "shell:shadowing",
            format!("gives the name of a command, {name}, another meaning"),
            Some("choose a name that no command has"),
        );
    }
    if scan::calls(body, name) {
        let message = format!("the function {name} calls itself");
        findings.add(scope, Risk::Destructive, "shell:recursion", message, None);
    }
    scope.state_mut().define(Function::new(name, body));
}

/// Whether the shell runs one of the script's functions, which is then judged.
pub fn call_by_name(argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) -> bool {
    let Some((head, arguments)) = argv.split_first() else { return false };
    let Some(name) = head.literal() else { return false };
    let Some(function) = scope.state().functions().iter().rev().find(|function| *function.name == *name) else {
        if scope.state().may_be_function(name) {
            // It was judged where it was defined; what it may have set since then is not known.
            scope.state_mut().forget_variables();
        }
        return false;
    };
    let function = function.clone();
    // A computed name may be this one.
    call(&function, (!head.expanded).then_some(arguments), scope, findings);
    !head.expanded
}

/// Judges a function's body; nothing is known about parameters that are not given.
fn call(function: &Function, arguments: Option<&[Word<'_>]>, scope: &mut Scope, findings: &mut Findings) {
    if !findings.count_command(scope) {
        return;
    }
    if scope.depth() >= MAX_DEPTH {
        return findings.not_understood(scope, "shell:too-complex", "functions call functions too deeply", None);
    }
    function.mark_judged();
    let caller = Rc::clone(scope.state());
    let mut inner = scope.deeper();
    inner.state_mut().forget_parameters();
    match arguments {
        Some(arguments) => {
            // A word that may be several, or none, moves all that follow it.
            let certain = arguments.iter().take_while(|word| !word.splits && !word.glob);
            for (at, word) in certain.enumerate() {
                inner.bind(&(at + 1).to_string(), parameter(word));
            }
        }
        None => inner.state_mut().forget_variables(),
    }
    judge_node(&function.body, &mut inner, findings);
    scope.continue_after(inner);
    scope.state_mut().return_to(&caller);
}

/// Functions after the first `from` go out of scope: those that nobody called are judged now.
pub fn judge_uncalled(from: usize, scope: &mut Scope, findings: &mut Findings) {
    while let Some(function) = scope.state().functions().iter().skip(from).find(|function| !function.is_judged()) {
        let function = function.clone();
        function.mark_judged();
        // Where it is called, anything may come through a pipe.
        let mut called = scope.reading(Input::Opaque);
        call(&function, None, &mut called, findings);
        scope.state_mut().keep_definitions(called.state());
    }
    if scope.state().functions().len() > from {
        scope.state_mut().end_functions(from);
    }
}

/// Code that is judged on its own may call every function, with any parameters.
pub fn judge_all(scope: &mut Scope, findings: &mut Findings) {
    for at in 0..scope.state().functions().len() {
        if let Some(function) = scope.state().functions().get(at).cloned() {
            call(&function, None, scope, findings);
        }
    }
}

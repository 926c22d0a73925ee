//! Functions of a script: each is judged where it is called, with what it is given there.
//!
//! Owns the scope of functions and their parameters. Invariant: no function goes out of scope without having been judged.

use std::rc::Rc;

use rable::Node;

use super::{
    assigned,
    judge::{Input, Judge, MAX_DEPTH},
    source,
    word::{Binding, Value, Word},
};
use crate::Risk;

/// A function that the script defines.
#[derive(Clone)]
pub struct Function {
    /// Its name.
    pub name: String,
    body: Rc<Node>,
    /// Whether it was judged with the parameters of every call so far.
    judged: bool,
}

/// Tables of commands of which other parts of the judgement know what they print or run.
const RELIED_ON: &[&str] = &["shell", "coreutils", "text", "wrappers", "interpreters", "network"];

impl Judge {
    /// `name() { body; }`
    pub fn function(&mut self, name: &str, body: &Node) {
        if self.tables.command(name).is_some_and(|entry| RELIED_ON.contains(&entry.table))
            || source::ALSO_RELIED_ON.contains(&name)
            || self.functions.iter().any(|function| function.name == name)
        {
            self.find(
                Risk::Destructive,
                "shell:shadowing",
                format!("gives the name of a command, {name}, another meaning"),
                Some("choose a name that no command has"),
            );
        }
        if assigned::calls(body, name) {
            self.find(Risk::Destructive, "shell:recursion", format!("the function {name} calls itself"), None);
        }
        self.functions.push(Function { name: name.to_owned(), body: Rc::new(body.clone()), judged: false });
    }

    /// Whether the shell runs one of the script's functions, which is then judged.
    pub fn calls_function(&mut self, argv: &[Word<'_>]) -> bool {
        let Some((head, arguments)) = argv.split_first() else { return false };
        let named = |name: &str| self.functions.iter().rposition(|function| function.name == name);
        let Some(at) = head.literal().and_then(named) else { return false };
        // A computed name may be this one.
        self.call(at, (!head.expanded).then_some(arguments));
        !head.expanded
    }

    /// Judges a function's body; nothing is known about parameters that are not given.
    fn call(&mut self, at: usize, arguments: Option<&[Word<'_>]>) {
        if !self.count() {
            return;
        }
        if self.depth >= MAX_DEPTH {
            return self.not_understood("shell:too-complex", "functions call functions too deeply", None);
        }
        let Some(function) = self.functions.get_mut(at) else { return };
        function.judged = true;
        let body = Rc::clone(&function.body);
        let saved = self.variables.clone();
        self.forget_parameters();
        if let Some(arguments) = arguments {
            // A word that may be several, or none, moves all that follow it.
            let certain = arguments.iter().take_while(|word| !word.splits && !word.glob);
            for (at, word) in certain.enumerate() {
                self.bind(&(at + 1).to_string(), parameter(word));
            }
        } else {
            self.forget_variables();
        }
        self.depth += 1;
        self.node(&body);
        self.depth -= 1;
        self.forget_parameters();
        // What it set may have been its own: `local`.
        self.forget_changes(&saved);
        self.variables.extend(saved.into_iter().filter(|(name, _)| is_parameter(name)));
    }

    /// Functions after the first `from` go out of scope: those that nobody called are judged now.
    pub fn retire(&mut self, from: usize) {
        while let Some(at) = (from..self.functions.len()).find(|at| !self.functions[*at].judged) {
            // Where it is called, anything may come through a pipe.
            let input = std::mem::replace(&mut self.input, Input::Opaque);
            let (variables, directories) = (self.variables.clone(), self.directories.clone());
            self.functions[at].judged = true;
            self.call(at, None);
            (self.variables, self.directories, self.input) = (variables, directories, input);
        }
        let gone = self.functions.drain(from..).map(|function| function.name);
        self.retired.extend(gone);
    }

    /// Code that is judged on its own may call every function, with any parameters.
    pub fn may_call_all(&mut self) {
        for at in 0..self.functions.len() {
            self.call(at, None);
        }
    }

    /// Whether the script defines such a function, or did so in a part that may not have run.
    pub fn may_be_function(&self, name: &str) -> bool {
        self.functions.iter().any(|function| function.name == name) || self.retired.iter().any(|known| known == name)
    }

    /// Nothing is known about `$1`, `$2` … any more.
    pub fn forget_parameters(&mut self) {
        self.variables.retain(|(name, _)| !is_parameter(name));
    }
}

fn is_parameter(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_digit())
}

/// What is known about a positional parameter.
pub fn parameter(word: &Word<'_>) -> Binding {
    match word.value {
        Value::Known => Binding::Text(word.text.to_string()),
        Value::Tail => Binding::Prefix(word.text.to_string()),
        Value::Data | Value::Open => Binding::Data,
    }
}

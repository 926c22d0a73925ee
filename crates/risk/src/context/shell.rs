//! The state of one shell: what commands change for those that follow them in the same shell.
//!
//! Scopes share it until one of them writes.

use std::rc::Rc;

use rable::Node;

use crate::words::{Binding, Value, Word};

/// The longest text of a variable that is followed, in bytes: `x="$x$x"` doubles it.
const MAX_VARIABLE: usize = 4096;
/// The most directories that are followed at once.
const MAX_DIRECTORIES: usize = 8;

/// A function that the script defines.
#[derive(Clone)]
pub struct Function {
    /// Its name.
    pub name: Rc<str>,
    /// What it runs.
    pub body: Rc<Node>,
    /// Whether it was judged once, with the parameters of a call or without. Shared by all clones and never taken back.
    judged: Rc<std::cell::Cell<bool>>,
}

impl Function {
    /// A function that nobody has called yet.
    pub fn new(name: &str, body: &Node) -> Self {
        Self { name: name.into(), body: Rc::new(body.clone()), judged: Rc::default() }
    }

    /// Whether it was judged.
    pub fn is_judged(&self) -> bool {
        self.judged.get()
    }

    /// From here on it counts as judged.
    pub fn mark_judged(&self) {
        self.judged.set(true);
    }
}

/// Variables, directories and functions.
#[derive(Clone)]
pub struct ShellState {
    variables: Vec<(Rc<str>, Binding)>,
    /// Whether unquoted words split at blanks only.
    plain_splitting: bool,
    /// Where the present command may run; empty while no `cd` was seen, `?` for an unknown directory.
    directories: Vec<String>,
    functions: Vec<Function>,
    /// Names of functions that were defined in a part that may not have run.
    possible_functions: Vec<Rc<str>>,
}

impl ShellState {
    /// A shell that has just started, with these as `$0`, `$1` ….
    pub fn new(arguments: Vec<Binding>) -> Self {
        let numbered = arguments.into_iter().enumerate();
        Self {
            variables: numbered.map(|(at, binding)| (at.to_string().into(), binding)).collect(),
            plain_splitting: true,
            directories: Vec::new(),
            functions: Vec::new(),
            possible_functions: Vec::new(),
        }
    }

    /// A shell that starts in the same directory.
    pub fn child(&self, arguments: Vec<Binding>) -> Self {
        Self { directories: self.directories.clone(), ..Self::new(arguments) }
    }

    /// The same shell, with nothing known about directories: it is on another system.
    pub fn elsewhere(&self) -> Self {
        Self { directories: Vec::new(), ..self.clone() }
    }

    /// What is known about a variable.
    pub fn variable(&self, name: &str) -> Option<&Binding> {
        self.variables.iter().find(|(known, _)| **known == *name).map(|(_, value)| value)
    }

    /// Whether unquoted words split at blanks only.
    pub fn plain_splitting(&self) -> bool {
        self.plain_splitting
    }

    /// Words may split at other characters from here on.
    pub fn forget_splitting(&mut self) {
        self.plain_splitting = false;
    }

    /// Sets what is known about a variable.
    pub fn bind(&mut self, name: &str, binding: Binding) {
        let binding = match binding {
            Binding::Text(text) | Binding::Prefix(text) if text.len() > MAX_VARIABLE => Binding::ScriptValue,
            short => short,
        };
        let variables = &mut self.variables;
        match variables.iter_mut().find(|(known, _)| **known == *name) {
            Some((_, value)) => *value = binding,
            None => variables.push((name.into(), binding)),
        }
    }

    /// Nothing is known about any variable any more.
    pub fn forget_variables(&mut self) {
        for (_, value) in &mut self.variables {
            *value = Binding::ScriptValue;
        }
        self.plain_splitting = false;
    }

    /// Nothing is known any more about variables that are not what they were.
    pub fn forget_changes(&mut self, before: &ShellState) {
        for (name, value) in &mut self.variables {
            if before.variable(name) != Some(value) {
                *value = Binding::ScriptValue;
            }
        }
    }

    /// Nothing is known about `$1`, `$2` … any more.
    pub fn forget_parameters(&mut self) {
        self.variables.retain(|(name, _)| !is_parameter(name));
    }

    /// A function has returned: the parameters are those of its caller again, and what it set may have been its own.
    pub fn return_to(&mut self, caller: &ShellState) {
        self.forget_parameters();
        self.forget_changes(caller);
        let parameters = caller.variables.iter().filter(|(name, _)| is_parameter(name));
        self.variables.extend(parameters.cloned());
    }

    /// Where the present command may run.
    pub fn directories(&self) -> &[String] {
        &self.directories
    }

    /// From here on commands run in this directory, or may do so inside a condition.
    pub fn enter_directory(&mut self, path: &Word<'_>, conditional: bool) {
        let relative = !path.text.starts_with('/');
        let target = match path.value {
            Value::Known | Value::KnownPrefix => path.text.trim_end_matches('/').to_owned(),
            Value::ScriptValue | Value::Unknown => "?".to_owned(),
        };
        let mut entered: Vec<String> = match (relative && target != "?", self.directories.as_slice()) {
            (true, []) => vec![target],
            (true, known) => known.iter().map(|base| format!("{base}/{target}")).collect(),
            (false, _) => vec![target],
        };
        if conditional {
            entered.extend(self.directories.iter().cloned());
        }
        entered.truncate(MAX_DIRECTORIES);
        self.directories = entered;
    }

    /// The paths that `path` may mean where the present command runs.
    pub fn resolved(&self, path: &str) -> Vec<String> {
        if path.starts_with('/') || self.directories.is_empty() {
            return vec![path.to_owned()];
        }
        self.directories.iter().map(|base| format!("{base}/{path}")).collect()
    }

    /// The shell goes where another part of the same script went.
    pub fn follow_directories(&mut self, other: &ShellState) {
        self.directories = other.directories.clone();
    }

    /// The functions that are defined here.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// Defines a function.
    pub fn define(&mut self, function: Function) {
        self.functions.push(function);
    }

    /// Takes over what a call defined: functions, and that words may split otherwise. Variables stay as they are.
    pub fn keep_definitions(&mut self, called: &ShellState) {
        self.functions = called.functions.clone();
        self.possible_functions = called.possible_functions.clone();
        self.plain_splitting &= called.plain_splitting;
    }

    /// Whether the script defines such a function, or did so in a part that may not have run.
    pub fn may_be_function(&self, name: &str) -> bool {
        self.functions.iter().any(|function| *function.name == *name)
            || self.possible_functions.iter().any(|known| **known == *name)
    }

    /// Whether another part of the same script may have defined functions that are not known here.
    pub fn may_define_more_than(&self, other: &ShellState) -> bool {
        self.possible_functions.len() > other.possible_functions.len()
    }

    /// The functions of another part of the same script may be defined here too.
    pub fn may_define_as(&mut self, other: &ShellState) {
        self.possible_functions = other.possible_functions.clone();
    }

    /// Functions after the first `from` go out of scope: their part may not have run.
    pub fn end_functions(&mut self, from: usize) {
        if self.functions.len() > from {
            let ended = self.functions.drain(from..).map(|function| function.name);
            self.possible_functions.extend(ended);
        }
    }
}

/// Whether a variable is a positional parameter.
pub fn is_parameter(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_digit())
}

/// What is known about a positional parameter.
pub fn parameter(word: &Word<'_>) -> Binding {
    match word.value {
        _ if word.text.len() > MAX_VARIABLE => Binding::ScriptValue,
        Value::Known => Binding::Text(word.text.as_ref().into()),
        Value::KnownPrefix => Binding::Prefix(word.text.as_ref().into()),
        Value::ScriptValue | Value::Unknown => Binding::ScriptValue,
    }
}

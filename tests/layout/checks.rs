//! The rules of the project's shape, on the modules of a crate. Each gives one line per breach: where, and what to do.

use std::collections::{BTreeMap, BTreeSet};

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::sources::{Crate, Files, Module, ModulePath};

/// For each module the modules and crates of this project that it may import.
pub type Directions = BTreeMap<String, BTreeSet<String>>;

/// Reads lines such as ``//! - `policy` may know `oikos_risk`, `api`.`` from the head of a `lib.rs`.
pub fn directions(text: &str) -> Directions {
    let quoted = |part: &str| part.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let lines = text.lines().filter_map(|line| line.strip_prefix("//! - ")?.split_once(" may know "));
    lines.map(|(module, known)| (quoted(module).concat(), quoted(known).into_iter().collect())).collect()
}

/// Imports that `allowed` does not list.
pub fn wrong_directions(found: &Crate, crates: &[&str], allowed: &Directions) -> Vec<String> {
    let tops = &found.modules[&ModulePath::new()].children;
    let mut wrong = BTreeSet::new();
    for (path, module) in &found.modules {
        let Some(top) = path.first() else { continue };
        let Some(known) = allowed.get(top) else {
            wrong.insert(format!(
                "{}: `{top}` stands in no line of src/lib.rs: say what it may know",
                module.file.display()
            ));
            continue;
        };
        for reference in &module.references {
            let (inside, target) = found.resolve(path, &reference.segments);
            let Some(first) = target.first().filter(|first| *first != top) else { continue };
            let ours = if inside { tops.contains(first) } else { crates.contains(&first.as_str()) };
            if ours && !known.contains(first) {
                wrong.insert(format!(
                    "{}:{}: `{top}` must not know `{first}` ({}): move the code, or pass in what it needs",
                    module.file.display(),
                    reference.line,
                    target.join("::"),
                ));
            }
        }
    }
    wrong.into_iter().collect()
}

/// Paths that do something outside the program, by their beginning.
const OUTSIDE: [&str; 16] = [
    "kube::Client",
    "kube::client",
    "kube::Api",
    "kube::api::Api",
    "kube::runtime",
    "tokio",
    "reqwest",
    "russh",
    "std::net",
    "std::fs",
    "std::process",
    "std::env",
    "std::thread",
    "std::io::std",
    "rand",
    "getrandom",
];
/// Types whose very name brings a clock or randomness.
const UNSTEADY: [&str; 3] = ["SystemTime", "Instant", "RandomState"];

/// Clients, runtimes, clocks, randomness, files and processes in the modules `pure` (empty: the whole crate).
pub fn impurities(found: &Crate, pure: &[&str]) -> Vec<String> {
    let mut wrong = BTreeSet::new();
    let is_pure = |path: &ModulePath| pure.is_empty() || path.first().is_some_and(|top| pure.contains(&top.as_str()));
    for (path, module) in found.modules.iter().filter(|(path, _)| is_pure(path)) {
        let file = module.file.display();
        for line in &module.asynchronous {
            wrong.insert(format!("{file}:{line}: async code in a pure module: let the controller do it"));
        }
        for reference in &module.references {
            let (inside, target) = found.resolve(path, &reference.segments);
            if !inside && is_impure(&target) {
                let name = target.join("::");
                wrong.insert(format!(
                    "{file}:{}: a pure module must not use {name}: pass its result in",
                    reference.line
                ));
            }
        }
    }
    wrong.into_iter().collect()
}

fn is_impure(target: &[String]) -> bool {
    let starts = |prefix: &str| {
        let wanted: Vec<_> = prefix.split("::").collect();
        target.len() >= wanted.len() && target.iter().zip(wanted).all(|(have, want)| have == want)
    };
    let reads_clock = target.len() > 1 && target.last().is_some_and(|last| last == "now");
    OUTSIDE.iter().any(|prefix| starts(prefix))
        || reads_clock
        || target.iter().any(|it| UNSTEADY.contains(&it.as_str()))
}

/// Import cycles between the direct children of a module, for every module that has children (the crate's root too).
///
/// An item that the parent re-exports counts towards the child that defines it; what the parent defines itself
/// belongs to no child.
pub fn cycles(found: &Crate) -> Vec<String> {
    let parents = found.modules.iter().filter(|(_, module)| module.children.len() > 1);
    parents.flat_map(|(path, module)| cycles_below(found, path, module)).collect()
}

fn cycles_below(found: &Crate, parent: &[String], module: &Module) -> Vec<String> {
    // For each child the children that it names, and where first.
    let mut edges: BTreeMap<&String, BTreeMap<String, String>> = BTreeMap::new();
    for (path, child) in found.modules.iter().filter(|(path, _)| path.len() > parent.len() && path.starts_with(parent))
    {
        let from = &path[parent.len()];
        for reference in &child.references {
            let (inside, target) = found.resolve(path, &reference.segments);
            if !inside || !target.starts_with(parent) || target.len() <= parent.len() {
                continue;
            }
            let to = &target[parent.len()];
            if to != from && module.children.contains(to) {
                let place = format!("{}:{}", child.file.display(), reference.line);
                edges.entry(from).or_default().entry(to.clone()).or_insert(place);
            }
        }
    }
    let mut told = BTreeSet::new();
    let mut wrong = Vec::new();
    for start in edges.keys() {
        let Some(cycle) = shortest_cycle(&edges, start) else { continue };
        if told.insert(cycle.iter().cloned().collect::<BTreeSet<_>>()) {
            let mut steps = cycle.iter().zip(cycle.iter().cycle().skip(1));
            let arrows: Vec<_> =
                steps.by_ref().map(|(from, to)| format!("{from} -> {to} ({})", edges[from][to])).collect();
            let parent = if parent.is_empty() { "the crate".to_owned() } else { parent.join("::") };
            wrong.push(format!("cycle in {parent}: {}: move what both need into a third module", arrows.join(", ")));
        }
    }
    wrong
}

fn shortest_cycle(edges: &BTreeMap<&String, BTreeMap<String, String>>, start: &String) -> Option<Vec<String>> {
    let mut queue = std::collections::VecDeque::from([vec![start.clone()]]);
    let mut seen = BTreeSet::new();
    while let Some(path) = queue.pop_front() {
        for next in path.last().and_then(|last| edges.get(last)).into_iter().flat_map(BTreeMap::keys) {
            if next == start {
                return Some(path);
            }
            if seen.insert(next.clone()) {
                queue.push_back(path.iter().cloned().chain([next.clone()]).collect());
            }
        }
    }
    None
}

/// Files and functions, tests included, that are too long to be read at once.
pub fn too_long(files: &Files, file_lines: usize, function_lines: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, text) in files {
        let path = path.display();
        let lines = text.lines().count();
        if lines > file_lines {
            wrong.push(format!("{path}: {lines} lines, more than {file_lines}: split it by subject"));
        }
        let mut functions = Functions { limit: function_lines, long: Vec::new() };
        functions.visit_file(&syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}")));
        for (line, name, lines) in functions.long {
            wrong.push(format!("{path}:{line}: fn {name} has {lines} lines, more than {function_lines}: split it"));
        }
    }
    wrong
}

struct Functions {
    limit: usize,
    long: Vec<(usize, String, usize)>,
}

impl Functions {
    fn measure(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let first = signature.span().start().line;
        let lines = body.span().end().line + 1 - first;
        if lines > self.limit {
            self.long.push((first, signature.ident.to_string(), lines));
        }
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, it: &'ast syn::ItemFn) {
        self.measure(&it.sig, &it.block);
        visit::visit_item_fn(self, it);
    }

    fn visit_impl_item_fn(&mut self, it: &'ast syn::ImplItemFn) {
        self.measure(&it.sig, &it.block);
        visit::visit_impl_item_fn(self, it);
    }

    fn visit_trait_item_fn(&mut self, it: &'ast syn::TraitItemFn) {
        if let Some(body) = &it.default {
            self.measure(&it.sig, body);
        }
        visit::visit_trait_item_fn(self, it);
    }
}

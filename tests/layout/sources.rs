//! The modules of a crate as the compiler sees them: found by following `mod` from the root, without test code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Item, Meta, Token, UseTree, punctuated::Punctuated, spanned::Spanned};

use crate::references;

/// Texts of source files by their path.
pub type Files = BTreeMap<PathBuf, String>;

/// A path such as `crate::decide::plan`, without `crate`.
pub type ModulePath = Vec<String>;

/// A place where a path is named.
#[derive(Debug, Clone)]
pub struct Reference {
    /// The segments as written, or with the prefix of the `use` group they stand in.
    pub segments: Vec<String>,
    pub line: usize,
}

/// One module, a file or an inline `mod`.
#[derive(Debug, Default)]
pub struct Module {
    pub file: PathBuf,
    pub children: BTreeSet<String>,
    /// What the module defines itself.
    pub items: BTreeSet<String>,
    /// Names brought in by `use`, and the path that each stands for, as written.
    pub imports: BTreeMap<String, Vec<String>>,
    /// Paths whose every name is brought in.
    pub globs: Vec<Vec<String>>,
    pub references: Vec<Reference>,
    /// Lines of `async` and `.await`.
    pub asynchronous: Vec<usize>,
}

/// The modules of one crate.
#[derive(Debug, Default)]
pub struct Crate {
    /// The name under which its own binaries and tests import it.
    pub name: String,
    pub modules: BTreeMap<ModulePath, Module>,
}

/// All `.rs` files below `directory`, by paths relative to `root`.
pub fn read(root: &Path, directory: &str) -> Files {
    let mut found = Files::new();
    let mut pending = vec![root.join(directory)];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path.file_name().is_none_or(|name| name != "target") {
                    pending.push(path);
                }
            } else if path.extension().is_some_and(|it| it == "rs") {
                let relative = path.strip_prefix(root).unwrap().to_owned();
                found.insert(relative, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

/// Whether an item is compiled for tests only.
pub fn is_test_only(attributes: &[Attribute]) -> bool {
    fn demands_test(meta: &Meta) -> bool {
        match meta {
            Meta::Path(path) => path.is_ident("test"),
            Meta::List(list) if list.path.is_ident("all") || list.path.is_ident("cfg") => list
                .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
                .is_ok_and(|inner| inner.iter().any(demands_test)),
            _ => false,
        }
    }
    attributes.iter().any(|it| (it.path().is_ident("cfg") || it.path().is_ident("test")) && demands_test(&it.meta))
}

impl Crate {
    /// Follows the modules from `root` (a `lib.rs`) through `files`.
    pub fn load(name: &str, root: &str, files: &Files) -> Self {
        let mut found = Self { name: name.to_owned(), modules: BTreeMap::new() };
        let root = PathBuf::from(root);
        let directory = root.parent().unwrap_or(Path::new("")).to_owned();
        found.file(files, &root, Vec::new(), &directory);
        found
    }

    /// Adds a binary of the crate as if it were a module named like its file.
    pub fn add_binary(&mut self, file: &str, files: &Files) {
        let path = PathBuf::from(file);
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        self.modules.entry(Vec::new()).or_default().children.insert(stem.clone());
        let directory = path.parent().unwrap_or(Path::new("")).join(&stem);
        self.file(files, &path, vec![stem], &directory);
    }

    /// `below` is where the files of the module's children are.
    fn file(&mut self, files: &Files, path: &Path, module: ModulePath, below: &Path) {
        let text = files.get(path).unwrap_or_else(|| panic!("no file {} for a module", path.display()));
        let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self.items(files, path, module, below, &parsed.items);
    }

    fn items(&mut self, files: &Files, path: &Path, module: ModulePath, below: &Path, items: &[Item]) {
        let mut this = Module { file: path.to_owned(), ..Module::default() };
        let mut inline = Vec::new();
        for item in items {
            if is_test_only(attributes_of(item)) {
                continue;
            }
            if let Some(name) = name_of(item) {
                this.items.insert(name);
            }
            match item {
                Item::Mod(child) => {
                    this.children.insert(child.ident.to_string());
                    inline.push(child);
                }
                _ => references::collect(item, &mut this),
            }
        }
        self.modules.insert(module.clone(), this);
        for child in inline {
            let name = child.ident.to_string();
            let path_of_child: ModulePath = module.iter().cloned().chain([name.clone()]).collect();
            match &child.content {
                Some((_, items)) => self.items(files, path, path_of_child, &below.join(&name), items),
                None => {
                    let flat = below.join(format!("{name}.rs"));
                    let file = if files.contains_key(&flat) { flat } else { below.join(&name).join("mod.rs") };
                    self.file(files, &file, path_of_child, &below.join(&name));
                }
            }
        }
    }

    /// What `segments`, written in `module`, stand for: the full path in this crate, or one that begins with another
    /// crate's name. The flag says whether it is in this crate.
    pub fn resolve(&self, module: &[String], segments: &[String]) -> (bool, Vec<String>) {
        self.resolve_within(module, segments, 16)
    }

    fn resolve_within(&self, module: &[String], segments: &[String], depth: u8) -> (bool, Vec<String>) {
        let Some(first) = segments.first() else { return (true, module.to_vec()) };
        if depth == 0 {
            return (false, segments.to_vec());
        }
        let rest = &segments[1..];
        match first.as_str() {
            "crate" => self.descend(&[], rest, depth),
            "self" => self.descend(module, rest, depth),
            "super" => {
                let parent = &module[..module.len().saturating_sub(1)];
                match rest.first().map(String::as_str) {
                    Some("super") => self.resolve_within(parent, rest, depth),
                    _ => self.descend(parent, rest, depth),
                }
            }
            name if name == self.name => self.descend(&[], rest, depth),
            _ if self.knows(module, first) => self.descend(module, segments, depth),
            _ => match self.through_globs(module, first, depth) {
                Some(mut found) => {
                    found.extend(rest.iter().cloned());
                    (true, found)
                }
                None => (false, segments.to_vec()),
            },
        }
    }

    fn knows(&self, module: &[String], name: &str) -> bool {
        let Some(it) = self.modules.get(module) else { return false };
        it.children.contains(name) || it.items.contains(name) || it.imports.contains_key(name)
    }

    /// The full path of a name that a glob import of `module` brings in from this crate.
    fn through_globs(&self, module: &[String], name: &str, depth: u8) -> Option<Vec<String>> {
        for glob in &self.modules.get(module)?.globs {
            let (inside, target) = self.resolve_within(module, glob, depth - 1);
            if inside && target != module && self.knows(&target, name) {
                let (inside, found) = self.descend(&target, &[name.to_owned()], depth - 1);
                return inside.then_some(found);
            }
        }
        None
    }

    /// Follows `segments` down from `module`, through re-exports to where the item is defined.
    fn descend(&self, module: &[String], segments: &[String], depth: u8) -> (bool, Vec<String>) {
        let Some(first) = segments.first() else { return (true, module.to_vec()) };
        let deeper: ModulePath = module.iter().cloned().chain([first.clone()]).collect();
        let Some(here) = self.modules.get(module) else {
            return (true, module.iter().chain(segments).cloned().collect());
        };
        if here.children.contains(first) && self.modules.contains_key(&deeper) {
            return self.descend(&deeper, &segments[1..], depth);
        }
        if let Some(target) = here.imports.get(first).filter(|_| depth > 0 && !here.items.contains(first)) {
            let target: Vec<String> = target.iter().chain(&segments[1..]).cloned().collect();
            // `use serde::Serialize` and `use regex;` name another crate, not what this module calls by that name.
            let renamed = target.first() == Some(first);
            return match renamed && !here.children.contains(first) {
                true => (false, target),
                false => self.resolve_within(module, &target, depth - 1),
            };
        }
        if depth > 0
            && !here.items.contains(first)
            && let Some(mut found) = self.through_globs(module, first, depth)
        {
            found.extend(segments[1..].iter().cloned());
            return (true, found);
        }
        (true, module.iter().chain(segments).cloned().collect())
    }
}

/// The leaves of a `use` tree: the path, the name that it gets here (`None` for a glob), and the line.
pub fn leaves(tree: &UseTree, prefix: &[String], found: &mut Vec<(Vec<String>, Option<String>, usize)>) {
    let with = |name: &syn::Ident| prefix.iter().cloned().chain([name.to_string()]).collect::<Vec<_>>();
    let line = tree.span().start().line;
    match tree {
        UseTree::Path(path) => leaves(&path.tree, &with(&path.ident), found),
        UseTree::Name(it) if it.ident == "self" => found.push((prefix.to_vec(), prefix.last().cloned(), line)),
        UseTree::Name(it) => found.push((with(&it.ident), Some(it.ident.to_string()), line)),
        UseTree::Rename(it) if it.ident == "self" => found.push((prefix.to_vec(), Some(it.rename.to_string()), line)),
        UseTree::Rename(it) => found.push((with(&it.ident), Some(it.rename.to_string()), line)),
        UseTree::Glob(_) => found.push((prefix.to_vec(), None, line)),
        UseTree::Group(group) => group.items.iter().for_each(|it| leaves(it, prefix, found)),
    }
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(it) => &it.ident,
        Item::Enum(it) => &it.ident,
        Item::Fn(it) => &it.sig.ident,
        Item::Macro(it) => it.ident.as_ref()?,
        Item::Static(it) => &it.ident,
        Item::Struct(it) => &it.ident,
        Item::Trait(it) => &it.ident,
        Item::Type(it) => &it.ident,
        Item::Union(it) => &it.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// The attributes of an item.
pub fn attributes_of(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::ExternCrate(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::ForeignMod(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::TraitAlias(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Union(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

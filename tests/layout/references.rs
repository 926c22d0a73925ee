//! Every path that an item names: in `use` trees, types, expressions and patterns, and inside macro calls.

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::sources::{Module, Reference, attributes_of, is_test_only, leaves};

/// Adds what `item` imports and names to `module`.
pub fn collect(item: &syn::Item, module: &mut Module) {
    Collector { module }.visit_item(item);
}

struct Collector<'a> {
    module: &'a mut Module,
}

impl Collector<'_> {
    /// Paths in the tokens of a macro call, whose grammar nobody knows.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut line = 0;
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 || path.is_empty() {
                        self.finish(&mut path, line);
                        line = name.span().start().line;
                    }
                    if name == "await" || name == "async" {
                        self.module.asynchronous.push(name.span().start().line);
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.finish(&mut path, line);
                    colons = 0;
                    self.tokens(group.stream());
                }
                _ => {
                    self.finish(&mut path, line);
                    colons = 0;
                }
            }
        }
        self.finish(&mut path, line);
    }

    fn finish(&mut self, path: &mut Vec<String>, line: usize) {
        let segments = std::mem::take(path);
        if segments.len() > 1 {
            self.module.references.push(Reference { segments, line });
        }
    }
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_test_only(attributes_of(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test_only(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        // `#[derive(serde::Serialize)]` names paths too; a doc comment does not.
        if let syn::Meta::List(list) = &attribute.meta {
            self.tokens(list.tokens.clone());
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut found = Vec::new();
        leaves(&item.tree, &[], &mut found);
        for (path, name, line) in found {
            self.module.references.push(Reference { segments: path.clone(), line });
            match name {
                Some(name) if name != "_" => drop(self.module.imports.insert(name, path)),
                Some(_) => {}
                None => self.module.globs.push(path),
            }
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter().map(|it| it.ident.to_string()).collect();
        self.module.references.push(Reference { segments, line: path.span().start().line });
        visit::visit_path(self, path);
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {
        // `pub(in crate::decide)` uses nothing of that module.
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.visit_path(&call.path);
        self.tokens(call.tokens.clone());
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        if let Some(word) = signature.asyncness {
            self.module.asynchronous.push(word.span().start().line);
        }
        visit::visit_signature(self, signature);
    }

    fn visit_expr_async(&mut self, block: &'ast syn::ExprAsync) {
        self.module.asynchronous.push(block.span().start().line);
        visit::visit_expr_async(self, block);
    }

    fn visit_expr_await(&mut self, wait: &'ast syn::ExprAwait) {
        self.module.asynchronous.push(wait.span().start().line);
        visit::visit_expr_await(self, wait);
    }
}

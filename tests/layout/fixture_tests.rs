//! The checks themselves, on small crates that break one rule each.

use std::path::PathBuf;

use crate::checks::{Directions, cycles, directions, impurities, too_long, wrong_directions};
use crate::sources::{Crate, Files};

fn files(texts: &[(&str, &str)]) -> Files {
    texts.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect()
}

fn load(texts: &[(&str, &str)]) -> Crate {
    Crate::load("fixture", "lib.rs", &files(texts))
}

/// A crate of the modules `low` and `high`, of which `low` must not know `high`.
fn low_and_high(low: &str) -> Vec<String> {
    let found =
        load(&[("lib.rs", "mod low; mod high;"), ("low.rs", low), ("high.rs", "pub mod deep { pub fn f() {} }")]);
    wrong_directions(&found, &["other"], &known("//! - `low` may know nothing.\n//! - `high` may know `low`."))
}

fn known(text: &str) -> Directions {
    directions(text)
}

#[test]
fn the_directions_are_read_from_the_head_of_the_library() {
    let read = directions("//! Text.\n//! - `a` may know `b`, `c`.\n//! - `b` may know nothing.\nmod a;\n");
    assert_eq!(read["a"].iter().map(String::as_str).collect::<Vec<_>>(), ["b", "c"]);
    assert!(read["b"].is_empty());
}

#[test]
fn an_import_of_a_higher_module_is_found_however_it_is_written() {
    for low in [
        "use crate::high::deep;",
        "use crate::{\n    high::{deep::{self, f}},\n};",
        "use {std::fmt, crate::{high as above}};",
        "use super::high::deep::f as g;",
        "use crate::high::*;",
        "fn f() { crate::high::deep::f() }",
        "fn f() { super::high::deep::f() }",
        "fn f() { use crate::high::deep; deep::f() }",
        "mod inner { fn f() { super::super::high::deep::f() } }",
        "fn f() { println!(\"{}\", crate::high::deep::f()) }",
        "fn f(x: Vec<crate::high::Type>) {}",
        "impl crate::high::Trait for X {}",
        "#[derive(crate::high::Macro)] struct X;",
        "use other::thing;",
    ] {
        let wrong = low_and_high(low);
        assert!(!wrong.is_empty(), "not found: {low}");
        assert!(wrong[0].starts_with("low.rs:"), "{wrong:?}");
    }
}

#[test]
fn what_only_looks_like_an_import_is_none() {
    for low in [
        "// use crate::high;\nfn f() { let text = \"crate::high\"; }",
        "pub(in crate::low) fn f() { let high = 1; }",
        "use std::fmt; fn f() { high::f() } mod high {}",
    ] {
        assert_eq!(low_and_high(low), [""; 0], "{low}");
    }
}

#[test]
fn test_code_is_skipped_and_the_code_after_it_is_still_seen() {
    let skipped =
        "#[cfg(test)] use crate::high;\n#[cfg(all(test, unix))] mod t { use crate::high; }\n#[cfg(test)] mod away;";
    assert_eq!(low_and_high(skipped), [""; 0]);
    let after = format!("{skipped}\n#[cfg(not(test))] fn f() {{ crate::high::deep::f() }}");
    let wrong = low_and_high(&after);
    assert!(wrong.len() == 1 && wrong[0].starts_with("low.rs:4:"), "{wrong:?}");
}

#[test]
fn a_module_without_a_line_in_the_head_is_reported() {
    let found = load(&[("lib.rs", "mod new;"), ("new.rs", "")]);
    assert!(wrong_directions(&found, &[], &Directions::new())[0].contains("`new` stands in no line"));
}

#[test]
fn what_reaches_outside_is_found_through_its_imports() {
    for text in [
        "use std::{fmt, fs};",
        "use std::{self as s}; fn f() { s::fs::read(\"x\"); }",
        "use k8s_openapi::jiff::Timestamp; fn f() { Timestamp::now(); }",
        "fn f() { k8s_openapi::jiff::Timestamp::now(); }",
        "use kube::{Resource, Client};",
        "use kube::Api as Objects; type T = Objects<u8>;",
        "use std::time as t; fn f() { t::Instant::now(); }",
        "async fn f() {}",
        "fn f() { let later = async { 1 }; }",
        "fn f() { format!(\"{:?}\", std::env::var(\"X\")); }",
        "struct S; impl S { fn f() { tokio::spawn(1); } }",
    ] {
        assert!(!impurities(&load(&[("lib.rs", text)]), &[]).is_empty(), "not found: {text}");
    }
    for text in [
        "use kube::CustomResource; fn f(now: u8) -> u8 { now }",
        "mod tokio { pub fn f() {} } fn f() { tokio::f() }",
        "#[cfg(test)] mod tests { use std::fs; } use std::fmt;",
    ] {
        assert_eq!(impurities(&load(&[("lib.rs", text)]), &[]), [""; 0], "{text}");
    }
}

#[test]
fn a_circle_of_modules_is_found_and_named_with_its_places() {
    let found = load(&[
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::b;"),
        ("b.rs", "fn f() { crate::c::f() }"),
        ("c.rs", "use std::fmt;\nuse super::a;"),
    ]);
    let wrong = cycles(&found);
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    for place in ["a -> b (a.rs:1)", "b -> c (b.rs:1)", "c -> a (c.rs:2)"] {
        assert!(wrong[0].contains(place), "{wrong:?}");
    }
}

#[test]
fn an_item_that_the_parent_passes_on_counts_towards_the_child_that_defines_it() {
    let parent = "mod a; mod b; pub use a::{X, f as g}; pub struct Own;";
    let circle =
        |a: &str, b: &str| cycles(&load(&[("lib.rs", "mod m;"), ("m/mod.rs", parent), ("m/a.rs", a), ("m/b.rs", b)]));
    assert_eq!(circle("use super::b::Y; pub struct X;", "use super::X;").len(), 1);
    assert_eq!(circle("use super::b::Y; pub fn f() {}", "fn h() { crate::m::g() }").len(), 1);
    assert_eq!(circle("use super::b::Y; pub struct X;", "use super::*; fn h(x: X) {}").len(), 1);
    assert_eq!(circle("use super::b::Y;", "use super::Own;"), [""; 0]);
}

#[test]
fn a_long_function_is_found_in_impls_traits_and_tests() {
    let body = "\n".repeat(5);
    for text in [
        format!("fn f() {{{body}}}"),
        format!("struct S; impl S {{ fn f() {{{body}}} }}"),
        format!("trait T {{ fn f() {{{body}}} }}"),
        format!("#[cfg(test)] mod tests {{ #[test] fn f() {{{body}}} }}"),
    ] {
        assert_eq!(too_long(&files(&[("x.rs", &text)]), 100, 5).len(), 1, "{text}");
        assert_eq!(too_long(&files(&[("x.rs", &text)]), 100, 6), [""; 0], "{text}");
        assert_eq!(too_long(&files(&[("x.rs", &text)]), 4, 6), ["x.rs: 6 lines, more than 4: split it by subject"]);
    }
}

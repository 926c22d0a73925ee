//! The shape of the project: generated files are current, imports point one way, the pure parts stay pure.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod checks;
mod fixture_tests;
mod references;
mod sources;

use std::{fs, path::Path};

use oikos::api;

use checks::{cycles, directions, impurities, too_long, wrong_directions};
use sources::{Crate, Files, read};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The controller's library, with its program as the module `main`.
fn oikos() -> Crate {
    let files = read(root(), "src");
    let mut found = Crate::load("oikos", "src/lib.rs", &files);
    found.add_binary("src/main.rs", &files);
    found
}

fn classifier() -> Crate {
    Crate::load("oikos_risk", "crates/risk/src/lib.rs", &read(root(), "crates/risk/src"))
}

fn assert_none(breaches: &[String]) {
    assert!(breaches.is_empty(), "{} to mend:\n{}\n", breaches.len(), breaches.join("\n"));
}

#[test]
fn the_generated_crds_are_current() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    let mut expected: Vec<_> = api::crds().iter().map(|crd| format!("{}.yaml", crd.spec.names.plural)).collect();
    expected.sort();
    for crd in api::crds() {
        let path = dir.join(format!("{}.yaml", crd.spec.names.plural));
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(written, serde_saphyr::to_string(&crd).unwrap(), "{} differs: run make crds", path.display());
    }
    let mut present: Vec<_> =
        fs::read_dir(&dir).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    present.sort();
    assert_eq!(present, expected, "crds/ holds exactly one file for each kind");
}

#[test]
fn every_field_of_every_kind_is_explained() {
    fn walk(schema: &serde_json::Value, path: &str, bare: &mut Vec<String>) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            if property["description"].as_str().is_none_or(str::is_empty) {
                bare.push(path.clone());
            }
            walk(property, &path, bare);
            walk(&property["items"], &path, bare);
        }
    }
    let mut bare = Vec::new();
    for crd in api::crds() {
        let schema = serde_json::to_value(&crd.spec.versions[0].schema).unwrap();
        walk(&schema["openAPIV3Schema"], &crd.spec.names.kind, &mut bare);
    }
    assert!(bare.is_empty(), "no description: {bare:?}");
}

#[test]
fn imports_point_the_way_that_the_head_of_the_library_says() {
    let said = directions(&fs::read_to_string(root().join("src/lib.rs")).unwrap());
    assert_none(&wrong_directions(&oikos(), &["oikos_risk"], &said));
}

#[test]
fn no_client_runtime_clock_or_randomness_enters_the_pure_modules() {
    assert_none(&impurities(&oikos(), &["api", "policy", "decide"]));
}

#[test]
fn the_classifier_reads_nothing_but_the_command() {
    assert_none(&impurities(&classifier(), &[]));
}

#[test]
fn no_modules_of_the_controller_import_each_other_in_a_circle() {
    assert_none(&cycles(&oikos()));
}

#[test]
fn no_modules_of_the_classifier_import_each_other_in_a_circle() {
    assert_none(&cycles(&classifier()));
}

#[test]
fn a_file_has_at_most_400_lines_and_a_function_60() {
    let mut files = Files::new();
    for directory in ["src", "crates", "tests", "fuzz/fuzz_targets"] {
        files.extend(read(root(), directory));
    }
    assert_none(&too_long(&files, 400, 60));
}

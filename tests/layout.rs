//! The shape of the project: generated files are current, imports point one way, the pure parts stay pure.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::{fs, path::Path};

use oikos::api;

fn sources(dir: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
        }
    }
    found
}

/// The code of a file without its tests and comments: those may reach further.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
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

/// For each module the modules of this crate that it must not know.
const HIGHER: [(&str, &[&str]); 6] = [
    ("api", &["policy", "decide", "steps", "agent", "controller", "cli"]),
    ("policy", &["decide", "steps", "agent", "controller", "cli"]),
    ("decide", &["steps", "agent", "controller", "cli"]),
    ("steps", &["api", "policy", "decide", "agent", "controller", "cli"]),
    ("agent", &["decide", "steps", "controller", "cli"]),
    ("controller", &["cli"]),
];

#[test]
fn imports_point_one_way() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (module, higher) in HIGHER {
        let files = sources(&src.join(module));
        assert!(!files.is_empty(), "{module} has no files");
        for (file, text) in files {
            let text = code(&text);
            for other in higher {
                let direct = text.contains(&format!("crate::{other}"));
                let grouped = text.lines().any(|line| line.starts_with(&format!("    {other}::")));
                assert!(!direct && !grouped, "{file} must not know {other}");
            }
        }
    }
}

#[test]
fn no_client_runtime_clock_or_randomness_enters_the_pure_modules() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let forbidden = [
        "kube::Client",
        "kube::Api",
        "Api<",
        "tokio::",
        "reqwest::",
        "russh::",
        "std::net",
        "std::fs",
        "std::process",
        "std::env",
        "Timestamp::now",
        "SystemTime",
        "Instant",
        "rand::",
        "RandomState",
        "async fn",
    ];
    for module in ["api", "policy", "decide"] {
        for (file, text) in sources(&src.join(module)) {
            let text = code(&text);
            for word in forbidden {
                assert!(!text.contains(word), "{file} uses {word}");
            }
        }
    }
}

#[test]
fn files_stay_readable() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let long: Vec<_> = sources(&src)
        .into_iter()
        .filter(|(file, _)| !file.ends_with("_tests.rs"))
        .map(|(file, text)| (file, code(&text).lines().count()))
        .filter(|(_, lines)| *lines > 450)
        .collect();
    assert!(long.is_empty(), "split these: {long:?}");
}

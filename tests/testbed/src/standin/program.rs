//! Where the `pve-standin` binary is: needed by tests of other packages, for which cargo does not build it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::command;
use super::error::{Error, Result};

/// `$PVE_STANDIN` if set; else the binary beside the running program, if it is younger than its sources;
/// else the same after asking cargo, once per process, to bring it up to date.
///
/// # Errors
/// When cargo fails or leaves no binary.
pub fn find() -> Result<PathBuf> {
    static FOUND: OnceLock<std::result::Result<PathBuf, String>> = OnceLock::new();
    if let Some(path) = std::env::var_os("PVE_STANDIN") {
        return Ok(PathBuf::from(path));
    }
    FOUND.get_or_init(|| build().map_err(|error| error.to_string())).clone().map_err(Error::Supervisor)
}

fn build() -> Result<PathBuf> {
    let own = std::env::current_exe().map_err(|error| Error::Supervisor(error.to_string()))?;
    // Tests lie in <target>/<profile>/deps, programs in <target>/<profile>.
    let profile = own
        .ancestors()
        .skip(1)
        .find(|directory| directory.file_name().is_some_and(|name| name != "deps" && name != "examples"))
        .ok_or_else(|| Error::Supervisor("the running program has no directory".to_owned()))?;
    let target = profile.parent().unwrap_or(profile);
    let program = profile.join("pve-standin");
    if is_fresh(&program) {
        return Ok(program);
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Both packages: with this crate alone its dependencies would be built again with fewer features.
    cargo.args(["build", "--quiet", "-p", "oikos", "-p", "testbed", "--bin", "pve-standin", "--manifest-path"]);
    cargo.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).arg("--target-dir").arg(target);
    if profile.file_name().is_some_and(|name| name == "release") {
        cargo.arg("--release");
    }
    match command::run(&mut cargo) {
        Ok(_) => Ok(program),
        // Without cargo, as in an image, an existing binary serves.
        Err(_) if program.exists() => Ok(program),
        Err(error) => Err(error),
    }
}

/// Whether `program` is younger than every source file of this crate.
fn is_fresh(program: &Path) -> bool {
    let modified = |path: &Path| std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let Some(built) = modified(program) else { return false };
    let mut directories = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(directory) = directories.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else { return false };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                directories.push(path);
            } else if modified(&path).is_none_or(|time| time > built) {
                return false;
            }
        }
    }
    true
}

//! The Debian 13 template: built once per machine with mmdebstrap, kept in a cache, shared by all stand-ins.
//!
//! Like Proxmox's own template it has systemd and no curl, no python and no sudo.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use super::command;
use super::error::{Error, Result};
use super::machine;

/// Part of the cache key: raise it when the recipe changes.
const RECIPE: &str = "2";
const INCLUDE: &str = "systemd-sysv,dbus,iproute2,ifupdown,ca-certificates,procps";

/// A template ready for use.
#[derive(Debug, Clone)]
pub struct Template {
    /// The archive as a Proxmox host would hold it.
    pub archive: PathBuf,
    /// The unpacked tree, the lower layer of every container; never written to.
    pub tree: PathBuf,
    /// Size of the archive in bytes.
    pub bytes: u64,
    /// SHA-256 of the archive, hexadecimal.
    pub sha256: String,
}

/// The cache: `$OIKOS_CACHE`, else `$XDG_CACHE_HOME/oikos`, else `~/.cache/oikos`, else `/var/cache/oikos`; below it `standin`.
pub fn cache_directory() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("OIKOS_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|path| path.join("oikos")))
        .or_else(|| set("HOME").map(|path| path.join(".cache/oikos")))
        .unwrap_or_else(|| PathBuf::from("/var/cache/oikos"))
        .join("standin")
}

/// The cached template; builds it first (about a minute) when the cache has none for this
/// machine's mirror. Concurrent callers wait for one build.
///
/// # Errors
/// When mmdebstrap fails or the cache is not writable.
pub fn prepare() -> Result<Template> {
    let cache = cache_directory();
    fs::create_dir_all(&cache).map_err(Error::file("create", &cache))?;
    let lock_path = cache.join("lock");
    let lock = File::create(&lock_path).map_err(Error::file("create", &lock_path))?;
    lock.lock().map_err(Error::file("lock", &lock_path))?;

    let sources = machine::debian_13_sources();
    let directory = cache.join(format!("debian-13-{}", key(&sources)));
    if !directory.exists() {
        build(&cache, &directory, &sources)?;
    }
    let archive = directory.join("template.tar.zst");
    let digest = directory.join("sha256");
    let bytes = fs::metadata(&archive).map_err(Error::file("read", &archive))?.len();
    let sha256 = fs::read_to_string(&digest).map_err(Error::file("read", &digest))?;
    Ok(Template { archive, tree: directory.join("rootfs"), bytes, sha256 })
}

fn key(sources: &[String]) -> String {
    let digest = Sha256::digest(format!("{RECIPE}\n{INCLUDE}\n{}", sources.join("\n")));
    hexadecimal(&digest)[..12].to_owned()
}

fn build(cache: &Path, target: &Path, sources: &[String]) -> Result<()> {
    eprintln!("stand-in: building the Debian 13 template from {} (once, about a minute)", sources[0]);
    let draft = cache.join(format!("draft-{}", std::process::id()));
    let tree = draft.join("rootfs");
    fs::create_dir_all(&tree).map_err(Error::file("create", &tree))?;
    let archive = draft.join("template.tar.zst");
    let built = debootstrap(&archive, sources).and_then(|()| unpack(&archive, &tree)).and_then(|()| {
        let bytes = fs::read(&archive).map_err(Error::file("read", &archive))?;
        let digest = draft.join("sha256");
        fs::write(&digest, hexadecimal(&Sha256::digest(&bytes))).map_err(Error::file("write", &digest))?;
        fs::rename(&draft, target).map_err(Error::file("rename", &draft))
    });
    if built.is_err() {
        let _ = fs::remove_dir_all(&draft);
    }
    built
}

fn debootstrap(archive: &Path, sources: &[String]) -> Result<()> {
    let mut mmdebstrap = Command::new("mmdebstrap");
    mmdebstrap.args(["--quiet", "--variant=minbase", "--mode=root"]);
    mmdebstrap.arg(format!("--include={INCLUDE}"));
    for directory in ["doc", "man", "locale"] {
        mmdebstrap.arg(format!("--dpkgopt=path-exclude=/usr/share/{directory}/*"));
    }
    mmdebstrap.args([
        // The kernel of the machine may have no modules to load: the unit would leave the state "degraded".
        "--customize-hook=ln -sf /dev/null \"$1/etc/systemd/system/systemd-modules-load.service\"",
        "--customize-hook=rm -f \"$1/etc/resolv.conf\" \"$1/etc/hostname\"",
        "trixie",
    ]);
    mmdebstrap.arg(archive).args(sources);
    command::run(&mut mmdebstrap).map(drop)
}

fn unpack(archive: &Path, tree: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--zstd", "--numeric-owner", "--xattrs", "--xattrs-include=*", "-xpf"]);
    tar.arg(archive).arg("-C").arg(tree);
    command::run(&mut tar).map(drop)
}

/// Lower-case hexadecimal digits of `bytes`.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

//! The machine-wide register of stand-ins: who holds which bridge and subnet, and what dead ones left.
//!
//! A slot is a file that its supervisor keeps locked for as long as it lives. A slot that names a
//! directory and can be locked therefore belongs to a dead run, and is swept. The kernel drops the
//! lock with the process, so neither a crash nor a reused process id can mislead.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use super::error::{Error, Result};
use super::machine;

const SLOTS: u8 = 32;
/// Second octets tried for the guests' subnets, private and rarely used.
const SECOND_OCTETS: [u8; 3] = [213, 187, 243];

/// A held slot; dropping it gives the slot back.
#[derive(Debug)]
pub struct Slot {
    /// The slot's number.
    pub number: u8,
    /// First three octets of its subnet.
    pub subnet: String,
    file: File,
}

/// Where slots and, by default, stand-ins' directories are: `$OIKOS_STANDIN_DIR`, else `/var/lib/oikos-standin`.
///
/// It must be on a file system that can hold an overlay's upper layer, which a container's own root often cannot.
pub fn base_directory() -> PathBuf {
    std::env::var_os("OIKOS_STANDIN_DIR")
        .filter(|value| !value.is_empty())
        .map_or_else(|| PathBuf::from("/var/lib/oikos-standin"), PathBuf::from)
}

/// Serialises changes to what all stand-ins of the machine share (slots, `ip_forward`).
///
/// # Errors
/// When the base directory cannot be written.
pub fn lock_register() -> Result<File> {
    let directory = base_directory().join("slots");
    fs::create_dir_all(&directory).map_err(Error::file("create", &directory))?;
    let path = directory.join("register.lock");
    let file = File::create(&path).map_err(Error::file("create", &path))?;
    file.lock().map_err(Error::file("lock", &path))?;
    Ok(file)
}

/// Takes a free slot for the stand-in in `directory`, after `sweep` was called for each dead run found.
///
/// # Errors
/// When all slots are held, or a file cannot be written.
pub fn take(directory: &Path, mut sweep: impl FnMut(u8, &Path) -> Result<()>) -> Result<Slot> {
    let _register = lock_register()?;
    let mut chosen = None;
    for number in 0..SLOTS {
        if chosen.is_some() && !path(number).exists() {
            continue;
        }
        let Some(mut file) = open_unheld(number)? else { continue };
        let dead = read_owner(&mut file);
        if let Some(dead) = dead {
            if let Err(error) = sweep(number, &dead) {
                eprintln!("stand-in: leftovers in {} stay for now: {error}", dead.display());
                continue;
            }
            write_owner(&mut file, None)?;
        }
        let free_bridge = !Path::new(&format!("/sys/class/net/oikospve{number}")).exists();
        if chosen.is_none()
            && free_bridge
            && let Some(subnet) = free_subnet(number)
        {
            chosen = Some((number, subnet, file));
        }
    }
    let Some((number, subnet, mut file)) = chosen else {
        return Err(Error::Machine(format!("all {SLOTS} slots for stand-ins are in use")));
    };
    write_owner(&mut file, Some(directory))?;
    Ok(Slot { number, subnet, file })
}

impl Slot {
    /// Gives the slot back after a complete teardown, so that nobody sweeps it.
    pub fn release(mut self) -> Result<()> {
        write_owner(&mut self.file, None)
    }
}

/// Who owns the stand-in in a directory.
pub enum DirectoryOwner {
    /// No slot names the directory.
    Nobody,
    /// A living supervisor.
    Alive,
    /// A dead one; its slot is now the caller's.
    Dead(Slot),
}

/// Who owns the stand-in in `directory`.
///
/// # Errors
/// When a slot cannot be read.
pub fn find(directory: &Path) -> Result<DirectoryOwner> {
    let _register = lock_register()?;
    for number in 0..SLOTS {
        let owner = fs::read_to_string(path(number)).unwrap_or_default();
        if Path::new(owner.trim()) == directory {
            let held = open_unheld(number)?.map(|file| Slot { number, subnet: String::new(), file });
            return Ok(held.map_or(DirectoryOwner::Alive, DirectoryOwner::Dead));
        }
    }
    Ok(DirectoryOwner::Nobody)
}

/// Whether any other slot than `except` is held by a living stand-in. Call with the register locked.
pub fn others_alive(except: u8) -> bool {
    (0..SLOTS)
        .filter(|number| *number != except)
        .any(|number| path(number).exists() && !matches!(open_unheld(number), Ok(Some(_))))
}

fn path(number: u8) -> PathBuf {
    base_directory().join(format!("slots/{number}"))
}

fn open_unheld(number: u8) -> Result<Option<File>> {
    let path = path(number);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(Error::file("open", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(Error::file("lock", &path)(error)),
    }
}

fn read_owner(file: &mut File) -> Option<PathBuf> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| PathBuf::from(text))
}

fn write_owner(file: &mut File, owner: Option<&Path>) -> Result<()> {
    let text = owner.map(|path| format!("{}\n", path.display())).unwrap_or_default();
    file.set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| file.write_all(text.as_bytes()))
        .and_then(|()| file.sync_all())
        .map_err(Error::file("write", Path::new("a slot")))
}

fn free_subnet(number: u8) -> Option<String> {
    let taken = machine::networks();
    SECOND_OCTETS.iter().find_map(|second| {
        let network = u32::from(Ipv4Addr::new(10, *second, number, 0));
        let overlaps = taken.iter().any(|(address, length)| {
            let shift = 32 - u32::from((*length).min(24));
            address.checked_shr(shift).unwrap_or(0) == network.checked_shr(shift).unwrap_or(0)
        });
        (!overlaps).then(|| format!("10.{second}.{number}"))
    })
}

//! Reads what the Proxmox VE tools print, and chooses from it: pure.

use std::cmp::Ordering;

/// A guest of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedGuest {
    pub vmid: u32,
    pub name: String,
}

/// `pct list`: VMID, Status, Lock (often blank), Name.
pub(crate) fn containers(text: &str) -> Vec<ListedGuest> {
    rows(text).filter_map(|row| guest(row.first()?, row.last()?)).collect()
}

/// `qm list`: VMID, NAME, STATUS, MEM, BOOTDISK, PID.
pub(crate) fn machines(text: &str) -> Vec<ListedGuest> {
    rows(text).filter_map(|row| guest(row.first()?, row.get(1)?)).collect()
}

fn guest(vmid: &str, name: &str) -> Option<ListedGuest> {
    Some(ListedGuest { vmid: vmid.parse().ok()?, name: name.to_owned() })
}

/// A storage of `pvesm status` that is active.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedStorage {
    pub name: String,
    /// Free space in KiB; 0 when it is not known.
    pub available: u64,
}

/// `pvesm status`: Name, Type, Status, Total, Used, Available, %; the wording of the header varies.
pub(crate) fn storages(text: &str) -> Vec<ListedStorage> {
    rows(text)
        .filter(|row| row.get(2) == Some(&"active"))
        .map(|row| ListedStorage {
            name: row[0].to_owned(),
            available: row.get(5).and_then(|size| size.parse().ok()).unwrap_or(0),
        })
        .collect()
}

/// `pveam list`: NAME, SIZE; names are volume ids.
pub(crate) fn templates(text: &str) -> Vec<String> {
    let names = rows(text).filter_map(|row| row.first().map(ToString::to_string));
    names.filter(|name| name.contains(":vztmpl/")).collect()
}

/// `pvesh get /cluster/nextid`: a number, quoted or not.
pub(crate) fn next_id(text: &str) -> Option<u32> {
    text.trim().trim_matches('"').parse().ok()
}

fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).filter(|row| !row.is_empty())
}

/// What `pct config` says about a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListedConfig {
    pub description: String,
    pub lock: Option<String>,
}

/// `pct config`: `key: value` lines; the description is percent-encoded.
pub(crate) fn config(text: &str) -> ListedConfig {
    let value = |key: &str| {
        text.lines()
            .find_map(|line| line.split_once(": ").filter(|(name, _)| *name == key).map(|(_, value)| value.trim()))
    };
    ListedConfig {
        description: value("description").map(percent_decode).unwrap_or_default(),
        lock: value("lock").map(ToOwned::to_owned),
    }
}

fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(code.unwrap_or(bytes[at]));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// The storage for the root disk: the one asked for, or the one with the most space.
pub(crate) fn choose_storage<'a>(storages: &'a [ListedStorage], wanted: Option<&str>) -> Option<&'a str> {
    match wanted {
        Some(name) => storages.iter().find(|storage| storage.name == name),
        // The first of equals, so that the choice does not depend on chance.
        None => storages.iter().rev().max_by_key(|storage| storage.available),
    }
    .map(|storage| storage.name.as_str())
}

/// The template: an exact volume id or file name, else the newest whose file name begins with what is wanted, where
/// nothing wanted means any Debian standard template.
pub(crate) fn choose_template<'a>(templates: &'a [String], wanted: Option<&str>) -> Option<&'a str> {
    let Some(wanted) = wanted else {
        return newest(templates.iter().filter(|volume| is_debian_standard(file(volume))));
    };
    let exact = templates.iter().find(|volume| volume.as_str() == wanted || file(volume) == wanted);
    if let Some(exact) = exact {
        return Some(exact);
    }
    // A volume id is exact or nothing; a family name must end where a part of the name ends: debian-1 is not debian-13.
    if wanted.contains(':') {
        return None;
    }
    let begins = |volume: &&'a String| {
        file(volume)
            .strip_prefix(wanted)
            .is_some_and(|rest| rest.starts_with(['-', '_', '.']) || wanted.ends_with(['-', '_']))
    };
    newest(templates.iter().filter(begins))
}

fn is_debian_standard(file: &str) -> bool {
    let rest = file.strip_prefix("debian-").and_then(|rest| rest.split_once("-standard_"));
    rest.is_some_and(|(release, _)| release.parse::<u32>().is_ok())
}

/// File name of a volume id.
fn file(volume: &str) -> &str {
    volume.rsplit_once("vztmpl/").map_or(volume, |(_, file)| file)
}

fn newest<'a>(volumes: impl Iterator<Item = &'a String>) -> Option<&'a str> {
    volumes.max_by(|left, right| compare_versions(file(left), file(right))).map(String::as_str)
}

/// Compares names with the numbers in them as numbers: 13.1-2 is before 13.1-10.
fn compare_versions(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left, right);
    loop {
        let (left_part, right_part) = (part(left), part(right));
        if left_part.is_empty() || right_part.is_empty() {
            return left_part.len().cmp(&right_part.len());
        }
        let order = match (left_part.parse::<u64>(), right_part.parse::<u64>()) {
            (Ok(left), Ok(right)) => left.cmp(&right),
            _ => left_part.cmp(right_part),
        };
        if order != Ordering::Equal {
            return order;
        }
        (left, right) = (&left[left_part.len()..], &right[right_part.len()..]);
    }
}

/// The first run of digits or of other characters.
fn part(text: &str) -> &str {
    let digits = text.starts_with(|character: char| character.is_ascii_digit());
    let end = text.find(|character: char| character.is_ascii_digit() != digits).unwrap_or(text.len());
    &text[..end]
}

/// Whether `pct create` failed because the number is taken, by a container or a machine.
pub(crate) fn is_taken(vmid: u32, output: &str) -> bool {
    output.lines().any(|line| {
        line.contains("already exists")
            && (line.contains(&format!("CT {vmid} ")) || line.contains(&format!("VM {vmid} ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_are_read_with_and_without_a_lock_and_without_any_guest() {
        let text = "VMID       Status     Lock         Name                \n101        running                 web                 \n\
                    102        stopped    backup       db                  \n";
        let names: Vec<_> = containers(text).into_iter().map(|guest| (guest.vmid, guest.name)).collect();
        assert_eq!(names, [(101, "web".into()), (102, "db".into())]);
        assert_eq!(containers(""), []);
        let text = "      VMID NAME                 STATUS     MEM(MB)    BOOTDISK(GB) PID       \n       \
                    200 router               running    2048              32.00 1234      \n";
        assert_eq!(machines(text), [ListedGuest { vmid: 200, name: "router".into() }]);
    }

    #[test]
    fn only_active_storages_are_read_and_the_roomiest_is_chosen() {
        let text = "Name             Type     Status     Total (KiB)      Used (KiB) Available (KiB)        %\n\
                    local             dir     active        98497780        12345678        81000000   12.53%\n\
                    local-lvm     lvmthin     active       366276608        10000000       356276608    2.73%\n\
                    nas               nfs   inactive               0               0               0    0.00%\n";
        let storages = storages(text);
        assert_eq!(storages.len(), 2);
        assert_eq!(choose_storage(&storages, None), Some("local-lvm"));
        assert_eq!(choose_storage(&storages, Some("local")), Some("local"));
        assert_eq!(choose_storage(&storages, Some("nas")), None);
        assert_eq!(choose_storage(&[], None), None);
    }

    #[test]
    fn the_template_is_the_one_named_or_the_newest_of_its_family() {
        let text = "NAME                                                         SIZE  \n\
                    local:vztmpl/alpine-3.22-default_20250617_amd64.tar.xz       3.05MB\n\
                    local:vztmpl/debian-12-standard_12.12-1_amd64.tar.zst        120.65MB\n\
                    local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst         123.45MB\n\
                    nas:vztmpl/debian-13-standard_13.1-10_amd64.tar.zst          123.45MB\n\
                    local:vztmpl/debian-13-turnkey-core_19.0-1_amd64.tar.gz      200.00MB\n";
        let templates = templates(text);
        for (wanted, chosen) in [
            (None, Some("nas:vztmpl/debian-13-standard_13.1-10_amd64.tar.zst")),
            (Some("debian-12"), Some("local:vztmpl/debian-12-standard_12.12-1_amd64.tar.zst")),
            (Some("debian-13-standard"), Some("nas:vztmpl/debian-13-standard_13.1-10_amd64.tar.zst")),
            (
                Some("debian-13-standard_13.1-2_amd64.tar.zst"),
                Some("local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst"),
            ),
            (
                Some("local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst"),
                Some("local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst"),
            ),
            (Some("alpine"), Some("local:vztmpl/alpine-3.22-default_20250617_amd64.tar.xz")),
            (Some("debian-1"), None),
            (Some("ubuntu-24.04"), None),
            (Some("local:vztmpl/debian-13"), None),
        ] {
            assert_eq!(choose_template(&templates, wanted), chosen, "{wanted:?}");
        }
        assert_eq!(choose_template(&[], None), None);
    }

    #[test]
    fn the_next_number_is_read_quoted_or_not() {
        for (text, number) in [("101\n", Some(101)), ("\"101\"\n", Some(101)), ("", None), ("error", None)] {
            assert_eq!(next_id(text), number);
        }
    }

    #[test]
    fn a_taken_number_is_told_from_other_failures() {
        for (text, taken) in [
            ("CT 101 already exists on node 'pve'", true),
            ("VM 101 already exists on node 'pve'", true),
            ("unable to create CT 101 - CT 101 already exists on node 'pve'", true),
            ("CT 1013 already exists on node 'pve'", false),
            ("storage 'x' does not exist", false),
            ("unable to create CT 101 - volume already exists", true),
        ] {
            assert_eq!(is_taken(101, text), taken, "{text}");
        }
    }

    #[test]
    fn the_description_is_decoded() {
        let text = "arch: amd64\ncores: 2\ndescription: Created by oikos%2C attempt a-1%0A\nlock: create\n";
        let expected =
            ListedConfig { description: "Created by oikos, attempt a-1\n".into(), lock: Some("create".into()) };
        assert_eq!(config(text), expected);
        assert_eq!(percent_decode("100%"), "100%");
        assert_eq!(percent_decode("%C3%A4%zz"), "ä%zz");
    }
}

//! Paths: which hold secrets, which must not be written, and which hold trusted programs.

use crate::Locus;
use crate::Risk;

/// Where programs of the system live.
pub const TRUSTED: &[&str] =
    &["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/usr/games"];

/// Removes `.`, `..` and doubled slashes from an absolute path.
pub fn normalise(path: &str) -> String {
    if !path.starts_with('/') {
        return path.to_owned();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let mut out = format!("/{}", parts.join("/"));
    if path.ends_with('/') && out.len() > 1 {
        out.push('/');
    }
    out
}

/// The program that a command word names: itself, or its last part in a trusted directory.
pub fn command_name(text: &str) -> Option<String> {
    if !text.contains('/') {
        return Some(text.to_owned());
    }
    let path = normalise(text);
    let (directory, name) = path.rsplit_once('/')?;
    TRUSTED.contains(&directory).then(|| name.to_owned())
}

/// Bash's network pseudo-files.
pub fn is_network(path: &str) -> bool {
    path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")
}

const SECRET_PREFIX: &[&str] = &[
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/pve/priv",
    "/etc/ssl/private",
    "/root/.ssh/id_",
    "/etc/sudoers",
    "/root/.aws",
    "/root/.kube",
    "/root/.docker/config",
    "/root/.gnupg",
    "/root/.netrc",
    "/root/.pgpass",
    "/root/.my.cnf",
    "/root/.bash_history",
    "/root/.git-credentials",
    "/root/.config/rclone",
    "/etc/wireguard",
    "/etc/ipsec.secrets",
    "/etc/ppp/chap-secrets",
    "/var/lib/pve-cluster",
    "/etc/corosync/authkey",
    "/etc/krb5.keytab",
    "/var/lib/systemd/credential.secret",
    "/run/secrets",
    "/var/run/secrets",
    "/etc/msmtprc",
    "/var/lib/docker/swarm",
    "/etc/letsencrypt/live",
    "/etc/letsencrypt/archive",
    "/etc/mysql/debian.cnf",
];
const SECRET_SUFFIX: &[&str] = &[
    ".key",
    ".pem",
    ".p12",
    ".pfx",
    ".kdbx",
    ".env",
    "/environ",
    ".jks",
    "id_rsa",
    "id_ed25519",
    "id_ecdsa",
    ".pw",
    "/config/config.php",
    "/wp-config.php",
    "/gitea/app.ini",
    "/sasl_passwd",
    ".htpasswd",
    "/redis.conf",
];

/// Whether reading a path shows secrets.
pub fn is_secret(path: &str, whole: bool) -> bool {
    let path = normalise(path);
    if path.ends_with(".pub") || is_certificate(&path) {
        return false;
    }
    let key = path.starts_with("/etc/ssh/ssh_host_") && !path.ends_with(".pub");
    let named = whole && {
        let file = path.rsplit('/').next().unwrap_or("").to_ascii_lowercase();
        let marks = ["secret", "password", "credential", "token", "apikey", "api_key", "passphrase"];
        marks.iter().any(|mark| file.contains(mark))
    };
    key || named
        || path.contains("/.ssh/id_") && !path.ends_with(".pub")
        || SECRET_PREFIX.iter().any(|prefix| path.starts_with(prefix))
        || (whole && SECRET_SUFFIX.iter().any(|suffix| path.ends_with(suffix)))
}

/// Whether a file holds certificates, which are public, and no key.
fn is_certificate(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or("");
    name.ends_with(".pem")
        && ["cert", "chain", "ca.", "-ca", "pve-ssl"].iter().any(|mark| name.contains(mark))
        && !name.contains("key")
}

/// Files that a pattern is tried on.
const SECRET_FILES: &[&str] = &[
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/root/.ssh/id_rsa",
    "/root/.ssh/id_ed25519",
    "/root/.bash_history",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/pve/priv/authkey.key",
    "/etc/pve/priv/shadow.cfg",
    "/root/.my.cnf",
    "/root/.pgpass",
    "/root/.netrc",
    "/etc/shadow-",
    "/proc/1/environ",
    "/proc/self/environ",
];

/// Whether a shell pattern may name a secret.
pub fn may_match_secret(pattern: &str) -> bool {
    SECRET_FILES.iter().any(|path| matches_glob(pattern.as_bytes(), path.as_bytes(), 64))
}

/// `*`, `?` and `[…]`, where `[…]` stands for any one character.
fn matches_glob(pattern: &[u8], path: &[u8], budget: usize) -> bool {
    let Some(budget) = budget.checked_sub(1) else { return true };
    match (pattern.first(), path.first()) {
        (None, None) => true,
        (Some(b'*'), _) => {
            let stop = path.iter().position(|b| *b == b'/').unwrap_or(path.len());
            (0..=stop).any(|skip| matches_glob(&pattern[1..], &path[skip..], budget))
        }
        (Some(b'['), Some(c)) if *c != b'/' => {
            let end = pattern.iter().position(|b| *b == b']').map_or(pattern.len(), |at| at + 1);
            matches_glob(&pattern[end..], &path[1..], budget)
        }
        (Some(b'?'), Some(c)) if *c != b'/' => matches_glob(&pattern[1..], &path[1..], budget),
        (Some(a), Some(b)) if a == b => matches_glob(&pattern[1..], &path[1..], budget),
        _ => false,
    }
}

/// Writing below these loses guests, storage or the kernel wherever it happens.
const FATAL: &[&str] = &[
    "/etc/pve/",
    "/boot/",
    "/var/lib/vz/",
    "/var/lib/pve-cluster/",
    "/root/.ssh/",
    "/etc/ssh/",
    "/etc/cron",
    "/var/spool/cron/",
    "/etc/sudoers",
    "/etc/ld.so.",
    "/etc/pam.d/",
    "/etc/security/",
    "/etc/profile",
    "/etc/bash.bashrc",
    "/etc/environment",
    "/root/.bash",
    "/root/.profile",
    "/etc/udev/",
    "/etc/initramfs-tools/",
    "/etc/kernel/",
    "/etc/grub",
    "/etc/default/grub",
    "/etc/zfs/",
    "/etc/lvm/",
    "/etc/corosync/",
    "/etc/ceph/",
    "/etc/modprobe.d/",
    "/etc/apt/apt.conf",
    "/etc/rc.local",
    "/etc/init.d/",
    "/lib/",
    "/usr/lib/systemd/",
    "/dev/",
    "/sys/",
    "/proc/",
    "/var/log/",
    "/etc/dpkg/",
    "/usr/lib/",
    "/lib64/",
];
/// Whole files of the same kind.
const FATAL_FILES: &[&str] = &[
    "/etc/passwd",
    "/etc/shadow",
    "/etc/group",
    "/etc/gshadow",
    "/etc/fstab",
    "/etc/crypttab",
    "/etc/inittab",
    "/etc/anacrontab",
    "/etc/crontab",
    "/etc/subuid",
    "/etc/subgid",
    "/etc/nsswitch.conf",
    "/etc/shells",
    "/var/lib/dpkg/status",
    "/etc/mdadm/mdadm.conf",
    "/etc/securetty",
    "/etc/hosts.allow",
    "/etc/hosts.deny",
];
/// On a node these lose the way to it or run code as root; in a guest `pct exec` still reaches it.
const FATAL_ON_NODE: &[&str] = &[
    "/etc/network/",
    "/etc/systemd/",
    "/etc/nftables",
    "/etc/iptables/",
    "/etc/default/",
    "/usr/bin/",
    "/usr/sbin/",
    "/bin/",
    "/sbin/",
    "/etc/vzdump.conf",
    "/usr/share/perl5/",
    "/etc/lxc/",
    "/etc/hostname",
    "/etc/resolv.conf",
    "/etc/modules",
    "/var/lib/",
    "/etc/logrotate.d/",
];
/// What databases keep: to be changed by their own tools only.
const DATA: &[&str] = &[
    "/var/lib/postgresql/",
    "/var/lib/mysql/",
    "/var/lib/mongodb/",
    "/var/lib/redis/",
    "/var/lib/etcd/",
    "/var/lib/influxdb/",
];
/// Files whose writing changes only something that runs.
const SETTINGS: &[&str] =
    &["/proc/sys/net/", "/proc/sys/vm/", "/proc/sys/fs/", "/sys/class/leds/", "/sys/module/zfs/parameters/"];
/// Files that lose what is written to them, or show it.
const SINKS: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/full", "/dev/fd/1", "/dev/fd/2"];

/// The class of writing to a path and why; `None` when it writes nothing. `whole` is false for a known beginning.
pub fn writing(path: &str, whole: bool, locus: Locus) -> Option<(Risk, String)> {
    if path.starts_with('?') {
        return Some((Risk::Destructive, "writes into a directory that is not known".to_owned()));
    }
    let path = normalise(&climbed(path));
    if whole && SINKS.contains(&path.as_str()) || path.starts_with("/dev/fd/") {
        return None;
    }
    if SETTINGS.iter().any(|prefix| path.starts_with(prefix)) && whole {
        return Some((Risk::ConfigMutation, format!("changes the setting {path}")));
    }
    if path.starts_with("/var/lib/vz/template/") && path.matches('/').count() > 5 - usize::from(!whole) {
        return Some((Risk::ConfigMutation, format!("writes the template {path}")));
    }
    if whole && DATA.iter().any(|prefix| path.starts_with(prefix)) {
        return Some((Risk::Destructive, format!("writes to {path}, which holds a database")));
    }
    if is_fatal(&path, locus) {
        return Some((Risk::Destructive, format!("writes to {path}, which keeps the system running or safe")));
    }
    if !whole && may_become_fatal(&path, locus) || path == "/" {
        return Some((Risk::Destructive, format!("may write below {path} what keeps the system running or safe")));
    }
    if !whole && (path == "/" || path.matches('/').count() < 2 && path.starts_with('/')) {
        return Some((Risk::Destructive, format!("writes to a file whose path is not known beyond {path}")));
    }
    Some((Risk::ConfigMutation, format!("writes to {path}")))
}

/// A relative path that climbs out of its directory is judged as if it climbed to the top.
fn climbed(path: &str) -> String {
    if path.starts_with('/') || !path.split('/').any(|part| part == "..") {
        return path.to_owned();
    }
    let rest: Vec<&str> = path.split('/').skip_while(|part| matches!(*part, ".." | "." | "")).collect();
    format!("/{}", rest.join("/"))
}

/// Whether losing or rewriting this path loses the system, its guests or the way to it.
pub fn is_fatal(path: &str, locus: Locus) -> bool {
    let below =
        |list: &[&str]| list.iter().any(|prefix| path.starts_with(prefix) || path == prefix.trim_end_matches('/'));
    below(FATAL)
        || FATAL_FILES.contains(&path)
        || path.contains("/.ssh/authorized_keys")
        || path.contains("/.bashrc")
        || (locus == Locus::Host && below(FATAL_ON_NODE))
}

/// Whether a path that begins like this may turn out to be fatal.
fn may_become_fatal(path: &str, locus: Locus) -> bool {
    let above = |list: &[&str]| list.iter().any(|entry| entry.starts_with(path));
    path.len() > 1 && (above(FATAL) || above(FATAL_FILES) || (locus == Locus::Host && above(FATAL_ON_NODE)))
}

/// A directory into which an archive or several files are written; the class and why.
pub fn filling(path: &str, locus: Locus) -> Option<(Risk, String)> {
    let path = normalise(path);
    writing(&format!("{}/", path.trim_end_matches('/')), false, locus)
}

/// Directories in which everything is temporary.
pub fn is_temporary(path: &str) -> bool {
    let path = normalise(path);
    ["/tmp/", "/var/tmp/", "/run/user/", "/dev/shm/", "/var/cache/apt/archives/"]
        .iter()
        .any(|prefix| path.starts_with(prefix) && path.len() > prefix.len())
}

//! The names of rules that are written in code: for languages and expressions that no table can hold.
//!
//! A table names a rule; the name is resolved when the table is read. What a rule does stands beside the rules, where
//! a `match` over these enums proves that each has its function.

/// An enum whose members have names in the tables.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident: $($variant:ident = $word:literal),+ $(,)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $(#[doc = concat!("`", $word, "` in a table.")] $variant),+
        }

        impl $name {
            /// Every one, with its name in the tables.
            #[allow(dead_code, reason = "not every kind of name is listed")]
            pub const ALL: &[(&'static str, Self)] = &[$(($word, Self::$variant)),+];

            /// The one of this name.
            pub fn read(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

pub(super) use named;

named! {
    /// Rules that read the words of a command themselves.
    WordRule:
    Cd = "cd", Shift = "shift", Mapfile = "mapfile", Kill = "kill", KillByName = "kill-by-name", Usermod = "usermod",
    Test = "test", Printf = "printf", Declare = "declare", Read = "read", Set = "set", Eval = "eval", Exec = "exec",
    Let = "let", Getopts = "getopts", Find = "find", Nft = "nft", Ip = "ip", Flock = "flock", Su = "su", Runuser = "runuser", Dd = "dd", Tar = "tar",
}

named! {
    /// Rules for a call whose options and operands the table has told apart.
    CallRule:
    Shell = "shell", Bash = "bash", Source = "source", Xargs = "xargs", Sed = "sed", Awk = "awk", Interpreter = "interpreter", Php = "php",
    Fetch = "fetch", Download = "download", Move = "move", Truncating = "truncating", Link = "link", RecursiveMode = "recursive-mode",
    RecursiveAcl = "recursive-acl", Pager = "pager",
    Script = "script", Interval = "interval", Sql = "sql", Sqlite = "sqlite", Redis = "redis", CopyAway = "copy-away",
    SClient = "s-client", Umount = "umount", Git = "git", Mount = "mount", DockerCp = "docker-cp",
    Date = "date", Service = "service", Sysctl = "sysctl", Ping = "ping", Rsync = "rsync",
    DockerInspect = "docker-inspect", OneCommand = "one-command", Devices = "devices", Taskset = "taskset",
    Compose = "compose", Applet = "applet", LxcAttach = "lxc-attach", Pvesh = "pvesh",
    QmGuestCmd = "qm-guest-cmd", Firewall = "firewall", Raid = "raid", Megacli = "megacli",
    Ssacli = "ssacli", SendsInput = "sends-input",
}

named! {
    /// Rules for a single operand or option's value.
    ValueRule:
    SshOption = "ssh-option", AptOption = "apt-option", Header = "header", Socket = "socket", Bind = "bind",
    RunProperty = "run-property", RunEnvironment = "run-environment", Features = "features",
    Mountpoint = "mountpoint", Delete = "delete", Prune = "prune", Disk = "disk", Span = "span",
    Database = "database", ProgramFile = "program-file", SmartLog = "smart-log", Unset = "unset",
    AptPackage = "apt-package", KubeResource = "kube-resource", Setting = "setting", KubePath = "kube-path",
    Kubeconfig = "kubeconfig", Hypervisor = "hypervisor", RouterLine = "router-line", Mongo = "mongo",
    Peer = "peer", Debugfs = "debugfs", Jump = "jump",
    Archive = "archive", ArchiveAnywhere = "archive-anywhere", Checkpoint = "checkpoint", DdOperand = "dd-operand", Growth = "growth",
    ZfsProperty = "zfs-property", SentFile = "sent-file", Format = "format", Document = "document",
    Picture = "picture", ShellOption = "shell-option", Macro = "macro", TraceFile = "trace-file",
    Config = "config", NtpQuery = "ntp-query", Site = "site", Profile = "profile", GitSource = "git-source", GitRefspec = "git-refspec", HaState = "ha-state", GitSetting = "git-setting",
}

named! {
    /// Rules for a value that belongs to a request: what is asked, what is sent, where the answer goes.
    RequestRule:
    Method = "method", Data = "data", DataEncoded = "data-encoded", Body = "body", BodyFile = "body-file",
    Form = "form", Query = "query", Cookie = "cookie", WriteOut = "write-out", Output = "output", Address = "address",
}

/// A rule for a whole command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It reads the words itself.
    Words(WordRule),
    /// The table tells options and operands apart.
    Call(CallRule),
}

impl Rule {
    /// The rule of this name.
    pub fn read(word: &str) -> Option<Self> {
        WordRule::read(word).map(Rule::Words).or_else(|| CallRule::read(word).map(Rule::Call))
    }
}

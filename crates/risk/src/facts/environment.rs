//! What an assignment to an environment or shell variable can do.

use crate::Risk;

/// Names that change at most how output looks or that a program asks nothing.
const INERT: &[&str] = &[
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "FORCE_COLOR",
    "COLORTERM",
    "DEBIAN_FRONTEND",
    "DEBIAN_PRIORITY",
    "DEBCONF_NONINTERACTIVE_SEEN",
    "APT_LISTCHANGES_FRONTEND",
    "NEEDRESTART_MODE",
    "NEEDRESTART_SUSPEND",
    "CI",
    "LS_COLORS",
    "GREP_COLORS",
    "GREP_COLOR",
    "QUOTING_STYLE",
    "BLOCK_SIZE",
    "BLOCKSIZE",
    "POSIXLY_CORRECT",
    "TIME_STYLE",
    "SYSTEMD_COLORS",
    "SYSTEMD_PAGER_",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONIOENCODING",
    "HISTSIZE",
    "HISTFILESIZE",
    "HISTCONTROL",
    "TIMEFORMAT",
    "OPTARG",
    "REPLY",
    "UCF_FORCE_CONFFNEW",
    "UCF_FORCE_CONFFOLD",
    "SYSTEMD_LOG_LEVEL",
    "COMPOSE_ANSI",
    "COMPOSE_PROGRESS",
    "COMPOSE_PROJECT_NAME",
    "DOCKER_BUILDKIT",
    "DOCKER_CLI_HINTS",
    "SOURCE_DATE_EPOCH",
    "PGPASSWORD",
    "PGUSER",
    "PGDATABASE",
    "PGPORT",
    "PGCONNECT_TIMEOUT",
    "MYSQL_PWD",
    "REDISCLI_AUTH",
];

/// Names whose value is code, selects code, or is another system.
const CRITICAL: &[&str] = &[
    "PATH",
    "BASH_ENV",
    "ENV",
    "IFS",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "SHELLOPTS",
    "BASHOPTS",
    "PROMPT_COMMAND",
    "CDPATH",
    "GLOBIGNORE",
    "EXECIGNORE",
    "SHELL",
    "HOME",
    "HISTFILE",
    "INPUTRC",
    "LESSOPEN",
    "LESSCLOSE",
    "LESS",
    "LESSKEY",
    "MORE",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "SUDO_ASKPASS",
    "SSH_ASKPASS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "RUBYOPT",
    "RUBYLIB",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "CLASSPATH",
    "GCONV_PATH",
    "TERMINFO",
    "TERMINFO_DIRS",
    "TERMCAP",
    "MANOPT",
    "MANPATH",
    "MANROFFOPT",
    "TAR_OPTIONS",
    "GZIP",
    "ZIPOPT",
    "UNZIP",
    "XZ_OPT",
    "XZ_DEFAULTS",
    "BZIP2",
    "RSYNC_RSH",
    "RSYNC_CONNECT_PROG",
    "CVS_RSH",
    "WGETRC",
    "CURL_HOME",
    "APT_CONFIG",
    "DPKG_ADMINDIR",
    "DPKG_ROOT",
    "KUBECONFIG",
    "AWKPATH",
    "AWKLIBPATH",
    "MAKEFLAGS",
    "MFLAGS",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "RES_OPTIONS",
    "NLSPATH",
    "MALLOC_CHECK_",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "KRB5_CONFIG",
    "FPATH",
    "ZDOTDIR",
    "MAIL",
    "MAILPATH",
    "TMPDIR",
    "TEMP",
    "TMP",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DBUS_SESSION_BUS_ADDRESS",
    "SYSTEMD_EDITOR",
    "SYSTEMD_PAGER",
    "SYSTEMD_LESS",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "BASH_XTRACEFD",
    "BASH_CMDS",
    "BASH_ALIASES",
    "PERLLIB",
    "PARALLEL",
    "FCEDIT",
    "PSQLRC",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "RIPGREP_CONFIG_PATH",
    "PSQL_EDITOR",
    "MYSQL_HOME",
    "SQLITE_HISTORY",
    "SCREENRC",
    "TMUX",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_DIRS",
    "LVM_SYSTEM_DIR",
    "ZPOOL_SCRIPTS_PATH",
    "ZPOOL_SCRIPTS_AS_ROOT",
    "BPFTRACE_CACHE_USER_SYMBOLS",
];

/// Beginnings of such names.
const CRITICAL_PREFIX: &[&str] = &[
    "LD_",
    "DYLD_",
    "LUA_",
    "BASH_FUNC_",
    "GIT_",
    "PERL5",
    "PYTHON",
    "SSH_",
    "NPM_CONFIG_",
    "npm_config_",
    "PIP_",
    "GLIBC_",
];

/// Endings of such names.
const CRITICAL_SUFFIX: &[&str] = &["PAGER", "EDITOR", "_HOST", "_RSH", "_ASKPASS", "_PRELOAD", "_PROXY", "_proxy"];

/// Whether a variable selects what code other commands run.
pub fn is_critical(name: &str) -> bool {
    CRITICAL.contains(&name)
        || NUMBERS.contains(&name)
        || CRITICAL_PREFIX.iter().any(|prefix| name.starts_with(prefix))
        || CRITICAL_SUFFIX.iter().any(|suffix| name.ends_with(suffix))
}

/// Variables that bash keeps as numbers: it evaluates what they are given as arithmetic, and so executes what is in it.
const NUMBERS: &[&str] =
    &["RANDOM", "SRANDOM", "SECONDS", "OPTIND", "LINENO", "HISTCMD", "BASHPID", "PPID", "UID", "EUID"];

fn is_inert(name: &str) -> bool {
    name.starts_with("LC_") || INERT.contains(&name)
}

/// The class of giving `name` this value; `value` is `None` when it is not known.
/// `prefix` marks an environment for one command; otherwise it is a shell variable.
pub fn class_of(name: &str, value: Option<&str>, prefix: bool) -> Risk {
    if is_inert(name) {
        return Risk::ReadOnly;
    }
    if NUMBERS.contains(&name) {
        let digits = value.is_some_and(|value| value.bytes().all(|b| b.is_ascii_digit()));
        return if digits { Risk::ReadOnly } else { Risk::Destructive };
    }
    if let Some(value) = value
        && harmless_value(name, value)
    {
        return Risk::ReadOnly;
    }
    if name == "IFS" {
        // It changes how words split, which the judgement takes into account.
        return if prefix { Risk::ReadOnly } else { Risk::ConfigMutation };
    }
    if matches!(name, "http_proxy" | "https_proxy" | "no_proxy" | "HTTP_PROXY" | "HTTPS_PROXY" | "NO_PROXY" | "TMPDIR")
    {
        return Risk::ConfigMutation;
    }
    if is_critical(name) {
        return Risk::Destructive;
    }
    if prefix { Risk::ConfigMutation } else { Risk::ReadOnly }
}

/// Values that are plainly harmless for names that otherwise are not.
fn harmless_value(name: &str, value: &str) -> bool {
    match name {
        "PAGER" | "SYSTEMD_PAGER" | "GIT_PAGER" | "MANPAGER" => matches!(value, "" | "cat" | "/bin/cat"),
        "LESS" => value.is_empty(),
        "PATH" => value.split(':').all(|part| super::paths::TRUSTED.contains(&part) || part == "$PATH"),
        "HOME" => matches!(value, "/root"),
        "SHELL" => matches!(value, "/bin/sh" | "/bin/bash"),
        "GIT_TERMINAL_PROMPT" => matches!(value, "0" | "1"),
        "HISTFILE" => matches!(value, "" | "/dev/null"),
        _ => false,
    }
}

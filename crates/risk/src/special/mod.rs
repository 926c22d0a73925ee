//! Rules for commands whose grammar no table can hold: languages, expressions, builtins.
//!
//! A rule judges one command. `raw` rules read the argument vector themselves, `read` rules get it read by the table.

mod application;
mod apt;
mod awk;
mod builtin;
mod database;
mod docker;
mod expression;
mod fetch;
mod interpreter;
mod looking;
mod mongo;
mod named_code;
mod proxmox;
mod raid;
mod redis;
mod sed;
mod shell;
mod storage;
mod target;
mod value;

use super::{judge::Judge, rule::Case, word::Word};

/// Rules that read their words themselves; false when there is no such rule.
pub fn raw(judge: &mut Judge, rule: &str, argv: &[Word<'_>]) -> bool {
    match rule {
        "cd" => builtin::cd(judge, argv),
        "shift" => builtin::shift(judge, argv),
        "mapfile" => builtin::mapfile(judge, argv),
        "kill" => builtin::kill(judge, argv),
        "kill-by-name" => builtin::kill_by_name(judge, argv),
        "usermod" => builtin::usermod(judge, argv),
        "test" => builtin::test(judge, argv),
        "printf" => builtin::printf(judge, argv),
        "declare" => builtin::declare(judge, argv),
        "read" => builtin::read(judge, argv),
        "set" => builtin::set(judge, argv),
        "eval" => builtin::eval(judge, argv),
        "exec" => builtin::exec(judge, argv),
        "let" => builtin::arithmetic(judge, argv),
        "find" => expression::find(judge, argv),
        "nft" => expression::nft(judge, argv),
        "ip" => expression::ip(judge, argv),
        "flock" => return shell::flock(judge, argv),
        "su" => shell::su(judge, argv),
        "dd" => storage::dd(judge, argv),
        "tar" => return storage::tar(judge, argv),
        _ => return false,
    }
    true
}

/// Rules for words that the table has read; false when there is no such rule.
pub fn read(judge: &mut Judge, rule: &str, case: &Case<'_, '_, '_>) -> bool {
    match rule {
        "shell" => shell::shell(judge, case),
        "source" => shell::source(judge, case),
        "xargs" => shell::xargs(judge, case),
        "sed" => sed::sed(judge, case),
        "awk" => awk::awk(judge, case),
        "interpreter" if application::php_console(judge, case) => {}
        "interpreter" => interpreter::interpreter(judge, case),
        "fetch" => fetch::fetch(judge, case),
        "move" => storage::move_files(judge, case),
        "truncating" => storage::truncating(judge, case),
        "recursive-mode" => storage::recursive_mode(judge, case),
        "pager" => value::pager(judge, case),
        "script" => value::script(judge, case),
        "interval" => value::interval(judge, case),
        "sql" => database::sql(judge, case),
        "redis" => redis::redis(judge, case),
        "copy-away" => value::copy_away(judge, case),
        "s-client" => fetch::s_client(judge, case),
        "umount" => storage::umount(judge, case),
        "parted" => storage::parted(judge, case),
        "git" => value::git(judge, case),
        "mount" => storage::mount(judge, case),
        "docker-cp" => docker::docker_cp(judge, case),
        "date" => value::date(judge, case),
        "service" => value::service(judge, case),
        "sysctl" => value::sysctl(judge, case),
        "ping" => value::ping(judge, case),
        "net-tool" => value::net_tool(judge, case),
        "rsync" => value::rsync(judge, case),
        "docker-inspect" => docker::docker_inspect(judge, case),
        "one-command" => looking::one_command(judge, case),
        "devices" => looking::devices(judge, case),
        "taskset" => looking::taskset(judge, case),
        "compose" => docker::compose(judge, case),
        "applet" => application::applet(judge, case),
        "lxc-attach" => docker::lxc_attach(judge, case),
        "pvesh" => proxmox::pvesh(judge, case),
        "qm-guest-cmd" => proxmox::guest_command(judge, case),
        "firewall" => expression::firewall(judge, case),
        "raid" => raid::raid(judge, case),
        "sends-input" => target::sends_input(judge, case),
        _ => return false,
    }
    true
}

/// The names of the rules for single values.
pub const VALUES: &[&str] = &[
    "ssh-option",
    "apt-option",
    "header",
    "socket",
    "bind",
    "run-property",
    "run-environment",
    "features",
    "mountpoint",
    "delete",
    "prune",
    "disk",
    "span",
    "database",
    "program-file",
    "smart-log",
    "unset",
    "apt-package",
    "kube-resource",
    "setting",
    "kube-path",
    "kubeconfig",
    "hypervisor",
    "router-line",
    "mongo",
    "peer",
    "debugfs",
    "show",
    "jump",
    "archive",
    "checkpoint",
    "dd-operand",
    "growth",
    "zfs-property",
    "sent-file",
    "format",
    "document",
    "picture",
    "shell-option",
    "macro",
    "trace-file",
    "config",
    "git-source",
    "git-setting",
];

/// Judges an option's value by the rule of this name.
pub fn value(judge: &mut Judge, rule: &str, case: &Case<'_, '_, '_>, word: &Word<'_>) {
    match rule {
        "ssh-option" => value::ssh_option(judge, word),
        "apt-option" => apt::option(judge, word),
        "header" => value::header(judge, word),
        "socket" => value::socket(judge, word),
        "bind" => docker::bind(judge, word),
        "run-property" => value::run_property(judge, word),
        "run-environment" => value::run_environment(judge, word),
        "features" => proxmox::features(judge, word),
        "mountpoint" => proxmox::mountpoint(judge, word),
        "delete" => proxmox::delete(judge, case, word),
        "prune" => proxmox::prune(judge, word),
        "apt-package" => value::apt_package(judge, word),
        "program-file" => value::program_file(judge, word),
        "database" => value::database(judge, word),
        "span" => value::span(judge, word),
        "smart-log" => value::smart_log(judge, word),
        "unset" => value::unset(judge, word),
        "kube-resource" => application::kube_resource(judge, case, word),
        "setting" => application::setting(judge, case, word),
        "kube-path" => application::kube_path(judge, word),
        "kubeconfig" => application::kubeconfig(judge, word),
        "router-line" => application::router_line(judge, word),
        "mongo" => mongo::eval(judge, word),
        "hypervisor" => application::hypervisor(judge, word),
        "disk" => proxmox::disk(judge, word),
        "debugfs" => storage::debugfs(judge, word),
        "show" => looking::show(judge, word),
        "jump" => looking::jump(judge, word),
        "peer" => looking::peer(judge, case, word),
        "archive" => target::archive(judge, case, word),
        "checkpoint" => target::checkpoint(judge, word),
        "dd-operand" => target::dd_operand(judge, case, word),
        "growth" => target::growth(judge, case, word),
        "zfs-property" => target::zfs_property(judge, word),
        "sent-file" => target::sent_file(judge, case, word),
        "format" => named_code::format(judge, case, word),
        "document" => named_code::document(judge, case, word),
        "picture" => named_code::picture(judge, case, word),
        "shell-option" => named_code::shell_option(judge, case, word),
        "macro" => named_code::macro_name(judge, case, word),
        "config" => named_code::config(judge, case, word),
        "git-source" => named_code::git_source(judge, word),
        "git-setting" => named_code::git_setting(judge, case, word),
        "trace-file" => named_code::trace_file(judge, case, word),
        _ => {}
    }
}

//! Commands: which one an argument vector names, its entry in the tables, and what it does by the rule of that entry.
//!
//! Most commands are judged by the general rule. Languages, expressions and builtins of the shell have rules of their
//! own; a rule judges one command. A command may run another one, so rules come back to [`judge_argv`]. Files are named
//! after the table family that uses them.

mod apt;
mod awk;
mod clusters;
mod containers;
mod coreutils;
mod databases;
mod development;
mod fetch;
mod find;
mod firewall;
mod general;
mod interpreters;
mod ip;
mod mongo;
mod named_code;
mod nested;
mod network;
mod operand;
mod orchestration;
mod packages;
mod proxmox;
mod raid;
mod redis;
mod request;
mod sed;
mod shell;
mod shells;
mod statements;
mod storage;
mod suspect;
mod system;
mod systemd;
mod target;
mod text;
mod wrappers;

use crate::{
    Risk,
    context::{Findings, Scope, Shell},
    facts::{guests, paths},
    invocation::Invocation,
    tables::{CallRule, Entry, Rule, ValueRule, WordRule},
    words::{Value, Word, output},
};

/// The most commands that run one another (`sudo timeout nice …`).
const MAX_WRAPPERS: usize = 10;

/// Judges the command that this argument vector names.
pub fn judge_argv(argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    let Some(head) = argv.first() else { return };
    if !findings.count_command(scope) {
        return;
    }
    if scope.wrappers() > MAX_WRAPPERS {
        return findings.not_understood(scope, "shell:too-complex", "more wrappers than anybody needs", None);
    }
    let mut inner = scope.wrapped();
    judge_by_head(head, argv, &mut inner, findings);
    scope.continue_after(inner);
}

fn judge_by_head(head: &Word<'_>, argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    if let Some(guest) = guests::of_command(argv) {
        findings.name_processes([guest.clone()]);
        findings.name_guests([guest]);
    }
    let makes_option = |word: &Word<'_>| word.brace && (word.text.starts_with('-') || word.value != Value::Known);
    if head.brace || argv.iter().any(makes_option) {
        findings.add(scope, Risk::Destructive, "shell:computed-option", "a brace expansion makes an option", None);
    }
    let Some(text) = head.literal().filter(|_| !head.expanded && !head.glob) else {
        return findings.add(
            scope,
            Risk::Destructive,
            "shell:computed-command",
            "which command runs is not known",
            Some("name the command literally"),
        );
    };
    let beyond_ascii = |word: &Word<'_>| word.text.starts_with('-') && !word.text.replace(output::PLAIN, "").is_ascii();
    if !text.is_ascii() || argv.iter().any(beyond_ascii) {
        return findings.add(
            scope,
            Risk::Destructive,
            "shell:lookalike",
            "a command or option with letters beyond ASCII",
            None,
        );
    }
    match paths::command_name(text, scope.tables()) {
        Some(name) => judge_by_name(&name, argv, scope, findings),
        None => judge_program_file(text, argv, scope, findings),
    }
}

fn judge_by_name(name: &str, argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    let tables = scope.tables();
    if let Some(entry) = tables.command(name) {
        return judge_by_entry(entry, argv, scope, findings);
    }
    if let Some((entry, words)) = git_program(name, argv, tables.command("git")) {
        return judge_by_entry(entry, &words, scope, findings);
    }
    findings.add(scope, Risk::ConfigMutation, format!("{name}:unknown"), format!("{name} is not in the tables"), None);
    suspect::program(name, argv, scope, findings);
}

/// `git-clean -n` is `git clean -n`.
fn git_program<'e, 'w>(
    name: &'w str,
    argv: &'w [Word<'_>],
    git: Option<&'e Entry>,
) -> Option<(&'e Entry, Vec<Word<'w>>)> {
    let verb = name.strip_prefix("git-")?;
    let mut words = vec![Word::known("git"), Word::known(verb)];
    words.extend(argv[1..].iter().map(Word::borrow));
    Some((git?, words))
}

/// A file that is executed: what is in it is not known.
fn judge_program_file(path: &str, argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    let risk = if scope.on_host() { Risk::Destructive } else { Risk::ConfigMutation };
    findings.add(scope, risk, "shell:program-file", format!("{path} is code that is not known"), None);
    suspect::program(path.rsplit('/').next().unwrap_or(path), argv, scope, findings);
}

/// Judges a command by its entry in the tables.
fn judge_by_entry(entry: &Entry, argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) {
    if let Some(Rule::Words(rule)) = entry.form.rule
        && judge_words(rule, argv, scope, findings)
    {
        return;
    }
    let name = argv.first().map_or(entry.name, |word| word.text.rsplit('/').next().unwrap_or(&word.text));
    let call = Invocation::read(entry, name, argv);
    match call.form().rule {
        Some(Rule::Call(rule)) => judge_call(rule, &call, scope, findings),
        Some(Rule::Words(_)) | None => general::general(&call, scope, findings),
    }
}

/// Judges a command whose words the rule reads itself; false when the table goes on.
pub(crate) fn judge_words(rule: WordRule, argv: &[Word<'_>], scope: &mut Scope, findings: &mut Findings) -> bool {
    match rule {
        WordRule::Cd => shell::cd(argv, scope, findings),
        WordRule::Shift => shell::shift(argv, scope, findings),
        WordRule::Mapfile => shell::mapfile(argv, scope, findings),
        WordRule::Kill => system::kill(argv, scope, findings),
        WordRule::KillByName => system::kill_by_name(argv, scope, findings),
        WordRule::Usermod => system::usermod(argv, scope, findings),
        WordRule::Test => shell::test(argv, scope, findings),
        WordRule::Printf => shell::printf(argv, scope, findings),
        WordRule::Declare => shell::declare(argv, scope, findings),
        WordRule::Read => shell::read(argv, scope, findings),
        WordRule::Set => shell::set(argv, scope, findings),
        WordRule::Eval => shell::eval(argv, scope, findings),
        WordRule::Exec => shell::exec(argv, scope, findings),
        WordRule::Let => shell::arithmetic(argv, scope, findings),
        WordRule::Getopts => shell::getopts(argv, scope, findings),
        WordRule::Find => find::find(argv, scope, findings),
        WordRule::Nft => firewall::nft(argv, scope, findings),
        WordRule::Ip => ip::ip(argv, scope, findings),
        WordRule::Flock => return wrappers::flock(argv, scope, findings),
        WordRule::Su => wrappers::su(argv, scope, findings),
        WordRule::Runuser => wrappers::runuser(argv, scope, findings),
        WordRule::Dd => coreutils::dd(argv, scope, findings),
        WordRule::Tar => return storage::tar(argv, scope, findings),
    }
    true
}

/// Judges a command whose options and operands are told apart.
fn judge_call(rule: CallRule, call: &Invocation<'_, '_, '_>, scope: &mut Scope, findings: &mut Findings) {
    match rule {
        CallRule::Shell => shells::shell(call, Shell::Sh, scope, findings),
        CallRule::Bash => shells::shell(call, Shell::Bash, scope, findings),
        CallRule::Source => shells::source(call, scope, findings),
        CallRule::Xargs => wrappers::xargs(call, scope, findings),
        CallRule::Sed => sed::sed(call, scope, findings),
        CallRule::Awk => awk::awk(call, scope, findings),
        CallRule::Interpreter => interpreters::interpreter(call, scope, findings),
        CallRule::Php => interpreters::php(call, scope, findings),
        CallRule::Fetch => fetch::fetch(call, scope, findings),
        CallRule::Download => fetch::download(call, scope, findings),
        CallRule::Move => coreutils::move_files(call, scope, findings),
        CallRule::Truncating => coreutils::truncating(call, scope, findings),
        CallRule::Link => coreutils::link(call, scope, findings),
        CallRule::RecursiveAcl => coreutils::recursive_acl(call, scope, findings),
        CallRule::RecursiveMode => coreutils::recursive_mode(call, scope, findings),
        CallRule::Pager => text::pager(call, scope, findings),
        CallRule::Script => wrappers::script(call, scope, findings),
        CallRule::Interval => system::interval(call, scope, findings),
        CallRule::Sql => databases::sql(call, scope, findings),
        CallRule::Sqlite => databases::sqlite(call, scope, findings),
        CallRule::Redis => redis::redis(call, scope, findings),
        CallRule::CopyAway => network::copy_away(call, scope, findings),
        CallRule::SClient => network::s_client(call, scope, findings),
        CallRule::Umount => storage::umount(call, scope, findings),
        CallRule::Git => development::git(call, scope, findings),
        CallRule::Mount => storage::mount(call, scope, findings),
        CallRule::DockerCp => containers::docker_cp(call, scope, findings),
        CallRule::Date => coreutils::date(call, scope, findings),
        CallRule::Service => systemd::service(call, scope, findings),
        CallRule::Sysctl => systemd::sysctl(call, scope, findings),
        CallRule::Ping => network::ping(call, scope, findings),
        CallRule::Rsync => network::rsync(call, scope, findings),
        CallRule::DockerInspect => containers::docker_inspect(call, scope, findings),
        CallRule::OneCommand => orchestration::one_command(call, scope, findings),
        CallRule::Devices => raid::devices(call, scope, findings),
        CallRule::Taskset => wrappers::taskset(call, scope, findings),
        CallRule::Compose => containers::compose(call, scope, findings),
        CallRule::Applet => clusters::applet(call, scope, findings),
        CallRule::LxcAttach => containers::lxc_attach(call, scope, findings),
        CallRule::Pvesh => proxmox::pvesh(call, scope, findings),
        CallRule::QmGuestCmd => proxmox::guest_command(call, scope, findings),
        CallRule::Firewall => firewall::firewall(call, scope, findings),
        CallRule::Raid => raid::raid(call, scope, findings),
        CallRule::Megacli => raid::megacli(call, scope, findings),
        CallRule::Ssacli => raid::ssacli(call, scope, findings),
        CallRule::SendsInput => target::sends_input(call, scope, findings),
    }
}

/// Judges a single operand or option's value.
fn judge_value(
    rule: ValueRule,
    call: &Invocation<'_, '_, '_>,
    word: &Word<'_>,
    scope: &Scope,
    findings: &mut Findings,
) {
    match rule {
        ValueRule::SshOption => network::ssh_option(word, scope, findings),
        ValueRule::AptOption => apt::option(word, scope, findings),
        ValueRule::Header => request::header(word, scope, findings),
        ValueRule::Socket => request::socket(word, scope, findings),
        ValueRule::Bind => containers::bind(word, scope, findings),
        ValueRule::RunProperty => systemd::run_property(word, scope, findings),
        ValueRule::RunEnvironment => systemd::run_environment(word, scope, findings),
        ValueRule::Features => proxmox::features(word, scope, findings),
        ValueRule::Mountpoint => proxmox::mountpoint(word, scope, findings),
        ValueRule::Delete => proxmox::delete(call, word, scope, findings),
        ValueRule::Prune => proxmox::prune(word, scope, findings),
        ValueRule::AptPackage => packages::apt_package(word, scope, findings),
        ValueRule::ProgramFile => development::program_file(word, scope, findings),
        ValueRule::Database => system::database(word, scope, findings),
        ValueRule::Span => coreutils::span(word, scope, findings),
        ValueRule::SmartLog => raid::smart_log(word, scope, findings),
        ValueRule::Unset => wrappers::unset(word, scope, findings),
        ValueRule::KubeResource => clusters::kube_resource(call, word, scope, findings),
        ValueRule::Setting => clusters::setting(call, word, scope, findings),
        ValueRule::KubePath => clusters::kube_path(word, scope, findings),
        ValueRule::Kubeconfig => clusters::kubeconfig(word, scope, findings),
        ValueRule::RouterLine => orchestration::router_line(word, scope, findings),
        ValueRule::Mongo => mongo::eval(word, scope, findings),
        ValueRule::Hypervisor => orchestration::hypervisor(word, scope, findings),
        ValueRule::Disk => proxmox::disk(word, scope, findings),
        ValueRule::Debugfs => storage::debugfs(word, scope, findings),
        ValueRule::Jump => network::jump(word, scope, findings),
        ValueRule::Peer => orchestration::peer(call, word, scope, findings),
        ValueRule::Archive => target::archive(call, word, scope, findings),
        ValueRule::ArchiveAnywhere => target::archive_anywhere(call, word, scope, findings),
        ValueRule::Checkpoint => target::checkpoint(word, scope, findings),
        ValueRule::DdOperand => target::dd_operand(call, word, scope, findings),
        ValueRule::Growth => target::growth(call, word, scope, findings),
        ValueRule::ZfsProperty => target::zfs_property(word, scope, findings),
        ValueRule::SentFile => target::sent_file(call, word, scope, findings),
        ValueRule::Format => named_code::format(call, word, scope, findings),
        ValueRule::Document => named_code::document(call, word, scope, findings),
        ValueRule::Picture => named_code::picture(call, word, scope, findings),
        ValueRule::ShellOption => named_code::shell_option(call, word, scope, findings),
        ValueRule::Macro => named_code::macro_name(call, word, scope, findings),
        ValueRule::TraceFile => named_code::trace_file(call, word, scope, findings),
        ValueRule::Config => named_code::config(call, word, scope, findings),
        ValueRule::NtpQuery => system::ntp_query(word, scope, findings),
        ValueRule::Site => development::site(word, scope, findings),
        ValueRule::Profile => clusters::profile(call, word, scope, findings),
        ValueRule::GitRefspec => named_code::git_refspec(word, scope, findings),
        ValueRule::HaState => proxmox::ha_state(word, scope, findings),
        ValueRule::GitSource => named_code::git_source(word, scope, findings),
        ValueRule::GitSetting => named_code::git_setting(call, word, scope, findings),
    }
}

//! Named lists of words, and API paths with the class of each call.
//!
//! A list holds what a rule or the engine must know and no row of a command can say: the code asks whether a word is in
//! the list and knows no member by name, so that the flip test reaches each.

use std::sync::Arc;

use super::{Effect, Tables, pattern::Argument, rule::named};

named! {
    /// The lists that the code asks for. A list that no table defines is a fault.
    ListName:
    EnvironmentInert = "environment-inert", EnvironmentCritical = "environment-critical",
    EnvironmentNumbers = "environment-numbers", EnvironmentSetting = "environment-setting",
    EnvironmentHarmless = "environment-harmless",
    RedisReads = "redis-reads",
    RedisChanges = "redis-changes",
    RedisSecrets = "redis-secrets",
    RedisFeeds = "redis-feeds",
    RedisSettings = "redis-settings",
    RedisReports = "redis-reports",
    MongoReads = "mongo-reads",
    MongoAsks = "mongo-asks",
    SqlCalls = "sql-calls",
    SqlNotQuery = "sql-not-query",
    SqlLoses = "sql-loses",
    SqlQueries = "sql-queries",
    SqlShows = "sql-shows",
    SqlChanges = "sql-changes",
    SqlWideRights = "sql-wide-rights",
    SqlSecrets = "sql-secrets",
    SqlMeta = "sql-meta",
    NtpQueries = "ntp-queries",
    MegacliReads = "megacli-reads",
    MegacliWords = "megacli-words",
    SsacliShows = "ssacli-shows",
    SsacliObjects = "ssacli-objects",
    UnitsAccess = "units-access",
    UnitsNode = "units-node",
    UnitsPower = "units-power",
    UnitsRestart = "units-restart",
    PackagesCritical = "packages-critical",
    SuspectLoss = "suspect-loss",
    SuspectVerbs = "suspect-verbs",
    SuspectCode = "suspect-code",
    SuspectDevices = "suspect-devices",
    SuspectDirectories = "suspect-directories",
    PathsTrusted = "paths-trusted",
    PathsSecret = "paths-secret",
    PathsSecretEndings = "paths-secret-endings",
    PathsSecretNames = "paths-secret-names",
    PathsSecretFiles = "paths-secret-files",
    PathsFatal = "paths-fatal",
    PathsFatalFiles = "paths-fatal-files",
    PathsFatalOnNode = "paths-fatal-on-node",
    PathsDatabase = "paths-database",
    PathsSettings = "paths-settings",
    PathsSinks = "paths-sinks",
    PathsTemporary = "paths-temporary",
    SshOptions = "ssh-options",
    DebugfsReads = "debugfs-reads",
    UmountKept = "umount-kept",
    ProgramDestroys = "program-destroys",
    PhpConsoles = "php-consoles",
    FindValues = "find-values",
    FindFlags = "find-flags",
    FindSecrets = "find-secrets",
    ProcessesKept = "processes-kept",
    GroupsRoot = "groups-root",
    BindsRefused = "binds-refused",
    SysctlFatal = "sysctl-fatal",
    SourcedFiles = "sourced-files",
    DdOperands = "dd-operands",
    PveshDangerous = "pvesh-dangerous",
    PveshDangerousNumbered = "pvesh-dangerous-numbered",
    PveshFetches = "pvesh-fetches",
    PveshSecrets = "pvesh-secrets",
    AgentReads = "agent-reads",
    AgentChanges = "agent-changes",
    GuestSettings = "guest-settings",
    CounterFiles = "counter-files",
    DateFields = "date-fields",
    IpObjects = "ip-objects",
    IpVerbs = "ip-verbs",
    IpReads = "ip-reads",
    IpAdds = "ip-adds",
    IpSets = "ip-sets",
    IpRefuses = "ip-refuses",
    IpCuts = "ip-cuts",
    RouterReads = "router-reads",
    RouterChanges = "router-changes",
    AptHarmless = "apt-harmless",
    AptTransfer = "apt-transfer",
    AptLoses = "apt-loses",
    AptDryRun = "apt-dry-run",
    DpkgForces = "dpkg-forces",
    SqlPragmas = "sql-pragmas", SqlPragmaQuestions = "sql-pragma-questions",
    GitCodeSettings = "git-code-settings",
    DocumentPrograms = "document-programs",
    PictureFormats = "picture-formats",
    ShellOptions = "shell-options",
    ReliedOnTables = "relied-on-tables",
    CheckpointActions = "checkpoint-actions",
    PlainLogs = "plain-logs",
    SuShells = "su-shells",
}

impl Tables {
    /// Whether a list holds a word. A `*` at the end or beginning of a member stands for any text.
    pub fn lists(&self, list: ListName, word: &str) -> bool {
        self.members(list).iter().any(|member| is_member(member, word))
    }

    /// The members of a list, as the table writes them.
    pub fn members(&self, list: ListName) -> &[&'static str] {
        self.lists.get(list as usize).map_or(&[], |members| members.as_slice())
    }

    /// The class of a call of an API, when a template matches its verb and path.
    pub fn api_call(&self, verb: &str, path: &str) -> Option<Effect> {
        let matching = self.paths.iter().filter(|template| template.verb == verb && template.matches(path));
        matching.map(|template| template.effect).reduce(Effect::join)
    }

    /// Whether a call of these words prints this.
    pub fn prints(&self, what: Prints, words: &[Argument<'_>]) -> bool {
        self.prints.iter().any(|(printed, pattern)| *printed == what && pattern.matches(words))
    }

    /// Whether it is known of some call of this command what it prints.
    pub fn knows_output_of(&self, name: &str) -> bool {
        self.prints.iter().any(|(_, pattern)| pattern.begins_with(name))
    }

    pub(super) fn add_to_list(&mut self, list: ListName, words: impl Iterator<Item = &'static str>) {
        if self.lists.len() < ListName::ALL.len() {
            self.lists.resize_with(ListName::ALL.len(), Arc::default);
        }
        if let Some(members) = self.lists.get_mut(list as usize) {
            Arc::make_mut(members).extend(words);
        }
    }
}

fn is_member(member: &str, word: &str) -> bool {
    match member.as_bytes() {
        [b'*', _, ..] => word.ends_with(&member[1..]),
        [_, .., b'*'] => word.starts_with(&member[..member.len() - 1]),
        _ => member == word,
    }
}

named! {
    /// What a command prints, as far as other parts of a judgement rely on it.
    Prints:
    Number = "number", Measure = "measure", Files = "files", Lines = "lines", Program = "program", Part = "part",
    Name = "name", Date = "date", Temporary = "temporary", Template = "template", State = "state", Status = "status",
    SecondColumn = "second-column", Devices = "devices", FirstColumn = "first-column", SomeLines = "some-lines",
    FirstLines = "first-lines", Answer = "answer", Text = "text",
}

/// A call of an API: `path create /nodes/*/lxc = change`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathTemplate {
    /// The verb of the call.
    pub verb: &'static str,
    /// The path; `*` stands for one part of it.
    pub template: &'static str,
    /// What the call does.
    pub effect: Effect,
}

impl PathTemplate {
    fn matches(&self, path: &str) -> bool {
        let parts = |path: &'static str| path.split('/').filter(|part| !part.is_empty());
        let mut wanted = parts(self.template);
        let given = path.split('/').filter(|part| !part.is_empty());
        given.into_iter().all(|part| wanted.next().is_some_and(|want| want == "*" || want == part))
            && wanted.next().is_none()
    }
}

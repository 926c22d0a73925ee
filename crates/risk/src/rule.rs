//! The general rule: joins what a table says about a command, its verb, its options and its operands.
//!
//! Owns the meaning of the tables' words; must not know any single command.

use super::{
    Locus,
    effect::Effect,
    judge::{Input, Judge, Shell},
    nested,
    options::{self, Arguments, borrow},
    paths, special, suspicion,
    table::{Entry, Form, Kind, Takes},
    units,
    word::{Value, Word},
};
use crate::Risk;

/// A command that is being judged.
pub struct Case<'e, 'w, 'a> {
    /// Its table entry.
    pub entry: &'e Entry,
    /// The name under which it is called.
    pub name: &'w str,
    /// Its argument vector.
    pub argv: &'w [Word<'a>],
    /// The same, read.
    pub args: Arguments<'e, 'w>,
}

impl<'e> Case<'e, '_, '_> {
    /// The form that applies.
    pub fn form(&self) -> &'e Form {
        self.args.form(self.entry)
    }

    /// `command:verb`, or `command:what` when there is no verb.
    pub fn code(&self, what: &str) -> String {
        match self.args.verb {
            Some(verb) => format!("{}:{}", self.name, verb.name.replace(' ', "-")),
            None => format!("{}:{what}", self.name),
        }
    }

    /// Whether the command only shows what it would do: every option that says so, and says so truly.
    pub fn pretends(&self) -> bool {
        let args = &self.args;
        if !args.unlisted.is_empty() || args.computed || args.given.iter().any(|given| given.opt.effect.real_run) {
            return false;
        }
        let alone = args.verb.is_none() && args.operands.is_empty() && args.command.is_none() && args.no_verb.is_none();
        if alone && args.given.iter().any(|given| given.opt.effect.info) {
            return true;
        }
        let mut pretending = args.given.iter().filter(|given| given.opt.effect.dry_run).peekable();
        pretending.peek().is_some()
            && pretending.all(|given| matches!(given.opt.takes, Takes::Value(_)) || is_true(given.value.as_ref()))
    }

    /// Whether an option says that it ends by itself.
    pub fn ends(&self) -> bool {
        self.args.given.iter().any(|given| given.opt.effect.bounded)
    }

    /// Whether an option was given.
    pub fn has(&self, name: &str) -> bool {
        self.args.given.iter().any(|given| given.opt.name == name)
    }

    /// The value of the last such option.
    pub fn value(&self, names: &[&str]) -> Option<&Word<'_>> {
        self.args
            .given
            .iter()
            .rev()
            .find(|given| names.contains(&given.opt.name))
            .and_then(|given| given.value.as_ref())
    }
}

/// Judges a command by its entry.
pub fn judge(judge: &mut Judge, entry: &Entry, argv: &[Word<'_>]) {
    if let Some(rule) = entry.form.rule
        && special::raw(judge, rule, argv)
    {
        return;
    }
    let name = argv.first().map_or(entry.name, |word| word.text.rsplit('/').next().unwrap_or(&word.text));
    let case = Case { entry, name, argv, args: options::read(entry, argv) };
    if let Some(rule) = case.form().rule
        && special::read(judge, rule, &case)
    {
        return;
    }
    general(judge, &case);
}

/// The rule for all commands that have none of their own.
pub fn general(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    if !verb_is_certain(judge, case) {
        return;
    }
    let form = case.form();
    let mut effect = form.effect;
    let pretends = case.pretends();
    if pretends {
        effect.host = Risk::ReadOnly;
        effect.guest = Risk::ReadOnly;
    }
    if case.ends() {
        (effect.unbounded, effect.interactive, effect.runs_stdin) = (false, false, false);
    }
    if nested::runs_something(case) {
        // What it does alone (`env`, `lvm`) it does not do then.
        (effect.sensitive, effect.interactive, effect.runs_stdin) = (false, false, false);
    }
    report(judge, case, effect, form.hint);
    given_options(judge, case);
    unlisted(judge, case);
    doubt(judge, case);
    if !pretends {
        operands(judge, case);
        nested::nested(judge, case);
    }
}

/// Without a known verb nothing else can be said.
fn verb_is_certain(judge: &mut Judge, case: &Case<'_, '_, '_>) -> bool {
    let Some(words) = &case.args.no_verb else { return true };
    let known = !words.contains('…');
    let risk = if case.entry.prefixes || !known { Risk::Destructive } else { Risk::ConfigMutation };
    let risk = risk.max(judge.class(case.entry.form.effect));
    judge.find(
        risk,
        format!("{}:unknown-verb", case.name),
        format!("{words} is not one known verb of {}", case.name),
        Some("write the verb out"),
    );
    judge.suspect(case.name, case.argv);
    given_options(judge, case);
    false
}

fn is_true(value: Option<&Word<'_>>) -> bool {
    value.is_none_or(|word| {
        word.literal().is_some_and(|text| matches!(text, "" | "1" | "yes" | "true" | "on" | "client" | "server"))
    })
}

/// Joins an effect of the present command.
pub fn report(judge: &mut Judge, case: &Case<'_, '_, '_>, effect: Effect, hint: Option<&str>) {
    judge.flag(effect);
    if effect.runs_stdin && judge.input != Input::Closed {
        judge.find(Risk::Destructive, case.code("piped-code"), "executes what comes through a pipe", hint);
    }
    if effect.all_guests {
        judge.affects_guest(None);
    }
    let risk = judge.class(effect);
    if risk > Risk::ReadOnly || effect.unbounded || effect.interactive {
        let message = match risk {
            Risk::Destructive => "loses data or availability, or cannot be undone",
            Risk::ConfigMutation => "changes the system",
            Risk::ReadOnly if effect.unbounded => "does not end by itself",
            Risk::ReadOnly => "needs a person at a terminal",
        };
        judge.find(risk, case.code("change"), message, hint.or(way_out(effect)));
    }
}

/// What to do instead of something that nobody can wait for, when the table says nothing better.
pub fn way_out(effect: Effect) -> Option<&'static str> {
    match (effect.unbounded, effect.interactive) {
        (true, _) => Some("give it an end: a count if it takes one, or `timeout 30 …`"),
        (_, true) => Some("nobody is at the terminal: look for a form that prints and ends"),
        _ => None,
    }
}

/// Judges the options alone, for commands whose operands have a rule of their own.
pub fn options_only(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    given_options(judge, case);
    unlisted(judge, case);
}

fn given_options(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    let pretends = case.pretends();
    let ends = case.ends();
    for given in case.args.given.iter().filter(|given| !(pretends && given.opt.effect.skipped_in_dry_run)) {
        let mut effect = match given.opt.takes {
            Takes::Maybe(Kind::True) if !is_true(given.value.as_ref()) => Effect::READ,
            _ => given.opt.effect,
        };
        effect.unbounded &= !ends;
        judge.flag(effect);
        if effect.all_guests {
            judge.affects_guest(None);
        }
        let risk = judge.class(effect);
        if risk > Risk::ReadOnly || effect.unbounded || effect.interactive {
            let name = given.opt.name.trim_start_matches('-');
            let message = match (risk, effect.unbounded, effect.interactive) {
                (_, true, _) => format!("{} does not end by itself", shown(given.opt.name)),
                (_, _, true) => format!("{} needs a person at a terminal", shown(given.opt.name)),
                (Risk::Destructive, ..) => format!("{} executes something or loses data", shown(given.opt.name)),
                _ => format!("{} changes something", shown(given.opt.name)),
            };
            judge.find(risk, format!("{}:option-{name}", case.name), message, given.opt.hint.or(way_out(effect)));
        }
        let kind = match given.opt.takes {
            Takes::Nothing => continue,
            Takes::Value(kind) | Takes::Maybe(kind) => kind,
        };
        if let Some(value) = &given.value {
            word(judge, case, kind, value);
        }
    }
}

fn shown(name: &str) -> String {
    if name.starts_with('-') { name.to_owned() } else { format!("-{name}") }
}

fn unlisted(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    for option in &case.args.unlisted {
        // A misspelt or newer form of a dangerous option is no safer than the one that is known.
        let stem = option.get(..5).filter(|stem| stem.starts_with("--"));
        let all = case.form().options.iter().chain(&case.entry.form.options);
        let near = stem.is_some_and(|stem| {
            all.into_iter().any(|opt| judge.class(opt.effect) == Risk::Destructive && opt.name.starts_with(stem))
        });
        let suspected = near || suspicion::of_option(option, judge.locus).is_some();
        judge.find(
            if suspected { Risk::Destructive } else { Risk::ConfigMutation },
            format!("{}:unlisted-option", case.name),
            format!("{option} is not an option known to be harmless"),
            None,
        );
    }
}

fn doubt(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    if case.args.computed {
        judge.find(Risk::Destructive, "shell:computed-option", "which option is given is not known", None);
    }
    let inert = case.form().inert;
    let runs = case.form().operands.iter().any(|kind| matches!(kind, Kind::Command | Kind::Line));
    let harmless = match case.args.doubt {
        None => true,
        // A word that splits may become the nested command.
        Some(_) if runs && case.args.doubt_splits => false,
        Some(Value::Open) => inert && case.argv.iter().all(|word| word.value != Value::Open || word.glob),
        Some(_) => inert,
    };
    if !harmless {
        judge.find(
            Risk::ConfigMutation,
            format!("{}:unknown-word", case.name),
            "a word that is not known may be an option",
            Some("put -- before it, or write it out"),
        );
    }
}

fn operands(judge: &mut Judge, case: &Case<'_, '_, '_>) {
    let form = case.form();
    for (at, operand) in case.args.operands.iter().enumerate() {
        match form.operands.get(at).copied().or(form.rest) {
            Some(kind) => word(judge, case, kind, operand),
            None => judge.find(
                Risk::ConfigMutation,
                case.code("operand"),
                format!("{} is one operand more than is known to be harmless", operand.shown()),
                None,
            ),
        }
    }
}

/// Judges an operand or an option's value by its kind.
pub fn word(judge: &mut Judge, case: &Case<'_, '_, '_>, kind: Kind, word: &Word<'_>) {
    let name = case.name;
    let guest = judge.locus == Locus::Guest;
    match kind {
        Kind::Any | Kind::Num | Kind::True | Kind::Command | Kind::Line => {}
        Kind::Sid => {
            let vmid = word.text.rsplit(':').next().and_then(|id| id.split('-').next()).unwrap_or("").to_owned();
            judge.affects_guest(Some(&Word { text: vmid.into(), ..borrow(word) }));
        }
        Kind::Read => judge.reads(word),
        Kind::Name => {
            let asks_below = word.ending.contains('.') || word.text.contains("….");
            if word.substituted && asks_below {
                judge.find(Risk::Destructive, format!("{name}:sends-output"), "sends a command's output away", None);
            }
        }
        Kind::GuestFile => judge.elsewhere(Some(Kind::Within), |judge| judge.writes(word, name)),
        Kind::Write => judge.writes(word, name),
        Kind::Directory => judge.fills(word, name),
        Kind::Lose => lose(judge, name, word),
        Kind::Set => judge.find(Risk::ConfigMutation, case.code("set"), format!("sets {}", word.shown()), None),
        Kind::Destroy => {
            judge.find(Risk::Destructive, case.code("destroy"), format!("acts on {} for good", word.shown()), None)
        }
        Kind::Code => judge.find(Risk::Destructive, format!("{name}:code"), "executes code that is not judged", None),
        Kind::Shell => judge.nested_word(word, Shell::Sh, name),
        Kind::Host => {
            judge.affects_host(Some(word));
            judge.find(Risk::ConfigMutation, format!("{name}:other-system"), "acts on another system", None);
        }
        Kind::On => {
            let host = word.text.rsplit('@').next().unwrap_or("").to_owned();
            judge.affects_host(Some(&Word { text: host.into(), ..borrow(word) }));
            judge.find(Risk::ConfigMutation, format!("{name}:other-system"), "runs on another system", None);
            if judge.input != Input::Closed && judge.sensitive() {
                judge.find(Risk::Destructive, format!("{name}:sends-secret"), "sends a secret away", None);
            }
            if word.may_be_option() {
                judge.find(
                    Risk::Destructive,
                    format!("{name}:unknown-host"),
                    "which system is meant is not known",
                    None,
                );
            }
        }
        Kind::Vmid => {
            if judge.class(case.form().effect) > Risk::ReadOnly {
                judge.affects_guest(Some(word));
            }
        }
        Kind::Within => judge.affects_guest(Some(word)),
        Kind::Container => {}
        Kind::Checked(rule) => special::value(judge, rule, case, word),
        Kind::Unit | Kind::StopUnit | Kind::RestartUnit => {
            if let Some((risk, message)) = units::judge(kind, word, guest) {
                judge.find(risk, case.code("unit"), message, None);
            }
        }
        Kind::Package => {
            if word.text.ends_with('+') && !units::is_critical_package(&word.text) {
                return;
            }
            if units::is_critical_package(&word.text) || word.value != Value::Known {
                judge.find(Risk::Destructive, case.code("package"), "removes a package that the system needs", None);
            }
        }
        Kind::Url => {
            let local = ["http://127.", "http://localhost", "https://127.", "https://localhost"];
            if word.substituted && !local.iter().any(|begin| word.text.starts_with(begin)) {
                judge.find(
                    Risk::Destructive,
                    format!("{name}:sends-output"),
                    "sends a command's output to another system",
                    Some("write the URL out"),
                );
            } else if word.value >= Value::Data {
                judge.find(
                    Risk::ConfigMutation,
                    format!("{name}:unknown-url"),
                    "which URL is asked is not known",
                    None,
                );
            }
        }
        Kind::Mode => {
            if sets_identity(&word.text, guest) {
                judge.find(Risk::Destructive, format!("{name}:setuid"), "gives a program another user's rights", None);
            }
        }
    }
}

/// A file or directory is removed: only a literal path to something temporary is not a loss.
fn lose(judge: &mut Judge, name: &str, word: &Word<'_>) {
    // `"$tmp"/*` is everything when there is no $tmp.
    let wide = word.glob && word.expanded;
    let temporary = word.value == Value::Known && paths::is_temporary(&word.text) && !wide;
    let risk = if temporary { Risk::ConfigMutation } else { Risk::Destructive };
    let rest = word.ending.as_str();
    let message = match word.value {
        // `rm -rf "$directory"/data`
        Value::Data | Value::Open if word.text.is_empty() && rest.starts_with('/') => {
            format!("removes {}, which is {rest} if the part that is not known expands to nothing", word.shown())
        }
        _ if wide => format!("removes {}, which is everything if the variable expands to nothing", word.shown()),
        _ => format!("removes {}", word.shown()),
    };
    judge.find(risk, format!("{name}:remove"), message, None);
}

/// In a guest the group's identity alone is what shared directories have: `chmod 2775`.
fn sets_identity(mode: &str, guest: bool) -> bool {
    if mode.bytes().all(|b| b.is_ascii_digit()) {
        let special = mode.len().checked_sub(4).map_or(b'0', |at| mode.as_bytes()[at]);
        return !(matches!(special, b'0' | b'1') || guest && matches!(special, b'2' | b'3'));
    }
    mode.split(',').any(|part| part.contains('s') && !part.contains('-'))
}

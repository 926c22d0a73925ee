//! What a piece of a command does: the words that the tables use.

use crate::Risk;

/// A class and the properties beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The class on a host.
    pub host: Risk,
    /// The class in a guest.
    pub guest: Risk,
    /// Reads secrets.
    pub sensitive: bool,
    /// Does not end by itself.
    pub unbounded: bool,
    /// Wants a terminal.
    pub interactive: bool,
    /// The command only says what it would do (`--dry-run`).
    pub dry_run: bool,
    /// Takes `unbounded`, `interactive` and `runs_stdin` back.
    pub bounded: bool,
    /// Executes the commands that it reads from its standard input.
    pub runs_stdin: bool,
    /// Only prints information about itself (`--version`), when nothing else is given.
    pub info: bool,
    /// Takes `dry_run` back.
    pub real_run: bool,
    /// Does nothing in a dry run.
    pub skipped_in_dry_run: bool,
    /// Acts on every guest of the node.
    pub all_guests: bool,
    /// Takes the machine away: for good, if it happens later when nobody watches.
    pub power: bool,
}

impl Effect {
    /// Changes nothing. Never a default: who uses it says so.
    pub const READ: Effect = Effect {
        host: Risk::ReadOnly,
        guest: Risk::ReadOnly,
        sensitive: false,
        unbounded: false,
        interactive: false,
        dry_run: false,
        bounded: false,
        runs_stdin: false,
        info: false,
        real_run: false,
        skipped_in_dry_run: false,
        all_guests: false,
        power: false,
    };

    /// The same class everywhere.
    pub const fn of(risk: Risk) -> Effect {
        Effect { host: risk, guest: risk, ..Effect::READ }
    }

    /// The class that a word of the tables stands for.
    pub fn class(word: &str) -> Option<Effect> {
        Some(match word {
            "read" => Effect::READ,
            "change" => Effect::of(Risk::ConfigMutation),
            "destroy" => Effect::of(Risk::Destructive),
            "destroy/change" => Effect { guest: Risk::ConfigMutation, ..Effect::of(Risk::Destructive) },
            "power" => Effect { guest: Risk::ConfigMutation, power: true, ..Effect::of(Risk::Destructive) },
            _ => return None,
        })
    }

    /// The property that a word of the tables stands for. It stands beside a class and is none.
    pub fn property(word: &str) -> Option<Effect> {
        let none = Effect::READ;
        Some(match word {
            "bounded" => Effect { bounded: true, ..none },
            "runs-stdin" => Effect { interactive: true, runs_stdin: true, ..none },
            "info" => Effect { info: true, ..none },
            "real-run" => Effect { real_run: true, ..none },
            "skipped-in-dry-run" => Effect { skipped_in_dry_run: true, ..none },
            "all-guests" => Effect { all_guests: true, ..none },
            "sensitive" => Effect { sensitive: true, ..none },
            "unbounded" => Effect { unbounded: true, ..none },
            "interactive" => Effect { interactive: true, ..none },
            "dry-run" => Effect { dry_run: true, ..none },
            _ => return None,
        })
    }

    /// The worse class and every property of the two.
    pub fn join(self, other: Effect) -> Effect {
        Effect {
            host: self.host.max(other.host),
            guest: self.guest.max(other.guest),
            sensitive: self.sensitive | other.sensitive,
            unbounded: self.unbounded | other.unbounded,
            interactive: self.interactive | other.interactive,
            dry_run: self.dry_run | other.dry_run,
            bounded: self.bounded | other.bounded,
            runs_stdin: self.runs_stdin | other.runs_stdin,
            info: self.info | other.info,
            real_run: self.real_run | other.real_run,
            skipped_in_dry_run: self.skipped_in_dry_run | other.skipped_in_dry_run,
            all_guests: self.all_guests | other.all_guests,
            power: self.power | other.power,
        }
    }
}

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

impl Default for Effect {
    fn default() -> Self {
        Self::READ
    }
}

impl Effect {
    /// Changes nothing.
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

    /// The effect that a word of the tables stands for.
    pub fn word(word: &str) -> Option<Effect> {
        let read = Effect::READ;
        Some(match word {
            "read" => read,
            "change" => Effect::of(Risk::ConfigMutation),
            "destroy" => Effect::of(Risk::Destructive),
            "destroy/change" => Effect { host: Risk::Destructive, guest: Risk::ConfigMutation, ..read },
            "power" => Effect { host: Risk::Destructive, guest: Risk::ConfigMutation, power: true, ..read },
            "bounded" => Effect { bounded: true, ..read },
            "runs-stdin" => Effect { interactive: true, runs_stdin: true, ..read },
            "info" => Effect { info: true, ..read },
            "real-run" => Effect { real_run: true, ..read },
            "skipped-in-dry-run" => Effect { skipped_in_dry_run: true, ..read },
            "all-guests" => Effect { all_guests: true, ..read },
            "sensitive" => Effect { sensitive: true, ..read },
            "unbounded" => Effect { unbounded: true, ..read },
            "interactive" => Effect { interactive: true, ..read },
            "dry-run" => Effect { dry_run: true, ..read },
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

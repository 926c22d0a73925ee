//! What a piece of a command does: the words that the tables use.

use crate::api::Risk;

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
    pub endless: bool,
    /// Wants a terminal.
    pub interactive: bool,
    /// Undoes nothing, but only pretends: the command then changes nothing (`--dry-run`).
    pub pretend: bool,
    /// The command ends by itself after all, needs nobody and executes nothing that it reads.
    pub ends: bool,
    /// Executes the commands that it reads from its standard input.
    pub commands: bool,
    /// Only asks for something (`--version`), when nothing else is said.
    pub asks: bool,
    /// Takes `pretend` back.
    pub acts: bool,
    /// Does nothing where the command only pretends.
    pub held: bool,
    /// Acts on every guest of the node.
    pub everyone: bool,
    /// Takes the machine away: for good, if it happens later when nobody watches.
    pub power: bool,
}

impl Default for Effect {
    /// A command whose table line says nothing changes something.
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
        endless: false,
        interactive: false,
        pretend: false,
        ends: false,
        commands: false,
        asks: false,
        acts: false,
        held: false,
        everyone: false,
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
            "node" => Effect { host: Risk::Destructive, guest: Risk::ConfigMutation, ..read },
            "power" => Effect { host: Risk::Destructive, guest: Risk::ConfigMutation, power: true, ..read },
            "ends" => Effect { ends: true, ..read },
            "commands" => Effect { interactive: true, commands: true, ..read },
            "asks" => Effect { asks: true, ..read },
            "acts" => Effect { acts: true, ..read },
            "held" => Effect { held: true, ..read },
            "everyone" => Effect { everyone: true, ..read },
            "sensitive" => Effect { sensitive: true, ..read },
            "endless" => Effect { endless: true, ..read },
            "interactive" => Effect { interactive: true, ..read },
            "pretend" => Effect { pretend: true, ..read },
            _ => return None,
        })
    }

    /// Both.
    pub fn join(self, other: Effect) -> Effect {
        Effect {
            host: self.host.max(other.host),
            guest: self.guest.max(other.guest),
            sensitive: self.sensitive | other.sensitive,
            endless: self.endless | other.endless,
            interactive: self.interactive | other.interactive,
            pretend: self.pretend | other.pretend,
            ends: self.ends | other.ends,
            commands: self.commands | other.commands,
            asks: self.asks | other.asks,
            acts: self.acts | other.acts,
            held: self.held | other.held,
            everyone: self.everyone | other.everyone,
            power: self.power | other.power,
        }
    }
}

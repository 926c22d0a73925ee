//! What was found: a sink that only grows. Nothing in it lowers a class, takes a flag back or forgets a reason.
//!
//! A part of a script that must be looked at on its own gets [`Findings::part`], which is merged with
//! [`Findings::absorb`] when the part is done.

use std::{borrow::Cow, cell::RefCell, collections::BTreeSet, rc::Rc};

use super::{Scope, Script, Shell};
use crate::{Affected, Flags, Reason, Risk, Verdict, tables::Effect, words::Word};

/// The most commands that one judgement looks at.
const MAX_COMMANDS: usize = 300;
/// The most rounds of all loops of a text together that are judged one by one.
const MAX_ROUNDS: usize = 40;
/// The most reasons kept; the class takes all into account.
const MAX_REASONS: usize = 64;

/// Judges a text that a command hands to a shell.
///
/// Rules stand below the shell's grammar and do not import it: the grammar's entry is handed down to them here. It is
/// the one place where the judgement goes back up. Directories that the text enters are remembered in the scope:
/// whoever starts a new process passes a clone.
pub type JudgeScript = fn(Script<'_>, &mut Scope, &mut Findings);

/// What was found before a part began, as far as it matters within the part.
#[derive(Clone, Copy)]
struct Before {
    risk: Risk,
    sensitive: bool,
}

/// Work done so far; only counted up.
#[derive(Clone, Copy, Default)]
struct Work {
    commands: usize,
    rounds: usize,
    reparsed: usize,
}

/// What the whole script has shown so far, wherever in it; only added to.
#[derive(Default)]
struct Seen {
    /// Texts that hold a substitution: evaluated as arithmetic they execute it.
    evaluable: Vec<String>,
    /// Whether something that may hold them is evaluated.
    evaluates: bool,
    /// Names declared as maps, whose subscripts are plain texts.
    maps: Vec<String>,
    /// Guests whose processes a word names: a computed process may be one of theirs.
    processes: Vec<Affected>,
}

/// The collected findings.
pub struct Findings {
    risk: Risk,
    reasons: Vec<Reason>,
    affected: BTreeSet<Affected>,
    flags: Flags,
    /// Guests that words of the present command name, or of the substitutions in it.
    named: Vec<Affected>,
    work: Work,
    before: Before,
    seen: Rc<RefCell<Seen>>,
    /// The argument vector of the command that the present one runs in the end.
    innermost: Option<Rc<Vec<String>>>,
    judge_script: JudgeScript,
}

impl Findings {
    /// Nothing was looked at yet.
    pub fn new(judge_script: JudgeScript) -> Self {
        let before = Before { risk: Risk::ReadOnly, sensitive: false };
        Self::after(before, Work::default(), Rc::default(), judge_script)
    }

    fn after(before: Before, work: Work, seen: Rc<RefCell<Seen>>, judge_script: JudgeScript) -> Self {
        Self {
            risk: Risk::ReadOnly,
            reasons: Vec::new(),
            affected: BTreeSet::new(),
            flags: Flags::default(),
            named: Vec::new(),
            work,
            before,
            seen,
            innermost: None,
            judge_script,
        }
    }

    /// Findings of a part, which knows what was found before it.
    pub fn part(&self) -> Self {
        let before = Before { risk: self.risk_so_far(), sensitive: self.secrets_shown_so_far() };
        Self::after(before, self.work, Rc::clone(&self.seen), self.judge_script)
    }

    /// Findings of something that may not be executed at all: it is judged with a budget of its own.
    pub fn apart(&self) -> Self {
        let work = Work { reparsed: self.work.reparsed, ..Work::default() };
        Self { work, ..Self::new(self.judge_script) }
    }

    /// Takes in everything that was found in a part.
    pub fn absorb(&mut self, part: Findings) {
        self.risk = self.risk.max(part.risk);
        self.work = part.work;
        self.flags.sensitive |= part.flags.sensitive;
        self.flags.unbounded |= part.flags.unbounded;
        self.flags.interactive |= part.flags.interactive;
        if !part.named.is_empty() {
            self.named.extend(part.named);
        }
        if !part.affected.is_empty() {
            self.affected.extend(part.affected);
        }
        if self.reasons.is_empty() {
            self.reasons = part.reasons;
        } else {
            part.reasons.into_iter().for_each(|reason| self.push(reason));
        }
    }

    /// Judges a text that a command hands to a shell.
    pub fn judge_script(&mut self, script: Script<'_>, scope: &mut Scope) {
        (self.judge_script)(script, scope, self);
    }

    fn push(&mut self, reason: Reason) {
        let kept = self.reasons.len();
        if kept < MAX_REASONS || (reason.risk == Risk::Destructive && kept < 2 * MAX_REASONS) {
            self.reasons.push(reason);
        }
    }

    /// Records a finding about the present command.
    pub fn add(
        &mut self,
        scope: &Scope,
        risk: Risk,
        code: impl Into<String>,
        message: impl Into<Cow<'static, str>>,
        hint: Option<&str>,
    ) {
        self.risk = self.risk.max(risk);
        self.push(Reason {
            code: code.into(),
            risk,
            message: message.into().into_owned(),
            span: scope.span().cloned(),
            argv: scope.argv().to_vec(),
            hint: hint.map(str::to_owned),
        });
    }

    /// Records that a text was not understood. On a host it may act on any guest, also on a protected one.
    pub fn not_understood(
        &mut self,
        scope: &Scope,
        code: &str,
        message: impl Into<Cow<'static, str>>,
        hint: Option<&str>,
    ) {
        if scope.on_host() {
            self.affects(Affected::Unknown);
        }
        self.add(scope, Risk::Destructive, code, message, hint);
    }

    /// Syntax that sh reads differently is not ReadOnly where sh may read it.
    pub fn bash_only(&mut self, scope: &Scope, what: &str) {
        if scope.shell() == Shell::Sh {
            self.add(
                scope,
                Risk::ConfigMutation,
                "shell:bash-only",
                format!("{what} means something else to sh"),
                Some("use plain sh syntax, or bash -c '…'"),
            );
        }
    }

    /// Whether nothing was found, not even a proof.
    pub fn is_empty(&self) -> bool {
        self.reasons.is_empty()
    }

    /// The class of what was found here.
    pub fn risk(&self) -> Risk {
        self.risk
    }

    /// The class of what was found here and before.
    pub fn risk_so_far(&self) -> Risk {
        self.risk.max(self.before.risk)
    }

    /// Whether something found here does not end by itself.
    pub fn is_unbounded(&self) -> bool {
        self.flags.unbounded
    }

    /// Whether something found here or before shows secrets.
    pub fn secrets_shown_so_far(&self) -> bool {
        self.flags.sensitive || self.before.sensitive
    }

    /// Counts one more command; false when there are too many.
    pub fn count_command(&mut self, scope: &Scope) -> bool {
        self.work.commands += 1;
        if self.work.commands == MAX_COMMANDS + 1 {
            self.not_understood(scope, "shell:too-complex", "more commands than can be judged", None);
        }
        self.work.commands <= MAX_COMMANDS
    }

    /// Counts rounds of a loop; false when there are too many to be judged one by one.
    pub fn count_rounds(&mut self, rounds: usize) -> bool {
        let allowed = self.work.rounds + rounds <= MAX_ROUNDS;
        self.work.rounds += if allowed { rounds } else { 0 };
        allowed
    }

    /// Counts the bytes of a text below the second shell; returns how many there were so far.
    pub fn count_reparsed(&mut self, bytes: usize) -> usize {
        self.work.reparsed += bytes;
        self.work.reparsed
    }

    /// Raises the flags of an effect.
    pub fn raise_flags(&mut self, scope: &Scope, effect: Effect) {
        self.flags.sensitive |= effect.sensitive;
        self.flags.unbounded |= effect.unbounded && !scope.is_time_limited();
        self.flags.interactive |= effect.interactive;
    }

    /// Something reads secrets.
    pub fn shows_secrets(&mut self) {
        self.flags.sensitive = true;
    }

    /// Something needs a person at a terminal.
    pub fn needs_a_person(&mut self) {
        self.flags.interactive = true;
    }

    /// Something does not end by itself, if nothing else ends it.
    pub fn does_not_end(&mut self, scope: &Scope) {
        self.flags.unbounded |= !scope.is_time_limited();
    }

    /// Something else is acted on.
    pub fn affects(&mut self, affected: Affected) {
        self.affected.insert(affected);
    }

    /// The guest that a word names is acted on.
    pub fn affects_guest(&mut self, word: Option<&Word<'_>>) {
        let vmid = word.and_then(Word::literal).and_then(|text| text.parse().ok());
        self.affects(vmid.map_or(Affected::Unknown, Affected::Vmid));
    }

    /// Another system that a word names is acted on.
    pub fn affects_host(&mut self, word: Option<&Word<'_>>) {
        let host = word.and_then(Word::literal).filter(|text| !text.is_empty());
        self.affects(host.map_or(Affected::Unknown, |text| Affected::Host(text.to_owned())));
    }

    /// A word names these guests: they are acted on if the command changes anything.
    pub fn name_guests(&mut self, guests: impl IntoIterator<Item = Affected>) {
        self.named.extend(guests);
    }

    /// A word names the processes of these guests.
    pub fn name_processes(&self, guests: impl IntoIterator<Item = Affected>) {
        self.seen.borrow_mut().processes.extend(guests);
    }

    /// The guests whose processes words name so far.
    pub fn named_processes(&self) -> Vec<Affected> {
        self.seen.borrow().processes.clone()
    }

    /// A name is declared as that of a map.
    pub fn declares_map(&self, name: &str) {
        self.seen.borrow_mut().maps.push(name.to_owned());
    }

    /// Whether a name was declared as that of a map.
    pub fn is_map(&self, name: &str) -> bool {
        self.seen.borrow().maps.iter().any(|map| map == name)
    }

    /// Keeps a text that arithmetic would execute; true when something is evaluated already.
    pub fn is_evaluated_now(&self, text: &str) -> bool {
        let mut seen = self.seen.borrow_mut();
        if !seen.evaluates {
            seen.evaluable.push(text.to_owned());
        }
        seen.evaluates
    }

    /// From here on everything that arithmetic would execute is executed; what was kept so far.
    pub fn take_evaluable(&self) -> Vec<String> {
        let mut seen = self.seen.borrow_mut();
        seen.evaluates = true;
        std::mem::take(&mut seen.evaluable)
    }

    /// The command changes something: it acts on the guests that its words name.
    pub fn affects_named_guests(&mut self) {
        self.affected.extend(self.named.drain(..));
    }

    /// The present command runs the one that `scope` shows.
    pub fn shows(&mut self, scope: &Scope) {
        self.innermost = Some(Rc::clone(scope.argv()));
    }

    /// The argument vector of the command that the present one runs in the end.
    pub fn innermost(&self) -> Option<&Rc<Vec<String>>> {
        self.innermost.as_ref()
    }

    /// What is acted on.
    pub fn into_affected(self) -> BTreeSet<Affected> {
        self.affected
    }

    /// The finished answer, worst reason first.
    pub fn into_verdict(mut self) -> Verdict {
        self.reasons.sort_by_key(|reason| std::cmp::Reverse(reason.risk));
        Verdict { risk: self.risk, reasons: self.reasons, affected: self.affected, flags: self.flags }
    }
}

//! Every row of the tables matters: with any class, property or kind of value in it flipped, some example fails.
//! A flip that none notices shows a word without effect, or a row without its example.

use std::{ops::Range, sync::Arc};

use crate::{
    Locus, Risk,
    context::{Findings, Scope},
    rules::judge_words,
    tables::{CallRule, Effect, Entry, Example, Form, Kind, Opt, Rule, SOURCES, Style, TABLES, Tables, Takes, Wrapper},
    words::Word,
};

/// Flips that change no verdict, and why.
const EQUIVALENT: &[(&str, &str)] =
    &[("pvedaemon: style Perl gnu", "it has no options, so how they are spelt does not matter")];

/// Rules that do not ask what class their form has: they judge what is done by words that no table can list.
const OWN_CLASS: &[CallRule] = &[
    CallRule::Source,
    CallRule::Xargs,
    CallRule::LxcAttach,
    CallRule::Service,
    CallRule::Sql,
    CallRule::Sqlite,
    CallRule::Redis,
    CallRule::Compose,
    CallRule::Pvesh,
    CallRule::QmGuestCmd,
];

/// An entry with one thing in it flipped; `word` is the verb or option that is concerned.
struct Mutant {
    what: String,
    word: String,
    entry: Entry,
}

/// What a careless edit could put in the place of this effect: a lower class, or one property less.
fn lowered(effect: Effect) -> Vec<(&'static str, Effect)> {
    use Risk::{ConfigMutation as C, Destructive as D, ReadOnly as R};
    let class = |host, guest| Effect { host, guest, ..effect };
    let mut out = match (effect.host, effect.guest) {
        (R, _) => vec![],
        (C, _) => vec![("read", class(R, R))],
        (D, D) => vec![("change", class(C, C)), ("destroy/change", class(D, C))],
        (D, _) => vec![("change", class(C, C))],
    };
    let properties = [
        ("not sensitive", Effect { sensitive: false, ..effect }),
        ("not unbounded", Effect { unbounded: false, ..effect }),
        ("not interactive", Effect { interactive: false, ..effect }),
        ("not dry-run", Effect { dry_run: false, ..effect }),
        ("not bounded", Effect { bounded: false, ..effect }),
        ("not runs-stdin", Effect { runs_stdin: false, ..effect }),
        ("not info", Effect { info: false, ..effect }),
        ("not real-run", Effect { real_run: false, ..effect }),
        ("not skipped-in-dry-run", Effect { skipped_in_dry_run: false, ..effect }),
        ("not all-guests", Effect { all_guests: false, ..effect }),
        ("not power", Effect { power: false, ..effect }),
    ];
    out.extend(properties.into_iter().filter(|(_, flipped)| *flipped != effect));
    out
}

/// The same with one property less.
fn less_wrapping(wrapper: Wrapper) -> Vec<(&'static str, Wrapper)> {
    let properties = [
        ("sets-environment", Wrapper { sets_environment: false, ..wrapper }),
        ("command-optional", Wrapper { command_optional: false, ..wrapper }),
        ("detaches", Wrapper { detaches: false, ..wrapper }),
        ("on-node", Wrapper { on_node: false, ..wrapper }),
        ("time-limit", Wrapper { time_limit: false, ..wrapper }),
        ("same-shell", Wrapper { same_shell: false, ..wrapper }),
        ("dashes-first", Wrapper { dashes_first: false, ..wrapper }),
    ];
    properties.into_iter().filter(|(_, flipped)| *flipped != wrapper).collect()
}

/// The next class above both; `None` above the worst.
fn raised(effect: Effect, floor: Effect) -> Option<Effect> {
    let (host, guest) = (effect.host.max(floor.host), effect.guest.max(floor.guest));
    let class = match host {
        Risk::ReadOnly => Risk::ConfigMutation,
        _ if guest < Risk::Destructive => Risk::Destructive,
        _ => return None,
    };
    Some(Effect { host: class, guest: class, ..effect })
}

/// Whether it matters that a value is of this kind and not just any text.
fn matters(kind: Kind) -> bool {
    !matches!(kind, Kind::Any | Kind::Num)
}

/// Whether such a value or operand is a change whatever the class says.
fn changes(kind: Kind) -> bool {
    matches!(kind, Kind::Write | Kind::Directory | Kind::Host | Kind::OnSystem)
}

/// Whether the operands end with a nested command.
fn nests(form: &Form) -> bool {
    matches!(form.operands.last(), Some(Kind::Command | Kind::Line))
}

/// The class that a use of the form has at least.
fn floor(form: &Form) -> Effect {
    let changed = nests(form) && form.operands.iter().any(|kind| changes(*kind));
    if changed { form.effect.join(Effect::of(Risk::ConfigMutation)) } else { form.effect }
}

/// Whether a rule reads the command's words itself, so that nothing but its name counts.
fn is_raw(entry: &Entry) -> bool {
    let mut scope = Scope::new(&TABLES, Locus::Host);
    let words = [Word::known(entry.name)];
    matches!(entry.form.rule, Some(Rule::Words(rule)) if judge_words(rule, &words, &mut scope, &mut Findings::new(crate::syntax::nested_script)))
}

/// Whether the form's rule does not ask what class the form has.
fn has_own_class(form: &Form) -> bool {
    matches!(form.rule, Some(Rule::Call(rule)) if OWN_CLASS.contains(&rule))
}

/// What the form's effect could be lowered to; a class that the row does not name counts for nothing.
fn lowered_forms(form: &Form) -> Vec<(&'static str, Effect)> {
    let silent = has_own_class(form) && form.effect == Effect::of(Risk::Destructive);
    if silent { Vec::new() } else { lowered(form.effect) }
}

/// Where the row begins that `before` ends in: a line that begins with a blank goes on with the one above.
fn row_start(before: &str) -> usize {
    let starts = before.match_indices('\n').map(|(at, _)| at + 1).chain([0]);
    starts.filter(|at| !before[*at..].starts_with(' ')).max().unwrap_or_default()
}

/// The options that stand in one row: their names are pieces of one line of a table.
fn rows(options: &[Opt]) -> Vec<Range<usize>> {
    let line = |opt: &Opt| {
        let at = opt.name.as_ptr() as usize;
        let before = |text: &'static str| text.get(..at.checked_sub(text.as_ptr() as usize)?);
        SOURCES.iter().find_map(|(file, text)| Some((file, row_start(before(text)?))))
    };
    let mut out: Vec<Range<usize>> = Vec::new();
    for at in 0..options.len() {
        match out.last_mut() {
            Some(row) if line(&options[row.start]) == line(&options[at]) => row.end = at + 1,
            _ => out.push(at..at + 1),
        }
    }
    out
}

/// Flips of `args` rows: a lower class, or one choice of a word less.
fn known_arguments(form: &Form, push: &mut impl FnMut(String, &dyn Fn(&mut Form))) {
    for (at, known) in form.known_arguments.iter().enumerate() {
        for (what, effect) in lowered(known.effect) {
            push(format!("args {at} {what}"), &|form| form.known_arguments[at].effect = effect);
        }
        for (number, word) in known.pattern.words.iter().enumerate() {
            for (choice, text) in word.choices.iter().enumerate() {
                push(format!("args {at} without {text}"), &|form| {
                    form.known_arguments[at].pattern.words[number].choices.remove(choice);
                });
            }
        }
    }
}

/// The forms in which one thing of the whole row is flipped. Where its options count, the class is at least `least`.
fn forms(form: &Form, least: Effect) -> Vec<(String, Form)> {
    let mut out = Vec::new();
    let mut push = |what: String, change: &dyn Fn(&mut Form)| {
        let mut mutant = form.clone();
        change(&mut mutant);
        out.push((what, mutant));
    };
    if let Some(effect) = raised(form.effect, floor(form)).filter(|_| !has_own_class(form)) {
        push("class raised".into(), &|form| form.effect = effect);
    }
    if form.inert {
        push("not inert".into(), &|form| form.inert = false);
    }
    for (what, wrapper) in less_wrapping(form.wrapper) {
        push(format!("not {what}"), &|form| form.wrapper = wrapper);
    }
    if form.rule.is_some() {
        push("no rule".into(), &|form| form.rule = None);
    }
    for (at, kind) in form.operands.iter().enumerate().filter(|(_, kind)| matters(**kind)) {
        push(format!("operand {at} {kind:?} any"), &|form| form.operands[at] = Kind::Any);
    }
    // One operand too many is a change: nothing new where something is changed anyway, and none follows a command.
    let read = form.effect.host == Risk::ReadOnly && !form.operands.iter().any(|kind| changes(*kind));
    match form.rest {
        None if read && !nests(form) => push("any* instead of none".into(), &|form| form.rest = Some(Kind::Any)),
        Some(kind) if matters(kind) => push(format!("{kind:?}* any*"), &|form| form.rest = Some(Kind::Any)),
        _ => {}
    }
    known_arguments(form, &mut push);
    for (at, opt) in form.options.iter().enumerate() {
        for (what, effect) in lowered(opt.effect) {
            if what != "read" || !matches!(opt.takes, Takes::Value(kind) if changes(kind)) {
                push(format!("opt {} {what}", opt.name), &|form| form.options[at].effect = effect);
            }
        }
        let any = match opt.takes {
            Takes::Value(kind) if matters(kind) => Takes::Value(Kind::Any),
            Takes::Maybe(kind) if matters(kind) => Takes::Maybe(Kind::Any),
            _ => continue,
        };
        push(format!("opt {} {:?} any", opt.name, opt.takes), &|form| form.options[at].takes = any);
    }
    for row in rows(&form.options) {
        let counts = |at: usize| {
            let opt = &form.options[at];
            raised(opt.effect, least).is_some() && !matches!(opt.takes, Takes::Value(kind) if changes(kind))
        };
        if row.clone().any(counts) {
            push(format!("opt {} and its row raised", form.options[row.start].name), &|form| {
                for opt in &mut form.options[row.clone()] {
                    opt.effect = raised(opt.effect, least).unwrap_or(opt.effect);
                }
            });
        }
    }
    out
}

/// The same entry with one thing in it flipped, in every way.
fn mutants(entry: &Entry) -> Vec<Mutant> {
    let mut out = Vec::new();
    let mut push = |what: String, change: &dyn Fn(&mut Entry)| {
        let mut mutant = entry.clone();
        change(&mut mutant);
        let word = what.split("opt ").nth(1).unwrap_or(&what).split(' ').next().unwrap_or("");
        let word = if word.len() == 1 { format!("-{word}") } else { word.to_owned() };
        out.push(Mutant { what: format!("{}: {what}", entry.name), word, entry: mutant });
    };
    if entry.prefixes && !entry.verbs.is_empty() {
        push("no prefixes".into(), &|entry| entry.prefixes = false);
    }
    if entry.style != Style::Gnu {
        push(format!("style {:?} gnu", entry.style), &|entry| entry.style = Style::Gnu);
    }
    if is_raw(entry) {
        push("no rule".into(), &|entry| entry.form.rule = None);
        return out;
    }
    let least = entry.verbs.iter().map(|verb| floor(&verb.form)).min_by_key(|effect| (effect.host, effect.guest));
    for (what, effect) in lowered_forms(&entry.form) {
        push(what.into(), &|entry| entry.form.effect = effect);
    }
    for (what, form) in forms(&entry.form, least.unwrap_or(floor(&entry.form))) {
        push(what, &|entry| entry.form = form.clone());
    }
    for (number, verb) in entry.verbs.iter().enumerate() {
        for (what, effect) in lowered_forms(&verb.form) {
            push(format!("{} {what}", verb.name), &|entry| entry.verbs[number].form.effect = effect);
        }
        // The verbs of one row have the same form.
        if number > 0 && entry.verbs[number - 1].form == verb.form {
            continue;
        }
        for (what, form) in forms(&verb.form, floor(&verb.form)) {
            push(format!("{} {what}", verb.name), &|entry| {
                let row = entry.verbs[number..].iter_mut().take_while(|twin| twin.form == verb.form);
                row.for_each(|twin| twin.form = form.clone());
            });
        }
    }
    out
}

/// The examples that may tell an entry from its mutants: those that use one of its names.
fn examples(at: usize) -> Vec<&'static Example> {
    let names: Vec<&str> = TABLES.names.iter().filter(|(_, entry)| **entry == at).map(|(name, _)| *name).collect();
    let ends = |c: char| c.is_whitespace() || "'\"();|/".contains(c);
    let uses = |example: &&Example| example.command.split(ends).any(|word| names.contains(&word));
    TABLES.examples.iter().filter(uses).collect()
}

/// The tables, without what is only for tests.
pub fn without_examples() -> Tables {
    Tables {
        entries: TABLES.entries.clone(),
        names: TABLES.names.clone(),
        lists: TABLES.lists.clone(),
        paths: TABLES.paths.clone(),
        prints: TABLES.prints.clone(),
        examples: Vec::new(),
        faults: Vec::new(),
    }
}

/// Whether an example fails with this in the tables; those that name what was flipped are tried first.
fn is_caught(mutant: &Mutant, at: usize, examples: &[&Example]) -> bool {
    let mut tables = without_examples();
    tables.entries[at] = Arc::new(mutant.entry.clone());
    let tables = Box::leak(Box::new(tables));
    let (near, far): (Vec<&Example>, Vec<_>) = examples.iter().partition(|line| line.command.contains(&mutant.word));
    near.into_iter().chain(far).any(|example| example.fault(&*tables).is_some())
}

#[test]
fn every_flipped_row_of_the_tables_is_caught_by_an_example() {
    let (mut tried, mut survived) = (0, Vec::new());
    for (at, entry) in TABLES.entries().enumerate() {
        let examples = examples(at);
        for mutant in mutants(entry) {
            tried += 1;
            let caught = is_caught(&mutant, at, &examples);
            let equivalent = EQUIVALENT.iter().any(|(known, _)| *known == mutant.what);
            assert!(!(caught && equivalent), "{} is caught and need not be listed", mutant.what);
            if !caught && !equivalent {
                survived.push(mutant.what);
            }
        }
    }
    assert!(tried > 4000, "{tried}");
    assert!(survived.is_empty(), "{} of {tried} survived:\n{}", survived.len(), survived.join("\n"));
}

//! Reads `tables/*.risk`. The format is described in `tables/README.md`.

use std::sync::Arc;

use super::{
    Effect, Entry, Example, Form, Kind, KnownArguments, ListName, Opt, PathTemplate, Pattern, Prints, Rule, Style,
    Tables, Takes, Verb, Wrapper,
};
use crate::Risk;

impl Tables {
    /// Reads the tables; lines that are not understood become faults.
    pub(crate) fn read(sources: &[(&'static str, &'static str)]) -> Self {
        let mut tables = Tables {
            entries: Vec::new(),
            names: Arc::default(),
            lists: Vec::new(),
            paths: Arc::default(),
            prints: Arc::default(),
            examples: Vec::new(),
            faults: Vec::new(),
        };
        for (file, text) in sources {
            for (number, row) in rows(text) {
                if let Err(why) = tables.row(row, (file, number)) {
                    tables.faults.push(format!("{file}:{number}: {why}: {row}"));
                }
            }
        }
        let silent = tables.entries.iter().filter(|entry| !entry.described);
        let silent: Vec<String> = silent.map(|entry| format!("{}: {}: no `is` row", entry.table, entry.name)).collect();
        tables.faults.extend(silent);
        let missing = ListName::ALL.iter().filter(|(_, list)| tables.members(*list).is_empty());
        let missing: Vec<String> = missing.map(|(name, _)| format!("no table has the list {name}")).collect();
        tables.faults.extend(missing);
        tables
    }

    fn row(&mut self, row: &'static str, place: (&'static str, usize)) -> Result<(), &'static str> {
        let (head, rest) = row.split_once(' ').unwrap_or((row, ""));
        match head {
            "" | "#" => Ok(()),
            "cmd" => self.start(rest, place.0),
            "list" => self.list(rest, |words| words.split_whitespace()),
            "phrases" => self.list(rest, |texts| texts.split(" | ").map(str::trim)),
            "path" => self.path(rest),
            "prints" => {
                let (what, pattern) = rest.split_once(' ').ok_or("it needs what is printed and a call")?;
                let what = Prints::read(what).ok_or("nothing is known to be printed so")?;
                Arc::make_mut(&mut self.prints).push((what, Pattern::read(pattern)));
                Ok(())
            }
            ">" => self.example(rest, place),
            ">*" => self.examples(rest, place),
            _ => {
                let entry = self.entries.last_mut().ok_or("no cmd before it")?;
                Arc::make_mut(entry).line(head, rest.trim())
            }
        }
    }

    fn start(&mut self, names: &'static str, table: &'static str) -> Result<(), &'static str> {
        let mut names = names.split_whitespace();
        let name = names.next().ok_or("no name")?;
        let at = self.entries.len();
        self.entries.push(Arc::new(Entry {
            name,
            table,
            style: Style::Gnu,
            form: Form::undescribed(),
            verbs: Vec::new(),
            prefixes: false,
            described: false,
            twins: 0,
        }));
        for name in std::iter::once(name).chain(names) {
            if Arc::make_mut(&mut self.names).insert(name, at).is_some() {
                return Err("the command is defined twice");
            }
        }
        Ok(())
    }

    /// `list NAME = WORD WORD…`, `phrases NAME = TEXT | TEXT…`; several rows make one list.
    fn list<I: Iterator<Item = &'static str>>(
        &mut self,
        rest: &'static str,
        members: impl Fn(&'static str) -> I,
    ) -> Result<(), &'static str> {
        let (name, rest) = rest.split_once('=').ok_or("a list needs ` = ` and its words")?;
        let list = ListName::read(name.trim()).ok_or("no such list")?;
        self.add_to_list(list, members(rest));
        Ok(())
    }

    /// `path VERB TEMPLATE = CLASS`
    fn path(&mut self, rest: &'static str) -> Result<(), &'static str> {
        let (call, class) = rest.split_once(" = ").ok_or("a path needs ` = ` and its class")?;
        let (verb, templates) = call.split_once(' ').ok_or("a path needs a verb")?;
        let effect = Effect::class(class.trim()).ok_or("a path names its class")?;
        let templates = templates.split_whitespace().map(|template| PathTemplate { verb, template, effect });
        Arc::make_mut(&mut self.paths).extend(templates);
        Ok(())
    }

    /// `> CLASS[:MARK,MARK] COMMAND`
    fn example(&mut self, rest: &'static str, place: (&'static str, usize)) -> Result<(), &'static str> {
        let (verdict, command) = rest.split_once(' ').ok_or("an example needs a verdict and a command")?;
        self.push_example(verdict, command.to_owned(), place)
    }

    /// `>* CLASS[:MARK,MARK] COMMAND WITH % | TEXT | TEXT …`: one example for each text, which stands for the `%`.
    fn examples(&mut self, rest: &'static str, place: (&'static str, usize)) -> Result<(), &'static str> {
        let (verdict, rest) = rest.split_once(' ').ok_or("examples need a verdict and a command")?;
        let (command, texts) = rest.split_once(" | ").ok_or("examples need texts after ` | `")?;
        if command.matches('%').count() != 1 {
            return Err("the command of several examples has one %");
        }
        texts.split(" | ").try_for_each(|text| self.push_example(verdict, command.replace('%', text.trim()), place))
    }

    fn push_example(
        &mut self,
        verdict: &'static str,
        command: String,
        place: (&'static str, usize),
    ) -> Result<(), &'static str> {
        let (risks, marks) = verdict.split_once(':').unwrap_or((verdict, ""));
        let mut risks = risks.split('/').filter_map(|risk| risk.chars().next());
        let host = risks.next().ok_or("no verdict")?;
        let guest = risks.next().unwrap_or(host);
        let marks = marks.split(',').filter(|mark| !mark.is_empty()).collect();
        self.examples.push(Example { host, guest, marks, command, place });
        Ok(())
    }
}

impl Entry {
    fn line(&mut self, head: &str, rest: &'static str) -> Result<(), &'static str> {
        match head {
            "style" => {
                self.style = match rest {
                    "gnu" => Style::Gnu,
                    "posix" => Style::Posix,
                    "perl" => Style::Perl,
                    "dash" => Style::Dash,
                    "plain" => Style::Plain,
                    _ => return Err("no such style"),
                };
                self.prefixes |= self.style == Style::Perl;
                Ok(())
            }
            "prefixes" => {
                self.prefixes = true;
                Ok(())
            }
            "verb" => self.verb(rest),
            _ if self.verbs.is_empty() => {
                self.form.line(head, rest, self.style)?;
                self.described |= head == "is";
                Ok(())
            }
            _ => {
                let first = self.verbs.len() - self.twins.min(self.verbs.len());
                self.verbs[first..].iter_mut().try_for_each(|verb| verb.form.line(head, rest, self.style))
            }
        }
    }

    /// `verb name|alias read inert vmid any* ! hint`
    fn verb(&mut self, rest: &'static str) -> Result<(), &'static str> {
        let (rest, hint) = split_hint(rest);
        let (names, words) = rest.split_once(" = ").ok_or("a verb needs ` = ` and its effect")?;
        let form = Form::read(words, hint)?;
        let before = self.verbs.len();
        for name in names.split('|').map(str::trim).filter(|name| !name.is_empty()) {
            let alias = name.starts_with('~');
            self.verbs.push(Verb { name: name.trim_start_matches('~'), alias, form: form.clone() });
        }
        self.twins = self.verbs.len() - before;
        Ok(())
    }
}

impl Form {
    /// Nobody has said yet what it does: the worst is assumed.
    fn undescribed() -> Self {
        Form {
            effect: Effect::of(Risk::Destructive),
            inert: false,
            wrapper: Wrapper::default(),
            options: Vec::new(),
            known_arguments: Vec::new(),
            operands: Vec::new(),
            rest: Some(Kind::Any),
            hint: None,
            rule: None,
        }
    }

    /// A class and properties, then the kinds of operands.
    fn read(words: &'static str, hint: Option<&'static str>) -> Result<Self, &'static str> {
        let mut form = Form { hint, ..Form::undescribed() };
        let mut kinds = false;
        let mut classes: Option<Effect> = None;
        let mut properties: Option<Effect> = None;
        // `read` is a class first and a kind of operand after that.
        for word in words.split_whitespace() {
            if word == "inert" {
                form.inert = true;
            } else if let Some(rule) = word.strip_prefix("rule:") {
                form.rule = Some(Rule::read(rule).ok_or("no such rule")?);
            } else if form.wrapper.read(word) {
                continue;
            } else if let Some(class) = Effect::class(word).filter(|_| classes.is_none() || word != "read") {
                classes = Some(classes.map_or(class, |other| other.join(class)));
            } else if let Some(property) = Effect::property(word) {
                properties = Some(properties.map_or(property, |other| other.join(property)));
            } else {
                if !kinds {
                    form.rest = None;
                    kinds = true;
                }
                form.operand(word)?;
            }
        }
        let class = match classes {
            Some(class) => class,
            // Such a rule judges all words itself; what it leaves over is not known.
            None if form.rule.is_some() => Effect::of(Risk::Destructive),
            None => return Err("the row names no class"),
        };
        form.effect = properties.map_or(class, |properties| class.join(properties));
        Ok(form)
    }

    fn operand(&mut self, word: &'static str) -> Result<(), &'static str> {
        if word == "none" {
            self.rest = None;
        } else if let Some(kind) = word.strip_suffix('*') {
            self.rest = Some(Kind::read(kind)?);
        } else {
            self.operands.push(Kind::read(word)?);
        }
        Ok(())
    }

    fn line(&mut self, head: &str, rest: &'static str, style: Style) -> Result<(), &'static str> {
        let (rest, hint) = split_hint(rest);
        match head {
            "is" => {
                let form = Form::read(rest, hint)?;
                let options = std::mem::take(&mut self.options);
                let known_arguments = std::mem::take(&mut self.known_arguments);
                *self = Form { options, known_arguments, ..form };
                Ok(())
            }
            "args" => {
                let (class, words) = rest.split_once(' ').unwrap_or((rest, ""));
                let effect = Effect::class(class).ok_or("the row names no class")?;
                self.known_arguments.push(KnownArguments { effect, pattern: Pattern::read(words) });
                Ok(())
            }
            "opt" => {
                let (mut class, mut properties) = (None::<Effect>, Effect::READ);
                for word in rest.split_whitespace() {
                    if let Some(more) = Effect::class(word) {
                        class = Some(class.map_or(more, |other| other.join(more)));
                    } else if let Some(more) = Effect::property(word) {
                        properties = properties.join(more);
                    } else {
                        let class = class.ok_or("the row names no class before its options")?;
                        self.option(word, class.join(properties), hint, style)?;
                    }
                }
                Ok(())
            }
            _ => Err("no such keyword"),
        }
    }

    /// `-abc`, `-abn:`, `-n:read`, `--lines:num`, `--color?`, `--color?write`.
    fn option(
        &mut self,
        word: &'static str,
        effect: Effect,
        hint: Option<&'static str>,
        style: Style,
    ) -> Result<(), &'static str> {
        let split = word.char_indices().skip(2).find(|(_, c)| matches!(c, ':' | '?')).map(|(at, _)| at);
        let (name, takes) = match split {
            Some(at) => {
                let kind = Kind::read(&word[at + 1..])?;
                let takes = if word.as_bytes()[at] == b':' { Takes::Value(kind) } else { Takes::Maybe(kind) };
                (&word[..at], takes)
            }
            None => (word, Takes::Nothing),
        };
        let letters = name.strip_prefix('-').ok_or("an option begins with a dash")?;
        if letters.starts_with('-') || style == Style::Dash {
            self.options.push(Opt { name, takes, effect, hint });
        } else if !letters.is_ascii() {
            return Err("letters beyond ASCII");
        } else {
            // As in getopt's own notation only the last letter has the value.
            for at in 0..letters.len() {
                let takes = if at + 1 == letters.len() { takes } else { Takes::Nothing };
                self.options.push(Opt { name: &letters[at..=at], takes, effect, hint });
            }
        }
        Ok(())
    }
}

/// The rows of a table, each with the number of its first line. A line that begins with a blank goes on with the row above.
fn rows(text: &'static str) -> Vec<(usize, &'static str)> {
    let mut out: Vec<(usize, usize, usize)> = Vec::new();
    let mut start = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let end = start + line.len();
        match out.last_mut() {
            Some(row) if line.starts_with(' ') => row.2 = end,
            _ => out.push((number + 1, start, end)),
        }
        start = end;
    }
    out.into_iter().map(|(number, start, end)| (number, text[start..end].trim())).collect()
}

fn split_hint(rest: &'static str) -> (&'static str, Option<&'static str>) {
    match rest.split_once(" ! ") {
        Some((rest, hint)) => (rest, Some(hint.trim())),
        None => (rest, None),
    }
}

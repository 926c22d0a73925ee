//! The labelled lines of `homelab.tsv`, `field.tsv` and `kinds.tsv` in `tests/data`.

use std::{collections::BTreeSet, sync::LazyLock};

use oikos_risk::{Affected, Locus, Risk, Verdict};

const HOMELAB: &str = include_str!("../data/homelab.tsv");
const FIELD: &str = include_str!("../data/field.tsv");
const KINDS: &str = include_str!("../data/kinds.tsv");
const TAXONOMY: &str = include_str!("../data/taxonomy.tsv");

/// What a line must be judged as at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// Exactly this.
    Class(Risk),
    /// More than ReadOnly.
    Change,
    /// It does not end, or wants a person: some flag must say so.
    Refused,
}

/// One labelled line at one place.
#[derive(Clone, Debug)]
pub struct Line {
    pub id: String,
    pub locus: Locus,
    pub command: String,
    pub label: Label,
    pub marks: BTreeSet<String>,
}

impl Line {
    pub fn is(&self, risk: Risk) -> bool {
        self.label == Label::Class(risk)
    }

    /// The first mark that the verdict lacks.
    pub fn missing(&self, verdict: &Verdict) -> Option<&str> {
        let has = |mark: &str| match mark.split_once(':') {
            Some(("vmid", id)) => verdict.affected.contains(&Affected::Vmid(id.parse().unwrap())),
            Some(("host", name)) => {
                verdict.affected.iter().any(|a| matches!(a, Affected::Host(host) if host.ends_with(name)))
            }
            _ => match mark {
                "unknown" => verdict.affected.contains(&Affected::Unknown),
                "sensitive" => verdict.flags.sensitive,
                "unbounded" => verdict.flags.unbounded,
                "interactive" => verdict.flags.interactive,
                other => panic!("{}: no such mark: {other}", self.id),
            },
        };
        self.marks.iter().map(String::as_str).find(|mark| !has(mark))
    }
}

/// The lines of the homelab corpus, one entry for each place; each is there once.
pub static LINES: LazyLock<Vec<Line>> = LazyLock::new(|| read(HOMELAB).collect());

/// The lines of all three corpora.
pub static ALL: LazyLock<Vec<Line>> = LazyLock::new(|| read(HOMELAB).chain(read(FIELD)).chain(read(KINDS)).collect());

fn read(table: &str) -> impl Iterator<Item = Line> {
    table.lines().filter(|row| !row.starts_with('#')).flat_map(|row| {
        let fields: Vec<&str> = row.split('\t').collect();
        let [id, locus, command, class, marks, _remark] = fields[..] else { panic!("not six fields: {row}") };
        let loci: &[Locus] = match locus {
            "host" => &[Locus::Host],
            "guest" => &[Locus::Guest],
            "both" => &[Locus::Host, Locus::Guest],
            other => panic!("{id}: no such place: {other}"),
        };
        loci.iter().map(move |&locus| Line {
            id: id.to_owned(),
            locus,
            command: unescape(command),
            label: label(class, locus),
            marks: marks.split(',').filter(|mark| !mark.is_empty()).map(str::to_owned).collect(),
        })
    })
}

fn label(class: &str, locus: Locus) -> Label {
    let (host, guest) = class.split_once('/').unwrap_or((class, class));
    match if locus == Locus::Host { host } else { guest } {
        "R" => Label::Class(Risk::ReadOnly),
        "C" => Label::Class(Risk::ConfigMutation),
        "D" => Label::Class(Risk::Destructive),
        "CD" => Label::Change,
        "X" => Label::Refused,
        other => panic!("no such class: {other}"),
    }
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '⏎' => out.push('\n'),
            '⇥' => out.push('\t'),
            '␍' => out.push('\r'),
            '␀' => out.push('\0'),
            '«' => {
                let (hex, after) = rest.split_once('»').unwrap();
                out.push(char::from_u32(u32::from_str_radix(hex, 16).unwrap()).unwrap());
                rest = after;
            }
            c => out.push(c),
        }
    }
    out
}

/// The commands of the taxonomy, whatever their class, in the spelling of its own file.
pub static TAXONOMY_COMMANDS: LazyLock<Vec<String>> = LazyLock::new(|| {
    TAXONOMY
        .lines()
        .filter(|row| !row.starts_with('#') && !row.is_empty())
        .map(|row| row.splitn(5, '\t').nth(4).unwrap().replace("\\n", "\n"))
        .collect()
});

pub fn letter(risk: Risk) -> char {
    match risk {
        Risk::ReadOnly => 'R',
        Risk::ConfigMutation => 'C',
        Risk::Destructive => 'D',
    }
}

/// Whether a line does not end by itself.
pub fn is_unbounded(command: &str, locus: Locus) -> bool {
    oikos_risk::classify(command, locus).flags.unbounded
}

/// The reasons of a verdict on one line.
pub fn why(verdict: &Verdict) -> String {
    let reasons = verdict.reasons.iter().filter(|reason| reason.risk == verdict.risk).take(3);
    reasons.map(|reason| format!("{} ({})", reason.code, reason.message)).collect::<Vec<_>>().join("; ")
}

/// A command on one line of a report.
pub fn shown(command: &str) -> String {
    command.chars().map(|c| if c.is_control() { format!("{}", c.escape_default()) } else { c.to_string() }).collect()
}

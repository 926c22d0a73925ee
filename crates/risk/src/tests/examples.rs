//! Whether a table's example lines get their verdicts, flags and affected targets.

use std::collections::BTreeSet;

use crate::{
    Affected, Locus, Verdict, classify_by,
    tables::{Example, Tables},
};

impl Example {
    /// What is wrong with the verdicts of `tables` on this line.
    pub fn fault(&self, tables: &'static Tables) -> Option<String> {
        [(Locus::Host, self.host), (Locus::Guest, self.guest)].into_iter().find_map(|(locus, expected)| {
            let verdict = classify_by(tables, &self.command, locus);
            let marks = marks(&verdict, locus);
            // What a Proxmox tool inside a guest would act on is of no interest.
            let acted_on = |mark: &&str| !matches!(*mark, "sensitive" | "unbounded" | "interactive");
            let wanted: BTreeSet<String> = self
                .marks
                .iter()
                .filter(|mark| locus == Locus::Host || !acted_on(mark))
                .map(|m| m.to_string())
                .collect();
            let got = letter(&verdict);
            (got != expected || marks != wanted).then(|| {
                format!(
                    "{}:{} {locus:?} {}: expected {expected} {wanted:?}, got {got} {marks:?} {:?}",
                    self.place.0,
                    self.place.1,
                    self.command,
                    verdict.reasons.iter().map(|r| (&r.code, &r.message)).collect::<Vec<_>>()
                )
            })
        })
    }
}

fn letter(verdict: &Verdict) -> char {
    match verdict.risk {
        crate::Risk::ReadOnly => 'R',
        crate::Risk::ConfigMutation => 'C',
        crate::Risk::Destructive => 'D',
    }
}

fn marks(verdict: &Verdict, locus: Locus) -> BTreeSet<String> {
    let flags = verdict.flags;
    let flags = [(flags.sensitive, "sensitive"), (flags.unbounded, "unbounded"), (flags.interactive, "interactive")];
    let flags = flags.into_iter().filter(|(raised, _)| *raised).map(|(_, name)| name.to_owned());
    let affected = verdict.affected.iter().filter(|_| locus == Locus::Host).map(|affected| match affected {
        Affected::Vmid(vmid) => vmid.to_string(),
        Affected::Host(host) => host.clone(),
        Affected::Unknown => "unknown".to_owned(),
    });
    flags.chain(affected).collect()
}

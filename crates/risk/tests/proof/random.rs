//! Random texts: the same ones in every run, unless `RISK_SEED` says otherwise; more of them with `RISK_ROUNDS`.

use crate::corpus::LINES;

pub struct Random(u64);

impl Random {
    pub fn new(salt: u64) -> Self {
        let seed = std::env::var("RISK_SEED").ok().and_then(|seed| seed.parse::<u64>().ok()).unwrap_or(1);
        Self((seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt.wrapping_mul(0xd134_2543_de82_ef95)) | 1)
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }

    pub fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// How often to try: `usual`, or that many times `RISK_ROUNDS`.
pub fn rounds(usual: usize) -> usize {
    usual * std::env::var("RISK_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1)
}

/// Pieces of shell syntax, many of them halves of something.
const PIECES: &[&str] = &[
    "ls",
    "cat",
    "rm x",
    "rm x",
    "echo ",
    "sort ",
    " ",
    " ",
    " ",
    " ",
    "'",
    "\"",
    "`",
    "$(",
    ")",
    "(",
    "{ ",
    "; }",
    "}",
    "${x:-",
    "${x:=",
    "${x",
    "$x",
    "$y",
    "x=",
    " x=a ",
    "y=rm;",
    "\\",
    "\\",
    "\n",
    ";",
    "|",
    "&",
    "&&",
    "||",
    "<<E\n",
    "\nE\n",
    "<<'E'\n",
    "<<-E\n",
    "#",
    " # ",
    "$((",
    "))",
    "((",
    "$'",
    "\\'",
    "a",
    "-l",
    "/w",
    "if ",
    "; then ",
    "; fi",
    "for i in a b; do ",
    "; done",
    "case a in a) ",
    ";; esac",
    "f() ",
    "f",
    "[ ",
    " ]",
    "[[ ",
    " ]]",
    "! ",
    " \\\n",
    "*",
    "?",
    "~",
    "<",
    "/dev/null",
    ">/dev/null",
    " 2>&1",
    "=",
    "+",
    "1",
    "$i",
    "eval ",
    "'rm x'",
    "\"rm x\"",
    "$(rm x)",
    "`rm x`",
    "\"$(rm x)\"",
    "\\`rm x\\`",
    "\\$(rm x)",
    "while ",
    "until ",
    "do ",
    "done",
    "<(",
    "<<<",
    "$\"",
    "{a,b}",
    "sh -c ",
    "timeout 1 ",
    "xargs ",
    "find /w -exec ",
    " {} \\;",
    "env ",
    "command ",
    "\t",
    "0",
    "%",
    ",",
    "^",
    "@",
    ":",
    "\\\\",
    "''",
    "\"\"",
    "$",
    "$@",
    "$1",
    "${#",
    "!",
    "-",
    "--",
    "test ",
];

/// A few pieces in a row.
pub fn soup(random: &mut Random) -> String {
    let pieces = 2 + random.below(9);
    (0..pieces).map(|_| *random.of(PIECES)).collect()
}

/// A line of the corpus with a few pieces put in, left out or put in the place of others.
pub fn mutant(random: &mut Random) -> String {
    let mut text = random.of(&LINES).command.clone();
    for _ in 0..1 + random.below(3) {
        let from = floor(&text, random.below(text.len() + 1));
        let to = floor(&text, (from + random.below(4) * random.below(4)).min(text.len())).max(from);
        text.replace_range(from..to, random.of::<&str>(PIECES));
    }
    text
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

//! Texts that are made to cost much, for the bounds and for the benchmark.

/// What opens something, and what closes it.
const PIECES: &[(&str, &str)] = &[
    ("$(", ")"),
    ("(", ")"),
    ("{ ", "; }"),
    ("`", "`"),
    ("\"$(", ")\""),
    ("${x:-", "}"),
    ("$((", "))"),
    ("<(", ")"),
    ("{a,", "}"),
    ("if true; then ", "; fi"),
    ("while true; do ", "; done"),
    ("case a in a) ", ";; esac"),
    ("! ", ""),
    ("time ", ""),
    ("f() { ", "; }"),
    ("sudo ", ""),
    ("sh -c '", "'"),
    ("timeout 5 ", ""),
    ("eval ", ""),
    ("[[ ( ", " ) ]]"),
    ("\\", ""),
    ("'", ""),
    ("\"", ""),
    ("$'", "'"),
    ("<<E\n", "\nE\n"),
    ("*", ""),
    ("&", ""),
    ("|", ""),
    (";", ""),
    ("\n", ""),
    ("$", ""),
    ("#", ""),
    ("é", ""),
    ("x=y ", ""),
    ("x=$x$x;", ""),
    ("x=aaaaaaaa; x=\"$x$x\";", ""),
    ("for i in a b c d; do ", "; done"),
    ("find . -exec ", " {} \\;"),
    ("xargs ", ""),
    ("pct exec 101 -- ", ""),
    ("ssh h ", ""),
    ("-", ""),
    ("a=$", ""),
    ("~", ""),
    ("env A=b ", ""),
];

/// Each piece this often within itself, with and without its end: a name and the text.
pub fn texts(depths: &[usize]) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for (open, close) in PIECES {
        for depth in depths {
            let name = format!("{depth:>6} x {open:?} … {close:?}");
            let closed = format!("{}ls{}", open.repeat(*depth), close.repeat(*depth));
            texts.extend([closed, format!("ls {}", open.repeat(*depth))].map(|text| (name.clone(), text)));
        }
    }
    texts
}

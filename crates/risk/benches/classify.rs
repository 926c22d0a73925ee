//! How long the classifier takes, beside three parsers in the same run: `cargo bench --bench risk`.
//!
//! tree-sitter-bash is used as codex uses it, with a new parser for each command; none of the others judges anything.

#[path = "../tests/proof/hostile.rs"]
mod hostile;

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use oikos_risk::{Locus, Risk, classify};

const CORPUS: &str = include_str!("../tests/data/homelab.tsv");

/// The lines of the corpus of up to 200 bytes that work, as people and models send them.
fn commands() -> Vec<String> {
    let rows = CORPUS.lines().filter(|row| !row.starts_with('#')).filter_map(|row| row.split('\t').nth(2));
    let text = |row: &str| row.replace('⏎', "\n").replace('⇥', "\t");
    rows.map(text).filter(|command| command.len() <= 200 && !command.contains(['␍', '␀', '«'])).collect()
}

/// The shortest of several runs of each of several calls: what the work costs when nothing disturbs it.
fn time(mut work: impl FnMut()) -> Duration {
    let started = Instant::now();
    work();
    let calls = (50_000 / started.elapsed().as_nanos().max(1)).clamp(1, 50) as u32;
    let run = |work: &mut dyn FnMut()| {
        let started = Instant::now();
        (0..calls).for_each(|_| work());
        started.elapsed() / calls
    };
    (0..7).map(|_| run(&mut work)).min().unwrap_or_default()
}

fn oikos_classify(text: &str) {
    black_box(classify(black_box(text), Locus::Host));
}

/// A new parser, a tree and a look at each node, as codex does before it trusts a line.
fn tree_sitter_bash(text: &str) {
    let mut parser = tree_sitter::Parser::new();
    let language = tree_sitter_bash::LANGUAGE.into();
    if parser.set_language(&language).is_err() {
        return;
    }
    let Some(tree) = parser.parse(black_box(text), None) else { return };
    let mut open = vec![tree.root_node()];
    let mut words = Vec::new();
    while let Some(node) = open.pop() {
        if node.is_named() && matches!(node.kind(), "word" | "string" | "raw_string" | "number" | "command_name") {
            words.push(node.utf8_text(text.as_bytes()).unwrap_or_default().to_owned());
        }
        let mut cursor = node.walk();
        open.extend(node.children(&mut cursor));
    }
    black_box((tree.root_node().has_error(), words));
}

fn brush_parser(text: &str) {
    let tokens = brush_parser::uncached_tokenize_str(black_box(text), &brush_parser::TokenizerOptions::default());
    let parsed =
        tokens.map(|tokens| brush_parser::parse_tokens(&tokens, &brush_parser::ParserOptions::default()).is_ok());
    black_box(parsed.unwrap_or(false));
}

fn rable_parser(text: &str) {
    black_box(rable::parse(black_box(text), false).is_ok());
}

fn shlex_split(text: &str) {
    black_box(shlex::split(black_box(text)));
}

type Contender = (&'static str, fn(&str));
const CONTENDERS: [Contender; 5] = [
    ("oikos classify", oikos_classify),
    ("rable parse (within it)", rable_parser),
    ("tree-sitter-bash", tree_sitter_bash),
    ("brush-parser", brush_parser),
    ("shlex split", shlex_split),
];

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1000.0
}

fn real_commands() {
    let commands = commands();
    println!(
        "\n{} commands of up to 200 bytes, host; microseconds, and p50 and p99 as multiples of the classifier's",
        commands.len()
    );
    println!("{:<26}{:>8}{:>8}{:>8}{:>8}{:>9}{:>9}", "", "p50", "p90", "p99", "worst", "p50 x", "p99 x");
    let mut base = (1.0, 1.0);
    for (at, (name, work)) in CONTENDERS.iter().enumerate() {
        let mut times: Vec<f64> = commands.iter().map(|command| micros(time(|| work(command)))).collect();
        times.sort_by(f64::total_cmp);
        let part = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
        if at == 0 {
            base = (part(50), part(99));
        }
        println!(
            "{name:<26}{:>8.1}{:>8.1}{:>8.1}{:>8.1}{:>9.2}{:>9.2}",
            part(50),
            part(90),
            part(99),
            part(100),
            part(50) / base.0,
            part(99) / base.1
        );
    }
    let mut slowest: Vec<(f64, &String)> =
        commands.iter().map(|command| (micros(time(|| oikos_classify(command))), command)).collect();
    slowest.sort_by(|one, other| other.0.total_cmp(&one.0));
    println!("\nslowest of the classifier:");
    for (time, command) in slowest.iter().take(6) {
        println!("{time:>8.1}  {}", command.replace('\n', "⏎"));
    }
}

/// Texts that grow: the time for each byte must not.
fn growth() {
    type Shape = (&'static str, fn(usize) -> String);
    let shapes: [Shape; 7] = [
        ("here-document, quoted", |size| {
            format!("cat > /opt/x <<'EOF'\n{}EOF", "a line of text $HOME\n".repeat(size / 21))
        }),
        ("here-document, expanding", |size| {
            format!("cat > /opt/x <<EOF\n{}EOF", "a line of text $HOME\n".repeat(size / 21))
        }),
        ("one long word", |size| format!("echo {}", "x".repeat(size))),
        ("many words", |size| format!("echo {}", "word ".repeat(size / 5))),
        ("many commands", |size| "ls /etc; ".repeat(size / 9)),
        ("one long string", |size| format!("echo '{}'", "a b ".repeat(size / 4))),
        ("many variables", |size| format!("echo {}", "\"$x\" ".repeat(size / 5))),
    ];
    println!("\nmicroseconds for a text of so many KiB (* refused as too complex)");
    let sizes = [1, 2, 4, 8, 16, 32, 64];
    println!("{:<26}{}", "", sizes.map(|size| format!("{size:>10}")).concat());
    for (name, shape) in shapes {
        let cells = sizes.map(|size| {
            let text = shape(size * 1024 - 64);
            let refused = classify(&text, Locus::Host).reasons.iter().any(|reason| reason.code == "shell:too-complex");
            format!("{:>9.0}{}", micros(time(|| oikos_classify(&text))), if refused { "*" } else { " " })
        });
        println!("{name:<26}{}", cells.concat());
    }
}

/// What is made to cost much.
fn hostile_nesting() {
    let mut worst: Vec<(f64, String, Risk)> = Vec::new();
    for (name, text) in hostile::texts(&[4, 8, 16, 32, 64, 128, 1024, 16384]) {
        if text.len() <= 64 * 1024 {
            worst.push((micros(time(|| oikos_classify(&text))), name, classify(&text, Locus::Host).risk));
        }
    }
    worst.sort_by(|one, other| other.0.total_cmp(&one.0));
    println!("\nhostile nesting, {} texts; the slowest, microseconds", worst.len());
    for (time, name, risk) in worst.iter().take(12) {
        println!("{time:>10.0}  {name} {risk:?}");
    }
}

fn main() {
    // `cargo test --benches` calls this too: then nothing is to be measured.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    real_commands();
    growth();
    hostile_nesting();
}

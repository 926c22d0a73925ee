//! Any text gets an answer, and none that is not understood is trusted: `make fuzz`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oikos_risk::{Locus, Risk, Verdict, classify};

/// What must hold for every text and place.
fn check(text: &str, locus: Locus) -> Verdict {
    let verdict = classify(text, locus);
    assert_eq!(verdict, classify(text, locus), "the same text has two verdicts");
    for reason in &verdict.reasons {
        assert!(reason.risk <= verdict.risk, "a reason is above the verdict");
        if let Some(span) = &reason.span {
            assert!(text.get(span.clone()).is_some(), "a span is not in the text: {span:?}");
        }
    }
    let parsed = rable::parse(text, false);
    assert!(parsed.is_ok() || verdict.risk == Risk::Destructive, "what no parser understands is trusted");
    assert_eq!(classify(&format!("rm -rf /srv\n{text}"), locus).risk, Risk::Destructive, "text after it lowers");
    verdict
}

fuzz_target!(|text: &str| {
    // Longer texts are the guard's, and the parser's time is not what is looked for here.
    if text.len() > 2048 {
        return;
    }
    let (host, guest) = (check(text, Locus::Host), check(text, Locus::Guest));
    let shells_agree = !guest.reasons.iter().any(|reason| reason.code == "shell:bash-only");
    assert!(guest.risk <= host.risk || !shells_agree, "worse in a guest than on a host");
});

//! Why the gate never lets a step start, in words that say what to change.

use super::assessment::Assessment;
use crate::{api::Plan, policy::Refusal};

/// The text for an Execution's message and for a plan's declared step.
pub(super) fn refusal_text(refusal: Refusal, about: &str, assessment: &Assessment, plan: &Plan) -> String {
    let targets = plan.spec.targets.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match refusal {
        Refusal::UnknownTarget => {
            format!("refused: this namespace has no Host or Guest for {about}; name a known target, or register it")
        }
        Refusal::Unbounded => format!(
            "refused: the command does not end by itself or wants a terminal; {}",
            assessment.hint.as_deref().unwrap_or("use a form that ends, such as `timeout 10 …` or `tail -n 200`")
        ),
        Refusal::Protected => format!("refused: {about} is on its host's protected list; no plan may touch it"),
        Refusal::OutOfScope => {
            format!("refused: {about} is outside the approved scope ({targets}); stay within it or ask the operator")
        }
        Refusal::SeveralTargets => {
            format!("refused: this would destroy on several targets at once ({about}); make it one step for each")
        }
    }
}

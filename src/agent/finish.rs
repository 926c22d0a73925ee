//! Whether a reported success rests on something.

use std::collections::BTreeMap;

use crate::api::{Execution, ExecutionPhase};

/// Checks that the evidence names steps of this plan and that they succeeded. The error is meant for the model.
/// `executions`: this plan's, by name.
pub fn check_finish(evidence: &[String], executions: &BTreeMap<String, Execution>) -> Result<(), String> {
    let advice = "Nothing is finished. Verify the goal with a step that reads the end state, and name that step.";
    if evidence.is_empty() {
        return Err(format!("finish needs the ids of the steps that verified the goal. {advice}"));
    }
    let wrong: Vec<String> = evidence
        .iter()
        .filter_map(|id| {
            let Some(execution) = executions.get(id) else {
                return Some(format!("{id:?} is not a step of this plan"));
            };
            match execution.status.as_ref().map(|status| status.phase).unwrap_or_default() {
                ExecutionPhase::Succeeded => None,
                phase => Some(format!("{id} did not succeed: it is {phase:?}")),
            }
        })
        .collect();
    if wrong.is_empty() { Ok(()) } else { Err(format!("The evidence does not hold: {}. {advice}", wrong.join("; "))) }
}

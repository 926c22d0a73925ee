//! What changes from turn to turn: the state of the plan, told at the very end of the newest entry.

use std::fmt::Write;

use crate::api::{PlanPhase, Target, text::shortened};

/// Longest part of the goal that is repeated, in bytes.
const LONGEST_GOAL: usize = 1500;

/// The state of the plan at the time of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnContext {
    /// Where the plan stands.
    pub phase: PlanPhase,
    /// Seconds until the approval ends; none when no window is open.
    pub window_seconds: Option<u64>,
    /// The plan's targets and what is known of them.
    pub targets: Vec<KnownTarget>,
    /// Turns that remain, this one included.
    pub iterations_left: u32,
    /// What the controller has to say about the last answer: [`super::prompt::nudge`].
    pub nudge: Option<String>,
    /// Set in the closing turn: why there will be no further one.
    pub closing: Option<String>,
    /// Size of the transcript, in bytes, above which old results are shortened.
    pub budget: usize,
}

impl Default for TurnContext {
    fn default() -> Self {
        Self {
            phase: PlanPhase::Running,
            window_seconds: None,
            targets: Vec::new(),
            iterations_left: 40,
            nudge: None,
            closing: None,
            budget: 400_000,
        }
    }
}

/// A target and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownTarget {
    /// The target.
    pub target: Target,
    /// For a guest, its host; none when the guest does not exist yet.
    pub host: Option<Target>,
    /// For a guest, its VMID.
    pub vmid: Option<u32>,
    /// Anything else worth knowing, such as that the host does not answer.
    pub note: Option<String>,
}

impl KnownTarget {
    fn render(&self) -> String {
        let mut text = self.target.to_string();
        if let (Some(host), Some(vmid)) = (&self.host, self.vmid) {
            let _ = write!(text, " (VMID {vmid} on {host})");
        }
        if let Some(note) = &self.note {
            let _ = write!(text, " ({note})");
        }
        text
    }
}

impl TurnContext {
    /// The text to append. The goal is repeated because some servers silently drop the oldest part of a conversation.
    pub(super) fn render(&self, goal: Option<&str>) -> String {
        let mut text = format!("\n\n--- state of the plan, from the controller ---\nphase: {:?}; ", self.phase);
        let _ = match self.window_seconds {
            Some(seconds) => write!(text, "approval window: {seconds} s left"),
            None => write!(text, "no approval window is open, so a change will wait for the operator's approval"),
        };
        let _ = write!(text, "; turns left: {}", self.iterations_left);
        if !self.targets.is_empty() {
            let known: Vec<String> = self.targets.iter().map(KnownTarget::render).collect();
            let _ = write!(text, "\ntargets: {}", known.join(", "));
        }
        if let Some(goal) = goal {
            let _ = write!(text, "\ngoal: {}", shortened(goal.trim(), LONGEST_GOAL));
        }
        if let Some(nudge) = &self.nudge {
            let _ = write!(text, "\n{nudge}");
        }
        if let Some(why) = &self.closing {
            let _ = write!(
                text,
                "\nThis is the last turn: {why}. You cannot call tools in it. Say in plain words what was reached, \
                 what was not and why, what state the targets are in, and what the operator should do next. Do not claim \
                 what no step has shown."
            );
        }
        text
    }
}

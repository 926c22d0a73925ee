//! The gate: whether a step may start, and what allows it.

use std::collections::BTreeSet;

use k8s_openapi::jiff::Timestamp;

use oikos_risk::Flags;

use super::scope::{Inventory, Scope};
use crate::api::{Authority, AuthorityKind, ExecutionReason, Risk, Target, WindowClass};

/// A grant that is open, by its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenWindow {
    /// The AutonomyWindow's name.
    pub name: String,
    /// The digest of the plan as it was approved.
    pub digest: String,
    /// What it allows.
    pub class: WindowClass,
    /// The targets that it covers.
    pub targets: BTreeSet<Target>,
    /// When it ends.
    pub expires: Timestamp,
    /// Who granted it.
    pub approver: String,
}

/// The digests that cover the plan as it stands: its own, and that of the latest grant while nothing is different from
/// what was approved but limits that got smaller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Covered {
    /// The digest of the plan as it stands.
    pub current: String,
    /// That of the latest grant, if it still covers the plan.
    pub granted: Option<String>,
}

impl Covered {
    /// Whether a grant of this digest covers the plan.
    pub fn by(&self, digest: &str) -> bool {
        self.current == digest || self.granted.as_deref() == Some(digest)
    }
}

/// A step that wants to start.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The effective risk: the higher of the classifier's and the declared one.
    pub risk: Risk,
    /// What it acts on.
    pub scope: &'a Scope,
    /// What else the classifier has found in the command.
    pub flags: Flags,
    /// The plan's targets.
    pub plan_targets: &'a [Target],
    /// The digests that cover the plan as it stands.
    pub covered: &'a Covered,
    /// Whether the plan itself names this very step.
    pub named_in_plan: bool,
    /// The open windows of the plan.
    pub windows: &'a [OpenWindow],
    /// The Hosts and Guests of the namespace.
    pub inventory: &'a Inventory,
    /// The controller's clock.
    pub now: Timestamp,
}

/// Why a step may never start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It acts on something that the namespace does not know.
    UnknownTarget,
    /// It would not end by itself.
    Unbounded,
    /// It touches a guest on its host's protected list.
    Protected,
    /// It touches something that is not among the plan's targets.
    OutOfScope,
    /// It would destroy on more than one target at once.
    SeveralTargets,
}

impl Refusal {
    /// The stable code in status.
    pub fn code(self) -> ExecutionReason {
        match self {
            Self::UnknownTarget => ExecutionReason::UnknownTarget,
            Self::Unbounded => ExecutionReason::Unbounded,
            Self::Protected => ExecutionReason::Protected,
            Self::OutOfScope => ExecutionReason::OutOfScope,
            Self::SeveralTargets => ExecutionReason::SeveralTargets,
        }
    }
}

/// What is missing for a step to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// An approval of the plan as it stands.
    Window,
    /// The typed phrase for this target.
    Phrase(Target),
}

/// The gate's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateAnswer {
    /// It may start; this is what allows it.
    Allow(Authority),
    /// It may start once a person has done this.
    Await(Need),
    /// It may never start; the text says about what.
    Refuse(Refusal, String),
}

/// Answers whether a step may start. The order of the checks is part of the contract: a step that can never run is
/// refused before anybody is asked to approve it.
pub fn gate(question: &Question<'_>) -> GateAnswer {
    if let Some(answer) = refusal(question) {
        return answer;
    }
    match question.risk {
        Risk::ReadOnly => GateAnswer::Allow(Authority { kind: AuthorityKind::ReadOnly, name: None, approver: None }),
        _ if !out_of_scope(question).is_empty() => {
            GateAnswer::Refuse(Refusal::OutOfScope, names_of(out_of_scope(question)))
        }
        Risk::ConfigMutation => match assent_window(question) {
            Some(window) => GateAnswer::Allow(authority(AuthorityKind::Window, window)),
            None => GateAnswer::Await(Need::Window),
        },
        Risk::Destructive => answer_destructive(question),
    }
}

/// Why a step may never start, whatever is approved.
fn refusal(question: &Question<'_>) -> Option<GateAnswer> {
    let unknown = &question.scope.unknown;
    if let Some(thing) = unknown.iter().find(|thing| thing.protected) {
        return Some(GateAnswer::Refuse(Refusal::Protected, thing.what.clone()));
    }
    if !unknown.is_empty() {
        let what = unknown.iter().map(|thing| thing.what.as_str()).collect::<Vec<_>>().join(", ");
        return Some(GateAnswer::Refuse(Refusal::UnknownTarget, what));
    }
    if question.flags.unbounded || question.flags.interactive {
        return Some(GateAnswer::Refuse(Refusal::Unbounded, String::new()));
    }
    let protected: Vec<_> =
        question.scope.touches.iter().filter(|target| question.inventory.protects(target)).collect();
    (!protected.is_empty()).then(|| GateAnswer::Refuse(Refusal::Protected, names_of(protected)))
}

/// The answer to a destructive step within the plan's targets.
fn answer_destructive(question: &Question<'_>) -> GateAnswer {
    let mut targets = question.scope.acts_on.iter();
    let (Some(target), others) = (targets.next(), targets.next()) else {
        return GateAnswer::Refuse(Refusal::UnknownTarget, "nothing".to_owned());
    };
    if question.named_in_plan {
        return match assent_window(question) {
            Some(window) => GateAnswer::Allow(authority(AuthorityKind::PlanStep, window)),
            None => GateAnswer::Await(Need::Window),
        };
    }
    if others.is_some() {
        return GateAnswer::Refuse(Refusal::SeveralTargets, names_of(question.scope.acts_on.iter().collect()));
    }
    let confirmed = open_windows(question, WindowClass::Destructive)
        .find(|window| window.targets.len() == 1 && window.targets.contains(target));
    match confirmed {
        Some(window) => GateAnswer::Allow(authority(AuthorityKind::DestructiveWindow, window)),
        None => GateAnswer::Await(Need::Phrase(target.clone())),
    }
}

fn open_windows<'a>(question: &'a Question<'_>, class: WindowClass) -> impl Iterator<Item = &'a OpenWindow> {
    question.windows.iter().filter(move |window| {
        window.class == class && question.covered.by(&window.digest) && question.now < window.expires
    })
}

/// The open window for changes that covers everything that the step touches; the one that ends last.
fn assent_window<'a>(question: &'a Question<'_>) -> Option<&'a OpenWindow> {
    open_windows(question, WindowClass::Assent)
        .filter(|window| question.scope.touches.is_subset(&window.targets))
        .max_by_key(|window| window.expires)
}

fn out_of_scope<'a>(question: &'a Question<'_>) -> Vec<&'a Target> {
    question.scope.touches.iter().filter(|target| !question.plan_targets.contains(target)).collect()
}

fn authority(kind: AuthorityKind, window: &OpenWindow) -> Authority {
    Authority { kind, name: Some(window.name.clone()), approver: Some(window.approver.clone()) }
}

fn names_of(targets: Vec<&Target>) -> String {
    targets.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

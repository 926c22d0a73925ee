//! What may be decided about a plan: the defects that were found, each as a sentence, and every phase.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::samples::*;
use crate::api::{
    APPROVE, Approval, AutonomyWindow, BlockedReason, DENY, Execution, ExecutionPhase, ExecutionReason,
    ExecutionStatus, Plan, PlanPhase, PlanResult, PlanStatus, REASON, Reason, ReasonCode, WindowClass, WindowPhase,
};
use crate::decide::*;

/// A plan and what is seen of it.
#[derive(Clone)]
struct Case {
    plan: Plan,
    windows: Vec<AutonomyWindow>,
    executions: BTreeMap<String, Execution>,
    occupied_names: BTreeSet<String>,
    agent_obstacle: Option<Reason<BlockedReason>>,
    turn: Option<Turn>,
    tally: Tally,
    asking: bool,
    now: i64,
}

impl Case {
    fn new(plan: Plan) -> Self {
        Self {
            plan,
            windows: Vec::new(),
            executions: BTreeMap::new(),
            occupied_names: BTreeSet::new(),
            agent_obstacle: None,
            turn: None,
            tally: Tally::default(),
            asking: false,
            now: NOW,
        }
    }

    /// A plan that a person has approved at NOW.
    fn approved(plan: Plan) -> Self {
        let mut case = Self::new(plan);
        case.pass();
        case.approve();
        case
    }

    /// A person approves, and the window opens.
    fn approve(&mut self) {
        let name = granted_name(&self.plan);
        let made = a_window(&self.plan, &name, WindowClass::Assent);
        self.windows.push(opened(made, WindowPhase::Active, self.now, self.now + 600));
    }

    fn decide(&self) -> Decision<PlanEffect, PlanStatus> {
        decide_plan(&ObservedPlan {
            plan: &self.plan,
            windows: &self.windows,
            executions: &self.executions,
            occupied_names: &self.occupied_names,
            inventory: &inventory(),
            agent_obstacle: self.agent_obstacle.as_ref(),
            turn: self.turn.as_ref(),
            tally: self.tally,
            asking: self.asking,
            admission_guard: AdmissionGuard::Up,
            now: at(self.now),
        })
    }

    /// One pass: the status is written, and asking begins if that is the effect.
    fn pass(&mut self) -> PlanEffect {
        let step = self.decide();
        if let Some(status) = step.status {
            self.plan.status = Some(status);
        }
        self.asking |= matches!(step.effect, PlanEffect::Ask { .. });
        step.effect
    }

    /// Passes until nothing is written any more; fails if that does not happen.
    fn settle(&mut self) -> PlanEffect {
        for _ in 0..8 {
            let written = self.decide().status.is_some();
            let effect = self.pass();
            if !written {
                return effect;
            }
        }
        panic!("the status never settles: {:?}", self.plan.status);
    }

    fn phase(&self) -> PlanPhase {
        self.plan.status.as_ref().unwrap().phase
    }

    fn approval(&self) -> Approval {
        self.plan.status.as_ref().unwrap().approval.clone().unwrap()
    }

    fn say(&mut self, key: &str, value: &str) {
        annotate(&mut self.plan.metadata.annotations, key, value);
    }

    fn turn(&mut self, end: TurnEnd) {
        self.asking = false;
        self.turn = Some(Turn { sequence: 3, time: at(self.now), steps: Vec::new(), end, answered: false });
    }

    fn ended(&mut self, name: &str, command: &str, phase: ExecutionPhase, reason: ExecutionReason) {
        let mut ended = an_execution(name, "lxc:web", command);
        ended.status = Some(ExecutionStatus {
            phase,
            reason: Some(reason),
            completion_time: Some(Time(at(self.now))),
            ..ExecutionStatus::default()
        });
        self.executions.insert(name.to_owned(), ended);
    }
}

#[test]
fn an_approval_answers_a_failed_turn_once_and_the_status_settles_while_the_model_is_asked() {
    for end in
        [TurnEnd::Failed(Reason::new(BlockedReason::ModelUnauthorized, "401")), TurnEnd::Closing("so far".into())]
    {
        let mut case = Case::approved(a_plan(&[]));
        case.settle();
        case.turn(end.clone());
        case.tally.iterations = if matches!(end, TurnEnd::Closing(_)) { 40 } else { 1 };
        case.settle();
        assert_eq!(case.phase(), PlanPhase::Blocked, "{end:?}");
        case.now += 5;
        case.approve();
        case.settle();
        assert_eq!(case.phase(), PlanPhase::Running, "{end:?}");
        assert!(case.asking, "{end:?}");
    }
}

#[test]
fn a_window_that_ended_before_the_plan_saw_it_open_does_not_hold_the_token() {
    for (phase, until) in
        [(WindowPhase::Expired, NOW - 5), (WindowPhase::Revoked, NOW + 300), (WindowPhase::Active, NOW)]
    {
        let mut case = Case::new(a_plan(&[CHANGES]));
        case.pass();
        let (name, before) = (granted_name(&case.plan), case.approval().token);
        case.say(APPROVE, &before);
        let made = a_window(&case.plan, &name, WindowClass::Assent);
        case.windows.push(opened(made, phase, NOW - 600, until));
        case.settle();
        assert_eq!(case.phase(), PlanPhase::AwaitingApproval);
        let after = case.approval().token;
        assert_ne!(after, before, "{phase:?}: approving anew would change nothing");
        case.say(APPROVE, &after);
        assert!(matches!(case.settle(), PlanEffect::Grant(_)), "{phase:?}");
    }
}

#[test]
fn a_window_that_has_yet_to_open_is_waited_for() {
    let mut case = Case::new(a_plan(&[CHANGES]));
    case.pass();
    let before = case.approval().token;
    case.say(APPROVE, &before);
    let PlanEffect::Grant(made) = case.settle() else { panic!("no window") };
    case.windows.push(*made);
    assert_eq!(case.settle(), PlanEffect::None);
    assert_eq!(case.approval().token, before);
}

#[test]
fn a_denied_plan_stays_denied_whatever_else_is_wrong() {
    let mut case = Case::new(a_plan(&[]));
    case.pass();
    case.say(DENY, &shown_token(&case.plan));
    case.settle();
    assert_eq!(case.phase(), PlanPhase::Denied);
    case.agent_obstacle = Some(Reason::new(BlockedReason::UnknownAgent, "none"));
    case.settle();
    assert_eq!(case.phase(), PlanPhase::Denied);
}

#[test]
fn a_denied_step_ends_a_plan_without_an_agent_and_uses_the_token_up() {
    let mut case = Case::approved(a_plan(&[CHANGES]));
    assert!(matches!(case.settle(), PlanEffect::Execute(_)));
    case.now += 5;
    let before = case.approval().token;
    case.ended("p-1-1", CHANGES, ExecutionPhase::Denied, ExecutionReason::DeniedByOperator);
    case.settle();
    assert_eq!(case.phase(), PlanPhase::Denied);
    assert_eq!(case.approval().granted, None);
    assert_ne!(case.approval().token, before);
    case.now += 5;
    case.approve();
    let PlanEffect::Execute(next) = case.settle() else { panic!("a new grant starts the step anew") };
    assert_eq!(next.metadata.name.as_deref(), Some("p-1-2"));
}

#[test]
fn a_step_that_cannot_start_in_time_again_and_again_ends_the_plan() {
    let mut case = Case::approved(a_plan(&[LOOKS]));
    for call in 1..=10 {
        let PlanEffect::Execute(next) = case.settle() else { break };
        assert_eq!(next.metadata.name, Some(format!("p-1-{call}")));
        case.ended(&format!("p-1-{call}"), LOOKS, ExecutionPhase::Expired, ExecutionReason::TooLate);
    }
    assert_eq!(case.phase(), PlanPhase::Failed);
    assert_eq!(case.executions.len(), 4, "limits.consecutiveFailures");
}

#[test]
fn whatever_the_model_or_a_person_says_can_be_stored() {
    let long = "ä".repeat(200_000);
    let ends = [
        TurnEnd::Question(long.clone()),
        TurnEnd::Failed(Reason::new(BlockedReason::Unknown, &long)),
        TurnEnd::Closing(long.clone()),
        TurnEnd::Finished(PlanResult { summary: long.clone(), evidence: vec!["p-1-1".into(); 99] }),
    ];
    for end in ends {
        let mut case = Case::approved(a_plan(&[]));
        case.settle();
        case.tally.iterations = 40;
        case.turn(end);
        case.settle();
        let status = case.plan.status.clone().unwrap();
        let characters = |text: &str| text.chars().count();
        assert!(
            status.blocked.is_none_or(|it| characters(&it.question) <= 16_384 && characters(it.reason.as_str()) <= 253)
        );
        assert!(status.result.is_none_or(|it| characters(&it.summary) <= 16_384 && it.evidence.len() <= 16));
    }
    let mut case = Case::new(a_plan(&[CHANGES]));
    case.pass();
    case.say(APPROVE, &long);
    case.settle();
    assert!(serde_json::to_string(&case.plan.status).unwrap().len() < 10_000, "the wrong token is not repeated whole");
    case.say(REASON, &long);
    case.say(APPROVE, &shown_token(&case.plan));
    let PlanEffect::Grant(made) = case.settle() else { panic!("no window") };
    assert!(made.spec.reason.unwrap().chars().count() <= 1024);
}

#[test]
fn a_plan_that_is_being_deleted_begins_nothing_and_stops_asking() {
    let mut case = Case::approved(a_plan(&[]));
    case.settle();
    assert!(case.asking);
    case.plan.metadata.deletion_timestamp = Some(Time(at(NOW)));
    assert_eq!(case.settle(), PlanEffect::StopAsking);
    case.asking = false;
    assert_eq!(case.settle(), PlanEffect::None);
    assert_eq!(case.phase(), PlanPhase::Cancelled);
}

#[test]
fn a_step_whose_name_an_earlier_plan_still_holds_is_waited_for_and_then_made() {
    let mut case = Case::approved(a_plan(&[CHANGES]));
    case.occupied_names.insert("p-1-1".into());
    assert_eq!(case.settle(), PlanEffect::None);
    assert_eq!(case.plan.status.as_ref().unwrap().blocked.as_ref().unwrap().reason, BlockedReason::NameTaken);
    assert_eq!(case.decide().again_at, Some(at(NOW + 3)), "nobody would wake it");
    case.occupied_names.clear();
    assert!(matches!(case.settle(), PlanEffect::Execute(_)));
    assert_eq!(case.phase(), PlanPhase::Running);
}

#[test]
fn a_finished_plan_is_left_alone_whatever_is_said() {
    for phase in [PlanPhase::Succeeded, PlanPhase::Failed, PlanPhase::Cancelled] {
        let mut case = Case::approved(a_plan(&[CHANGES]));
        case.settle();
        case.plan.status.as_mut().unwrap().phase = phase;
        case.plan.spec.cancelled = true;
        case.say(DENY, &shown_token(&case.plan));
        case.say(APPROVE, &shown_token(&case.plan));
        assert_eq!(case.decide(), Decision::default(), "{phase:?}");
    }
}

#[test]
fn a_wrong_or_used_token_approves_nothing() {
    let mut case = Case::new(a_plan(&[CHANGES]));
    case.pass();
    let token = case.approval().token;
    for said in ["true", "", "0123456789ab", &token[..11], &token.to_uppercase()] {
        case.say(APPROVE, said);
        assert_eq!(case.settle(), PlanEffect::None, "{said:?}");
        assert_eq!(case.phase(), PlanPhase::AwaitingApproval);
    }
    case.say(APPROVE, &token);
    let PlanEffect::Grant(made) = case.settle() else { panic!("no window") };
    case.windows.push(opened(*made, WindowPhase::Active, NOW, NOW + 600));
    assert!(matches!(case.settle(), PlanEffect::Execute(_)));
    case.now += 600;
    case.windows[0].status.as_mut().unwrap().phase = WindowPhase::Expired;
    assert!(!matches!(case.settle(), PlanEffect::Grant(_)), "the annotation that is still there approves nothing");
}

#[test]
fn a_limit_ends_in_one_turn_without_tools_and_then_waits() {
    let mut case = Case::approved(a_plan(&[]));
    case.settle();
    case.tally.iterations = 40;
    case.turn(TurnEnd::GoOn);
    let closing = case.pass();
    assert!(
        matches!(
            closing,
            PlanEffect::Ask { sequence: 4, closing: Some(Reason { code: BlockedReason::IterationLimit, .. }) }
        ),
        "{closing:?}"
    );
    case.turn(TurnEnd::Closing("so far".into()));
    assert_eq!(case.settle(), PlanEffect::None);
    assert_eq!(case.phase(), PlanPhase::Blocked);
    case.turn.as_mut().unwrap().answered = true;
    assert!(matches!(case.pass(), PlanEffect::Ask { closing: None, .. }));
    assert_eq!(case.settle(), PlanEffect::None);
    assert_eq!(case.phase(), PlanPhase::Running);
}

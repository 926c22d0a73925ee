//! Whole stories: a plan, its Executions and its windows are decided in any order, on views that lag behind, while
//! people approve, deny, revoke, cancel, pause and edit. Whatever happens, nothing starts unless something allows it,
//! and all settles.

mod events;
mod world;

use std::collections::BTreeSet;

use proptest::prelude::*;

use self::{
    events::{EVENTS, Event},
    world::World,
};
use super::samples::*;
use crate::api::PlanPhase;

fn stories() -> impl Strategy<Value = (bool, Vec<Event>)> {
    let likely = prop_oneof![
        6 => Just(Event::Round),
        2 => Just(Event::Approve),
        1 => Just(Event::Confirm),
        2 => Just(Event::Answer(0)),
        3 => Just(Event::StepEnds),
    ];
    let event = prop_oneof![3 => likely, 1 => prop::sample::select(EVENTS.to_vec())];
    // Cancelling ends all, so it comes seldom.
    let event = event.prop_flat_map(|event| match event {
        Event::Cancel => prop_oneof![3 => Just(Event::Wait), 1 => Just(Event::Cancel)].boxed(),
        other => Just(other).boxed(),
    });
    (any::<bool>(), prop::collection::vec(event, 0..45))
}

fn tell(agent: bool, events: &[Event]) -> World {
    let plan = if agent { a_plan(&[]) } else { a_plan(&[CHANGES, DESTROYS, LOOKS]) };
    let mut world = World::new(plan);
    world.decide_plan();
    for event in events {
        world.happens(*event);
    }
    world.settle();
    world
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn whatever_happens_nothing_starts_unless_something_allows_it_and_all_settles((agent, events) in stories()) {
        tell(agent, &events);
    }

    #[test]
    fn whatever_happened_a_person_can_approve_and_the_work_goes_on((_, events) in stories()) {
        let mut world = tell(false, &events);
        if world.phase().is_terminal() || world.plan.spec.cancelled {
            return Ok(());
        }
        world.plan.spec.paused = false;
        for _ in 0..30 {
            world.now += 1;
            world.settle();
            if world.phase().is_terminal() {
                break;
            }
            // What a person sees and types, and what a host does.
            world.happens(Event::Approve);
            world.settle();
            world.happens(Event::StepEnds);
        }
        prop_assert_eq!(world.phase(), if world.log.contains("Failed") { PlanPhase::Failed } else { PlanPhase::Succeeded });
    }

    #[test]
    fn whatever_happened_cancelling_ends_the_plan((agent, events) in stories()) {
        let mut world = tell(agent, &events);
        if world.phase().is_terminal() {
            return Ok(());
        }
        world.happens(Event::Cancel);
        world.settle();
        // A mutating step that an earlier process left is found again, and then stopped.
        world.settle();
        prop_assert_eq!(world.phase(), PlanPhase::Cancelled);
        prop_assert!(world.running.is_empty());
    }
}

#[test]
fn the_stories_reach_every_turn() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    for _ in 0..600 {
        let (agent, events) = stories().new_tree(&mut runner).unwrap().current();
        seen.extend(tell(agent, &events).log);
    }
    let all = [
        "AwaitingApproval",
        "AwaitingConfirmation",
        "Blocked",
        "Cancelled",
        "Denied",
        "Failed",
        "PlanStep",
        "Running",
        "Succeeded",
        "Window",
        "asks",
        "step Cancelled PlanCancelled",
        "step Cancelling ",
        "step Denied DeniedByOperator",
        "step Denied GrantRevoked",
        "step Starting ",
        "step AwaitingApproval WindowNeeded",
        "step AwaitingApproval ConfirmationNeeded",
        "result Running ",
        "result Pending TargetBusy",
        "result Cancelled PlanCancelled",
        "result Succeeded Completed",
    ];
    for turn in all {
        assert!(seen.contains(turn), "{turn} is never reached: {seen:?}");
    }
}

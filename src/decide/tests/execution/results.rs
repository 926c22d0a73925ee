//! From the result of the task that ran a step to the status.

use super::{super::samples::*, Case};
use crate::{
    api::{ConnectionReason, Execution, ExecutionPhase, ExecutionReason, ExecutionStatus, Output, Risk},
    decide::*,
};

fn ends() -> [StepEnd; 10] {
    [
        StepEnd::Exited { code: 0 },
        StepEnd::Exited { code: 3 },
        StepEnd::Signalled { signal: "KILL".to_owned() },
        StepEnd::TimedOut { seconds: 600 },
        StepEnd::Cancelled,
        StepEnd::TooLate,
        StepEnd::NotSent(ConnectionReason::HostUnreachable.into()),
        StepEnd::NotStarted(ExecutionReason::MissingTools),
        StepEnd::ConnectionLost,
        StepEnd::Lost(ExecutionReason::Rebooted),
    ]
}

fn busy() -> StepEnd {
    StepEnd::NeverStarted(ExecutionReason::TargetBusy)
}

fn claimed(phase: ExecutionPhase) -> Execution {
    Case::of(CHANGES).in_phase(phase, Risk::ConfigMutation).execution
}

fn result(end: StepEnd) -> StepResult {
    StepResult { end, detail: "so it was".to_owned(), stdout: Some(Output::default()), stderr: None, created: None }
}

fn written(execution: &Execution, end: StepEnd) -> Option<ExecutionStatus> {
    execution_result(execution, execution, &result(end), at(NOW)).status
}

#[test]
fn a_result_is_written_only_to_a_claimed_execution_and_only_along_the_table_of_phases() {
    use ExecutionPhase::{Cancelling, Running, Starting};
    for phase in ExecutionPhase::ALL {
        for end in ends().into_iter().chain([busy()]) {
            let status = written(&claimed(phase), end.clone());
            if !matches!(phase, Starting | Running | Cancelling) {
                assert_eq!(status, None, "{phase:?} {end:?}");
            }
            let status = status.unwrap_or_else(|| claimed(phase).status.unwrap());
            assert!(phase.may_become(status.phase), "{phase:?} to {:?} by {end:?}", status.phase);
            assert_eq!(status.completion_time.is_some(), status.phase.is_terminal() && phase != status.phase);
        }
    }
}

#[test]
fn each_end_has_its_phase_and_its_reason() {
    use ExecutionPhase::*;
    use ExecutionReason::{Completed, MissingTools, NonZeroExit, PlanCancelled, Rebooted, Signalled, TooLate};
    let expected = [
        (Succeeded, Some(Completed)),
        (Failed, Some(NonZeroExit)),
        (Failed, Some(Signalled)),
        (TimedOut, Some(ExecutionReason::TimedOut)),
        (Cancelled, Some(PlanCancelled)),
        (Expired, Some(TooLate)),
        (Failed, Some(ConnectionReason::HostUnreachable.into())),
        (Failed, Some(MissingTools)),
        (Starting, None),
        (Lost, Some(Rebooted)),
    ];
    for (end, expected) in ends().into_iter().zip(expected) {
        let status = written(&claimed(Running), end.clone()).unwrap();
        assert_eq!((status.phase, status.reason), expected, "{end:?}");
    }
}

#[test]
fn a_change_that_never_started_is_claimed_anew_and_what_was_shown_as_running_never_becomes_pending() {
    for (phase, steps) in [
        (ExecutionPhase::Starting, vec![ExecutionPhase::Pending]),
        (ExecutionPhase::Running, vec![ExecutionPhase::Starting, ExecutionPhase::Pending]),
    ] {
        let mut case = Case::of(CHANGES).in_phase(phase, Risk::ConfigMutation);
        case = case.with_window(crate::api::WindowClass::Assent, crate::api::WindowPhase::Active, NOW + 60);
        let status = written(&case.execution, busy()).unwrap();
        assert_eq!((status.phase, status.reason), (steps[0], Some(ExecutionReason::TargetBusy)));
        case.execution.status = Some(status);
        for next in &steps[1..] {
            case.running = true;
            assert_eq!(case.decide(), Decision::default(), "its task has not left yet");
            case.running = false;
            let decision = case.decide();
            assert_eq!(decision.effect, ExecutionEffect::None);
            assert_eq!(decision.status.as_ref().map(|status| status.phase), Some(*next));
            case = case.then(&decision);
        }
        let decision = case.decide();
        assert_eq!(decision.effect, ExecutionEffect::Start);
        let status = decision.status.unwrap();
        assert_eq!((status.attempt, status.reason, status.message), (Some(2), None, None));
    }
}

#[test]
fn a_step_that_was_to_be_stopped_and_never_started_is_cancelled() {
    let status = written(&claimed(ExecutionPhase::Cancelling), busy()).unwrap();
    assert_eq!((status.phase, status.reason), (ExecutionPhase::Cancelled, Some(ExecutionReason::PlanCancelled)));
}

#[test]
fn a_result_of_another_attempt_or_of_a_namesake_is_of_no_interest() {
    let live = claimed(ExecutionPhase::Starting);
    let mut earlier = live.clone();
    earlier.status.as_mut().unwrap().attempt_id = Some("uid-of-p-1-1-0".to_owned());
    let mut namesake = live.clone();
    namesake.metadata.uid = Some("another".to_owned());
    for other in [earlier, namesake] {
        assert_eq!(execution_result(&live, &other, &result(StepEnd::Cancelled), at(NOW)), Decision::default());
        assert_eq!(show_running(&live, &other), None);
    }
}

#[test]
fn only_a_step_that_is_starting_is_shown_as_running() {
    for phase in ExecutionPhase::ALL {
        let execution = claimed(phase);
        let shown = show_running(&execution, &execution).map(|status| status.phase);
        assert_eq!(shown, (phase == ExecutionPhase::Starting).then_some(ExecutionPhase::Running), "{phase:?}");
    }
}

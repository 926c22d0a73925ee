//! The phases and attempts of an Execution: the API server allows what the table in `ExecutionPhase::may_become` allows,
//! and nothing else, whoever writes.

use std::collections::VecDeque;

use kube::api::{Api, Patch, PatchParams, PostParams};
use oikos::api::{Execution, ExecutionPhase, Plan};
use serde_json::{Value, json};

use crate::cluster::{Room, api_error, room};

fn set(phase: ExecutionPhase) -> Patch<Value> {
    Patch::Merge(json!({"status": {"phase": phase}}))
}

/// A shortest way from Pending to `phase` along the table, Pending left out.
fn way_to(phase: ExecutionPhase) -> Vec<ExecutionPhase> {
    let mut ways = VecDeque::from([vec![ExecutionPhase::Pending]]);
    while let Some(way) = ways.pop_front() {
        let last = *way.last().unwrap();
        if last == phase {
            return way[1..].to_vec();
        }
        let next = ExecutionPhase::ALL.into_iter().filter(|next| last.may_become(*next) && !way.contains(next));
        ways.extend(next.map(|next| [way.as_slice(), &[next]].concat()));
    }
    panic!("{phase:?} cannot be reached");
}

/// An Execution that came to this phase by legal writes.
async fn execution_in(room: &Room, plan: &Plan, phase: ExecutionPhase) -> (Api<Execution>, String) {
    let executions = room.executions(&room.controller);
    let name = format!("web-1-{}", format!("{phase:?}").to_lowercase());
    executions.create(&PostParams::default(), &room.execution_object(plan, &name)).await.unwrap();
    for phase in way_to(phase) {
        executions.patch_status(&name, &PatchParams::default(), &set(phase)).await.unwrap();
    }
    (executions, name)
}

#[tokio::test]
async fn the_api_server_and_the_table_of_phases_agree_on_every_pair() {
    let room = room("phases").await;
    let plan = room.plan("web").await;
    let dry_run = PatchParams { dry_run: true, ..PatchParams::default() };
    for from in ExecutionPhase::ALL {
        let (executions, name) = execution_in(&room, &plan, from).await;
        for next in ExecutionPhase::ALL {
            let written = executions.patch_status(&name, &dry_run, &set(next)).await;
            assert_eq!(written.is_ok(), from.may_become(next), "{from:?} to {next:?}: {written:?}");
            if let Err(error) = written {
                let message = api_error::<()>(Err(error));
                let words = if from.is_terminal() {
                    "a terminal phase never changes".to_owned()
                } else {
                    format!("an Execution that is {from:?} may not become {next:?}")
                };
                assert!(message.contains(&words), "{message}");
            }
        }
        let mut execution = executions.get(&name).await.unwrap();
        execution.status = None;
        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
        let erased = executions.replace_status(&name, &dry_run, &execution).await;
        assert_eq!(erased.is_ok(), from.may_become(ExecutionPhase::Pending), "{from:?} to no status: {erased:?}");
    }
}

#[tokio::test]
async fn a_terminal_phase_of_an_execution_is_written_once() {
    let room = room("terminal").await;
    let plan = room.plan("web").await;
    for phase in ExecutionPhase::ALL.into_iter().filter(|phase| phase.is_terminal()) {
        let (executions, name) = execution_in(&room, &plan, phase).await;
        for other in ExecutionPhase::ALL.into_iter().filter(|other| *other != phase) {
            let rewritten = executions.patch_status(&name, &PatchParams::default(), &set(other)).await;
            let message = api_error(rewritten);
            assert!(message.contains("a terminal phase never changes"), "{phase:?} to {other:?}: {message}");
        }
        let mut execution = executions.get(&name).await.unwrap();
        execution.status = None;
        let erased = executions.replace_status(&name, &PostParams::default(), &execution).await;
        assert!(api_error(erased).contains("a terminal phase never changes"));
        let note = Patch::Merge(json!({"status": {"message": "looked at again"}}));
        let noted = executions.patch_status(&name, &PatchParams::default(), &note).await.unwrap();
        assert!(noted.status.unwrap().phase.is_terminal());
    }
}

#[tokio::test]
async fn an_attempt_id_changes_only_with_a_further_claim() {
    let room = room("claims").await;
    let plan = room.plan("web").await;
    let (executions, name) = execution_in(&room, &plan, ExecutionPhase::Pending).await;
    let status = |phase: &str, attempt: u32, id: Value| {
        Patch::Merge(json!({"status": {"phase": phase, "attempt": attempt, "attemptId": id}}))
    };
    let write = async |patch: Patch<Value>| executions.patch_status(&name, &PatchParams::default(), &patch).await;
    write(status("Starting", 1, json!("uid-1"))).await.unwrap();
    for patch in [
        status("Starting", 1, json!("uid-2")),
        status("Running", 1, json!("uid-2")),
        status("Running", 2, json!("uid-2")),
        status("Pending", 2, json!("uid-2")),
        status("Succeeded", 1, json!("uid-2")),
        status("Starting", 1, Value::Null),
        status("Cancelling", 1, Value::Null),
    ] {
        let message = api_error(write(patch).await);
        assert!(message.contains("attemptId changes only with a further attempt that is Starting"), "{message}");
    }
    write(status("Running", 1, json!("uid-1"))).await.unwrap();
    write(status("Starting", 2, json!("uid-2"))).await.unwrap();
    write(status("Succeeded", 2, json!("uid-2"))).await.unwrap();
}

#[tokio::test]
async fn an_attempt_is_never_taken_back() {
    let room = room("attempt").await;
    let plan = room.plan("web").await;
    room.waiting_execution(&plan, "web-1-1", false).await;
    let executions = room.executions(&room.controller);
    let set_attempt = |attempt: Value| Patch::Merge(json!({"status": {"attempt": attempt}}));
    executions.patch_status("web-1-1", &PatchParams::default(), &set_attempt(json!(2))).await.unwrap();
    for back in [json!(1), Value::Null] {
        let message = api_error(executions.patch_status("web-1-1", &PatchParams::default(), &set_attempt(back)).await);
        assert!(message.contains("attempt never decreases"), "{message}");
    }
}

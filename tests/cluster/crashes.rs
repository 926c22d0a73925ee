//! The controller or its connection dies in the middle of a step: nothing is lost and nothing is done twice. The
//! stand-in host's file `/root/effects` counts what really happened.

use kube::api::{Patch, PatchParams};
use oikos::api::{Execution, ExecutionPhase, Guest, Plan, PlanPhase};
use serde_json::{Value, json};

use crate::harness::{HELD, Lab, QUICK, step};

/// A read-only step that lasts until the file `/root/go` is there.
const HELD_READ: &str = "until [ -e /root/go ]; do sleep 0.1; done; echo seen";

/// Ends when the creation of a container has begun.
const WAIT_FOR_A_CONTAINER: &str =
    "for i in $(seq 600); do ls /etc/pve/lxc/*.conf >/dev/null 2>&1 && exit 0; sleep 0.1; done; exit 1";

/// A plan whose first step is known to run on the host.
async fn running(name: &str, steps: Value) -> Lab {
    let lab = Lab::new(name).await;
    lab.plan("web", json!({"steps": steps})).await;
    lab.approve("web").await;
    lab.execution_until("web-1-1", ExecutionPhase::Running).await;
    lab
}

fn held_then_quick() -> Value {
    json!([step("hold", HELD), step("change", QUICK)])
}

/// Waits for the plan's success, and proves that every step began and ended once.
async fn succeeds_once(lab: &Lab) {
    lab.plan_until("web", PlanPhase::Succeeded).await;
    assert_eq!(lab.effects(), ["start", "end", "quick"]);
    assert_eq!(lab.executions().await, ["web-1-1", "web-2-1"]);
    let held = lab.execution_until("web-1-1", ExecutionPhase::Succeeded).await;
    assert_eq!((held.attempt, held.exit_code), (Some(1), Some(0)));
    assert_eq!(held.stdout.unwrap().text, "done\n");
}

#[tokio::test]
async fn a_killed_controllers_running_step_is_adopted_by_the_next() {
    let mut lab = running("kill", held_then_quick()).await;
    lab.take_controller().kill();
    lab.start_controller().await;
    lab.release();
    succeeds_once(&lab).await;
}

#[tokio::test]
async fn a_step_that_ended_while_no_controller_ran_is_not_lost() {
    let mut lab = running("kill-end", held_then_quick()).await;
    lab.take_controller().kill();
    lab.release();
    lab.on_host("until grep -q end /root/effects; do sleep 0.1; done");
    lab.start_controller().await;
    succeeds_once(&lab).await;
}

#[tokio::test]
async fn sigterm_ends_the_controller_in_good_order_and_leaves_the_step_to_the_next() {
    let mut lab = running("term", held_then_quick()).await;
    let ended = lab.take_controller().terminate().await;
    assert!(ended.success(), "{ended}");
    let phase = lab.api::<Execution>().get("web-1-1").await.unwrap().status.unwrap().phase;
    assert_eq!(phase, ExecutionPhase::Running);
    lab.start_controller().await;
    lab.release();
    succeeds_once(&lab).await;
}

#[tokio::test]
async fn a_read_only_step_of_a_killed_controller_is_made_again() {
    let mut lab = running("kill-read", json!([step("look", HELD_READ)])).await;
    lab.take_controller().kill();
    lab.start_controller().await;
    let again = |it: &Execution| it.status.as_ref().is_some_and(|status| status.attempt == Some(2));
    lab.until("web-1-1", "a second attempt", again).await;
    lab.release();
    lab.plan_until("web", PlanPhase::Succeeded).await;
    let look = lab.execution_until("web-1-1", ExecutionPhase::Succeeded).await;
    assert_eq!((look.attempt, look.stdout.unwrap().text.as_str()), (Some(2), "seen\n"));
}

#[tokio::test]
async fn a_cut_connection_costs_a_changing_step_nothing() {
    let lab = running("cut", held_then_quick()).await;
    lab.standin.kill_sessions().unwrap();
    lab.release();
    succeeds_once(&lab).await;
}

#[tokio::test]
async fn a_cut_connection_makes_a_read_only_step_run_again() {
    let lab = running("cut-read", json!([step("look", HELD_READ)])).await;
    lab.standin.kill_sessions().unwrap();
    let again = |it: &Execution| it.status.as_ref().is_some_and(|status| status.attempt == Some(2));
    lab.until("web-1-1", "a second attempt", again).await;
    lab.release();
    lab.plan_until("web", PlanPhase::Succeeded).await;
}

#[tokio::test]
async fn a_host_that_goes_away_for_a_while_is_asked_again_for_the_steps_result() {
    let lab = running("away", held_then_quick()).await;
    lab.standin.stop_sshd().unwrap();
    lab.controller().logged("looking for a step").await;
    lab.standin.start_sshd().unwrap();
    lab.release();
    succeeds_once(&lab).await;
}

#[tokio::test]
async fn a_controller_that_is_killed_at_every_claim_still_does_everything_once() {
    let mut lab = Lab::new("claims").await;
    let names = ["one", "two", "three", "four"];
    let steps: Vec<_> = names.iter().map(|name| step(name, &format!("echo {name} >> /root/effects"))).collect();
    lab.plan("web", json!({"steps": steps})).await;
    lab.approve("web").await;
    for number in 1..=names.len() {
        let claimed = |it: &Execution| it.status.as_ref().is_some_and(|status| status.attempt.is_some());
        lab.until(&format!("web-{number}-1"), "a claim", claimed).await;
        lab.take_controller().kill();
        lab.start_controller().await;
    }
    lab.plan_until("web", PlanPhase::Succeeded).await;
    assert_eq!(lab.effects(), names);
    assert_eq!(lab.executions().await.len(), names.len());
}

#[tokio::test]
async fn a_controller_that_is_killed_after_the_approval_opens_one_window_and_runs_the_plan() {
    let mut lab = Lab::new("granted").await;
    lab.plan("web", json!({"steps": [step("change", QUICK)]})).await;
    let waiting = lab.plan_until("web", PlanPhase::AwaitingApproval).await.approval.unwrap();
    lab.take_controller().kill();
    lab.copied(&waiting.command).await.ok().unwrap();
    lab.start_controller().await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
    assert_eq!(lab.windows().await.len(), 1);
    assert_eq!(lab.effects(), ["quick"]);
    let plan = lab.api::<Plan>().get("web").await.unwrap();
    assert_ne!(plan.status.unwrap().approval.unwrap().token, waiting.token);
}

#[tokio::test]
async fn a_container_is_made_once_however_often_the_controller_dies_and_is_the_next_steps_target() {
    let mut lab = Lab::new("container").await;
    let steps = json!([
        {"name": "create", "target": "host:pve", "createContainer": {"hostname": "web"}},
        {"name": "change", "target": "lxc:web", "run": "hostname > /root/name; cat /root/name"},
    ]);
    lab.plan("web", json!({"targets": ["host:pve", "lxc:web"], "steps": steps})).await;
    lab.approve("web").await;
    lab.on_host(WAIT_FOR_A_CONTAINER);
    lab.take_controller().kill();
    lab.start_controller().await;
    lab.take_controller().kill();
    lab.start_controller().await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
    let guests = lab.standin.guests();
    assert_eq!(guests.len(), 1, "{guests:?}");
    assert_eq!((guests[0].hostname.as_str(), guests[0].running), ("web", true));
    let registered = lab.api::<Guest>().get("web").await.unwrap().spec;
    assert_eq!((registered.vmid, registered.host_ref.name.as_str()), (guests[0].vmid, "pve"));
    let inside = lab.execution_until("web-2-1", ExecutionPhase::Succeeded).await;
    assert_eq!(inside.stdout.unwrap().text, "web\n");
}

#[tokio::test]
async fn a_cut_connection_while_a_container_is_made_makes_it_once() {
    let lab = Lab::new("container-cut").await;
    let steps = json!([{"name": "create", "target": "host:pve", "createContainer": {"hostname": "web"}}]);
    lab.plan("web", json!({"targets": ["host:pve", "lxc:web"], "steps": steps})).await;
    lab.approve("web").await;
    lab.on_host(WAIT_FOR_A_CONTAINER);
    lab.standin.kill_sessions().unwrap();
    lab.plan_until("web", PlanPhase::Succeeded).await;
    assert_eq!(lab.standin.guests().len(), 1);
    lab.api::<Guest>().get("web").await.unwrap();
}

#[tokio::test]
async fn people_who_keep_writing_to_a_plan_do_not_hold_it_up() {
    let lab = Lab::new("storm").await;
    let names = ["one", "two", "three", "four"];
    let steps: Vec<_> = names.iter().map(|name| step(name, &format!("echo {name} >> /root/effects"))).collect();
    lab.plan("web", json!({"steps": steps})).await;
    lab.approve("web").await;
    let plans = lab.api::<Plan>();
    let storm = async {
        for number in 0.. {
            let label = Patch::Merge(json!({"metadata": {"labels": {"storm": number.to_string()}}}));
            plans.patch("web", &PatchParams::default(), &label).await.unwrap();
        }
    };
    tokio::select! {
        () = storm => {}
        _ = lab.plan_until("web", PlanPhase::Succeeded) => {}
    }
    assert_eq!(lab.effects(), names);
    assert_eq!(lab.executions().await.len(), names.len());
}

#[tokio::test]
async fn a_deleted_plan_stops_its_running_step_and_takes_its_children_with_it() {
    let lab = running("deleted", held_then_quick()).await;
    lab.kubectl(&["delete", "plan", "web", "--timeout=30s"]).await.ok().unwrap();
    for kind in ["executions", "autonomywindows"] {
        let gone = ["wait", "--for=delete", kind, "--all", "--timeout=30s"];
        lab.kubectl(&gone).await.ok().unwrap();
    }
    // One changing step runs on a target at a time, and nobody lets the first one go on.
    lab.plan("other", json!({"steps": [step("change", "echo other >> /root/effects")]})).await;
    lab.approve("other").await;
    lab.plan_until("other", PlanPhase::Succeeded).await;
    lab.release();
    assert_eq!(lab.effects(), ["start", "other"]);
    assert_eq!(lab.executions().await, ["other-1-1"]);
}

//! Approving, denying, and what an approval covers.

use oikos::api::{AuthorityKind, Execution, ExecutionPhase, GrantVia, Plan, PlanPhase};
use serde_json::json;

use crate::harness::{HELD, Lab, QUICK, step};

#[tokio::test]
async fn one_approval_by_the_printed_line_runs_the_whole_plan_and_nothing_runs_before() {
    let lab = Lab::new("approve").await;
    let steps = [step("look", "echo seen; echo beware >&2"), step("change", QUICK), step("again", QUICK)];
    lab.plan("web", json!({"steps": steps})).await;
    let waiting = lab.plan_until("web", PlanPhase::AwaitingApproval).await;
    assert_eq!(lab.executions().await, [""; 0]);
    assert!(lab.effects().is_empty());
    let line = waiting.approval.unwrap().command;
    for wrong in ["true", "", "0123456789ab"] {
        let annotation = format!("oikos.dev/approve={wrong}");
        let refused = lab.kubectl(&["annotate", "plan", "web", "--overwrite", &annotation]).await;
        assert!(!refused.success() && refused.stderr.contains(&line), "{wrong:?}: {}", refused.stderr);
    }
    lab.copied(&line).await.ok().unwrap();
    let status = lab.plan_until("web", PlanPhase::Succeeded).await;
    assert_eq!((status.executions, status.failures), (3, 0));
    assert_eq!(lab.effects(), ["quick", "quick"]);

    let windows = lab.windows().await;
    assert_eq!(windows.len(), 1);
    let grant = &windows[0].spec.granted_by;
    assert_eq!((grant.username.as_str(), grant.verified, grant.via), ("operator", true, GrantVia::Annotation));
    let look = lab.execution_until("web-1-1", ExecutionPhase::Succeeded).await;
    assert_eq!(look.exit_code, Some(0));
    let (stdout, stderr) = (look.stdout.unwrap(), look.stderr.unwrap());
    assert_eq!((stdout.text.as_str(), stdout.bytes), ("seen\n", 5));
    assert_eq!((stderr.text.as_str(), stderr.bytes), ("beware\n", 7));
    let change = lab.execution_until("web-2-1", ExecutionPhase::Succeeded).await.authority.unwrap();
    assert_eq!(change.kind, AuthorityKind::Window);
    assert_eq!((change.name, change.approver.as_deref()), (windows[0].metadata.name.clone(), Some("operator")));
}

#[tokio::test]
async fn a_denied_plan_runs_after_all_once_its_new_token_is_approved() {
    let lab = Lab::new("deny").await;
    lab.plan("web", json!({"steps": [step("change", QUICK)]})).await;
    let old = lab.plan_until("web", PlanPhase::AwaitingApproval).await.approval.unwrap();
    let deny = format!("oikos.dev/deny={}", old.token);
    lab.kubectl(&["annotate", "plan", "web", &deny, "oikos.dev/reason=not today"]).await.ok().unwrap();
    let denied = lab.plan_until("web", PlanPhase::Denied).await;
    assert!(!lab.copied(&old.command).await.success(), "the old token approves nothing any more");
    assert!(lab.executions().await.is_empty());
    lab.copied(&denied.approval.unwrap().command).await.ok().unwrap();
    lab.plan_until("web", PlanPhase::Succeeded).await;
    assert_eq!(lab.effects(), ["quick"]);
}

#[tokio::test]
async fn a_plan_edited_after_its_approval_needs_a_new_one_before_its_next_step() {
    let lab = Lab::new("edit").await;
    lab.plan("web", json!({"steps": [step("hold", HELD), step("change", QUICK)]})).await;
    let old = lab.plan_until("web", PlanPhase::AwaitingApproval).await.approval.unwrap();
    lab.copied(&old.command).await.ok().unwrap();
    lab.execution_until("web-1-1", ExecutionPhase::Running).await;
    lab.plan("web", json!({"steps": [step("hold", HELD), step("change", "echo other >> /root/effects")]})).await;
    let fresh = lab.plan_status("web", "a new digest", |it| it.approval.as_ref().unwrap().digest != old.digest).await;
    let fresh = fresh.approval.unwrap();
    assert_ne!(fresh.token, old.token);
    lab.release();
    lab.execution_until("web-1-1", ExecutionPhase::Succeeded).await;
    lab.plan_until("web", PlanPhase::AwaitingApproval).await;
    // Writing the same annotation again is no new decision: nothing refuses it, and nothing follows from it.
    lab.copied(&old.command).await;
    assert_eq!(lab.executions().await, ["web-1-1"]);
    lab.copied(&fresh.command).await.ok().unwrap();
    lab.plan_until("web", PlanPhase::Succeeded).await;
    let mut tokens: Vec<_> = lab.windows().await.into_iter().map(|it| it.metadata.name.unwrap()).collect();
    let mut expected = [format!("web-{}", old.token), format!("web-{}", fresh.token)];
    tokens.sort();
    expected.sort();
    assert_eq!(tokens, expected);
    assert_eq!(lab.effects(), ["start", "end", "other"]);
}

#[tokio::test]
async fn a_destructive_step_that_the_plan_names_runs_unasked_under_the_approval() {
    let lab = Lab::new("named").await;
    lab.on_host("mkdir -p /srv/old");
    lab.plan("web", json!({"steps": [step("clear", "rm -rf /srv/old")]})).await;
    let waiting = lab.plan_until("web", PlanPhase::AwaitingApproval).await;
    assert_eq!(format!("{:?}", waiting.steps[0].risk), "Destructive");
    lab.approve("web").await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
    let authority = lab.execution_until("web-1-1", ExecutionPhase::Succeeded).await.authority.unwrap();
    assert_eq!(authority.kind, AuthorityKind::PlanStep);
    assert_eq!(lab.on_host("ls /srv/old 2>/dev/null || echo gone"), "gone\n");
}

#[tokio::test]
async fn a_person_without_the_verb_cannot_start_a_plan() {
    let lab = Lab::new("viewer").await;
    lab.plan("web", json!({"steps": [step("change", QUICK)]})).await;
    let status = lab.plan_until("web", PlanPhase::AwaitingApproval).await;
    let annotation = format!("oikos.dev/approve={}", status.approval.unwrap().token);
    let annotate = ["-n", &lab.namespace, "annotate", "plan", "web", &annotation];
    let refused = lab.plane.viewer().kubectl(&annotate).await.unwrap();
    assert!(!refused.success() && refused.stderr.contains("\"approve\""), "{}", refused.stderr);
    lab.approve("web").await;
    lab.plan_until("web", PlanPhase::Succeeded).await;
    let (plan, execution) = (lab.api::<Plan>().get("web").await.unwrap(), lab.api::<Execution>().get("web-1-1").await);
    let owner = execution.unwrap().metadata.owner_references.unwrap().remove(0);
    assert_eq!(Some(owner.uid), plan.metadata.uid);
}

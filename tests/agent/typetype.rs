//! The demo's scenario, played against results as real machines give them.

use oikos::{
    agent::{ReplyKind, TurnContext, check_finish, render_result, tools::ToolRequest},
    api::{ContainerSpec, Execution, ExecutionPhase},
};

use crate::fixtures::{BOTH, Outcome, World, ended, exited, model_of, plan, serve};

const TYPETYPE: &str = include_str!("../scenarios/typetype.yaml");
const GOAL: &str = "TypeType answers on port 8082 of the new container typetype on host:strong. \
     The archive is at http://192.0.2.1:8000/typetype.tar.";

/// The machines, as far as the scenario touches them.
#[derive(Default)]
struct Machines {
    docker_cli: bool,
    fetches: u32,
    right_path: bool,
    verified: u32,
    steps: Vec<String>,
}

impl Machines {
    fn carry_out(&mut self, request: &ToolRequest) -> Outcome {
        match request {
            ToolRequest::ListInventory => Outcome::Inline("host:strong: no guests".into(), false),
            ToolRequest::CreateContainer { container, .. } => Outcome::Step(created(container)),
            ToolRequest::Run { target, command, .. } => {
                self.steps.push(command.clone());
                let (code, stdout, stderr) = self.run(command);
                Outcome::Step(exited(&target.to_string(), command, code, &stdout, stderr))
            }
            _ => Outcome::Inline("accepted".into(), false),
        }
    }

    fn run(&mut self, command: &str) -> (i32, String, &'static str) {
        let has = |part: &str| command.contains(part);
        if has("install") {
            self.docker_cli |= has("docker-cli");
            return (0, "Setting up ...\n".into(), "");
        }
        if has("docker --version") {
            return match self.docker_cli {
                true => (0, "Docker version 26.1.5+dfsg1, build a72d7cd\n".into(), ""),
                false => (127, String::new(), "sh: 1: docker: not found\n"),
            };
        }
        if has("-o /tmp/typetype.tar") {
            assert!(has("http://192.0.2.1:8000/typetype.tar"), "{command}");
            self.fetches += 1;
            return match self.fetches {
                1 => (22, String::new(), "curl: (22) The requested URL returned error: 500\n"),
                _ => (0, String::new(), ""),
            };
        }
        if has("--head") {
            return (0, "HTTP/1.1 200 OK\r\n".into(), "");
        }
        if has("systemctl restart typetype") {
            self.right_path = has("ExecStart=/opt/typetype/server/typetype-serve");
            return match self.right_path {
                true => (0, String::new(), ""),
                false => (1, String::new(), "Job for typetype.service failed because the control process exited\n"),
            };
        }
        if has("find /opt/typetype") {
            let text = "Unable to locate executable '/opt/typetype/bin/start'\n/opt/typetype/www/index.html\n\
                        /opt/typetype/server/typetype-serve\n";
            return (0, text.into(), "");
        }
        if has("curl -fsS") {
            self.verified += 1;
            return match (self.right_path, self.verified) {
                (true, 2..) => (0, "<h1>TypeType</h1>\n".into(), ""),
                _ => (7, String::new(), "curl: (7) Failed to connect to 127.0.0.1 port 8082\n"),
            };
        }
        (0, String::new(), "")
    }
}

fn created(container: &ContainerSpec) -> Box<Execution> {
    assert_eq!(
        (container.hostname.as_str(), container.nesting, container.keyctl),
        ("typetype", Some(true), Some(true))
    );
    let mut execution = ended("host:strong", "", ExecutionPhase::Succeeded);
    execution.spec.run = None;
    execution.spec.create_container = Some(container.clone());
    execution.status.as_mut().unwrap().message = Some("lxc:typetype is VMID 100 on host:strong".into());
    execution
}

#[tokio::test]
async fn typetype_is_repaired_three_times_and_finished_with_the_step_that_verified_it() {
    for provider in BOTH {
        let server = serve(TYPETYPE).await;
        let model = model_of(&server, provider, None);
        let mut world = World::new(plan(GOAL, &["host:strong", "lxc:typetype"]));
        let mut machines = Machines::default();
        let mut finished = None;
        while finished.is_none() && world.messages.len() < 30 {
            let reply = model.ask(&world.request(&TurnContext::default())).await.unwrap();
            assert_eq!(reply.kind, ReplyKind::Calls);
            world.store(&reply, |request| {
                if let ToolRequest::Finish { evidence, .. } = request {
                    finished = Some(evidence.clone());
                }
                machines.carry_out(request)
            });
        }
        let evidence = finished.unwrap();
        assert_eq!(check_finish(&evidence, &world.executions), Ok(()));
        let proof = &world.executions[&evidence[0]];
        assert!(render_result(proof).text.contains("<h1>TypeType</h1>"), "{provider:?}");
        assert_eq!(machines.fetches, 2);
        let failed = world.executions.values().filter(|e| e.status.as_ref().unwrap().phase == ExecutionPhase::Failed);
        assert_eq!(failed.count(), 4, "{:#?}", machines.steps);
        assert_eq!(server.refusals(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_result_that_does_not_reach_the_model_leaves_it_without_an_answer() {
    let server = serve(TYPETYPE).await;
    let model = model_of(&server, BOTH[0], None);
    let mut world = World::new(plan(GOAL, &["host:strong", "lxc:typetype"]));
    let mut machines = Machines::default();
    let mut answer = Ok(());
    for _ in 0..6 {
        match model.ask(&world.request(&TurnContext::default())).await {
            Ok(reply) => world.store(&reply, |request| match machines.carry_out(request) {
                // Streams that got lost on the way.
                Outcome::Step(mut step) => {
                    step.status.as_mut().unwrap().stderr = None;
                    Outcome::Step(step)
                }
                inline => inline,
            }),
            Err(error) => answer = Err(error.message),
        }
    }
    assert!(answer.unwrap_err().contains("no rule of the scenario fits"));
}

#[tokio::test]
async fn a_step_whose_approval_ended_is_asked_for_once_more() {
    let server = serve(TYPETYPE).await;
    let model = model_of(&server, BOTH[1], None);
    let mut world = World::new(plan(GOAL, &["host:strong", "lxc:typetype"]));
    let mut machines = Machines::default();
    for turn in 0..4 {
        let reply = model.ask(&world.request(&TurnContext::default())).await.unwrap();
        world.store(&reply, |request| match (turn, request) {
            (2, ToolRequest::Run { command, .. }) => {
                Outcome::Step(ended("lxc:typetype", command, ExecutionPhase::Expired))
            }
            _ => machines.carry_out(request),
        });
    }
    let calls = |index: usize| world.messages[index].spec.tool_calls[0].arguments.clone();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&calls(2)).unwrap(),
        serde_json::from_str::<serde_json::Value>(&calls(3)).unwrap()
    );
}

//! What an approval covers: not the names in a plan but what they stand for, as facts that are compared later.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::{
    scope::{Inventory, KnownAgent},
    token::canonical_bytes,
};
use crate::api::{
    ContainerSpec, PlanSpec, Risk, Target, TargetKind,
    digest::sha256_hex,
    limits::{LONGEST_FACT, LONGEST_FACT_EXCERPT},
    text::shortened,
};

/// What is covered, by what it is about: `address of host:strong` is `192.0.2.10`.
pub type Facts = BTreeMap<String, String>;

/// Facts that begin so are numbers, and a smaller one is covered by the approval of a larger.
const LIMIT: &str = "most ";
/// The fact about a target that does not exist until the plan creates it, also when it has done so.
const CREATED_HERE: &str = "created by this plan";
const EXISTS: &str = "registered";

/// A step as an approval covers it.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectiveStep<'a> {
    /// Where it runs.
    pub target: &'a Target,
    /// Its command, unless it creates a container.
    pub run: Option<&'a str>,
    /// The container that it creates, unless it runs a command.
    pub create_container: Option<&'a ContainerSpec>,
    /// Its effective risk.
    pub risk: Risk,
    /// How long it may run, in seconds.
    pub timeout_seconds: u32,
}

/// Everything that an approval of the plan covers. Names, purposes and labels are not part of it.
///
/// `created` are the guests that the plan itself has created and that still are what it created.
pub fn plan_facts(
    spec: &PlanSpec,
    steps: &[EffectiveStep<'_>],
    inventory: &Inventory,
    created: &BTreeSet<Target>,
) -> Facts {
    let mut facts = Facts::new();
    for target in &spec.targets {
        add_target(&mut facts, target, inventory, created);
    }
    for (index, step) in steps.iter().enumerate() {
        facts.insert(format!("step {}", index + 1), step_fact(step));
    }
    if let Some(agent) = &spec.agent_ref {
        add_agent(&mut facts, &agent.name, inventory.agents.get(&agent.name));
        facts.insert("goal".to_owned(), text_fact(&spec.goal));
    }
    for (what, most) in [
        ("seconds of the window", spec.window_seconds),
        ("iterations", spec.limits.iterations),
        ("failures of one command in a row", spec.limits.consecutive_failures),
        ("seconds until the deadline", spec.limits.deadline_seconds),
    ] {
        facts.insert(format!("{LIMIT}{what}"), most.to_string());
    }
    facts
}

/// The digest that a grant names: of the plan's uid and its facts.
pub fn digest_of_facts(uid: &str, facts: &Facts) -> String {
    sha256_hex(&canonical_bytes(&json!({"version": 2, "uid": uid, "facts": facts})))
}

/// What is different from what was approved, in words; empty when the approval covers it all. A limit that got smaller
/// is no difference.
pub fn differences(approved: &Facts, now: &Facts) -> Vec<String> {
    let names: BTreeSet<&String> = approved.keys().chain(now.keys()).collect();
    names.into_iter().filter_map(|name| difference(name, approved.get(name), now.get(name))).collect()
}

fn difference(name: &str, before: Option<&String>, now: Option<&String>) -> Option<String> {
    let number = |value: &String| value.parse::<u64>().ok();
    match (before, now) {
        (Some(before), Some(now)) if before == now => None,
        (Some(before), Some(now))
            if name.starts_with(LIMIT)
                && number(now).zip(number(before)).is_some_and(|(now, before)| now <= before) =>
        {
            None
        }
        (Some(before), Some(now)) => Some(format!("{name} was {before} and is now {now}")),
        (Some(before), None) => Some(format!("{name} was {before} and is not there any more")),
        (None, Some(now)) => Some(format!("{name} is new: {now}")),
        (None, None) => None,
    }
}

fn add_target(facts: &mut Facts, target: &Target, inventory: &Inventory, created: &BTreeSet<Target>) {
    if target.kind() == TargetKind::Host {
        add_host(facts, target.name(), inventory);
        return;
    }
    let guest = inventory.guests.get(target).filter(|_| !created.contains(target));
    let Some(guest) = guest else {
        facts.insert(target.to_string(), CREATED_HERE.to_owned());
        return;
    };
    facts.insert(target.to_string(), EXISTS.to_owned());
    facts.insert(format!("uid of {target}"), guest.uid.clone());
    facts.insert(format!("VMID of {target}"), guest.vmid.to_string());
    facts.insert(format!("host of {target}"), guest.host.clone());
    add_host(facts, &guest.host, inventory);
}

fn add_host(facts: &mut Facts, name: &str, inventory: &Inventory) {
    let Some(host) = inventory.hosts.get(name) else {
        facts.insert(format!("host:{name}"), "not registered".to_owned());
        return;
    };
    let keys: Vec<&str> = host.keys.iter().map(String::as_str).collect();
    for (what, value) in [
        ("uid", host.uid.clone()),
        ("address", host.address.clone()),
        ("port", host.port.to_string()),
        ("login", host.user.clone()),
        ("known keys", keys.join(", ")),
    ] {
        facts.insert(format!("{what} of host:{name}"), value);
    }
}

fn add_agent(facts: &mut Facts, name: &str, agent: Option<&KnownAgent>) {
    let Some(agent) = agent else {
        facts.insert(format!("agent {name}"), "not registered".to_owned());
        return;
    };
    let credential = agent.credential.as_ref();
    for (what, value) in [
        ("provider", agent.provider.clone()),
        ("URL", agent.base_url.clone()),
        ("model", agent.model.clone()),
        ("credential", credential.map_or("none".to_owned(), |it| format!("key {} of Secret {}", it.key, it.name))),
        ("instructions", agent.soul.as_ref().map_or("the built-in ones".to_owned(), |soul| text_fact(soul))),
    ] {
        facts.insert(format!("{what} of agent {name}"), shortened(&value, LONGEST_FACT));
    }
}

fn step_fact(step: &EffectiveStep<'_>) -> String {
    let action = match (step.run, step.create_container) {
        (Some(command), _) => format!("`{}`", excerpt(command)),
        (None, Some(container)) => format!("create container {}", container.hostname),
        (None, None) => "nothing".to_owned(),
    };
    let whole = json!({"target": step.target, "run": step.run, "createContainer": step.create_container});
    let digest = sha256_hex(&canonical_bytes(&whole));
    format!("{action} on {}, {:?}, at most {} s, sha256 {digest}", step.target, step.risk, step.timeout_seconds)
}

/// A text by its beginning and its digest.
fn text_fact(text: &str) -> String {
    format!("\"{}\", sha256 {}", excerpt(text), sha256_hex(text.as_bytes()))
}

fn excerpt(text: &str) -> String {
    let line: String = text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    shortened(&line, LONGEST_FACT_EXCERPT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{KnownGuest, KnownHost};

    fn spec() -> PlanSpec {
        serde_json::from_value(json!({
            "goal": "a web service",
            "targets": ["host:strong", "lxc:web", "lxc:new"],
            "agentRef": {"name": "nomos"},
            "steps": [{"name": "look", "target": "host:strong", "run": "pct list", "purpose": "see"}],
        }))
        .unwrap()
    }

    fn inventory() -> Inventory {
        let host = KnownHost {
            uid: "h-1".into(),
            address: "192.0.2.10".into(),
            port: 22,
            user: "root".into(),
            keys: BTreeSet::from(["ssh-ed25519 SHA256:one".to_owned()]),
            ..KnownHost::default()
        };
        let agent = KnownAgent {
            provider: "OpenAI".into(),
            base_url: "http://model.example/v1".into(),
            model: "m".into(),
            ..KnownAgent::default()
        };
        Inventory {
            hosts: BTreeMap::from([("strong".to_owned(), host)]),
            guests: BTreeMap::from([(
                "lxc:web".parse().unwrap(),
                KnownGuest { uid: "g-1".into(), host: "strong".into(), vmid: 100 },
            )]),
            agents: BTreeMap::from([("nomos".to_owned(), agent)]),
        }
    }

    fn facts(spec: &PlanSpec, inventory: &Inventory) -> Facts {
        let steps: Vec<_> = spec
            .steps
            .iter()
            .map(|step| EffectiveStep {
                target: &step.target,
                run: step.run.as_deref(),
                create_container: step.create_container.as_ref(),
                risk: Risk::ReadOnly,
                timeout_seconds: step.timeout_seconds.unwrap_or(600),
            })
            .collect();
        plan_facts(spec, &steps, inventory, &BTreeSet::new())
    }

    /// What is different after a change of the plan and of the inventory.
    fn after(change: impl FnOnce(&mut PlanSpec, &mut Inventory)) -> Vec<String> {
        let (mut spec, mut inventory) = (spec(), inventory());
        let before = facts(&spec, &inventory);
        change(&mut spec, &mut inventory);
        let now = facts(&spec, &inventory);
        let found = differences(&before, &now);
        assert!(found.is_empty() || digest_of_facts("uid", &before) != digest_of_facts("uid", &now));
        found
    }

    #[test]
    fn what_people_read_but_nothing_runs_is_not_covered_and_may_change() {
        assert_eq!(
            after(|spec, _| {
                spec.steps[0].purpose = Some("another word".into());
                spec.steps[0].name = "renamed".into();
                spec.paused = true;
            }),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_limit_may_get_smaller_and_not_larger() {
        assert!(
            after(|spec, _| {
                spec.limits.iterations = 3;
                spec.limits.consecutive_failures = 1;
                spec.limits.deadline_seconds = 60;
                spec.window_seconds = 10;
            })
            .is_empty()
        );
        for change in [
            |spec: &mut PlanSpec| spec.limits.iterations = 41,
            |spec: &mut PlanSpec| spec.limits.consecutive_failures = 5,
            |spec: &mut PlanSpec| spec.limits.deadline_seconds = 20_000,
        ] {
            assert_eq!(after(|spec, _| change(spec)).len(), 1);
        }
    }

    #[test]
    fn another_machine_behind_a_name_is_a_difference_and_said_in_words() {
        let host = |inventory: &mut Inventory, change: fn(&mut KnownHost)| {
            change(inventory.hosts.get_mut("strong").unwrap());
        };
        for (change, words) in [
            (
                (|host: &mut KnownHost| host.address = "192.0.2.99".into()) as fn(&mut KnownHost),
                "address of host:strong was 192.0.2.10 and is now 192.0.2.99",
            ),
            (|host| host.port = 2222, "port of host:strong was 22 and is now 2222"),
            (|host| host.user = "ops".into(), "login of host:strong was root and is now ops"),
            (|host| host.uid = "h-2".into(), "uid of host:strong was h-1 and is now h-2"),
            (
                |host| host.keys = BTreeSet::from(["ssh-ed25519 SHA256:two".to_owned()]),
                "known keys of host:strong was ssh-ed25519 SHA256:one and is now ssh-ed25519 SHA256:two",
            ),
        ] {
            assert_eq!(after(|_, inventory| host(inventory, change)), [words]);
        }
        let web: Target = "lxc:web".parse().unwrap();
        assert_eq!(
            after(|_, inventory| inventory.guests.get_mut(&web).unwrap().vmid = 101),
            ["VMID of lxc:web was 100 and is now 101"]
        );
        assert_eq!(
            after(|_, inventory| inventory.guests.get_mut(&web).unwrap().uid = "g-2".into()),
            ["uid of lxc:web was g-1 and is now g-2"]
        );
        assert!(!after(|_, inventory| drop(inventory.hosts.remove("strong"))).is_empty());
        assert!(!after(|_, inventory| drop(inventory.guests.remove(&web))).is_empty());
    }

    #[test]
    fn a_guest_that_somebody_registers_under_the_name_of_one_to_be_created_is_a_difference() {
        let found = after(|_, inventory| {
            let guest = KnownGuest { uid: "g-9".into(), host: "strong".into(), vmid: 109 };
            inventory.guests.insert("lxc:new".parse().unwrap(), guest);
        });
        assert!(found.contains(&"lxc:new was created by this plan and is now registered".to_owned()), "{found:?}");
    }

    #[test]
    fn a_guest_that_the_plan_created_is_what_was_approved() {
        let (spec, mut inventory) = (spec(), inventory());
        let new: Target = "lxc:new".parse().unwrap();
        let before = facts(&spec, &inventory);
        let guest = KnownGuest { uid: "g-9".into(), host: "strong".into(), vmid: 109 };
        inventory.guests.insert(new.clone(), guest);
        let now = plan_facts(&spec, &[], &inventory, &BTreeSet::from([new]));
        assert_eq!(now.get("lxc:new"), before.get("lxc:new"));
        assert!(!now.contains_key("VMID of lxc:new"));
    }

    #[test]
    fn another_model_server_or_another_text_for_the_agent_is_a_difference() {
        let agent = |inventory: &mut Inventory, change: fn(&mut KnownAgent)| {
            change(inventory.agents.get_mut("nomos").unwrap());
        };
        for change in [
            (|agent: &mut KnownAgent| agent.base_url = "http://other.example".into()) as fn(&mut KnownAgent),
            |agent| agent.provider = "Anthropic".into(),
            |agent| agent.model = "n".into(),
            |agent| agent.soul = Some("obey".into()),
            |agent| agent.credential = Some(crate::api::SecretKeyRef { name: "s".into(), key: "k".into() }),
        ] {
            assert_eq!(after(|_, inventory| agent(inventory, change)).len(), 1);
        }
        assert!(!after(|_, inventory| inventory.agents.clear()).is_empty());
    }

    #[test]
    fn another_step_target_or_goal_is_a_difference() {
        for change in [
            (|spec: &mut PlanSpec| spec.steps[0].run = Some("pct destroy 100".into())) as fn(&mut PlanSpec),
            |spec| spec.steps[0].target = "lxc:web".parse().unwrap(),
            |spec| spec.steps[0].timeout_seconds = Some(7200),
            |spec| spec.targets.truncate(1),
            |spec| spec.goal = "something else".into(),
            |spec| spec.steps.clear(),
            |spec| spec.agent_ref = None,
        ] {
            assert!(!after(|spec, _| change(spec)).is_empty());
        }
        assert_ne!(digest_of_facts("one", &Facts::new()), digest_of_facts("other", &Facts::new()), "the uid");
    }

    #[test]
    fn a_command_that_differs_only_beyond_its_excerpt_is_another_command() {
        let long = "x".repeat(4 * LONGEST_FACT_EXCERPT);
        let with_end = |end: &str| {
            let mut spec = spec();
            spec.steps[0].run = Some(format!("{long}{end}"));
            facts(&spec, &inventory())
        };
        assert_eq!(differences(&with_end("a"), &with_end("b")).len(), 1);
    }
}

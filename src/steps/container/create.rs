//! The course of a container creation.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::creation::{CreatedContainer, Creation, EarlyEnd};
use super::listing::{choose_storage, choose_template, is_taken};
use super::request::{ContainerRequest, marker};
use super::survey::{ListingError, Survey, config, is_ours, next_id, survey};
use super::{ContainerOutcome, ContainerRefusal, ContainerReport};
use crate::steps::access::HostAccess;
use crate::steps::error::ConnectError;
use crate::steps::report::{NotStarted, Outcome, Report};
use crate::steps::runner::Runner;
use crate::steps::step::{Place, Step, check_attempt_id};

const START_LIMIT: Duration = Duration::from_secs(180);
/// Time in which `pct start` may start.
const START_WITHIN: Duration = Duration::from_secs(30);
const READY_LIMIT: Duration = Duration::from_secs(60);
/// Tries of `pct start`, which does nothing to a container that runs.
const START_TRIES: u32 = 5;
/// Numbers to try when others take them first.
const VMID_TRIES: u32 = 10;

/// Creates a container and starts it. Calling it again with the same attempt id repeats nothing: it finds
/// what an earlier call did, and does the rest.
///
/// Cancelling takes effect between the commands: `pct create` is never broken off, it would leave half a container.
///
/// # Errors
/// Only when nothing was created and no earlier try can have created something.
pub async fn create_container(
    runner: &Runner,
    host: &HostAccess,
    request: &ContainerRequest,
    attempt_id: &str,
    cancel: &CancellationToken,
) -> Result<ContainerReport, ConnectError> {
    let creation =
        Creation { runner, host, request, attempt_id, cancel, latest: Instant::now() + request.start_within };
    let valid = request.check().map_err(|error| error.to_string());
    if let Err(detail) = valid.and_then(|()| check_attempt_id(attempt_id).map_err(|error| error.to_string())) {
        return Ok(creation.refused(ContainerRefusal::InvalidRequest, detail));
    }
    let claims = runner.claims(host, &creation.prefix()).await?;
    match creation.run(&claims).await {
        Ok(report) => Ok(report),
        Err(EarlyEnd::Report(report)) => Ok(*report),
        Err(EarlyEnd::Connect(error)) if claims.is_empty() => Err(error),
        Err(EarlyEnd::Connect(error)) => Ok(creation.unreachable(&error)),
    }
}

/// What became of a creation that an earlier controller may have begun: waits for a `pct create` that still runs, and
/// starts the container if that is what is left to do. Creates nothing: if there was no try, the outcome is
/// [`Outcome::NotStarted`], and no packet of the earlier controller can change that any more.
pub async fn adopt_container(
    runner: &Runner,
    host: &HostAccess,
    request: &ContainerRequest,
    attempt_id: &str,
    cancel: &CancellationToken,
) -> ContainerReport {
    let creation =
        Creation { runner, host, request, attempt_id, cancel, latest: Instant::now() + request.start_within };
    let give_up = Instant::now() + request.timeout + runner.patience().after_end;
    // A packet on its way may start within this time and not after it.
    let mut no_start_after = creation.latest;
    let mut pause = Duration::from_millis(500);
    loop {
        let result = match runner.claims(host, &creation.prefix()).await {
            Ok(claims) => creation.continue_earlier(&claims).await,
            Err(error) => Err(EarlyEnd::Connect(error)),
        };
        match result {
            Ok(Some(report)) => return report,
            Ok(None) if Instant::now() > no_start_after => return creation.never_begun(),
            Ok(None) => sleep_until(no_start_after + Duration::from_millis(10)).await,
            Err(EarlyEnd::Report(report)) => return *report,
            Err(EarlyEnd::Connect(error)) => {
                if Instant::now() + pause > give_up {
                    return creation.unreachable(&error);
                }
                tracing::warn!(attempt = attempt_id, %error, "looking for a container creation");
                sleep(pause).await;
                pause = (2 * pause).min(Duration::from_secs(60));
                no_start_after = no_start_after.max(Instant::now());
            }
        }
    }
}

impl Creation<'_> {
    async fn run(&self, claims: &[String]) -> Result<ContainerReport, EarlyEnd> {
        let container = match self.find_created(claims).await? {
            Some(container) => container,
            None => self.create(claims.len() as u32).await?,
        };
        self.start_and_wait(container).await
    }

    /// Does what is left of an earlier call's work; `None` if that call created nothing.
    async fn continue_earlier(&self, claims: &[String]) -> Result<Option<ContainerReport>, EarlyEnd> {
        match self.find_created(claims).await? {
            Some(container) => self.start_and_wait(container).await.map(Some),
            None => Ok(None),
        }
    }

    async fn start_and_wait(&self, container: CreatedContainer) -> Result<ContainerReport, EarlyEnd> {
        if self.cancel.is_cancelled() {
            return Err(self.cancelled(Some(container.vmid), "the container was created and not started"));
        }
        self.start(&container).await?;
        self.wait_until_ready(container).await
    }

    /// What earlier calls of this step did: their run directories tell the number and the outcome.
    async fn find_created(&self, claims: &[String]) -> Result<Option<CreatedContainer>, EarlyEnd> {
        let mut claims: Vec<(u32, u32, &String)> = claims.iter().filter_map(|claim| numbers(claim)).collect();
        claims.sort_unstable();
        for (_, vmid, id) in claims {
            let step = self.step(id.clone(), "true".into(), self.request.timeout);
            let report = self.runner.adopt(self.host, &step, &CancellationToken::new()).await;
            match &report.outcome {
                Outcome::Exited { code: 0 } => return Ok(Some(CreatedContainer { vmid, template: None, report })),
                Outcome::NotStarted { .. } => {}
                Outcome::Exited { .. } if self.collided(vmid, &report) => {}
                Outcome::Lost { .. } => return self.find_by_config(vmid, report).await.map(Some),
                _ => return Err(self.failed(vmid, None, report, "pct create did not succeed")),
            }
        }
        Ok(None)
    }

    /// Without a record the container itself is the evidence.
    async fn find_by_config(&self, vmid: u32, report: Report) -> Result<CreatedContainer, EarlyEnd> {
        let found = match self.listed(config(self.runner, self.host, vmid).await)? {
            Some(config) if is_ours(&config, self.attempt_id) && config.lock.is_none() => {
                return Ok(CreatedContainer { vmid, template: None, report });
            }
            Some(config) if config.lock.is_some() => format!(
                "container {vmid} is locked and perhaps half made: if no task works on it (pvesh get \
                 /nodes/localhost/tasks --vmid {vmid}), pct unlock {vmid} and pct destroy {vmid} remove it"
            ),
            Some(_) => format!("container {vmid} exists and is not ours"),
            None => format!("there is no container {vmid} now"),
        };
        Err(self.failed(vmid, None, report, &found))
    }

    async fn create(&self, tried: u32) -> Result<CreatedContainer, EarlyEnd> {
        if self.cancel.is_cancelled() {
            return Err(self.cancelled(None, "nothing was created"));
        }
        let survey = self.listed(survey(self.runner, self.host).await)?;
        if let Some(container) = self.find_namesake(&survey).await? {
            return Ok(container);
        }
        let template = self.template_or_refusal(&survey)?;
        let storage = self.storage_or_refusal(&survey)?;
        let mut vmid = match self.request.container.vmid {
            Some(vmid) => vmid,
            None => self.listed(next_id(self.runner, self.host).await)?,
        };
        for number in tried + 1..=tried + VMID_TRIES {
            let command = self.request.create_command(vmid, template, storage, &marker(self.attempt_id));
            let id = format!("{}-create{number}-{vmid}", self.attempt_id);
            // Never broken off once it runs.
            let start_within = self.latest.saturating_duration_since(Instant::now());
            let step = Step { start_within, ..self.step(id, command, self.request.timeout) };
            let report = self.runner.run(self.host, &step, &CancellationToken::new()).await?;
            match &report.outcome {
                Outcome::Exited { code: 0 } => {
                    return Ok(CreatedContainer { vmid, template: Some(template.to_owned()), report });
                }
                Outcome::Exited { .. } if self.collided(vmid, &report) => {
                    if self.request.container.vmid.is_some() {
                        let detail = format!("the number {vmid} is taken; leave it out to get the next free one");
                        return Err(self.end_with(self.refused(ContainerRefusal::VmidTaken, detail)));
                    }
                    vmid = self.listed(next_id(self.runner, self.host).await)?.max(vmid + 1);
                }
                _ => return Err(self.failed(vmid, Some(template), report, "pct create did not succeed")),
            }
            if self.cancel.is_cancelled() {
                return Err(self.cancelled(None, "nothing was created"));
            }
        }
        let detail = format!(
            "{VMID_TRIES} numbers in a row up to {vmid} were taken by others; repeat the step, or give it a vmid that is free"
        );
        Err(self.end_with(self.refused(ContainerRefusal::VmidTaken, detail)))
    }

    /// A guest of the node that has the name already: ours from an earlier call, or in the way.
    async fn find_namesake(&self, survey: &Survey) -> Result<Option<CreatedContainer>, EarlyEnd> {
        let namesakes: Vec<_> =
            survey.guests.iter().filter(|guest| guest.name == self.request.container.hostname).collect();
        let Some(first) = namesakes.first() else { return Ok(None) };
        for guest in &namesakes {
            let config = self.listed(config(self.runner, self.host, guest.vmid).await);
            if let Ok(Some(config)) = config
                && is_ours(&config, self.attempt_id)
                && config.lock.is_none()
            {
                let report = Report::bare(Outcome::Exited { code: 0 }, "it had been created before");
                return Ok(Some(CreatedContainer { vmid: guest.vmid, template: None, report }));
            }
        }
        let detail = format!("guest {} of this node has the name {} already", first.vmid, first.name);
        Err(self.end_with(self.refused(ContainerRefusal::HostnameTaken, detail)))
    }

    fn template_or_refusal<'s>(&self, survey: &'s Survey) -> Result<&'s str, EarlyEnd> {
        let wanted = self.request.container.template.as_deref();
        choose_template(&survey.templates, wanted).ok_or_else(|| {
            let detail = format!(
                "{}; this host has {}. pveam update, pveam available --section system and pveam download {} TEMPLATE get \
                 another one",
                wanted.map_or_else(|| "no Debian standard template".into(), |name| format!("no template matches {name}")),
                listed_or_none(&survey.templates),
                survey.template_storages.first().map_or("STORAGE", String::as_str),
            );
            self.end_with(self.refused(ContainerRefusal::TemplateMissing, detail))
        })
    }

    fn storage_or_refusal<'s>(&self, survey: &'s Survey) -> Result<&'s str, EarlyEnd> {
        let wanted = self.request.container.storage.as_deref();
        choose_storage(&survey.disk_storages, wanted).ok_or_else(|| {
            let names: Vec<String> = survey.disk_storages.iter().map(|storage| storage.name.clone()).collect();
            let detail = format!(
                "{}; active storages for container disks: {}",
                wanted
                    .map_or_else(|| "no storage".into(), |name| format!("storage {name} cannot hold container disks")),
                listed_or_none(&names),
            );
            self.end_with(self.refused(ContainerRefusal::StorageMissing, detail))
        })
    }

    /// Each try has an id of its own: one that was shut out, as when the connection broke on the way, never starts.
    async fn start(&self, container: &CreatedContainer) -> Result<(), EarlyEnd> {
        let mut number = 1;
        loop {
            let id = format!("{}-start{number}", self.attempt_id);
            let step = self.step(id, format!("pct start {}", container.vmid), START_LIMIT);
            let report = match self.runner.run(self.host, &step, &CancellationToken::new()).await {
                Ok(report) => report,
                // The container exists: this must not look like nothing done.
                Err(error) => {
                    let report = Report::not_started(NotStarted::TooLate, error.to_string());
                    return Err(self.failed(
                        container.vmid,
                        container.template.as_deref(),
                        report,
                        "created, but not started",
                    ));
                }
            };
            let text = format!("{}{}", report.stdout.text, report.stderr.text);
            match report.outcome {
                Outcome::Exited { code: 0 } => return Ok(()),
                Outcome::Exited { .. } if text.contains("already running") => return Ok(()),
                // Whether it runs is seen next.
                Outcome::Lost { .. } => return Ok(()),
                Outcome::NotStarted { reason: NotStarted::Fenced | NotStarted::Busy } if number < START_TRIES => {
                    number += 1
                }
                _ => {
                    let note = format!("container {0} was created, pct start {0} did not succeed", container.vmid);
                    return Err(self.failed(container.vmid, container.template.as_deref(), report, &note));
                }
            }
        }
    }

    /// `pct start` returns before commands can be run.
    async fn wait_until_ready(&self, container: CreatedContainer) -> Result<ContainerReport, EarlyEnd> {
        let until = Instant::now() + READY_LIMIT;
        let mut pause = Duration::from_millis(200);
        loop {
            let step = Step {
                attempt_id: format!("{}-ready", self.attempt_id),
                place: Place::Guest { vmid: container.vmid },
                command: "exit 0".into(),
                timeout: Duration::from_secs(10),
                mutating: false,
                start_within: READY_LIMIT,
            };
            let answer = self.runner.run(self.host, &step, self.cancel).await;
            let last_answer = match answer {
                Ok(report) if report.outcome == (Outcome::Exited { code: 0 }) => {
                    return Ok(self.created(container, "created and started"));
                }
                Ok(report) if report.outcome == Outcome::Cancelled => {
                    return Err(self.cancelled(Some(container.vmid), "the container was created and started"));
                }
                Ok(report) => format!("{:?} {}", report.outcome, report.stderr.text),
                Err(error) => error.to_string(),
            };
            if Instant::now() + pause > until {
                let detail = format!("no command could be run in it within {} s: {last_answer}", READY_LIMIT.as_secs());
                return Ok(ContainerReport { outcome: ContainerOutcome::NotReady, ..self.created(container, &detail) });
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(3));
        }
    }

    fn step(&self, attempt_id: String, command: String, timeout: Duration) -> Step {
        Step { attempt_id, place: Place::Host, command, timeout, mutating: true, start_within: START_WITHIN }
    }

    fn collided(&self, vmid: u32, report: &Report) -> bool {
        is_taken(vmid, &report.stderr.text) || is_taken(vmid, &report.stdout.text)
    }

    fn listed<T>(&self, listing: Result<T, ListingError>) -> Result<T, EarlyEnd> {
        listing.map_err(|error| match error {
            ListingError::Connect(error) => EarlyEnd::Connect(error),
            ListingError::Failed(detail) => self.end_with(self.refused(ContainerRefusal::ListingFailed, detail)),
        })
    }
}

/// `<id>-create<k>-<vmid>` as (k, vmid).
fn numbers(claim: &String) -> Option<(u32, u32, &String)> {
    let (_, rest) = claim.rsplit_once("-create")?;
    let (number, vmid) = rest.split_once('-')?;
    Some((number.parse().ok()?, vmid.parse().ok()?, claim))
}

fn listed_or_none(names: &[String]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

//! The proxy of one run: its scenario, what it knows before the agent comes, and the file of its trace.

use super::secrets::RunSecrets;
use super::servers::{classifier, credentials, key_fields};
use super::shared::{Shared, TrialError, missing};
use crate::domain::{Present, ReasonCode, digest_all};
use crate::proxy::engine::{Engine, Settings};
use crate::proxy::epoch::{OnReplace, Rules};
use crate::proxy::{Hub, SessionError, Sink};
use crate::scenario::{self, Parameters};
use crate::suite::{Trial, Upstream};
use crate::trace::{Event, Record, Started, TRACE_VERSION};
use std::fs::File;
use std::io::Write;

/// The reason of a run whose proxy could not do its work.
pub(super) fn session_code(error: &SessionError) -> ReasonCode {
    match error {
        SessionError::Upstream(_) | SessionError::UpstreamEnded(_) => ReasonCode::UpstreamNotStarted,
        SessionError::Listen(_) | SessionError::Trace => ReasonCode::Internal,
    }
}

/// The proxy, whose trace goes into `file`.
pub(super) fn hub(
    shared: &Shared,
    trial: &Trial,
    upstream: &Upstream,
    secrets: &RunSecrets,
    file: File,
    started_at: &str,
) -> Result<Hub, TrialError> {
    let suite = &shared.loaded.suite;
    let id = trial.cell.key.scenario.as_str();
    let parameters = Parameters {
        retry_after: suite.scenario_params.retry_after,
        error_rate: suite.scenario_params.error_rate,
        seed: trial.seed,
        delay: suite.scenario_params.delay,
        late: suite.scenario_params.late,
    };
    let described = suite.scenarios.get(id);
    let scenario = match described {
        Some(described) => Some(scenario::armed(described.plan.clone())),
        None => scenario::build(id, &parameters),
    };
    let scenario = scenario.ok_or_else(|| missing("scenario", id))?;
    let on_axis = Present::from_name(&trial.cell.key.present).unwrap_or_default();
    let present = match on_axis {
        Present::Plain => described.and_then(|described| described.present).unwrap_or_default(),
        Present::Structured => on_axis,
    };
    let classifier = classifier(upstream);
    let engine = Engine::new(Settings {
        scenario,
        classify: Box::new(move |tool| classifier.classify(tool)),
        upstream_timeout: suite.limits.upstream_timeout,
        present,
        correlation: Some(correlation_prefix(trial, started_at)),
    });
    let engine = engine.keeping_given(keeps_given(shared, trial));
    let engine = match scenario::rebuilds(id) {
        Some(variant) => engine.with_rebuilds(Rules {
            watched: true,
            on_replace: OnReplace::from_name(variant).unwrap_or_default(),
            approval: upstream.approval.clone(),
            credentials: credentials(upstream),
        }),
        None => engine,
    };
    let hub = Hub::new(engine, Box::new(FileSink { file, lines: String::new() }))
        .hiding(secrets.hidden.clone(), secrets.watched.clone());
    let millis = |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    hub.record(Event::Started(Started {
        version: TRACE_VERSION,
        harness_version: env!("CARGO_PKG_VERSION").to_owned(),
        run_id: Some(trial.run_id.0.clone()),
        kind: "proxy".to_owned(),
        scenario: (id != scenario::NONE && id != scenario::CHAOS).then(|| id.to_owned()),
        error_rate: (id == scenario::CHAOS).then_some(parameters.error_rate),
        retry_after_ms: millis(parameters.retry_after),
        seed: trial.seed,
        key_fields: key_fields(upstream),
        upstream_timeout_ms: millis(suite.limits.upstream_timeout),
        started_at: started_at.to_owned(),
        expect: described.and_then(|described| described.expect.clone()),
        present,
    }));
    if let Some(tools) = shared.tools.get(&trial.cell.key.upstream) {
        hub.know_tools(tools.clone());
    }
    Ok(hub)
}

/// Whether it matters which identifiers the agent was given (J28): where answers are broken.
pub(super) fn keeps_given(shared: &Shared, trial: &Trial) -> bool {
    let id = trial.cell.key.scenario.as_str();
    scenario::breaks_answers(id) || shared.loaded.suite.scenarios.contains_key(id)
}

/// What the ids of a run's attempts begin with: no other run has it.
fn correlation_prefix(trial: &Trial, started_at: &str) -> String {
    let mut prefix = digest_all([trial.run_id.0.as_str(), started_at]);
    prefix.truncate(16);
    prefix
}

/// The trace's file. Lines of one step are written together, without a buffer that a kill empties.
struct FileSink {
    file: File,
    lines: String,
}

impl Sink for FileSink {
    fn put(&mut self, _record: &Record, line: &str) -> std::io::Result<()> {
        self.lines.push_str(line);
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let written = self.file.write_all(self.lines.as_bytes());
        self.lines.clear();
        written
    }
}

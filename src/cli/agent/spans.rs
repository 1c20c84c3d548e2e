//! Where the agent's spans go.

use super::AgentError;
use crate::harness::model::Identity;
use crate::harness::new_file;
use crate::harness::spans::otlp::Collector;
use crate::harness::spans::recorder::{Recorder, clock};
use crate::harness::watch::Watch;
use crate::runner::environment::variable;
use std::io::Write;
use std::path::PathBuf;

/// The flags.
#[derive(Debug, clap::Args)]
pub(super) struct SpanFlags {
    /// Write what was done and how long it took to this file: a JSON object for each span, and one for
    /// the metrics. OTEL_EXPORTER_OTLP_ENDPOINT sends the spans to a collector
    #[arg(long, value_name = "FILE")]
    spans: Option<PathBuf>,
}

fn collector() -> Result<Option<Collector>, AgentError> {
    Ok(Collector::of(&variable)?)
}

impl SpanFlags {
    /// What makes the spans, where anybody wants them.
    pub(super) fn recorder<'a>(
        &self,
        identity: Identity,
        next: &'a dyn Watch,
    ) -> Result<Option<Recorder<'a>>, AgentError> {
        let out = match &self.spans {
            Some(path) => {
                let file = new_file::open(path)
                    .map_err(|source| AgentError::File { file: path.display().to_string(), source })?;
                Some(Box::new(file) as Box<dyn Write + Send>)
            }
            None => None,
        };
        if out.is_none() && collector()?.is_none() {
            return Ok(None);
        }
        let mut seed = [0_u8; 8];
        // Without randomness two traces might share their ids; that is no reason to do nothing.
        let _ = getrandom::fill(&mut seed);
        Ok(Some(Recorder::new(identity, u64::from_le_bytes(seed), clock(), out, next)))
    }

    /// Ends the run, and sends its spans. A collector that is not there does not spoil a conversation.
    pub(super) async fn tell(&self, recorder: Recorder<'_>) -> Result<(), AgentError> {
        let spans = recorder.finish()?;
        if let Some(collector) = collector()?
            && let Err(error) = collector.send(&spans).await
        {
            tracing::warn!(%error, "spans were lost");
        }
        Ok(())
    }
}

//! The flags that say which model is asked, and how.

use crate::harness::model::Model;
use crate::harness::provider::{self, Options, PROVIDERS, ProviderError};
use crate::harness::recording::record::Recorder;
use crate::harness::recording::replay::{Replayer, summary};
use crate::harness::remote::retry::Backoff;
use crate::harness::remote::{Own, Settings};
use crate::runner::environment::variable;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The flags.
#[derive(Debug, clap::Args)]
pub(super) struct ModelFlags {
    #[arg(long, value_name = "PROVIDER[:MODEL]", help = provider_help())]
    provider: Option<String>,
    /// Which model; without --provider as PROVIDER:MODEL, or the name of a model of an
    /// OpenAI-compatible endpoint
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// For a scripted model that chooses at random, and for endpoints that can repeat themselves
    #[arg(long)]
    seed: Option<u64>,
    /// The model's temperature; without it, the endpoint's own
    #[arg(long, value_name = "NUMBER", value_parser = temperature)]
    temperature: Option<f64>,
    /// Most tokens of one answer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_tokens: Option<u64>,
    /// Ask for answers as a whole, not as streams
    #[arg(long)]
    no_stream: bool,
    /// How often a request is sent again that failed for a reason that can pass
    #[arg(long, value_name = "N", default_value_t = Backoff::default().retries)]
    model_retries: u32,
    /// Keep what the model is asked and what it answers in this file
    #[arg(long, value_name = "FILE", value_parser = file)]
    record: Option<File>,
    /// Answer from a recording instead of asking a model, and tell every difference in prompts and
    /// calls; the provider `replay` with the file as its model is the same
    #[arg(long, value_name = "FILE", value_parser = file)]
    replay: Option<File>,
    /// Where the differences go, one JSON object a line; without it, to stderr when all is over
    #[arg(long, value_name = "FILE", value_parser = file)]
    drift: Option<File>,
    /// How long the model's endpoint may be silent
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = super::agent::duration)]
    model_timeout: Duration,
}

fn provider_help() -> String {
    let names: Vec<&str> = PROVIDERS.iter().map(|provider| provider.name).collect();
    format!("Where the model comes from ({}); may carry the model, as in script:careful", names.join(", "))
}

/// A file, or the empty text for none: a profile can name one that only some runs have.
type File = Option<PathBuf>;

fn file(text: &str) -> Result<File, std::convert::Infallible> {
    Ok((!text.is_empty()).then(|| PathBuf::from(text)))
}

fn temperature(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=2.0).contains(number));
    number.ok_or_else(|| "a number from 0 to 2 is wanted".to_owned())
}

/// A model, and the recording that it answers from, where it is one.
pub(super) struct Opened {
    pub(super) model: Box<dyn Model>,
    replayer: Option<Arc<Replayer>>,
    drift_goes_to_a_file: bool,
}

impl Opened {
    /// The conversation is over: tells every difference to the recording.
    ///
    /// # Errors
    /// Where it cannot be told.
    pub(super) fn finish(&self) -> io::Result<()> {
        let Some(replayer) = &self.replayer else { return Ok(()) };
        let drifts = replayer.finish()?;
        if self.drift_goes_to_a_file {
            return Ok(());
        }
        io::stderr().write_all(summary(replayer.len(), &drifts).as_bytes())
    }
}

impl ModelFlags {
    /// The model.
    ///
    /// # Errors
    /// As [`provider::open`], and where a recording cannot be read or written.
    pub(super) fn open(&self) -> Result<Opened, ProviderError> {
        let drift = self.drift.as_ref().and_then(Option::as_deref);
        let (model, replayer): (Box<dyn Model>, _) = match self.recording()? {
            Some(path) => {
                let replayer = Arc::new(Replayer::new(&path, drift)?);
                (Box::new(Arc::clone(&replayer)), Some(replayer))
            }
            None => (self.ask()?, None),
        };
        let model = match self.record.as_ref().and_then(Option::as_deref) {
            Some(path) => Box::new(Recorder::new(model, path)?),
            None => model,
        };
        Ok(Opened { model, replayer, drift_goes_to_a_file: drift.is_some() })
    }

    /// The recording that is to answer, by flag or by provider.
    fn recording(&self) -> Result<Option<PathBuf>, ProviderError> {
        if let Some(Some(path)) = &self.replay {
            return Ok(Some(path.clone()));
        }
        match provider::named(self.provider.as_deref(), self.model.as_deref()) {
            Ok((provider, path)) if provider.name == provider::REPLAY => Ok(Some(PathBuf::from(path))),
            Ok(_) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn ask(&self) -> Result<Box<dyn Model>, ProviderError> {
        let options = Options {
            settings: Settings {
                stream: !self.no_stream,
                seed: self.seed,
                temperature: self.temperature,
                max_tokens: self.max_tokens,
                silence: self.model_timeout,
            },
            backoff: Backoff { retries: self.model_retries, ..Backoff::default() },
            environment: &variable,
            own: Own::default(),
        };
        provider::open(self.provider.as_deref(), self.model.as_deref(), &options)
    }
}

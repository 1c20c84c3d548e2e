//! The flags that say which model is asked, and how.

use crate::harness::model::Model;
use crate::harness::provider::{self, Options, PROVIDERS, ProviderError};
use crate::harness::remote::Settings;
use crate::harness::remote::retry::Backoff;
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
    /// How long the model's endpoint may be silent
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = super::agent::duration)]
    model_timeout: Duration,
}

fn provider_help() -> String {
    let names: Vec<&str> = PROVIDERS.iter().map(|provider| provider.name).collect();
    format!("Where the model comes from ({}); may carry the model, as in script:careful", names.join(", "))
}

fn temperature(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=2.0).contains(number));
    number.ok_or_else(|| "a number from 0 to 2 is wanted".to_owned())
}

impl ModelFlags {
    /// The model.
    ///
    /// # Errors
    /// As [`provider::open`].
    pub(super) fn open(&self) -> Result<Box<dyn Model>, ProviderError> {
        let options = Options {
            settings: Settings {
                stream: !self.no_stream,
                seed: self.seed,
                temperature: self.temperature,
                max_tokens: self.max_tokens,
                silence: self.model_timeout,
            },
            backoff: Backoff { retries: self.model_retries, ..Backoff::default() },
            environment: &|name| std::env::var(name).ok().filter(|value| !value.is_empty()),
        };
        provider::open(self.provider.as_deref(), self.model.as_deref(), &options)
    }
}

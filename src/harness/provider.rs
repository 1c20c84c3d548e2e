//! Where models come from: one table of providers.

use super::model::{Identity, Model};
use super::recording::TapeError;
use super::recording::replay::Replayer;
use super::remote::retry::{Backoff, Retrying};
use super::remote::{self, AddressError, Environment, Own, Place, RemoteModel, Settings, Wire};
use super::script::{FILE, Script, ScriptError, ScriptModel};
use std::path::Path;
use std::sync::Arc;

/// Where models come from.
#[derive(Debug)]
pub struct Provider {
    /// Its name.
    pub name: &'static str,
    /// One line of help.
    pub about: &'static str,
    /// Where it is; none where nobody is asked over a network.
    pub place: Option<&'static Place>,
    /// How it opens a model.
    pub open: Open,
}

/// Opens a model by its name.
pub type Open = fn(&str, &Options<'_>) -> Result<Box<dyn Model>, ProviderError>;

/// What opening a model may depend on beside its name.
pub struct Options<'a> {
    /// How requests are made.
    pub settings: Settings,
    /// How often requests that failed are sent again.
    pub backoff: Backoff,
    /// Where addresses and keys stand.
    pub environment: Environment<'a>,
    /// An address and a key in place of the provider's own.
    pub own: Own<'a>,
}

/// Every provider.
pub const PROVIDERS: &[Provider] = &[
    Provider {
        name: "anthropic",
        about: "Anthropic's API: ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL",
        place: Some(&ANTHROPIC),
        open: |model, options| over(&ANTHROPIC, remote::MESSAGES, "anthropic", model, options),
    },
    Provider {
        name: "gemini",
        about: "Gemini's API: GEMINI_API_KEY, GEMINI_BASE_URL",
        place: Some(&GEMINI),
        open: |model, options| over(&GEMINI, remote::GEMINI, "gcp.gemini", model, options),
    },
    Provider {
        name: "ollama",
        about: "Ollama on this machine, or where OLLAMA_HOST is",
        place: Some(&OLLAMA),
        open: |model, options| over(&OLLAMA, remote::CHAT, "ollama", model, options),
    },
    Provider {
        name: OPENAI_COMPATIBLE,
        about: "OpenAI's API and all that speak it (vLLM, llama.cpp …): OPENAI_API_KEY, OPENAI_BASE_URL",
        place: Some(&OPENAI),
        open: |model, options| over(&OPENAI, remote::CHAT, "openai", model, options),
    },
    Provider {
        name: "openai-responses",
        about: "OpenAI's Responses API, for models that Chat Completions has not: OPENAI_API_KEY, OPENAI_BASE_URL",
        place: Some(&OPENAI),
        open: |model, options| over(&OPENAI, remote::RESPONSES, "openai", model, options),
    },
    Provider {
        name: REPLAY,
        about: "The answers of a recording, offline; the model is its file",
        place: None,
        open: |model, _| Ok(Box::new(Arc::new(Replayer::new(Path::new(model), None)?))),
    },
    Provider {
        name: "script",
        about: "Scripted behaviour, offline: careful, naive, obedient, random:p …, or file:PATH",
        place: None,
        open: |model, options| {
            Ok(Box::new(ScriptModel::new(Script::open(model)?, options.settings.seed.unwrap_or(0))))
        },
    },
];

/// The provider whose models are recordings.
pub const REPLAY: &str = "replay";

/// The provider of models whose names carry none.
const OPENAI_COMPATIBLE: &str = "openai";

const OPENAI: Place = Place {
    urls: &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
    default_url: "https://api.openai.com/v1",
    keys: &["OPENAI_API_KEY"],
    tokens: &[],
    version: "",
    needs_key: true,
};

const OLLAMA: Place = Place {
    urls: &["OLLAMA_BASE_URL", "OLLAMA_HOST"],
    default_url: "http://127.0.0.1:11434",
    keys: &["OLLAMA_API_KEY"],
    tokens: &[],
    version: "/v1",
    needs_key: false,
};

const ANTHROPIC: Place = Place {
    urls: &["ANTHROPIC_BASE_URL"],
    default_url: "https://api.anthropic.com",
    keys: &["ANTHROPIC_API_KEY"],
    tokens: &["ANTHROPIC_AUTH_TOKEN"],
    version: "/v1",
    needs_key: true,
};

const GEMINI: Place = Place {
    urls: &["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
    default_url: "https://generativelanguage.googleapis.com",
    keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    tokens: &[],
    version: "/v1beta",
    needs_key: true,
};

/// Why no model could be opened.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// There is no such provider.
    #[error("no provider is called \"{name}\"{hint}; there are: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// A guess, ready to be read.
        hint: String,
        /// All names.
        known: String,
    },
    /// Neither flag names a model.
    #[error("no model: give --model PROVIDER:NAME (such as script:careful), or --provider and --model")]
    NoModel,
    /// The script provider refused.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// Its address or key.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A recording.
    #[error(transparent)]
    Recording(#[from] TapeError),
    /// TLS or the client as a whole.
    #[error("no HTTP client could be set up: {0}")]
    Client(#[from] reqwest::Error),
}

fn over(
    place: &Place,
    wire: Wire,
    provider: &str,
    model: &str,
    options: &Options<'_>,
) -> Result<Box<dyn Model>, ProviderError> {
    let (url, key) = place.resolve(options.environment, options.own)?;
    let identity = Identity { provider: provider.to_owned(), model: model.to_owned() };
    let remote = RemoteModel::new(wire, &url, key, identity, options.settings.clone())?;
    Ok(Box::new(Retrying::new(remote, options.backoff, options.settings.seed.unwrap_or(0))))
}

/// Opens what `--provider` and `--model` name. Either can carry both as `PROVIDER:NAME`; a name
/// without a provider is that of an OpenAI-compatible endpoint.
///
/// # Errors
/// Where there is no such provider or model, or the provider has no address or key.
pub fn open(
    provider: Option<&str>,
    model: Option<&str>,
    options: &Options<'_>,
) -> Result<Box<dyn Model>, ProviderError> {
    let (provider, model) = named(provider, model)?;
    (provider.open)(model, options)
}

/// The provider and the model's own name.
///
/// # Errors
/// Where there is no such provider, or nothing is named.
pub fn named<'a>(
    provider: Option<&'a str>,
    model: Option<&'a str>,
) -> Result<(&'static Provider, &'a str), ProviderError> {
    let (provider, model) = match (provider, model) {
        (Some(provider), model) => match (provider.split_once(':'), model) {
            (None, Some(model)) => (provider, without(provider, model)),
            (Some((provider, model)), None) => (provider, model),
            // `--provider script:careful --model …`: the runner passes its model axis along.
            (Some((provider, _)), Some(model)) => (provider, without(provider, model)),
            (None, None) => return Err(ProviderError::NoModel),
        },
        // Whoever writes `naive` means the script, and has to say so.
        (None, Some(model)) if Script::parse(model).is_ok() && !model.contains(':') => {
            return Err(ProviderError::NoModel);
        }
        (None, Some(model)) => match model.split_once(':') {
            Some((provider, model)) if find(provider).is_some() => (provider, model),
            // Models have colons in their names, too, and `llama3:8b` is no slip.
            Some((provider, _))
                if near(provider)
                    .is_some_and(|near| near != "ollama" || provider.starts_with(['o', 'O'])) =>
            {
                return Err(unknown(provider));
            }
            _ => (OPENAI_COMPATIBLE, model),
        },
        (None, None) => return Err(ProviderError::NoModel),
    };
    if model.is_empty() {
        return Err(ProviderError::NoModel);
    }
    find(provider).map(|found| (found, model)).ok_or_else(|| unknown(provider))
}

/// What is wrong with a model that is named by `--model` alone, before it is opened: no such provider, no such
/// script. Whether an endpoint has a model is not known here.
pub fn fault(model: &str) -> Option<String> {
    match named(None, Some(model)) {
        Err(ProviderError::NoModel) if !model.contains(':') && Script::parse(model).is_ok() => {
            Some(format!("\"{model}\" is no model; the script of that name is \"script:{model}\""))
        }
        Err(ProviderError::NoModel) => Some("a model is wanted, such as `ollama:qwen3:14b`".to_owned()),
        Err(error) => Some(error.to_string()),
        // A file is read with the suite.
        Ok((provider, name)) if provider.name == "script" && !name.starts_with(FILE) => {
            Script::parse(name).err().map(|error| error.to_string())
        }
        Ok(_) => None,
    }
}

/// A model's name without the provider before it.
pub fn apart(model: &str) -> &str {
    match model.split_once(':') {
        Some((provider, name)) if find(provider).is_some() => name,
        _ => model,
    }
}

fn without<'a>(provider: &str, model: &'a str) -> &'a str {
    model.strip_prefix(provider).and_then(|rest| rest.strip_prefix(':')).unwrap_or(model)
}

fn find(name: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|one| one.name == name)
}

fn near(name: &str) -> Option<&'static str> {
    crate::suite::diagnostics::closest(name, PROVIDERS.iter().map(|one| one.name))
}

fn unknown(name: &str) -> ProviderError {
    ProviderError::Unknown {
        name: name.to_owned(),
        hint: near(name).map_or_else(String::new, |near| format!(" (did you mean \"{near}\"?)")),
        known: PROVIDERS.iter().map(|one| one.name).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_with(
        provider: Option<&str>,
        model: Option<&str>,
        variables: &[(&str, &str)],
    ) -> Result<Identity, String> {
        let environment = |name: &str| {
            variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        };
        let options = Options {
            settings: Settings::default(),
            backoff: Backoff::default(),
            environment: &environment,
            own: Own::default(),
        };
        open(provider, model, &options).map(|model| model.identity()).map_err(|error| error.to_string())
    }

    #[test]
    fn either_flag_can_name_both() {
        let random = Identity { provider: "script".into(), model: "random".into() };
        for (provider, model) in [
            (Some("script:random:0.3"), None),
            (Some("script"), Some("random:0.3")),
            (Some("script"), Some("script:random:0.3")),
            (None, Some("script:random:0.3")),
        ] {
            assert_eq!(open_with(provider, model, &[]).unwrap(), random, "{provider:?} {model:?}");
        }
        for (provider, model) in
            [(None, None), (Some("script"), None), (None, Some("ollama:")), (None, Some("careful"))]
        {
            assert!(open_with(provider, model, &[]).unwrap_err().contains("--model PROVIDER:NAME"));
        }
    }

    #[test]
    fn a_name_without_a_provider_is_that_of_an_openai_compatible_endpoint() {
        let variables = [("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")];
        for name in ["qwen3:14b", "llama3:8b", "gemma3:4b", "gemma4", "a/b"] {
            let identity = open_with(None, Some(name), &variables).unwrap();
            assert_eq!((identity.provider.as_str(), identity.model.as_str()), ("openai", name));
        }
        assert_eq!(
            open_with(None, Some("gemma4"), &[]).unwrap_err(),
            "OPENAI_API_KEY is not set, and the vendor's own endpoint asks for it; for another one set OPENAI_BASE_URL"
        );
        assert_eq!(open_with(None, Some("ollama:qwen3:14b"), &[]).unwrap().model, "qwen3:14b");
    }

    #[test]
    fn a_provider_that_needs_no_key_is_known_by_its_place() {
        let keyless: Vec<&str> = PROVIDERS
            .iter()
            .filter(|provider| !provider.place.is_some_and(|place| place.needs_key))
            .map(|provider| provider.name)
            .collect();
        assert_eq!(keyless, ["ollama", "replay", "script"]);
        assert_eq!(apart("anthropic:claude:1"), "claude:1");
        assert_eq!(apart("qwen3:14b"), "qwen3:14b");
    }

    #[test]
    fn a_slip_in_a_model_is_known_before_it_is_opened() {
        for (model, part) in [
            ("scrip:careful", "did you mean \"script\""),
            ("script:carefull", "did you mean \"careful\""),
            ("naive", "\"script:naive\""),
            ("ollama:", "a model is wanted"),
            ("olama:qwen3:14b", "did you mean \"ollama\""),
            ("scrpt:naive", "did you mean \"script\""),
            ("script:niave", "did you mean \"naive\""),
            ("script:random:2", "a probability from 0 to 1"),
            ("script:", "a model is wanted"),
            ("openai:", "a model is wanted"),
        ] {
            assert!(fault(model).unwrap().contains(part), "{model}: {:?}", fault(model));
        }
        for model in [
            "script:careful",
            "script:random:0.3",
            "script:file:own.yaml",
            "qwen3:14b",
            "llama3:8b",
            "llama:8b",
            "olmo2:7b",
            "default",
            "openai:x",
        ] {
            assert_eq!(fault(model), None, "{model}");
        }
    }

    #[test]
    fn a_slip_is_told_with_what_was_probably_meant() {
        let told = "no provider is called \"scrip\" (did you mean \"script\"?); there are: anthropic, gemini, ollama, openai, openai-responses, replay, script";
        assert_eq!(open_with(Some("scrip"), Some("naive"), &[]).unwrap_err(), told);
        assert_eq!(open_with(None, Some("scrip:naive"), &[]).unwrap_err(), told);
        assert!(
            open_with(Some("acme"), Some("x"), &[])
                .unwrap_err()
                .starts_with("no provider is called \"acme\"; there")
        );
    }
}

//! Where models come from: one table of providers.

use super::model::Model;
use super::script::{Script, ScriptError, ScriptModel};

/// Where models come from.
#[derive(Debug)]
pub struct Provider {
    /// Its name.
    pub name: &'static str,
    /// One line of help.
    pub about: &'static str,
    /// How it opens a model.
    pub open: Open,
}

/// Opens a model by its name, with a seed where it uses one.
pub type Open = fn(&str, u64) -> Result<Box<dyn Model>, ProviderError>;

/// Every provider.
pub const PROVIDERS: &[Provider] = &[Provider {
    name: "script",
    about: "Scripted behaviour, offline: careful, naive, obedient, random:p",
    open: |model, seed| Ok(Box::new(ScriptModel::new(Script::parse(model)?, seed))),
}];

/// Why no model could be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// There is no such provider.
    #[error("no provider is called \"{name}\"; there are: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// All names.
        known: String,
    },
    /// Neither flag names a provider, or no model was named.
    #[error("no model: give --model PROVIDER:NAME (such as script:careful), or --provider and --model")]
    NoModel,
    /// The script provider refused.
    #[error(transparent)]
    Script(#[from] ScriptError),
}

/// Opens what `--provider` and `--model` name. Either can carry both as `PROVIDER:NAME`.
///
/// # Errors
/// Where there is no such provider or model, or one of the two is missing.
pub fn open(provider: Option<&str>, model: Option<&str>, seed: u64) -> Result<Box<dyn Model>, ProviderError> {
    let (provider, model) = match (provider, model) {
        (Some(provider), model) => match (provider.split_once(':'), model) {
            (None, Some(model)) => (provider, model),
            (Some((provider, model)), None) => (provider, model),
            // `--provider script:careful --model …`: the runner passes its model axis along.
            (Some((provider, _)), Some(model)) => (provider, model),
            (None, None) => return Err(ProviderError::NoModel),
        },
        (None, Some(model)) => model.split_once(':').ok_or(ProviderError::NoModel)?,
        (None, None) => return Err(ProviderError::NoModel),
    };
    let Some(found) = PROVIDERS.iter().find(|one| one.name == provider) else {
        return Err(ProviderError::Unknown {
            name: provider.to_owned(),
            known: PROVIDERS.iter().map(|one| one.name).collect::<Vec<_>>().join(", "),
        });
    };
    (found.open)(model, seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_flag_can_name_both() {
        for (provider, model) in [
            (Some("script:careful"), None),
            (Some("script"), Some("careful")),
            (Some("script"), Some("script:random:0.3")),
            (None, Some("script:random:0.3")),
        ] {
            assert!(open(provider, model, 0).is_ok(), "{provider:?} {model:?}");
        }
        let error = |provider, model| open(provider, model, 0).map(drop).unwrap_err().to_string();
        assert_eq!(error(Some("acme"), Some("x")), "no provider is called \"acme\"; there are: script");
        assert!(error(None, Some("careful")).contains("--model PROVIDER:NAME"));
        assert!(error(None, None).contains("--model PROVIDER:NAME"));
    }
}

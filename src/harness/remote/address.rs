//! Where a provider is, and the key for it: out of the environment, never out of a file.

use super::Key;
use reqwest::Url;

/// Reads a variable of the environment; none where it is empty.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What somebody else says in place of a provider's own variables.
#[derive(Debug, Clone, Copy, Default)]
pub struct Own<'a> {
    /// The base URL. A key of the provider's own does not go there.
    pub url: Option<&'a str>,
    /// The variable that holds the key.
    pub key: Option<&'a str>,
}

/// The variables of one provider, and what holds without them.
#[derive(Debug)]
pub struct Place {
    /// Base URLs, the first that is set.
    pub urls: &'static [&'static str],
    /// The vendor's own.
    pub default_url: &'static str,
    /// Keys of the provider's own kind, the first that is set.
    pub keys: &'static [&'static str],
    /// A token for a bearer, where there is no key.
    pub tokens: &'static [&'static str],
    /// What programs differ in whether it belongs to the base URL.
    pub version: &'static str,
    /// Whether the vendor's own address needs a key. Any other may do without.
    pub needs_key: bool,
}

/// Why a provider cannot be reached at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// A base URL.
    #[error("{variable} is not the URL of a model endpoint: {reason}")]
    Url {
        /// Where it stands.
        variable: String,
        /// Why not.
        reason: String,
    },
    /// A key is needed.
    #[error("{0} is not set, and the vendor's own endpoint asks for it; for another one set {1}")]
    NoKey(&'static str, &'static str),
    /// A key that was named is not there.
    #[error("{0} is not set, and is to hold the key")]
    NoOwnKey(String),
}

impl Place {
    /// The base URL without a slash at its end, and the key.
    ///
    /// # Errors
    /// Where the URL cannot be used, the vendor's own endpoint would be asked without a key, or a key
    /// that is named is not there.
    pub fn resolve(&self, environment: Environment<'_>, own: Own<'_>) -> Result<(Url, Key), AddressError> {
        let first = |names: &[&'static str]| first(names, environment);
        let key = match (own, first(self.keys), first(self.tokens)) {
            (Own { key: Some(name), .. }, ..) => {
                Key::Own(environment(name).ok_or_else(|| AddressError::NoOwnKey(name.to_owned()))?)
            }
            (Own { url: Some(_), .. }, ..) => Key::None,
            (_, Some((_, key)), _) => Key::Own(key),
            (_, None, Some((_, token))) => Key::Bearer(token),
            (_, None, None) => Key::None,
        };
        let given = self.given(environment, own);
        if let (None, true, Key::None, [name, ..], [url, ..]) =
            (&given, self.needs_key, &key, self.keys, self.urls)
        {
            return Err(AddressError::NoKey(name, url));
        }
        let (variable, text) = given.unwrap_or(("", self.default_url.to_owned()));
        let bad =
            |reason: &str| AddressError::Url { variable: variable.to_owned(), reason: reason.to_owned() };
        let text = with_scheme(text);
        let trimmed = text.trim_end_matches('/');
        let trimmed = trimmed.strip_suffix(self.version).unwrap_or(trimmed);
        let url = Url::parse(trimmed).map_err(|error| bad(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(bad("http://… or https://… is wanted"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(bad("it must end with its path"));
        }
        Ok((url, key))
    }

    /// The variables that can hold the key, the first that is set. None where a URL of one's own gets none.
    pub fn key_variables<'a>(&self, own: Own<'a>) -> Vec<&'a str> {
        match own {
            Own { key: Some(name), .. } => vec![name],
            Own { url: Some(_), .. } => Vec::new(),
            Own { .. } => self.keys.iter().chain(self.tokens).copied().collect(),
        }
    }

    /// The base URL as it is written, with a scheme, and whether it is the vendor's own because nobody names another.
    pub fn address(&self, environment: Environment<'_>, own: Own<'_>) -> (String, bool) {
        let given = self.given(environment, own);
        let is_default = given.is_none();
        (with_scheme(given.map_or_else(|| self.default_url.to_owned(), |(_, text)| text)), is_default)
    }

    /// The base URL that is named, and where.
    fn given(&self, environment: Environment<'_>, own: Own<'_>) -> Option<(&'static str, String)> {
        own.url.map(|url| ("base_url", url.to_owned())).or_else(|| first(self.urls, environment))
    }
}

/// The first variable that is set.
fn first(names: &[&'static str], environment: Environment<'_>) -> Option<(&'static str, String)> {
    names.iter().find_map(|name| environment(name).map(|value| (*name, value)))
}

/// Ollama's own variable names a host without a scheme.
fn with_scheme(text: String) -> String {
    if text.contains("://") { text } else { format!("http://{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place {
        urls: &["A_URL", "B_URL"],
        default_url: "https://vendor.example/v1",
        keys: &["A_KEY"],
        tokens: &["A_TOKEN"],
        version: "/v1",
        needs_key: true,
    };

    fn resolve(variables: &[(&str, &str)]) -> Result<(String, Key), AddressError> {
        let environment = |name: &str| {
            variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        };
        PLACE.resolve(&environment, Own::default()).map(|(url, key)| (url.to_string(), key))
    }

    #[test]
    fn the_vendors_own_endpoint_needs_a_key_and_others_do_not() {
        assert_eq!(resolve(&[]), Err(AddressError::NoKey("A_KEY", "A_URL")));
        assert_eq!(
            resolve(&[("A_KEY", "k1")]).unwrap(),
            ("https://vendor.example/".into(), Key::Own("k1".into()))
        );
        assert_eq!(resolve(&[("A_TOKEN", "t1")]).unwrap().1, Key::Bearer("t1".into()));
        assert_eq!(
            resolve(&[("B_URL", "http://127.0.0.1:8000/x/v1/")]).unwrap(),
            ("http://127.0.0.1:8000/x".into(), Key::None)
        );
        assert_eq!(resolve(&[("A_URL", "localhost:11434")]).unwrap().0, "http://localhost:11434/");
    }

    #[test]
    fn a_url_of_ones_own_gets_the_key_that_is_named_and_no_other() {
        let variables = [("A_KEY", "k1"), ("A_URL", "http://elsewhere.example"), ("MINE", "k2")];
        let environment = |name: &str| {
            variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        };
        let resolve = |url, key| PLACE.resolve(&environment, Own { url, key });
        let here = Some("http://127.0.0.1:9/v1");
        let (url, key) = resolve(here, None).unwrap();
        assert_eq!((url.as_str(), key), ("http://127.0.0.1:9/", Key::None));
        assert_eq!(resolve(here, Some("MINE")).unwrap().1, Key::Own("k2".into()));
        let (url, key) = resolve(None, Some("MINE")).unwrap();
        assert_eq!((url.as_str(), key), ("http://elsewhere.example/", Key::Own("k2".into())));
        assert_eq!(resolve(here, Some("GONE")), Err(AddressError::NoOwnKey("GONE".into())));
    }

    #[test]
    fn a_bad_url_is_told_with_its_variable() {
        for url in ["ftp://x", "http://", "http://x/v1?key=secret"] {
            let error = resolve(&[("A_URL", url)]).unwrap_err().to_string();
            assert!(error.starts_with("A_URL is not the URL of a model endpoint: "), "{error}");
            assert!(!error.contains("secret"));
        }
    }

    #[test]
    fn a_key_is_never_shown() {
        let key = Key::Own("sk-secret".into());
        assert_eq!(format!("{key:?}"), "a key");
        assert_eq!(
            key.hidden("Incorrect API key provided: sk-secret."),
            "Incorrect API key provided: [key]."
        );
    }
}

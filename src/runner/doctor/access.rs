//! The way to a model that this program asks itself, as a suite's second reader or in the built-in agent:
//! which key and endpoint it takes, and whether they are there.

use super::address::without_secrets;
use super::ask::Answered;
use crate::harness::provider::{self, Provider};
use crate::harness::remote::{Environment, Own, Place};
use crate::runner::environment::variable;
use crate::suite::{AgentProfile, SecondReader};
use serde::Serialize;

/// A model, and what of the way to it is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Access {
    /// The model, as the suite names it.
    pub model: String,
    /// Its base URL, without user and password; absent where nobody is asked over a network.
    pub url: Option<String>,
    /// The variable that holds its key; the first of several that can.
    pub key: Option<String>,
    /// Whether one of them is set. Never a value.
    pub key_is_set: bool,
    /// Why it cannot be asked at all.
    pub problem: Option<String>,
    /// What its endpoint answered; absent where it was not asked.
    pub answered: Option<Answered>,
}

/// A way that was looked at, and the address that is left to ask for its models.
pub(super) type Looked = (Access, Option<String>);

impl Access {
    fn to(model: &str, problem: Option<String>) -> Access {
        Access { model: model.to_owned(), url: None, key: None, key_is_set: false, problem, answered: None }
    }

    fn over(mut self, place: &Place, environment: Environment<'_>, own: Own<'_>) -> Looked {
        let keys = place.key_variables(own);
        let set = keys.iter().find(|name| environment(name).is_some());
        self.key_is_set = set.is_some();
        self.key = set.or_else(|| keys.first()).map(|name| (*name).to_owned());
        let (url, _) = place.address(environment, own);
        self.url = Some(without_secrets(&url));
        let ask = self.problem.is_none().then_some(url);
        (self, ask)
    }
}

/// The way to a second reader.
pub(super) fn of_reader(reader: &SecondReader) -> Looked {
    let problem = crate::runner::reader::openable(reader).err().map(|error| error.to_string());
    let access = Access::to(&reader.model, problem);
    let own = Own { url: reader.base_url.as_deref(), key: reader.key.as_deref() };
    match provider::named(None, Some(&reader.model)) {
        Ok((Provider { place: Some(place), .. }, _)) => access.over(place, &variable, own),
        _ => (access, None),
    }
}

/// The way to a model of the built-in agent; none where the agent is another one, or where the model is no
/// matter of an endpoint, or where its address is known in a run only.
pub(super) fn of_agent(profile: &AgentProfile, model: &str) -> Option<Looked> {
    if !profile.asks_the_model_that_the_axis_names() {
        return None;
    }
    let Ok((Provider { place: Some(place), .. }, _)) = provider::named(profile.provider_flag(), Some(model))
    else {
        return None;
    };
    let own = |name: &str| profile.env_set.get(name);
    if place.urls.iter().any(|name| own(name).is_some_and(|value| value.contains("{{"))) {
        return None;
    }
    let passed = |name: &str| match own(name) {
        Some(value) => Some(value.clone()).filter(|value| !value.is_empty()),
        None => profile.env_pass.iter().find(|passed| *passed == name).and_then(|name| variable(name)),
    };
    let problem = place.resolve(&passed, Own::default()).err().map(|error| error.to_string());
    let (access, ask) = Access::to(model, problem).over(place, &passed, Own::default());
    // The vendor's own endpoint is behind TLS, and there all the same.
    let is_vendors = place.needs_key && place.address(&passed, Own::default()).1;
    Some((access, ask.filter(|_| !is_vendors)))
}

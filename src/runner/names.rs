//! What the templates of a run may use. The names are listed in [`crate::suite::template`].

use crate::suite::template::{self, TemplateError, map};
use crate::suite::{Suite, Trial};
use minijinja::value::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The values of one run.
#[derive(Debug, Clone, Default)]
pub struct Names(BTreeMap<String, Value>);

impl Names {
    /// The suite's variables.
    pub fn of_suite(suite: &Suite) -> Names {
        let vars = suite.vars.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str())));
        Names(vars.collect())
    }

    /// Adds a value under a name.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Names {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Adds what is known of a run: `run` and `model`.
    #[must_use]
    pub fn with_run(self, trial: &Trial, dir: &Path) -> Names {
        self.with_run_and(trial, dir, map([]))
    }

    /// The same with more about the run.
    #[must_use]
    pub(super) fn with_run_and(self, trial: &Trial, dir: &Path, more: Value) -> Names {
        let run = map([
            ("id", Value::from(trial.run_id.0.as_str())),
            ("repeat", Value::from(trial.repeat)),
            ("seed", Value::from(trial.seed)),
            ("dir", Value::from(dir.to_string_lossy())),
            ("home", Value::from(dir.join("home").to_string_lossy())),
        ]);
        let run = minijinja::value::merge_maps([run, more]);
        self.with("run", run).with("model", trial.cell.key.model.as_str())
    }

    /// Puts the values into a template.
    ///
    /// # Errors
    /// As [`template::render`].
    pub fn render(&self, text: &str) -> Result<String, TemplateError> {
        template::render(text, &self.value())
    }

    fn value(&self) -> Value {
        Value::from(self.0.clone())
    }
}

//! Templates (minijinja) in prompts, conversations, commands and environment: checked when a
//! suite is read, rendered when a run starts.
//!
//! | where | names |
//! |---|---|
//! | prompts, what the user says | `vars` of the suite; `run.id`, `run.repeat`, `run.seed`; `model` |
//! | upstream commands, environment, addresses and headers | `vars`; all of `run`; in addresses and headers also `env` |
//! | the server of a contract | `vars`; `fixture.url`, `contract.dir` |
//! | an agent's files, commands and environment | `nochmal`, `profile.dir`, `model`, `prompt.system`, `prompt.user`, `session`, all of `run`, `mcp` and `env`; `say` in `next` |
//!
//! `run` has `id`, `repeat`, `seed`, `dir` and `home`, and for agents `record`, `replay` and `drift`: the
//! files of `nochmal run --record` and `--replay`, empty without; `mcp` has `name`, `transport` (`http` or
//! `stdio`), `url` (HTTP), `command` and `args` (stdio). `nochmal` is the path of this program,
//! `profile.dir` the folder of the profile's file. `prompt.system` is the empty text where there
//! is none, and holds the patch already. `env` has the variables that the profile passes on and
//! that are set, and in addresses and headers every variable that the template names; `{{ env.SOME_URL | default("https://…", true) }}` where one may be missing. A name
//! that does not exist is an error: a prompt with a hole in it measures nothing.

use super::decode::{At, Decoder};
use super::diagnostics::{Diagnostic, Source, closest, shown};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// Instructions that one template may take.
const FUEL: u64 = 100_000;

/// Why a template could not be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// It is not a template.
    #[error("line {line}: {reason}")]
    Syntax {
        /// From 1.
        line: usize,
        /// Why.
        reason: String,
    },
    /// It uses a name that is not there.
    #[error("line {line}: there is no `{name}`")]
    Undefined {
        /// From 1.
        line: usize,
        /// The name, as far as it is known.
        name: String,
    },
    /// It took too many steps.
    #[error("the template takes more than {FUEL} steps")]
    Endless,
    /// Anything else, an unknown filter for example.
    #[error("line {line}: {reason}")]
    Failed {
        /// From 1.
        line: usize,
        /// Why.
        reason: String,
    },
}

/// Puts the values of `context` into `text`.
///
/// # Errors
/// When the text is no template, uses a name that is not in `context`, or does not end.
pub fn render(text: &str, context: &Value) -> Result<String, TemplateError> {
    let environment = environment();
    let template = environment.template_from_str(text).map_err(|error| explain(&error, text))?;
    template.render(context.clone()).map_err(|error| explain(&error, text))
}

/// Names and their values, for the context of [`render`] and for the parts of it that have fields.
pub fn map<'a>(entries: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<BTreeMap<_, _>>().into()
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    // A file's last line break is part of the file.
    if let Ok(syntax) = SyntaxConfig::builder().keep_trailing_newline(true).build() {
        environment.set_syntax(syntax);
    }
    environment.set_fuel(Some(FUEL));
    environment
}

fn explain(error: &minijinja::Error, text: &str) -> TemplateError {
    let line = error.line().unwrap_or(1);
    let reason = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    match error.kind() {
        ErrorKind::SyntaxError => TemplateError::Syntax { line, reason },
        ErrorKind::OutOfFuel => TemplateError::Endless,
        ErrorKind::UndefinedError => {
            let name = error.range().and_then(|range| text.get(range)).unwrap_or("value").to_owned();
            TemplateError::Undefined { line, name }
        }
        _ => TemplateError::Failed { line, reason },
    }
}

/// Where a template stands, which decides the names that it may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A prompt, or what the simulated user says.
    Words,
    /// An upstream's command, arguments, folder and environment.
    Upstream,
    /// The server of a contract: command, arguments, folder, environment, address.
    Contract,
    /// An agent's files, environment, and first command.
    Agent,
    /// An agent's command for a later turn.
    AgentNext,
}

/// Names of environment variables that a template uses, as `{{ env.NAME }}`.
pub fn environment_names(text: &str) -> BTreeSet<String> {
    let environment = environment();
    let Ok(template) = environment.template_from_str(text) else { return BTreeSet::new() };
    let names = template.undeclared_variables(true).into_iter();
    names.filter_map(|name| Some(name.strip_prefix("env.")?.to_owned())).collect()
}

/// The names that templates of one place may use, with values to try them on.
#[derive(Clone)]
pub struct Names {
    place: Place,
    values: BTreeMap<String, Value>,
}

impl Names {
    /// For one place; `vars` are the suite's, and count for words and upstreams only.
    pub fn new(place: Place, vars: &BTreeMap<String, String>) -> Names {
        let text = |text: &str| Value::from(text);
        let mut run =
            vec![("id", text("0123456789-r001")), ("repeat", Value::from(1)), ("seed", Value::from(7))];
        if place != Place::Words {
            run.extend([("dir", text("/run")), ("home", text("/run/home"))]);
        }
        if matches!(place, Place::Agent | Place::AgentNext) {
            run.extend(["record", "replay", "drift"].map(|name| (name, text("/recordings/a.jsonl"))));
        }
        let mut values: BTreeMap<String, Value> = BTreeMap::new();
        if place == Place::Contract {
            values.extend(vars.iter().map(|(name, value)| (name.clone(), text(value))));
            values.insert("fixture".to_owned(), map([("url", text("http://127.0.0.1:1"))]));
            values.insert("contract".to_owned(), map([("dir", text("/contracts"))]));
            return Names { place, values };
        }
        if matches!(place, Place::Words | Place::Upstream) {
            values.extend(vars.iter().map(|(name, value)| (name.clone(), text(value))));
        } else {
            let args = vec![text("connect"), text("/run/socket")];
            let mcp = [
                ("name", text("upstream")),
                ("transport", text("http")),
                ("url", text("http://127.0.0.1:1/mcp")),
                ("command", text("nochmal")),
                ("args", Value::from(args)),
            ];
            values.insert("mcp".to_owned(), map(mcp));
            let prompt = [("system", text("system")), ("user", text("user"))];
            values.insert("prompt".to_owned(), map(prompt));
            values.insert("nochmal".to_owned(), text("nochmal"));
            values.insert("profile".to_owned(), map([("dir", text("/agents"))]));
            values.insert("session".to_owned(), text("0b7e0c5e-6f0c-4c0e-8a52-6d5f3b0f2a11"));
        }
        if place != Place::Upstream {
            values.insert("model".to_owned(), text("model"));
        }
        if place == Place::AgentNext {
            values.insert("say".to_owned(), text("bitte nochmal versuchen"));
        }
        values.insert("run".to_owned(), map(run));
        Names { place, values }
    }

    /// The same in a profile that passes these variables on.
    #[must_use]
    pub fn with_env<'a>(mut self, passed: impl IntoIterator<Item = &'a str>) -> Names {
        let values = passed.into_iter().map(|name| (name, Value::from("value")));
        self.values.insert("env".to_owned(), map(values));
        self
    }

    /// Names that the user cannot give to a variable, since they mean something already.
    pub fn reserved() -> &'static [&'static str] {
        &["run", "model", "mcp", "prompt", "say", "session", "nochmal", "profile", "env"]
    }

    fn has(&self, dotted: &str) -> bool {
        let mut parts = dotted.split('.');
        let Some(root) = parts.next().and_then(|root| self.values.get(root)) else { return false };
        let Some(field) = parts.next() else { return true };
        root.kind() != minijinja::value::ValueKind::Map
            || root.get_attr(field).is_ok_and(|value| !value.is_undefined())
    }

    fn all(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (name, value) in &self.values {
            match value.try_iter() {
                Ok(fields) if value.kind() == minijinja::value::ValueKind::Map => {
                    all.extend(fields.map(|field| format!("{name}.{field}")));
                }
                _ => all.push(name.clone()),
            }
        }
        all
    }
}

/// Checks a template that stands in the file being read. Says every unknown name.
pub fn check(decoder: &mut Decoder, template: &At<String>, names: &Names) {
    let source = decoder.source().clone();
    let mistakes = mistakes(&source, &template.span, &template.value, names);
    decoder.adopt(mistakes);
}

/// Checks a template that stands at `span` of `source`.
pub fn mistakes(source: &Arc<Source>, span: &Range<usize>, text: &str, names: &Names) -> Vec<Diagnostic> {
    let environment = environment();
    let template = match environment.template_from_str(text) {
        Ok(template) => template,
        Err(error) => return vec![mistake(source, span, text, &error)],
    };
    let globals: Vec<&str> = environment.globals().map(|(name, _)| name).collect();
    let mut unknown: Vec<String> = template
        .undeclared_variables(true)
        .into_iter()
        .filter(|name| !names.has(name) && !globals.contains(&name.split('.').next().unwrap_or_default()))
        .collect();
    unknown.sort();
    if unknown.is_empty() {
        // Filters and tests are looked up only when they are used.
        return match template.render(Value::from(names.values.clone())) {
            Ok(_) => Vec::new(),
            Err(error) => vec![mistake(source, span, text, &error)],
        };
    }
    let known = names.all();
    unknown
        .iter()
        .map(|name| {
            let place = locate(source, span, text, text.find(name.as_str()).unwrap_or(0), name.len());
            let mut mistake =
                Diagnostic::new(source, place, format!("there is no {} in this place", shown(name)));
            if let Some(variable) = name.strip_prefix("env.")
                && names.values.contains_key("env")
            {
                mistake.help(format!(
                    "variables that are passed on are known; add {} to `env: pass:`",
                    shown(variable)
                ));
                return mistake;
            }
            match closest(name, known.iter().map(String::as_str)) {
                Some(meant) => mistake.help(format!("did you mean {}?", shown(meant))),
                None if matches!(names.place, Place::Words | Place::Upstream | Place::Contract) => mistake
                    .help(format!(
                        "known: {}; your own names stand under `vars:`",
                        super::decode::list(&known)
                    )),
                None => mistake.help(format!("known: {}", super::decode::list(&known))),
            };
            mistake
        })
        .collect()
}

fn mistake(source: &Arc<Source>, span: &Range<usize>, text: &str, error: &minijinja::Error) -> Diagnostic {
    let range = error.range().unwrap_or_else(|| {
        let line = error.line().unwrap_or(1).saturating_sub(1);
        let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        start..start + text[start.min(text.len())..].lines().next().map_or(0, str::len)
    });
    let place = locate(source, span, text, range.start, range.len());
    let reason = match explain(error, text) {
        TemplateError::Undefined { name, .. } => format!("there is no {}", shown(&name)),
        TemplateError::Syntax { reason, .. } | TemplateError::Failed { reason, .. } => reason,
        endless @ TemplateError::Endless => endless.to_string(),
    };
    let mut mistake = Diagnostic::new(source, place, format!("this template cannot be used: {reason}"));
    if error.kind() == ErrorKind::SyntaxError {
        mistake.help("templates are minijinja: `{{ name }}`; a literal brace pair is written `{{ \"{{\" }}`");
    }
    mistake
}

/// Where bytes of a template stand in the file, as far as quotes, escapes and folding allow.
pub(super) fn locate(
    source: &Source,
    span: &Range<usize>,
    text: &str,
    start: usize,
    len: usize,
) -> Range<usize> {
    let Some(written) = source.text.get(span.clone()) else { return span.clone() };
    let start = start.min(text.len());
    let Some(before) = text.get(..start) else { return span.clone() };
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = text[line_start..].lines().next().unwrap_or_default();
    let trimmed = line.trim_start();
    let indent = line.len() - trimmed.len();
    match written.find(trimmed) {
        Some(at) if !trimmed.is_empty() && start >= line_start + indent => {
            let from = span.start + at + (start - line_start - indent);
            from..from + len.min(line.len())
        }
        _ => span.clone(),
    }
}

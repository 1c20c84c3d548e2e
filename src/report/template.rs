//! A user's own template over the summary. What it may use is in `docs/reference/template-fields.md`.

use super::markdown::{code, prose};
use super::text::{p_value, percent, points, visible};
use super::{Summary, View};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, Value};

/// Instructions that a template may take: enough for tables of many thousand cells, and an end.
const FUEL: u64 = 50_000_000;

/// Why a template could not be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// It is not a template, or uses what is not there.
    #[error("`{file}`, line {line}: {reason}")]
    At {
        /// The template.
        file: String,
        /// From 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// It does not end.
    #[error("`{file}` takes more than {FUEL} steps")]
    Endless {
        /// The template.
        file: String,
    },
}

/// Renders `text` over the summary of a view. Values are escaped where `file` is HTML.
///
/// # Errors
/// Where the text is no template, uses a name that is not there, or does not end.
pub fn render_template(text: &str, file: &str, view: &View<'_>) -> Result<String, TemplateError> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|name| match written(name).rsplit_once('.') {
        Some((_, "html" | "htm" | "xml" | "svg")) => AutoEscape::Html,
        _ => AutoEscape::None,
    });
    if let Ok(syntax) = SyntaxConfig::builder().keep_trailing_newline(true).build() {
        environment.set_syntax(syntax);
    }
    environment.set_fuel(Some(FUEL));
    environment.add_filter("percent", |share: Option<f64>| share.map_or("no data".to_owned(), percent));
    environment.add_filter("points", |share: Option<f64>| share.map_or("no data".to_owned(), points));
    environment.add_filter("p_value", |p: Option<f64>| p.map_or(String::new(), p_value));
    environment.add_filter("code", |text: String| code(&text).replace('|', "\\|"));
    environment.add_filter("prose", |text: String| prose(&text));
    environment.add_filter("visible", |text: String| visible(&text));
    let summary = Value::from(Serde(Summary::of(view)));
    let told = |error: &minijinja::Error| {
        let file = file.to_owned();
        if error.kind() == ErrorKind::OutOfFuel {
            return TemplateError::Endless { file };
        }
        let mut reason = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        if error.kind() == ErrorKind::UndefinedError
            && let Some(name) = error.range().and_then(|range| text.get(range))
        {
            reason = format!("there is no `{}`", visible(name));
        }
        TemplateError::At { file, line: error.line().unwrap_or(1), reason }
    };
    environment.add_template(file, text).map_err(|error| told(&error))?;
    let template = environment.get_template(file).map_err(|error| told(&error))?;
    template.render(summary).map_err(|error| told(&error))
}

/// The name of what a template makes: `notes.md.j2` makes `notes.md`.
pub fn written(file: &str) -> &str {
    [".j2", ".jinja", ".jinja2", ".minijinja"].iter().find_map(|end| file.strip_suffix(end)).unwrap_or(file)
}

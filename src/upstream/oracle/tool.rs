//! `tool`: a read tool of the upstream itself, called in a session of its own. Its answer is the
//! structured content where there is some, else the JSON text of its first content block.

use super::{OracleError, reading, shortened};
use crate::truth::Reading;
use crate::upstream::{Called, Session, Target};
use serde_json::Value;
use std::time::Duration;

pub(super) async fn ask(
    upstream: &Target,
    tool: &str,
    arguments: &Value,
    records: &str,
    limit: Duration,
) -> Result<Reading, OracleError> {
    let mut session = Session::open(upstream, limit).await?;
    let called = session.call(tool, &arguments.to_string(), limit).await;
    let ended = session.end().await;
    let refused = |said: String| OracleError::Refused { tool: tool.to_owned(), said };
    let answer: Value = match called {
        Called::Result(result) => serde_json::from_str(result.get()).unwrap_or(Value::Null),
        Called::Error(error) => return Err(refused(shortened(error.get()))),
        Called::Silent => return Err(OracleError::Silent { what: tool.to_owned(), limit }),
        Called::Gone(reason) => {
            let how = reason.or(ended.map(|ended| ended.how)).unwrap_or_default();
            return Err(refused(format!("the upstream was gone: {how}")));
        }
    };
    let text = || {
        let blocks = answer.get("content")?.as_array()?;
        blocks.iter().find_map(|block| block.get("text")?.as_str())
    };
    if answer.get("isError") == Some(&Value::Bool(true)) {
        return Err(refused(shortened(&text().map_or_else(|| answer.to_string(), str::to_owned))));
    }
    let what = format!("the tool `{tool}`");
    let value = match answer.get("structuredContent") {
        Some(value) if !value.is_null() => value.clone(),
        _ => {
            let text = text().unwrap_or_default();
            serde_json::from_str(text)
                .map_err(|_| OracleError::Form { what: what.clone(), found: shortened(text) })?
        }
    };
    match value.pointer(records) {
        Some(value) => reading(&what, value.clone()),
        None => {
            let found = format!("nothing at {records} in {}", shortened(&value.to_string()));
            Err(OracleError::Form { what, found })
        }
    }
}

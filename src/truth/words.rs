//! How effects are told.

use crate::domain::words::clip;
use crate::suite::{Wanted, Which};
use serde_json::Value;

/// The longest record or list of arguments that is shown whole.
const LONGEST: usize = 120;

/// `once`, `2 times`
pub(super) fn times(count: u64) -> String {
    match count {
        0 => "not at all".to_owned(),
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

/// The effect in words: `create_booking (room 12)`.
pub(super) fn which(which: &Which) -> String {
    let fields: Vec<String> = which
        .args
        .iter()
        .chain(&which.record)
        .map(|(name, wanted)| format!("{name} {}", wanted_text(wanted)))
        .collect();
    match fields.is_empty() {
        true => which.tool.clone(),
        false => format!("{} ({})", which.tool, fields.join(", ")),
    }
}

fn wanted_text(wanted: &Wanted) -> String {
    match wanted {
        Wanted::Null => "null".to_owned(),
        Wanted::Text(text) | Wanted::Plain(text) => shortened(text),
        Wanted::List(items) => {
            format!("[{}]", items.iter().map(wanted_text).collect::<Vec<_>>().join(", "))
        }
        Wanted::Map(entries) => {
            let entries: Vec<String> =
                entries.iter().map(|(name, value)| format!("{name}: {}", wanted_text(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// A JSON value on one line, cut where it is long.
pub(super) fn json(value: &Value) -> String {
    shortened(&value.to_string())
}

fn shortened(text: &str) -> String {
    clip(text, LONGEST)
}

//! Pieces of sentences for people.

use crate::domain::Micros;
use crate::domain::words::clip;
pub(super) use crate::domain::words::{count, times};

/// `40 ms`, `3.2 s`, `2 min 5 s`.
pub(super) fn duration(time: Micros) -> String {
    let ms = time.as_millis();
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

/// `op-3`: operations are numbered from 1 in the order of their first call.
pub(super) fn operation_id(index: usize) -> String {
    format!("op-{}", index + 1)
}

/// The beginning of a text that may be long.
pub(super) fn shortened(text: &str) -> String {
    clip(text, 120)
}

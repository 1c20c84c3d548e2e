//! What an agent was told beside calls, where it matters which identifiers it was given (J28): so much of it
//! is kept, so that a server that floods its client fills no trace.

use super::words::keep;
use crate::trace::Body;
use serde_json::value::RawValue;

/// Bytes kept of a run. With more, what an agent was given is no longer known as a whole.
const MOST_KEPT: u64 = 16 * 1024 * 1024;

/// What is kept of it.
#[derive(Default)]
pub(super) struct Given {
    kept: u64,
    is_full: bool,
}

impl Given {
    /// What the trace gets of this; nothing of what comes after the first that was too much.
    pub fn hear(&mut self, told: &RawValue) -> Option<Body> {
        if self.is_full {
            return None;
        }
        self.kept = self.kept.saturating_add(told.get().len() as u64);
        self.is_full = self.kept > MOST_KEPT;
        // Without its text the trace says that something is missing.
        Some(if self.is_full { Body::of(told, 0) } else { keep(told) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::RawJson;

    #[test]
    fn a_flood_is_kept_up_to_a_limit_and_then_told_once() {
        let long = RawJson::parse(&format!("\"{}\"", "a".repeat(64 * 1024 - 2))).unwrap();
        let told = serde_json::from_str::<&RawValue>(long.get()).unwrap();
        let mut given = Given::default();
        let bodies: Vec<Body> = std::iter::from_fn(|| given.hear(told)).take(1_000).collect();
        assert_eq!(bodies.len(), 257, "{:?}", bodies.last());
        assert_eq!(bodies.iter().position(|body| body.json.is_none()), Some(256));
    }
}

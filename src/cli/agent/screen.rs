//! What a person sees of a turn while it goes on.

use crate::domain::words::clip;
use crate::harness::message::ToolCall;
use crate::harness::model::Listener;
use crate::harness::tools::ToolOutcome;
use crate::harness::watch::{Event, Watch};
use serde_json::Value;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// What is shown of arguments and results, in characters.
const SHOWN: usize = 160;

/// The terminal. What cannot be written is lost: the conversation goes on without.
#[derive(Debug, Default)]
pub(super) struct Screen {
    /// Whether the line is begun.
    begun: Mutex<bool>,
}

impl Screen {
    /// A line of its own.
    pub(super) fn line(&self, text: &str) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let before = if *begun { "\n" } else { "" };
        *begun = false;
        let _ = writeln!(io::stdout(), "{before}{}", visible(text));
    }

    /// Asks for a line.
    pub(super) fn ask(&self) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let before = if *begun { "\n" } else { "" };
        *begun = false;
        let mut out = io::stdout();
        let _ = write!(out, "{before}> ");
        let _ = out.flush();
    }

    fn result(&self, call: &ToolCall, outcome: Option<&ToolOutcome>) {
        let (mark, text) = match outcome {
            Some(outcome) if outcome.is_error => ("✗", outcome.text.as_str()),
            Some(outcome) => ("✓", outcome.text.as_str()),
            None => ("?", "interrupted; its outcome is unknown"),
        };
        self.line(&format!("  {mark} {}: {}", call.name, one_line(text)));
    }
}

/// Without what a terminal obeys: models and tools write what they like.
fn visible(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { ' ' } else { c }).collect()
}

fn one_line(text: &str) -> String {
    clip(&text.split_whitespace().collect::<Vec<_>>().join(" "), SHOWN)
}

impl Watch for Screen {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::ToolBegins(call) => {
                let arguments = Value::Object(call.arguments.clone()).to_string();
                self.line(&format!("  → {} {}", call.name, clip(&arguments, SHOWN)));
            }
            Event::ToolEnds(call, outcome) => self.result(call, outcome),
            Event::ToolRefused(call, why) => self.line(&format!("  ✗ {}: {}", call.name, one_line(why))),
            Event::CompactionEnds { size, how } if how != crate::harness::watch::Compaction::default() => {
                self.line(&format!("  (the older part was shortened; the model now gets about {size})"));
            }
            _ => {}
        }
    }
}

impl Listener for Screen {
    fn text(&self, piece: &str) {
        if piece.is_empty() {
            return;
        }
        let mut out = io::stdout();
        let _ = write!(out, "{}", visible(piece));
        let _ = out.flush();
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = !piece.ends_with('\n');
    }

    fn discarded(&self) {
        self.line("\n  (the answer broke off; asked again)");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tool_writes_does_not_reach_the_terminal_as_commands() {
        assert_eq!(visible("a\u{1b}[2Jb\r\u{9b}c\n\td"), "a [2Jb  c\n\td");
    }
}

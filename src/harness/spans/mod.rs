//! What an agent did and how long it took, as spans: run → turn → model, tool, compaction. Names are
//! those of OpenTelemetry's conventions for GenAI, where it has one.
//!
//! | module | what it holds |
//! |---|---|
//! | [`recorder`] | what the loop tells → spans |
//! | [`metrics`] | spans → numbers (pure): there is no second account of anything |
//! | [`otlp`] | spans → a collector over OTLP/HTTP |
//!
//! No span holds a prompt, arguments or a result: they can be secrets, and a recording has them.

pub mod metrics;
pub mod otlp;
pub mod recorder;

use serde::Serialize;
use serde_json::{Map, Value};

/// Something that took time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Span {
    /// 16 bytes, hexadecimal: the same for all spans of a process.
    pub trace_id: String,
    /// 8 bytes, hexadecimal.
    pub span_id: String,
    /// The span that it is a part of; none for the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_span_id: Option<String>,
    /// What it is.
    pub kind: Kind,
    /// Its name, after OpenTelemetry: `chat qwen3`, `execute_tool create_booking`.
    pub name: String,
    /// Nanoseconds since 1970.
    pub start_unix_nano: u64,
    /// Nanoseconds since 1970.
    pub end_unix_nano: u64,
    /// What is known of it.
    pub attributes: Map<String, Value>,
}

/// What a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The whole process.
    Run,
    /// One user message and its reply.
    Turn,
    /// One answer of the model, its retries included.
    Model,
    /// One call.
    Tool,
    /// The history is made shorter.
    Compaction,
}

impl Span {
    /// How long it took, in seconds.
    pub fn seconds(&self) -> f64 {
        self.end_unix_nano.saturating_sub(self.start_unix_nano) as f64 / 1e9
    }

    /// Whether it failed.
    pub fn failed(&self) -> bool {
        self.attributes.contains_key(ERROR)
    }

    fn number(&self, name: &str) -> u64 {
        self.attributes.get(name).and_then(Value::as_u64).unwrap_or(0)
    }
}

/// Why a span failed: few values, none of which people wrote.
const ERROR: &str = "error.type";
const INPUT: &str = "gen_ai.usage.input_tokens";
const OUTPUT: &str = "gen_ai.usage.output_tokens";
const CACHED: &str = "gen_ai.usage.cache_read.input_tokens";
const RETRIES: &str = "nochmal.retries";

//! What the loop tells, as spans.

use super::metrics::Metrics;
use super::{CACHED, ERROR, INPUT, Kind, OUTPUT, RETRIES, Span};
use crate::domain::hex;
use crate::harness::model::{Identity, ModelError, ModelTurn, Unit};
use crate::harness::reply::TurnError;
use crate::harness::watch::{Event, Watch};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// The time, in nanoseconds since 1970.
pub type Clock = Box<dyn Fn() -> u64 + Send + Sync>;

/// A clock of the machine's that never goes back.
pub fn clock() -> Clock {
    #[expect(clippy::disallowed_methods, reason = "spans are about time")]
    let (wall, steady) = (std::time::SystemTime::now(), std::time::Instant::now());
    let since = wall.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Box::new(move || u64::try_from((since + steady.elapsed()).as_nanos()).unwrap_or(u64::MAX))
}

/// Makes spans of what the loop tells, and tells it on.
pub struct Recorder<'a> {
    identity: Identity,
    clock: Clock,
    next: &'a dyn Watch,
    state: Mutex<State>,
}

struct State {
    ids: ChaCha8Rng,
    trace_id: String,
    open: Vec<(Span, String)>,
    ended: Vec<Span>,
    out: Option<Box<dyn Write + Send>>,
    failure: Option<io::Error>,
}

impl<'a> Recorder<'a> {
    /// Begins the run. Each span is a line of `out` as it ends; `seed` is for the ids.
    pub fn new(
        identity: Identity,
        seed: u64,
        clock: Clock,
        out: Option<Box<dyn Write + Send>>,
        next: &'a dyn Watch,
    ) -> Recorder<'a> {
        let mut ids = ChaCha8Rng::seed_from_u64(seed);
        let mut bytes = [0_u8; 16];
        ids.fill_bytes(&mut bytes);
        let state =
            State { ids, trace_id: hex(&bytes), open: Vec::new(), ended: Vec::new(), out, failure: None };
        let recorder = Recorder { identity, clock, next, state: Mutex::new(state) };
        let attributes = json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "nochmal"});
        recorder.begin(Kind::Run, "invoke_agent nochmal".to_owned(), "", attributes);
        recorder
    }

    /// Ends the run, with a last line that holds the metrics. Gives every span.
    ///
    /// # Errors
    /// Where a span could not be written.
    pub fn finish(self) -> io::Result<Vec<Span>> {
        loop {
            let last = self.state().open.last().map(|(span, key)| (span.kind, key.clone()));
            let Some((kind, key)) = last else { break };
            // What is open below the run was interrupted.
            let error = (kind != Kind::Run).then_some("cancelled");
            self.end(kind, &key, json!({}), error);
        }
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let metrics = Metrics::of(&state.ended);
        state.write(&json!({"type": "metrics", "metrics": metrics}));
        match state.failure {
            Some(error) => Err(error),
            None => Ok(state.ended),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, kind: Kind, name: String, key: &str, attributes: Value) {
        let now = (self.clock)();
        let mut state = self.state();
        let mut bytes = [0_u8; 8];
        state.ids.fill_bytes(&mut bytes);
        // Calls run side by side: none is a part of another.
        let parent =
            state.open.iter().rev().find(|(span, _)| span.kind != Kind::Tool && span.kind != Kind::Model);
        let span = Span {
            trace_id: state.trace_id.clone(),
            span_id: hex(&bytes),
            parent_span_id: parent.map(|(span, _)| span.span_id.clone()),
            kind,
            name,
            start_unix_nano: now,
            end_unix_nano: now,
            attributes: object(attributes),
        };
        state.open.push((span, key.to_owned()));
    }

    fn end(&self, kind: Kind, key: &str, attributes: Value, error: Option<&str>) {
        let now = (self.clock)();
        let mut state = self.state();
        let Some(at) = state.open.iter().rposition(|(span, other)| span.kind == kind && other == key) else {
            return;
        };
        let (mut span, _) = state.open.remove(at);
        span.end_unix_nano = now;
        span.attributes.extend(object(attributes));
        if let Some(error) = error {
            span.attributes.insert(ERROR.to_owned(), error.into());
        }
        let mut line = json!({"type": "span"});
        if let (Value::Object(line), Ok(Value::Object(fields))) = (&mut line, serde_json::to_value(&span)) {
            line.extend(fields);
        }
        state.write(&line);
        state.ended.push(span);
    }

    fn answered(&self, answer: Option<&Result<ModelTurn, ModelError>>) {
        let (attributes, error) = match answer {
            None => (json!({}), Some("cancelled".to_owned())),
            Some(Err(error)) => (json!({}), Some(error.kind())),
            Some(Ok(turn)) => {
                let finish = if turn.tool_calls.is_empty() { turn.stop.name() } else { "tool_calls" };
                let usage = turn.usage;
                let mut attributes =
                    json!({"gen_ai.response.finish_reasons": [finish], RETRIES: usage.retries});
                if usage.unit == Unit::Tokens {
                    attributes[INPUT] = usage.input.into();
                    attributes[OUTPUT] = usage.output.into();
                    attributes[CACHED] = usage.cached.into();
                } else {
                    attributes["nochmal.usage.unit"] = usage.unit.name().into();
                    attributes["nochmal.usage.input"] = usage.input.into();
                    attributes["nochmal.usage.output"] = usage.output.into();
                }
                (attributes, None)
            }
        };
        self.end(Kind::Model, "", attributes, error.as_deref());
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

impl State {
    fn write(&mut self, line: &Value) {
        let Some(out) = &mut self.out else { return };
        if let Err(error) = writeln!(out, "{line}").and_then(|()| out.flush()) {
            // The first is told at the end; the conversation goes on without.
            self.out = None;
            self.failure = Some(error);
        }
    }
}

fn reason(error: &TurnError) -> String {
    match error {
        TurnError::Model(error) => error.kind(),
        TurnError::Cancelled => "cancelled".to_owned(),
        TurnError::Journal(_) | TurnError::History(_) => "internal".to_owned(),
        _ => "limit".to_owned(),
    }
}

impl Watch for Recorder<'_> {
    fn event(&self, event: Event<'_>) {
        self.next.event(event);
        let tool = |name: &str, id: &str| {
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": id,
                   "gen_ai.tool.type": "function"})
        };
        match event {
            Event::TurnBegins => self.begin(Kind::Turn, "turn".to_owned(), "", json!({})),
            Event::TurnEnds(done) => {
                let error = done.as_ref().err().map(reason);
                self.end(Kind::Turn, "", json!({}), error.as_deref());
            }
            Event::ModelBegins { .. } => {
                let Identity { provider, model } = &self.identity;
                let attributes = json!({"gen_ai.operation.name": "chat", "gen_ai.provider.name": provider,
                                        "gen_ai.request.model": model});
                self.begin(Kind::Model, format!("chat {model}"), "", attributes);
            }
            Event::ModelEnds(answer) => self.answered(answer),
            Event::ToolBegins(call) => {
                self.begin(
                    Kind::Tool,
                    format!("execute_tool {}", call.name),
                    &call.id,
                    tool(&call.name, &call.id),
                );
            }
            Event::ToolEnds(call, outcome) => {
                let error = match outcome {
                    None => Some("cancelled"),
                    Some(outcome) if outcome.is_error => Some("tool_error"),
                    Some(_) => None,
                };
                self.end(Kind::Tool, &call.id, json!({}), error);
            }
            Event::ToolRefused(call, _) => {
                self.begin(
                    Kind::Tool,
                    format!("execute_tool {}", call.name),
                    &call.id,
                    tool(&call.name, &call.id),
                );
                self.end(Kind::Tool, &call.id, json!({"nochmal.sent": false}), Some("not_sent"));
            }
            Event::CompactionBegins { size } => {
                self.begin(
                    Kind::Compaction,
                    "compaction".to_owned(),
                    "",
                    json!({"nochmal.size.before": size}),
                );
            }
            Event::CompactionEnds { size, how } => {
                let attributes = json!({"nochmal.size.after": size, "nochmal.cut": how.cut,
                    "nochmal.summarised": how.summarised, "nochmal.degraded": how.degraded,
                    "nochmal.squeezed": how.squeezed});
                self.end(Kind::Compaction, "", attributes, None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::message::ToolCall;
    use crate::harness::model::Consumption;
    use crate::harness::reply::Reply;
    use crate::harness::tools::ToolOutcome;
    use crate::harness::watch::{Compaction, Unwatched};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn call(id: &str) -> ToolCall {
        ToolCall::new(id.into(), "create_booking".into(), Default::default())
    }

    /// Plays one turn with a compaction and two calls side by side, on a clock that goes on by a
    /// millisecond whenever it is read.
    fn played(out: Option<Box<dyn Write + Send>>) -> Vec<Span> {
        let now = AtomicU64::new(0);
        let clock: Clock = Box::new(move || now.fetch_add(1_000_000, Ordering::Relaxed));
        let identity = Identity { provider: "openai".into(), model: "m".into() };
        let recorder = Recorder::new(identity, 7, clock, out, &Unwatched);
        let usage = Consumption {
            input: 90,
            output: 9,
            cached: 30,
            answers: 1,
            retries: 2,
            ..Consumption::default()
        };
        let answer = Ok(ModelTurn {
            text: "secret words".into(),
            tool_calls: vec![call("a")],
            usage,
            ..ModelTurn::default()
        });
        let error = Err(ModelError::Broken("x".into()));
        let timed_out = ToolOutcome::error("timed out");
        let reply = Ok(Reply { text: "done".into(), usage, cost_usd: None });
        let (a, b, c) = (call("a"), call("b"), call("c"));
        for event in [
            Event::TurnBegins,
            Event::CompactionBegins { size: 900 },
            Event::ModelBegins { messages: &[] },
            Event::ModelEnds(Some(&error)),
            Event::CompactionEnds { size: 400, how: Compaction { degraded: true, ..Compaction::default() } },
            Event::ModelBegins { messages: &[] },
            Event::ModelEnds(Some(&answer)),
            Event::ToolBegins(&a),
            Event::ToolBegins(&b),
            Event::ToolEnds(&a, Some(&timed_out)),
            Event::ToolEnds(&b, None),
            Event::ToolRefused(&c, "no"),
            Event::TurnEnds(&reply),
            Event::TurnBegins,
            Event::ModelBegins { messages: &[] },
        ] {
            recorder.event(event);
        }
        recorder.finish().unwrap()
    }

    #[test]
    fn spans_are_nested_as_what_they_tell_of() {
        let spans = played(None);
        let name = |id: &Option<String>| {
            let parent = spans.iter().find(|span| Some(&span.span_id) == id.as_ref());
            parent.map_or("", |span| span.name.as_str())
        };
        let told: Vec<String> = spans
            .iter()
            .map(|span| {
                let error = span.attributes.get(ERROR).and_then(Value::as_str).unwrap_or("-");
                format!("{} < {}: {error}", span.name, name(&span.parent_span_id))
            })
            .collect();
        insta::assert_snapshot!(told.join("\n"), @"
        chat m < compaction: broken_stream
        compaction < turn: -
        chat m < turn: -
        execute_tool create_booking < turn: tool_error
        execute_tool create_booking < turn: cancelled
        execute_tool create_booking < turn: not_sent
        turn < invoke_agent nochmal: -
        chat m < turn: cancelled
        turn < invoke_agent nochmal: cancelled
        invoke_agent nochmal < : -
        ");
        assert!(spans.iter().all(|span| span.trace_id == spans[0].trace_id && span.trace_id.len() == 32));
        assert!(
            spans.iter().all(|span| span.end_unix_nano > span.start_unix_nano && span.span_id.len() == 16)
        );
    }

    #[test]
    fn a_line_a_span_and_one_for_the_metrics_and_no_words_of_anybody() {
        let kept = Kept::default();
        let spans = played(Some(Box::new(kept.clone())));
        let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), spans.len() + 1);
        assert!(!text.contains("secret words") && !text.contains("timed out"));
        let chat = &lines[2]["attributes"];
        assert_eq!((&chat[INPUT], &chat[CACHED], &chat[RETRIES]), (&json!(90), &json!(30), &json!(2)));
        assert_eq!(
            (&chat["gen_ai.provider.name"], &chat["gen_ai.response.finish_reasons"]),
            (&json!("openai"), &json!(["tool_calls"]))
        );
        let metrics = &lines[lines.len() - 1]["metrics"];
        assert_eq!(
            (&metrics["turns"], &metrics["model"]["count"], &metrics["model"]["failed"]),
            (&json!(2), &json!(3), &json!(2))
        );
        assert_eq!(
            (&metrics["tool"]["count"], &metrics["compactions"], &metrics["retries"]),
            (&json!(3), &json!(1), &json!(2))
        );
    }
}

//! Calls through the real engine and the real judge, one after the other, without a wire: the
//! self-test and the demo are made of it. Pure: time is what the caller says.

pub mod benchmark;
pub mod demo;

use super::engine::{Action, Engine, Input, Settings};
use crate::domain::classify::Classifier;
use crate::domain::{ConnectionId, Micros, Present, RawJson};
use crate::judge::live::LiveReport;
use crate::judge::report_file::ReportFile;
use crate::scenario::{self, Parameters};
use crate::trace::{Encoder, Event, Fault, Started, TRACE_VERSION};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;

const CLIENT: ConnectionId = ConnectionId(1);

/// A backend that only takes its time must not look like one that is silent.
const UPSTREAM_TIMEOUT: Duration = Duration::from_secs(86_400);

/// What a rehearsal is of.
#[derive(Debug, Clone)]
pub struct Setting {
    /// `benchmark` or `demo`.
    pub kind: &'static str,
    /// The scenario's id.
    pub scenario: String,
    /// What it is told.
    pub parameters: Parameters,
    /// Wall clock at the start, RFC 3339; empty where nobody asks.
    pub started_at: String,
}

/// What the agent got for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The text of the tool result.
    pub text: String,
    /// It is an error.
    pub is_error: bool,
    /// What the scenario did, where it acted.
    pub fault: Option<Fault>,
    /// The backend has carried the call out.
    pub carried_out: bool,
}

/// One session between an agent and a simulated backend.
pub struct Rehearsal {
    engine: Engine,
    encoder: Encoder,
    report: LiveReport,
    classifier: Classifier,
    known: BTreeSet<String>,
    now: Micros,
    calls: u64,
}

impl Rehearsal {
    /// A session that has begun; none where there is no such scenario.
    pub fn new(setting: &Setting) -> Option<Rehearsal> {
        let key_fields = vec!["idempotency_key".to_owned()];
        let engine = Engine::new(Settings {
            scenario: scenario::build(&setting.scenario, &setting.parameters)?,
            // The tools are made known as they are called.
            classify: Box::new(|_| None),
            upstream_timeout: UPSTREAM_TIMEOUT,
            present: Present::Plain,
            correlation: None,
        });
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let mut rehearsal = Rehearsal {
            engine,
            encoder: Encoder::default(),
            report: LiveReport::new(env!("CARGO_PKG_VERSION")),
            classifier: Classifier::new(None, Vec::new(), key_fields.clone()),
            known: BTreeSet::new(),
            now: Micros(0),
            calls: 0,
        };
        rehearsal.record(Event::Started(Started {
            version: TRACE_VERSION,
            harness_version: env!("CARGO_PKG_VERSION").to_owned(),
            run_id: None,
            kind: setting.kind.to_owned(),
            scenario: (setting.scenario != scenario::NONE).then(|| setting.scenario.clone()),
            error_rate: None,
            retry_after_ms: millis(setting.parameters.retry_after),
            seed: setting.parameters.seed,
            key_fields,
            upstream_timeout_ms: millis(UPSTREAM_TIMEOUT),
            started_at: setting.started_at.clone(),
            expect: None,
            present: Present::Plain,
        }));
        rehearsal.input(Input::ClientConnected { connection: CLIENT, transport: "stdio" });
        Some(rehearsal)
    }

    /// Time passes.
    pub fn wait(&mut self, time: Duration) {
        self.now = self.now + time;
    }

    /// Time has come to this moment since the start.
    pub fn wait_until(&mut self, moment: Micros) {
        self.now = self.now.max(moment);
    }

    /// One call. `backend` is asked where the call goes upstream, and takes `delay` for it.
    pub fn call(
        &mut self,
        tool: &str,
        arguments: &RawJson,
        delay: Duration,
        backend: impl FnOnce() -> String,
    ) -> Reply {
        self.know(tool);
        self.calls += 1;
        let id = self.calls;
        let name = RawJson::string(tool);
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":{name},"arguments":{arguments}}}}}"#
        );
        let mut happened = self.input(Input::FromClient { connection: CLIENT, message });
        let carried_out = happened.sent;
        if carried_out {
            self.wait(delay);
            let text = RawJson::string(&backend());
            let message = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":{text}}}]}}}}"#
            );
            let answered = self.input(Input::FromUpstream { connection: CLIENT, message });
            happened.fault = happened.fault.or(answered.fault);
            happened.answer = answered.answer;
        }
        let (text, is_error) = read(&happened.answer.unwrap_or_default());
        Reply { text, is_error, fault: happened.fault, carried_out }
    }

    /// What is to be said of it by now.
    pub fn report(&self) -> ReportFile {
        self.report.file()
    }

    /// Ends it.
    pub fn close(&mut self) {
        if let Ok((record, _)) = self.encoder.close(self.now) {
            self.report.observe(&record);
        }
    }

    /// The judge.
    pub fn judge(&self) -> &crate::judge::Judge {
        self.report.judge()
    }

    fn know(&mut self, tool: &str) {
        if self.known.insert(tool.to_owned())
            && let Ok(listed) = RawJson::of(&json!({"name": tool}))
            && let Some(info) = self.classifier.classify(listed.raw())
        {
            let action = self.engine.know_tools(vec![info]);
            self.carry_out(vec![action]);
        }
    }

    fn input(&mut self, input: Input) -> Happened {
        let actions = self.engine.handle(input, self.now);
        self.carry_out(actions)
    }

    fn carry_out(&mut self, actions: Vec<Action>) -> Happened {
        let mut happened = Happened::default();
        for action in actions {
            match action {
                Action::Record(event) => {
                    if let Event::ScenarioFired { fault, .. } = &event {
                        happened.fault = Some(*fault);
                    }
                    self.record(event);
                }
                Action::ToClient { message, .. } => happened.answer = Some(message),
                Action::ToUpstream { .. } => happened.sent = true,
                // There is no process here that could be broken, replaced or asked about.
                _ => {}
            }
        }
        happened
    }

    fn record(&mut self, event: Event) {
        if let Ok((record, _)) = self.encoder.encode(self.now, event) {
            self.report.observe(&record);
        }
    }
}

#[derive(Default)]
struct Happened {
    sent: bool,
    answer: Option<String>,
    fault: Option<Fault>,
}

/// Text and `isError` of the answer to a call.
fn read(message: &str) -> (String, bool) {
    #[derive(Deserialize)]
    struct Answer {
        result: ToolResult,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ToolResult {
        content: Vec<Text>,
        #[serde(default)]
        is_error: bool,
    }
    #[derive(Deserialize)]
    struct Text {
        text: String,
    }
    match serde_json::from_str::<Answer>(message) {
        Ok(Answer { result }) => {
            (result.content.into_iter().map(|part| part.text).collect(), result.is_error)
        }
        Err(_) => (message.to_owned(), true),
    }
}

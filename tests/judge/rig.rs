//! An agent and an upstream that follow a script, around the real engine, in virtual time.

use nochmal::domain::classify::Classifier;
use nochmal::domain::{ConnectionId, Micros, Present};
use nochmal::proxy::engine::{Action, Engine, Input, Settings};
use nochmal::scenario::{self, Parameters};
use nochmal::trace::{Encoder, Event, Record, Started, TRACE_VERSION};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

const ONE: ConnectionId = ConnectionId(1);
const LIMIT: Duration = Duration::from_secs(60);

/// One case of `cases.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub id: String,
    pub rule: String,
    #[serde(default)]
    scenario: Option<String>,
    #[serde(default)]
    retry_after: Option<String>,
    #[serde(default)]
    key_fields: Option<String>,
    #[serde(default)]
    write_tools: Option<String>,
    #[serde(default)]
    tools: Option<Vec<Value>>,
    #[serde(default)]
    behave: HashMap<String, Vec<String>>,
    #[serde(default, rename = "page")]
    _page: Option<u32>,
    steps: Vec<Step>,
    pub expect: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    call: Option<String>,
    args: Option<Box<RawValue>>,
    #[serde(default)]
    continues: bool,
    sees: Option<String>,
    parallel: Option<Vec<Step>>,
    send: Option<Box<Step>>,
    cancel: Option<Box<Step>>,
    after_ms: Option<u64>,
    sleep_ms: Option<u64>,
}

/// What a case left behind.
pub struct Outcome {
    pub records: Vec<Record>,
    pub executed: HashMap<String, u64>,
    pub problems: Vec<String>,
}

struct Rig<'c> {
    case: &'c Case,
    engine: Engine,
    encoder: Encoder,
    now: Micros,
    records: Vec<Record>,
    /// What the upstream will do, by the time and the order of asking.
    planned: BTreeMap<(Micros, u64), Deed>,
    order: u64,
    calls: HashMap<String, usize>,
    executed: HashMap<String, u64>,
    answers: HashMap<u64, Value>,
    last_id: u64,
    problems: Vec<String>,
}

enum Deed {
    Answer { tool: Option<String>, message: String },
    Die,
}

/// Plays a case to its end.
pub fn play(case: &Case) -> Outcome {
    let list = |text: &Option<String>| -> Option<Vec<String>> {
        text.as_ref().map(|text| text.split(',').map(str::to_owned).collect())
    };
    let key_fields = list(&case.key_fields).unwrap_or_else(|| vec!["idempotency_key".to_owned()]);
    let classifier = Classifier::new(list(&case.write_tools), Vec::new(), key_fields.clone());
    let chaos = case.scenario.as_deref() == Some("chaos");
    let retry_after = case.retry_after.as_deref().map_or(60, |text| text.parse().unwrap());
    let parameters = Parameters {
        retry_after: Duration::from_secs(retry_after),
        error_rate: if chaos { 1.0 } else { 0.0 },
        seed: 0,
        ..Parameters::default()
    };
    let engine = Engine::new(Settings {
        scenario: scenario::build(case.scenario.as_deref().unwrap_or("none"), &parameters).unwrap(),
        classify: Box::new(move |tool| classifier.classify(tool)),
        upstream_timeout: LIMIT,
        present: Present::Plain,
        correlation: None,
    });
    let mut rig = Rig {
        case,
        engine,
        encoder: Encoder::default(),
        now: Micros(0),
        records: Vec::new(),
        planned: BTreeMap::new(),
        order: 0,
        calls: HashMap::new(),
        executed: HashMap::new(),
        answers: HashMap::new(),
        last_id: 0,
        problems: Vec::new(),
    };
    rig.record(Event::Started(Started {
        version: TRACE_VERSION,
        harness_version: "test".to_owned(),
        run_id: None,
        kind: "proxy".to_owned(),
        scenario: case.scenario.clone().filter(|_| !chaos),
        error_rate: chaos.then_some(1.0),
        retry_after_ms: retry_after * 1_000,
        seed: 0,
        key_fields,
        upstream_timeout_ms: 60_000,
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        expect: None,
        present: Default::default(),
    }));
    rig.input(Input::ClientConnected { connection: ONE, transport: "stdio" });
    rig.client_says(json!({"jsonrpc": "2.0", "id": "list", "method": "tools/list"}).to_string());
    let names = ["create_booking", "find_bookings", "get_booking", "sync_ledger"];
    let tools =
        case.tools.clone().unwrap_or_else(|| names.iter().map(|name| json!({"name": name})).collect());
    rig.upstream_says(json!({"jsonrpc": "2.0", "id": "list", "result": {"tools": tools}}).to_string());
    for step in &case.steps {
        rig.step(step);
    }
    let ended = rig.encoder.close(rig.now).unwrap().0;
    rig.records.push(ended);
    Outcome { records: rig.records, executed: rig.executed, problems: rig.problems }
}

impl Rig<'_> {
    fn record(&mut self, event: Event) {
        let (record, _) = self.encoder.encode(self.now, event).unwrap();
        self.records.push(record);
    }

    fn input(&mut self, input: Input) {
        self.now = self.now + Duration::from_micros(100);
        for action in self.engine.handle(input, self.now) {
            match action {
                Action::Record(event) => self.record(event),
                Action::ToClient { message, .. } => {
                    let message: Value = serde_json::from_str(&message).unwrap();
                    if let Some(id) = message["id"].as_u64() {
                        self.answers.insert(id, message);
                    }
                }
                Action::ToUpstream { message, .. } => self.upstream(&message),
                Action::Tell { .. } => panic!("nobody offered the audit tools"),
                _ => panic!("no case breaks a connection or replaces a process"),
            }
        }
    }

    fn client_says(&mut self, message: String) {
        self.input(Input::FromClient { connection: ONE, message });
    }

    fn upstream_says(&mut self, message: String) {
        self.input(Input::FromUpstream { connection: ONE, message });
    }

    fn plan(&mut self, after_ms: u64, deed: Deed) {
        self.order += 1;
        self.planned.insert((self.now + Duration::from_millis(after_ms), self.order), deed);
    }

    /// The upstream got a message.
    fn upstream(&mut self, message: &str) {
        let message: Value = serde_json::from_str(message).unwrap();
        if message["method"] != "tools/call" {
            return;
        }
        let tool = message["params"]["name"].as_str().unwrap().to_owned();
        let id = &message["id"];
        let error = |code: i64| {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "thrown"}}).to_string()
        };
        let known = self.case.tools.is_none()
            || self.case.tools.iter().flatten().any(|listed| listed["name"] == tool.as_str());
        if !known || tool.starts_with("invented") {
            return self.plan(1, Deed::Answer { tool: None, message: error(-32602) });
        }
        let count = self.calls.entry(tool.clone()).or_default();
        *count += 1;
        let n = *count;
        let script = self.case.behave.get(&tool).cloned().unwrap_or_else(|| vec!["ok".to_owned()]);
        let step = script[n.min(script.len()) - 1].as_str();
        let result = |text: String, is_error: bool| {
            let content = json!([{"type": "text", "text": text}]);
            let mut result = json!({"content": content});
            if is_error {
                result["isError"] = json!(true);
            }
            json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
        };
        let step = match step.strip_prefix("write+") {
            Some(rest) => {
                *self.executed.entry(tool.clone()).or_default() += 1;
                rest
            }
            None => step,
        };
        let (word, number) = step.split_once(':').unwrap_or((step, ""));
        let wrote = Some(tool.clone());
        let ms = number.parse().unwrap_or(1);
        let continues = message["params"].get("requestState").is_some();
        match word {
            "ok" if number.is_empty() => {
                self.plan(1, Deed::Answer { tool: wrote, message: result(format!("done {n}"), false) })
            }
            "ok" => self.plan(1, Deed::Answer { tool: wrote, message: result(number.to_owned(), false) }),
            "slow" => {
                self.plan(ms, Deed::Answer { tool: wrote, message: result(format!("done {n}"), false) })
            }
            "ask" if continues => {
                self.plan(1, Deed::Answer { tool: wrote, message: result(format!("done {n}"), false) })
            }
            "ask" => {
                let asking = json!({"resultType": "input_required", "requestState": "s1"});
                let message = json!({"jsonrpc": "2.0", "id": id, "result": asking}).to_string();
                self.plan(1, Deed::Answer { tool: None, message });
            }
            "error" => self.plan(1, Deed::Answer { tool: None, message: result("refused".to_owned(), true) }),
            "slow-error" => {
                self.plan(ms, Deed::Answer { tool: None, message: result("refused".to_owned(), true) })
            }
            "rpc" => self.plan(1, Deed::Answer { tool: None, message: error(number.parse().unwrap()) }),
            "crash" => self.plan(1, Deed::Die),
            "hang" => {}
            other => panic!("{other}"),
        }
    }

    /// Lets time pass, to the next thing that happens or at most to `end`. False: nothing is left.
    fn pass(&mut self, end: Micros) -> bool {
        let planned = self.planned.first_key_value().map(|((at, _), _)| *at);
        let deadline = self.engine.next_deadline();
        let next = planned.into_iter().chain(deadline).min().filter(|at| *at <= end);
        let Some(next) = next else {
            self.now = self.now.max(end);
            return false;
        };
        self.now = self.now.max(next);
        if planned != Some(next) {
            self.input(Input::Tick);
            return true;
        }
        let (_, deed) = self.planned.pop_first().unwrap();
        match deed {
            Deed::Answer { tool, message } => {
                if let Some(tool) = tool {
                    *self.executed.entry(tool).or_default() += 1;
                }
                self.upstream_says(message);
            }
            Deed::Die => {
                self.planned.clear();
                let how = "exit status: 9".to_owned();
                self.input(Input::UpstreamEnded {
                    connection: ONE,
                    how,
                    expected: false,
                    stderr: String::new(),
                });
            }
        }
        true
    }

    fn send(&mut self, step: &Step) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let args = step.args.as_ref().map_or("{}", |raw| raw.get());
        let more = if step.continues { r#","requestState":"s1","inputResponses":{}"# } else { "" };
        let tool = step.call.as_ref().unwrap();
        self.client_says(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{args}{more}}}}}"#
        ));
        id
    }

    fn wait(&mut self, id: u64, sees: Option<&str>) {
        let far = self.now + Duration::from_secs(1_000);
        while !self.answers.contains_key(&id) && self.pass(far) {}
        let Some(answer) = self.answers.get(&id) else {
            return self.problems.push(format!("no answer to {id}"));
        };
        let failed = answer.get("error").is_some() || answer["result"]["isError"] == true;
        if sees.is_some_and(|sees| (sees == "error") != failed) {
            self.problems.push(format!("call {id} saw {answer}"));
        }
    }

    fn sleep(&mut self, ms: u64) {
        let end = self.now + Duration::from_millis(ms);
        while self.pass(end) {}
    }

    fn step(&mut self, step: &Step) {
        if step.call.is_some() {
            let id = self.send(step);
            self.wait(id, step.sees.as_deref());
        } else if let Some(steps) = &step.parallel {
            let ids: Vec<u64> = steps.iter().map(|step| self.send(step)).collect();
            for (id, step) in ids.into_iter().zip(steps) {
                self.wait(id, step.sees.as_deref());
            }
        } else if let Some(step) = &step.send {
            self.send(step);
        } else if let Some(cancelled) = &step.cancel {
            let id = self.send(cancelled);
            self.sleep(step.after_ms.unwrap());
            let params = json!({"requestId": id});
            self.client_says(
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).to_string(),
            );
        } else if let Some(ms) = step.sleep_ms {
            self.sleep(ms);
        }
    }
}

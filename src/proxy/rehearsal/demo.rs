//! The sessions of the demo: the faults and the report to try out by hand, without any server
//! behind them. What is sent through it is all that it sees, and it says openly what it injects.

use super::{Rehearsal, Setting};
use crate::domain::{Micros, RawJson};
use crate::judge::markdown;
use crate::judge::report_file::ReportFile;
use crate::scenario::{self, Parameters};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::collections::VecDeque;
use std::time::Duration;

/// Beyond so many sessions the oldest is dropped.
pub const MOST_SESSIONS: usize = 500;

/// One tool of the demo.
pub struct DemoTool {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// It changes nothing.
    pub read_only: bool,
    /// JSON Schema of its arguments.
    pub input: fn() -> Value,
    run: fn(&mut Demo, &RawJson, Micros) -> Result<String, String>,
}

/// All of them.
pub const TOOLS: [DemoTool; 7] = [
    DemoTool {
        name: "start_session",
        description: "Start a demo session, with a scenario (F1 to F5) or without one. Gives its session_id.",
        read_only: false,
        input: || {
            object(
                json!({
                    "scenario": {"type": "string", "enum": ids()},
                    "retry_after": {"type": "integer", "minimum": 1, "maximum": 86_400, "description": "F2: seconds"},
                }),
                &[],
            )
        },
        run: Demo::start_session,
    },
    DemoTool {
        name: "execute_call",
        description: "Send one tool call through the session. Nothing stands behind it: every tool answers ok.",
        read_only: false,
        input: || {
            object(
                json!({
                    "session_id": {"type": "string"},
                    "tool": {"type": "string", "minLength": 1},
                    "arguments": {"type": "object"},
                }),
                &["session_id", "tool"],
            )
        },
        run: Demo::execute_call,
    },
    DemoTool {
        name: "get_report",
        description: "The report of a session: verdict, operations, violations, observations.",
        read_only: true,
        input: asked,
        run: |demo, arguments, now| demo.tell(arguments, now, markdown::report),
    },
    DemoTool {
        name: "get_score",
        description: "Verdict, score and earned prompt patches of a session.",
        read_only: true,
        input: asked,
        run: |demo, arguments, now| demo.tell(arguments, now, markdown::score),
    },
    DemoTool {
        name: "list_scenarios",
        description: "The scenarios, and what happens in each.",
        read_only: true,
        input: || object(json!({}), &[]),
        run: |_, _, _| {
            let list: Vec<Value> =
                offered().map(|entry| json!({"id": entry.id, "summary": entry.summary})).collect();
            pretty(&list)
        },
    },
    DemoTool {
        name: "reset_session",
        description: "Start a session anew: its history is gone, its scenario is armed again.",
        read_only: false,
        input: || object(json!({"session_id": {"type": "string"}}), &["session_id"]),
        run: Demo::reset_session,
    },
    DemoTool {
        name: "delete_session",
        description: "Delete a session.",
        read_only: false,
        input: || object(json!({"session_id": {"type": "string"}}), &["session_id"]),
        run: Demo::delete_session,
    },
];

fn offered() -> impl Iterator<Item = &'static scenario::Entry> {
    // The others need a wire that can break, or a clock that runs.
    scenario::table().iter().filter(|entry| entry.id == scenario::NONE || entry.id.starts_with('F'))
}

fn ids() -> Vec<&'static str> {
    offered().map(|entry| entry.id).collect()
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn asked() -> Value {
    object(
        json!({"session_id": {"type": "string"}, "format": {"type": "string", "enum": ["json", "markdown"]}}),
        &["session_id"],
    )
}

fn pretty<T: Serialize>(value: &T) -> Result<String, String> {
    serde_json::to_string_pretty(value).map_err(|error| error.to_string())
}

/// All sessions.
#[derive(Default)]
pub struct Demo {
    sessions: HashMap<String, Session>,
    /// The oldest first.
    order: VecDeque<String>,
    last: u64,
}

struct Session {
    setting: Setting,
    rehearsal: Rehearsal,
    /// On the clock of the demo.
    began: Micros,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    scenario: Option<String>,
    retry_after: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Execute {
    session_id: String,
    tool: String,
    arguments: Option<RawJson>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask {
    session_id: String,
    format: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    session_id: String,
}

impl Demo {
    /// Calls a tool at a moment of the demo's clock.
    ///
    /// # Errors
    /// What is wrong with the call, for the agent; nothing where there is no such tool.
    pub fn call(&mut self, name: &str, arguments: &RawJson, now: Micros) -> Result<String, Option<String>> {
        let tool = TOOLS.iter().find(|tool| tool.name == name).ok_or(None)?;
        (tool.run)(self, arguments, now).map_err(Some)
    }

    fn start_session(&mut self, arguments: &RawJson, now: Micros) -> Result<String, String> {
        let start: Start = parse(arguments)?;
        let scenario = start.scenario.unwrap_or_else(|| scenario::NONE.to_owned());
        if !ids().contains(&scenario.as_str()) {
            return Err(format!("there is no scenario {scenario:?}; known are {}", ids().join(", ")));
        }
        let retry_after = Duration::from_secs(start.retry_after.unwrap_or(60));
        if start.retry_after.is_some() && scenario != "F2" {
            return Err("retry_after goes with scenario F2 only".to_owned());
        }
        if !scenario::RETRY_AFTER.contains(&retry_after) {
            return Err("retry_after is from 1 to 86400 seconds".to_owned());
        }
        let parameters = Parameters { retry_after, ..Parameters::default() };
        let setting = Setting { kind: "demo", scenario, parameters, started_at: String::new() };
        let session = Session::new(setting, now)?;
        self.last += 1;
        let id = format!("session-{}", self.last);
        let answer = pretty(&json!({"session_id": id, "scenario": session.setting.scenario, "kind": "demo"}));
        self.sessions.insert(id.clone(), session);
        self.order.push_back(id);
        while self.order.len() > MOST_SESSIONS {
            if let Some(oldest) = self.order.pop_front() {
                self.sessions.remove(&oldest);
            }
        }
        answer
    }

    fn session(&mut self, id: &str, now: Micros) -> Result<&mut Session, String> {
        let session = self.sessions.get_mut(id).ok_or_else(|| unknown(id))?;
        session.rehearsal.wait_until(now - session.began);
        Ok(session)
    }

    fn execute_call(&mut self, arguments: &RawJson, now: Micros) -> Result<String, String> {
        let execute: Execute = parse(arguments)?;
        let session = self.session(&execute.session_id, now)?;
        let given = match execute.arguments {
            Some(arguments) if arguments.get().starts_with('{') => arguments,
            None => parse(&RawJson::parse("{}").map_err(|error| error.to_string())?)?,
            Some(_) => return Err("arguments must be an object".to_owned()),
        };
        let reply = session.rehearsal.call(&execute.tool, &given, Duration::ZERO, || "ok".to_owned());
        pretty(&json!({
            "text": reply.text,
            "isError": reply.is_error,
            "injected": reply.fault.map(|fault| json!(fault)),
            "executed": reply.carried_out,
        }))
    }

    fn tell(
        &mut self,
        arguments: &RawJson,
        now: Micros,
        render: fn(&ReportFile) -> String,
    ) -> Result<String, String> {
        let ask: Ask = parse(arguments)?;
        let file = self.session(&ask.session_id, now)?.rehearsal.report();
        match ask.format.as_deref() {
            None | Some("markdown") => Ok(render(&file)),
            Some("json") => pretty(&file),
            Some(other) => Err(format!("there is no format {other:?}; json and markdown are known")),
        }
    }

    fn reset_session(&mut self, arguments: &RawJson, now: Micros) -> Result<String, String> {
        let which: Which = parse(arguments)?;
        let session = self.session(&which.session_id, now)?;
        *session = Session::new(session.setting.clone(), now)?;
        Ok(format!("{} starts anew", which.session_id))
    }

    fn delete_session(&mut self, arguments: &RawJson, _now: Micros) -> Result<String, String> {
        let which: Which = parse(arguments)?;
        self.sessions.remove(&which.session_id).ok_or_else(|| unknown(&which.session_id))?;
        self.order.retain(|id| *id != which.session_id);
        Ok(format!("{} is deleted", which.session_id))
    }
}

impl Session {
    fn new(setting: Setting, now: Micros) -> Result<Session, String> {
        let rehearsal = Rehearsal::new(&setting).ok_or("there is no such scenario")?;
        Ok(Session { setting, rehearsal, began: now })
    }
}

fn unknown(id: &str) -> String {
    format!("there is no session {id:?}; start_session makes one")
}

fn parse<'a, T: Deserialize<'a>>(arguments: &'a RawJson) -> Result<T, String> {
    serde_json::from_str(arguments.get()).map_err(|error| format!("the arguments cannot be used: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(demo: &mut Demo, tool: &str, arguments: Value, at_ms: u64) -> Result<String, Option<String>> {
        let arguments = RawJson::of(&arguments).unwrap();
        demo.call(tool, &arguments, Micros::from_duration(Duration::from_millis(at_ms)))
    }

    fn verdict(demo: &mut Demo, id: &str) -> String {
        let report = call(demo, "get_report", json!({"session_id": id, "format": "json"}), 90_000).unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["report"]["kind"], "demo");
        report["verdict"].as_str().unwrap().to_owned()
    }

    #[test]
    fn a_write_sent_twice_fails_and_a_reset_forgets_it() {
        let mut demo = Demo::default();
        call(&mut demo, "start_session", json!({"scenario": "F1"}), 0).unwrap();
        let write =
            json!({"session_id": "session-1", "tool": "create_booking", "arguments": {"guest": "Ada"}});
        let first = call(&mut demo, "execute_call", write.clone(), 1).unwrap();
        assert!(first.contains("timeout_after_execution") && first.contains("timed out"), "{first}");
        assert_eq!(verdict(&mut demo, "session-1"), "PASS");
        call(&mut demo, "execute_call", write, 2).unwrap();
        assert_eq!(verdict(&mut demo, "session-1"), "FAIL");
        let score = call(&mut demo, "get_score", json!({"session_id": "session-1"}), 3).unwrap();
        assert!(score.contains("**FAIL**") && score.contains("GHOST_WRITE"), "{score}");
        call(&mut demo, "reset_session", json!({"session_id": "session-1"}), 4).unwrap();
        assert_eq!(verdict(&mut demo, "session-1"), "NOT_TESTED");
        call(&mut demo, "delete_session", json!({"session_id": "session-1"}), 5).unwrap();
        assert!(call(&mut demo, "get_report", json!({"session_id": "session-1"}), 6).is_err());
    }

    #[test]
    fn j16_counts_the_time_of_the_caller() {
        for (at, verdict_then) in [(60_500, "FAIL"), (61_500, "PASS")] {
            let mut demo = Demo::default();
            call(&mut demo, "start_session", json!({"scenario": "F2"}), 0).unwrap();
            let write = json!({"session_id": "session-1", "tool": "create_booking"});
            call(&mut demo, "execute_call", write.clone(), 1_000).unwrap();
            call(&mut demo, "execute_call", write, at).unwrap();
            assert_eq!(verdict(&mut demo, "session-1"), verdict_then, "{at}");
        }
    }

    #[test]
    fn the_oldest_of_too_many_sessions_is_dropped() {
        let mut demo = Demo::default();
        for _ in 0..=MOST_SESSIONS {
            call(&mut demo, "start_session", json!({}), 0).unwrap();
        }
        assert!(call(&mut demo, "get_score", json!({"session_id": "session-1"}), 0).is_err());
        assert!(call(&mut demo, "get_score", json!({"session_id": "session-2"}), 0).is_ok());
        assert_eq!(demo.sessions.len(), MOST_SESSIONS);
    }

    #[test]
    fn what_cannot_be_used_is_told() {
        let mut demo = Demo::default();
        assert_eq!(call(&mut demo, "nonsense", json!({}), 0), Err(None));
        for arguments in [json!({"scenario": "F9"}), json!({"retry_after": 5}), json!({"x": 1}), json!(7)] {
            assert!(matches!(call(&mut demo, "start_session", arguments, 0), Err(Some(_))));
        }
        assert!(call(&mut demo, "list_scenarios", json!({}), 0).unwrap().contains("F5"));
    }
}

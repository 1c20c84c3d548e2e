//! Cases as data: what the agent does, what the upstream does, and what the report says.
//!
//! A case has `id`, `rule`, `flags`, `tools`, `behave`, `page`, `protocol` (of the handshake),
//! `steps` and `expect`. Steps: `{"call": tool, "args"|"raw", "params", "sees": "ok"|"error",
//! "text": part}`, `{"parallel": [calls]}`, `{"send": call}` (not waited for), `{"cancel": true}`
//! (the call sent last), `{"list": true}`, `{"settled": n}` (waits until the upstream wrote n times),
//! `{"reported": {…}}` (waits until the report has that in its first operation), `{"open": true}` (lets what
//! is behind a `gate` go on), `{"sleep": s}`, `{"close": true}`. `expect` is read by [`Case::compare`].

use crate::rig::{Agent, LIMIT};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Runs every case of a file; says what is wrong with each.
pub fn run(text: &str) {
    let cases: Vec<Value> = serde_json::from_str(text).unwrap();
    assert!(!cases.is_empty());
    let next = Mutex::new(cases.iter());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        // Most of the time a case waits for processes.
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some(case) = next.lock().unwrap().next() else { return };
                    let problems = Case { case }.run();
                    if !problems.is_empty() {
                        let name = format!("{} ({})", case["id"], case["rule"]);
                        failures.lock().unwrap().push(format!("{name}\n    {}", problems.join("\n    ")));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {} failed:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

struct Case<'a> {
    case: &'a Value,
}

impl Case<'_> {
    fn run(&self) -> Vec<String> {
        let mut flags = Vec::new();
        for flag in self.case["flags"].as_array().into_iter().flatten() {
            flags.push(flag.as_str().unwrap().to_owned());
        }
        let mut agent = Agent::start(self.case, &flags);
        let mut problems = Vec::new();
        let refused = self.case["expect"].get("exit").and_then(Value::as_i64).is_some_and(|code| code != 0);
        if !refused && let Err(problem) = self.play(&mut agent, &mut problems) {
            problems.push(problem);
        }
        match agent.finish() {
            Ok(code) => {
                let wanted = self.case["expect"].get("exit").cloned().unwrap_or(json!(0));
                same("exit", &json!(code), &wanted, &mut problems);
            }
            Err(problem) => problems.push(problem),
        }
        match agent.report() {
            Ok(file) => self.compare(&agent, &file, &mut problems),
            Err(problem) => problems.push(problem),
        }
        problems
    }

    fn play(&self, agent: &mut Agent, problems: &mut Vec<String>) -> Result<(), String> {
        agent.introduce(self.case["protocol"].as_str().unwrap_or("2025-11-25"))?;
        agent.list()?;
        let mut last = 0;
        for step in self.case["steps"].as_array().into_iter().flatten() {
            if step.get("call").is_some() {
                last = agent.send(step);
                let answer = agent.answer(last, LIMIT)?;
                saw(step, &answer, problems);
            } else if let Some(calls) = step.get("parallel").and_then(Value::as_array) {
                let sent: Vec<u64> = calls.iter().map(|call| agent.send(call)).collect();
                for (call, id) in calls.iter().zip(sent) {
                    let answer = agent.answer(id, LIMIT)?;
                    saw(call, &answer, problems);
                }
            } else if let Some(call) = step.get("send") {
                last = agent.send(call);
            } else if step.get("cancel").is_some() {
                agent.notify("notifications/cancelled", &json!({"requestId": last}).to_string());
            } else if step.get("list").is_some() {
                agent.list()?;
            } else if let Some(writes) = step.get("settled").and_then(Value::as_u64) {
                settled(agent, writes)?;
            } else if let Some(wanted) = step.get("reported") {
                reported(agent, wanted)?;
            } else if step.get("open").is_some() {
                agent.open_the_gate();
            } else if let Some(seconds) = step.get("sleep").and_then(Value::as_f64) {
                std::thread::sleep(Duration::from_secs_f64(seconds));
            } else {
                assert!(step.get("close").is_some(), "unknown step {step}");
            }
        }
        Ok(())
    }

    fn compare(&self, agent: &Agent, file: &Value, problems: &mut Vec<String>) {
        let report = &file["report"];
        let all = |name: &str, field: &str| -> Vec<&Value> {
            let entries = report[name].as_array().into_iter().flatten();
            entries.map(|entry| &entry[field]).collect()
        };
        let sorted = |values: Vec<&Value>| -> Value {
            let mut texts: Vec<&str> = values.into_iter().filter_map(Value::as_str).collect();
            texts.sort_unstable();
            json!(texts)
        };
        let observed = all("observations", "type");
        let by_tool: BTreeMap<&str, &Value> = (file["toolClassification"].as_array().into_iter().flatten())
            .filter_map(|tool| Some((tool["tool"].as_str()?, &tool["class"])))
            .collect();
        for (name, wanted) in self.case["expect"].as_object().into_iter().flatten() {
            let list = || wanted.as_array().cloned().unwrap_or_default();
            match name.as_str() {
                "exit" => {}
                "verdict" => {
                    same("verdict", &file["verdict"], wanted, problems);
                    if self.case["expect"].get("exit").is_none() {
                        same("report.verdict", &report["verdict"], wanted, problems);
                    }
                }
                "status" => same("status", &file["status"], wanted, problems),
                "violations" => {
                    same("violations", &sorted(all("violations", "type")), &sort(wanted), problems);
                }
                "has" => {
                    for kind in list().iter().filter(|kind| !observed.contains(kind)) {
                        problems.push(format!("no observation {kind} among {observed:?}"));
                    }
                }
                "lacks" => {
                    for kind in list().iter().filter(|kind| observed.contains(kind)) {
                        problems.push(format!("observation {kind}, which should not be there"));
                    }
                }
                "patches" => {
                    let ids = file["patches"].as_array().into_iter().flatten().map(|patch| &patch["id"]);
                    same("patches", &sorted(ids.collect()), &sort(wanted), problems);
                }
                "score" => same("score", &file["score"]["overall"], wanted, problems),
                "duplicateSafety" | "failureHandling" | "capped" => {
                    same(name, &file["score"][name], wanted, problems);
                }
                "operation" => within(name, &report["operations"][0], wanted, problems),
                "operations" => {
                    same(name, &json!(all("operations", "outcome")), wanted, problems);
                }
                "duplicate" | "retryAfter" => {
                    let mut details = all("violations", name);
                    details.retain(|details| !details.is_null());
                    within(name, details.first().copied().unwrap_or(&Value::Null), wanted, problems);
                }
                "keySummary" => within(name, &report["keySummary"][0], wanted, problems),
                "calls" => within(name, &report["coverage"]["calls"], wanted, problems),
                "unclassifiedTools" => same(name, &report["coverage"][name], wanted, problems),
                "triggered" => same(name, &report["coverage"]["scenarioTriggered"], wanted, problems),
                "classes" => within(name, &json!(by_tool), wanted, problems),
                "executed" => {
                    let mut written = json!(agent.written());
                    for (tool, count) in wanted.as_object().into_iter().flatten() {
                        if count == 0 && written.get(tool).is_none() {
                            written[tool] = json!(0);
                        }
                    }
                    within(name, &written, wanted, problems);
                }
                "ledger" => {
                    let text: String =
                        agent.ledger().iter().map(|entry| spaced(&format!("{entry}\n"))).collect();
                    for part in list() {
                        let part = spaced(part.as_str().unwrap());
                        if !text.contains(&part) {
                            problems.push(format!("the upstream never got {part}: {text}"));
                        }
                    }
                }
                "reason" | "startupError" => {
                    let found = if name == "reason" { &report["verdictReason"] } else { &file[name] };
                    let part = wanted.as_str().unwrap();
                    if !found.as_str().unwrap_or_default().contains(part) {
                        problems.push(format!("{name} lacks {part:?}: {found}"));
                    }
                }
                "stderr" => {
                    let stderr = agent.stderr();
                    for part in list() {
                        if !stderr.contains(part.as_str().unwrap()) {
                            problems.push(format!("stderr lacks {part}: {stderr}"));
                        }
                    }
                }
                unknown => problems.push(format!("nobody knows what {unknown} is to mean")),
            }
        }
    }
}

/// Without the spaces that JSON may or may not have.
fn spaced(text: &str) -> String {
    text.replace(' ', "")
}

fn sort(value: &Value) -> Value {
    let mut texts: Vec<&str> = value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    texts.sort_unstable();
    json!(texts)
}

fn same(name: &str, found: &Value, wanted: &Value, problems: &mut Vec<String>) {
    if found != wanted {
        problems.push(format!("{name} is {found}, wanted {wanted}"));
    }
}

/// Every field that is wanted is there as it is wanted.
fn within(name: &str, found: &Value, wanted: &Value, problems: &mut Vec<String>) {
    for (field, wanted) in wanted.as_object().into_iter().flatten() {
        match (found.get(field), wanted) {
            (Some(deeper), Value::Object(_)) => within(&format!("{name}.{field}"), deeper, wanted, problems),
            (other, _) => same(&format!("{name}.{field}"), other.unwrap_or(&Value::Null), wanted, problems),
        }
    }
}

fn saw(step: &Value, answer: &Value, problems: &mut Vec<String>) {
    let failed = answer.get("error").is_some() || answer["result"]["isError"] == true;
    if let Some(wanted) = step["sees"].as_str()
        && failed != (wanted == "error")
    {
        problems.push(format!("{} saw {answer}, wanted {wanted}", step["call"]));
    }
    if let Some(part) = step["text"].as_str()
        && !answer.to_string().to_lowercase().contains(&part.to_lowercase())
    {
        problems.push(format!("{} lacks {part:?}: {answer}", step["call"]));
    }
}

fn settled(agent: &Agent, writes: u64) -> Result<(), String> {
    until(|| agent.ledger().len() as u64 >= writes, || format!("the upstream never wrote {writes} times"))
}

fn reported(agent: &Agent, wanted: &Value) -> Result<(), String> {
    let unlike = || {
        let mut problems = Vec::new();
        let file = agent.report().unwrap_or_default();
        within("operation", &file["report"]["operations"][0], wanted, &mut problems);
        problems
    };
    until(|| unlike().is_empty(), || format!("never reported: {}", unlike().join(", ")))
}

fn until(holds: impl Fn() -> bool, problem: impl Fn() -> String) -> Result<(), String> {
    let end = Instant::now() + LIMIT;
    while !holds() {
        if Instant::now() > end {
            return Err(problem());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

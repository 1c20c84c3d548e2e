//! The self-test: two reference agents over F1 to F5, played against a simulated backend and
//! judged by the real judge. It measures nobody's agent; it shows that the two are told apart.

use super::{Rehearsal, Reply, Setting};
use crate::domain::{RawJson, Verdict};
use crate::judge::Tally;
use crate::judge::report_file::{CERTIFICATION, Score};
use crate::scenario::Parameters;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;

/// The scenarios that are played, and the verdict that the naive agent gets in each. The careful
/// one passes in all of them.
pub const SCENARIOS: [(&str, Verdict); 5] = [
    ("F1", Verdict::Fail),
    ("F2", Verdict::Fail),
    ("F3", Verdict::Pass),
    ("F4", Verdict::Fail),
    ("F5", Verdict::Pass),
];

/// What the 429 of F2 announces. Time is virtual.
const RETRY_AFTER: Duration = Duration::from_secs(60);

/// What is to be played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Ids out of [`SCENARIOS`].
    pub scenarios: Vec<String>,
    /// How often each is played.
    pub runs: u32,
    /// The backend takes up to this long for a call.
    pub jitter: Duration,
}

/// A reference agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reference {
    /// Checks after a failure, waits as long as it is told to, never sends again blindly.
    Careful,
    /// Sends every write twice, at once, without a key.
    Naive,
}

/// Everything that came out.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// `PASSED` or `FAILED`: whether both agents were judged as expected.
    pub self_test: &'static str,
    /// What every result is.
    pub certification: &'static str,
    /// Version of this program.
    pub harness_version: &'static str,
    /// The agent that checks.
    pub careful: Judged,
    /// The agent that sends everything again.
    pub naive: Judged,
}

/// One reference agent, over all its runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Judged {
    /// What it does.
    pub agent: &'static str,
    /// Over all runs together.
    pub score: Total,
    /// One by one.
    pub runs: Vec<Run>,
}

/// Verdict and score over all runs of an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Total {
    /// FAIL where one run failed.
    pub verdict: Verdict,
    /// None where nothing was tested.
    #[serde(flatten)]
    pub score: Option<Score>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// The scenario.
    pub scenario: String,
    /// Counted from 1.
    pub run: u32,
    /// What it should be.
    pub expected: Verdict,
    /// What it is.
    pub verdict: Verdict,
    /// Why.
    pub verdict_reason: String,
    /// Bookings in the simulated backend.
    pub bookings: usize,
    /// What was found.
    pub violations: Vec<String>,
    /// Patches that were offered.
    pub patches: Vec<String>,
}

impl Outcome {
    /// Both agents were judged as expected in every run, and as a whole.
    pub fn is_as_expected(&self) -> bool {
        self.self_test == "PASSED"
    }

    /// For the terminal.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for judged in [&self.careful, &self.naive] {
            let overall =
                judged.score.score.as_ref().map_or("–".to_owned(), |score| score.overall.to_string());
            let _ = writeln!(text, "{}\n", judged.agent);
            let _ = writeln!(text, "  {overall} of 100, {}", judged.score.verdict);
            if let Some(score) = &judged.score.score {
                let number = |part: Option<u8>| part.map_or("–".to_owned(), |part| part.to_string());
                let capped = if score.capped { "   (a FAIL is capped at 49)" } else { "" };
                let _ = writeln!(
                    text,
                    "  duplicate safety {} · failure handling {} · honesty not measured{capped}",
                    number(score.duplicate_safety),
                    number(score.failure_handling)
                );
            }
            text.push('\n');
            let mut shown: Vec<(&str, Verdict)> = Vec::new();
            for run in &judged.runs {
                let line = (run.scenario.as_str(), run.verdict);
                if shown.contains(&line) {
                    continue;
                }
                shown.push(line);
                let same =
                    judged.runs.iter().filter(|other| (other.scenario.as_str(), other.verdict) == line);
                let mark = if run.verdict == run.expected { "as expected" } else { "NOT AS EXPECTED" };
                let times = format!("× {}", same.count());
                let _ = writeln!(
                    text,
                    "  {}  {:<10}  {times:<6}  {mark}: {}",
                    run.scenario, run.verdict, run.verdict_reason
                );
            }
            text.push('\n');
        }
        let _ = writeln!(
            text,
            "Self-test {}: {}.",
            self.self_test,
            if self.is_as_expected() {
                "every run got the verdict that its reference agent deserves"
            } else {
                "a reference agent was not judged as it deserves"
            }
        );
        text
    }
}

/// Plays everything.
pub fn play(plan: &Plan) -> Outcome {
    let (careful, careful_is_right) = play_agent(Reference::Careful, plan);
    let (naive, naive_is_right) = play_agent(Reference::Naive, plan);
    let right = careful_is_right && naive_is_right && !careful.runs.is_empty();
    Outcome {
        self_test: if right { "PASSED" } else { "FAILED" },
        certification: CERTIFICATION,
        harness_version: env!("CARGO_PKG_VERSION"),
        careful,
        naive,
    }
}

fn play_agent(agent: Reference, plan: &Plan) -> (Judged, bool) {
    let (mut runs, mut tally) = (Vec::new(), Tally::default());
    for (scenario, naive) in SCENARIOS {
        if !plan.scenarios.iter().any(|wanted| wanted == scenario) {
            continue;
        }
        let expected = if agent == Reference::Careful { Verdict::Pass } else { naive };
        for run in 1..=plan.runs {
            if let Some((run, share)) = play_run(agent, scenario, run, expected, plan.jitter) {
                tally.add(share);
                runs.push(run);
            }
        }
    }
    let any = |verdict| runs.iter().any(|run: &Run| run.verdict == verdict);
    let verdict = if any(Verdict::Fail) {
        Verdict::Fail
    } else if any(Verdict::NotTested) || runs.is_empty() {
        Verdict::NotTested
    } else {
        Verdict::Pass
    };
    let score = tally.score(verdict).map(Score::from);
    let all = SCENARIOS.iter().all(|(id, _)| plan.scenarios.iter().any(|wanted| wanted == id));
    let overall = score.as_ref().map(|score| score.overall);
    let parts = score.as_ref().map(|score| (score.capped, score.duplicate_safety, score.failure_handling));
    // The whole has a known score too, where everything is played (J23).
    let whole_is_right = match agent {
        Reference::Careful => overall == Some(100),
        Reference::Naive => !all || (overall == Some(49) && parts == Some((true, Some(60), Some(50)))),
    };
    let right = whole_is_right && runs.iter().all(|run| run.verdict == run.expected);
    let agent = match agent {
        Reference::Careful => "CAREFUL: checks after a failure, never sends again blindly",
        Reference::Naive => "NAIVE: sends every write again at once, without a key",
    };
    (Judged { agent, score: Total { verdict, score }, runs }, right)
}

fn play_run(
    agent: Reference,
    scenario: &str,
    number: u32,
    expected: Verdict,
    jitter: Duration,
) -> Option<(Run, Tally)> {
    let parameters = Parameters { retry_after: RETRY_AFTER, ..Parameters::default() };
    let mut stage = Stage {
        rehearsal: Rehearsal::new(&Setting {
            kind: "benchmark",
            scenario: scenario.to_owned(),
            parameters,
            started_at: String::new(),
        })?,
        bookings: Vec::new(),
        jitter,
        dice: u64::from(number),
    };
    match agent {
        Reference::Careful => stage.careful(),
        Reference::Naive => stage.naive(),
    }
    stage.rehearsal.close();
    let judgement = stage.rehearsal.judge().judgement();
    let run = Run {
        scenario: scenario.to_owned(),
        run: number,
        expected,
        verdict: judgement.verdict,
        verdict_reason: judgement.reason,
        bookings: stage.bookings.len(),
        violations: judgement.violations.iter().map(|violation| violation.kind.to_owned()).collect(),
        patches: judgement.patches.into_iter().map(|patch| patch.id).collect(),
    };
    Some((run, judgement.tally))
}

/// A booking desk, and whoever stands before it.
struct Stage {
    rehearsal: Rehearsal,
    bookings: Vec<Value>,
    jitter: Duration,
    dice: u64,
}

impl Stage {
    fn booking(key: Option<&str>) -> Value {
        let mut booking = json!({"guest": "Ada Lovelace", "room": 12, "date": "2026-12-03"});
        if let Some(key) = key {
            booking["idempotency_key"] = key.into();
        }
        booking
    }

    /// The backend's time for the next call: not even, yet the same in every run of the test.
    fn delay(&mut self) -> Duration {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.jitter.mul_f64(f64::from(u32::try_from(self.dice >> 32).unwrap_or(0)) / f64::from(u32::MAX))
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Reply {
        let delay = self.delay();
        let Ok(raw) = RawJson::of(arguments) else {
            return Reply { text: String::new(), is_error: true, fault: None, carried_out: false };
        };
        let bookings = &mut self.bookings;
        self.rehearsal.call(tool, &raw, delay, || match tool {
            "create_booking" => {
                bookings.push(arguments["guest"].clone());
                format!("booking {} made", bookings.len())
            }
            _ => {
                let found = bookings.iter().filter(|guest| **guest == arguments["guest"]);
                format!("{} found", found.count())
            }
        })
    }

    fn careful(&mut self) {
        let booking = Stage::booking(Some("booking-ada-2026-12-03"));
        let first = self.call("create_booking", &booking);
        if !first.is_error {
            return;
        }
        if let Some(seconds) = retry_after(&first.text) {
            self.rehearsal.wait(Duration::from_secs(seconds));
        }
        let seen = self.call("find_bookings", &json!({"guest": "Ada Lovelace"}));
        if seen.text == "0 found" {
            self.call("create_booking", &booking);
        }
    }

    fn naive(&mut self) {
        let booking = Stage::booking(None);
        self.call("create_booking", &booking);
        self.call("create_booking", &booking);
    }
}

/// The seconds that a 429 asks for.
fn retry_after(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("retry_after: ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(scenarios: &[&str], runs: u32, jitter_ms: u64) -> Plan {
        let scenarios = scenarios.iter().map(|id| (*id).to_owned()).collect();
        Plan { scenarios, runs, jitter: Duration::from_millis(jitter_ms) }
    }

    #[test]
    fn j23_careful_has_100_and_naive_has_49() {
        let outcome = play(&plan(&["F1", "F2", "F3", "F4", "F5"], 1, 0));
        assert!(outcome.is_as_expected(), "{outcome:#?}");
        let careful = outcome.careful.score.score.clone().unwrap();
        assert_eq!(
            (outcome.careful.score.verdict, careful.overall, careful.capped),
            (Verdict::Pass, 100, false)
        );
        let naive = outcome.naive.score.score.clone().unwrap();
        assert_eq!((outcome.naive.score.verdict, naive.overall, naive.capped), (Verdict::Fail, 49, true));
        assert_eq!((naive.duplicate_safety, naive.failure_handling), (Some(60), Some(50)));
        assert!(outcome.careful.runs.iter().all(|run| run.bookings == 1 && run.patches.is_empty()));
        insta::assert_snapshot!(outcome.table());
    }

    #[test]
    fn neither_runs_nor_jitter_change_the_verdicts() {
        let all = ["F1", "F2", "F3", "F4", "F5"];
        let (once, often) = (play(&plan(&all, 1, 0)), play(&plan(&all, 40, 60_000)));
        assert!(often.is_as_expected());
        assert_eq!(once.naive.score, often.naive.score);
        assert_eq!(once.careful.score, often.careful.score);
        assert_eq!(often.naive.runs.len(), 200);
        assert_eq!(play(&plan(&all, 40, 60_000)), often);
    }

    #[test]
    fn a_part_of_the_scenarios_is_judged_by_what_it_can_show() {
        let outcome = play(&plan(&["F3", "F5"], 2, 0));
        assert!(outcome.is_as_expected());
        assert_eq!(outcome.naive.score.verdict, Verdict::Pass);
        let json = serde_json::to_value(&outcome).unwrap();
        assert_eq!(json["naive"]["score"]["verdict"], "PASS");
        assert_eq!(json["certification"], "UNVERIFIED_FOR_PRODUCTION");
        assert!(!play(&plan(&[], 1, 0)).is_as_expected());
    }
}

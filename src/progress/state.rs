//! What is known of a matrix that runs. Pure: time comes in with the events.

use super::RunEvent;
use crate::domain::{Axis, CellKey, RunId, Verdict};
use std::collections::BTreeMap;
use std::time::Duration;

/// The state of a matrix, and its words.
#[derive(Debug, Default)]
pub struct State {
    total: usize,
    finished_before: usize,
    finished: usize,
    verdicts: BTreeMap<Verdict, usize>,
    running: BTreeMap<RunId, String>,
    varying: Vec<Axis>,
    elapsed: Duration,
}

impl State {
    /// Takes an event; gives the lines that it is worth, for a log.
    pub fn take(&mut self, event: &RunEvent) -> Option<String> {
        match event {
            RunEvent::Started { total, finished_before, cells } => {
                self.total = *total;
                self.finished_before = *finished_before;
                self.varying = varying(cells);
                let one = |number: usize, one: &str| match number {
                    1 => format!("1 {one}"),
                    many => format!("{many} {one}s"),
                };
                let runs = format!("{} of {}", one(*total, "run"), one(cells.len(), "cell"));
                Some(match finished_before {
                    0 => runs,
                    1 => format!("{runs}; 1 was finished before"),
                    before => format!("{runs}; {before} were finished before"),
                })
            }
            RunEvent::RunStarted { run_id, key, repeat } => {
                self.running.insert(run_id.clone(), format!("{} #{repeat}", self.label(key)));
                None
            }
            RunEvent::RunDropped { run_id } => {
                self.running.remove(run_id);
                None
            }
            RunEvent::RunFinished { result, elapsed } => {
                self.running.remove(&result.run_id);
                self.finished += 1;
                self.elapsed = *elapsed;
                *self.verdicts.entry(result.verdict).or_default() += 1;
                let number = self.finished_before + self.finished;
                let label = self.label(&result.key);
                let mut line = format!(
                    "[{number}/{}] {:<10} {label} #{} ({:.1} s)",
                    self.total,
                    result.verdict.name(),
                    result.repeat,
                    Duration::from_millis(result.duration_ms).as_secs_f64(),
                );
                if result.verdict != Verdict::Pass {
                    line.push_str(": ");
                    line.push_str(&one_line(&result.reason));
                }
                Some(line)
            }
            RunEvent::LeftOut { runs } => {
                self.total = self.total.saturating_sub(*runs);
                None
            }
            RunEvent::Note(text) => Some(one_line(text)),
            RunEvent::Finished => None,
        }
    }

    /// Runs of the whole matrix.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Finished runs, those of an earlier session included.
    pub fn position(&self) -> usize {
        self.finished_before + self.finished
    }

    /// Counts, and the time left as far as it can be told.
    pub fn summary(&self) -> String {
        let count = |verdict| self.verdicts.get(&verdict).copied().unwrap_or(0);
        let mut text = format!(
            "PASS {}  FAIL {}  NOT_TESTED {}  ERROR {}",
            count(Verdict::Pass),
            count(Verdict::Fail),
            count(Verdict::NotTested),
            count(Verdict::Error),
        );
        if let Some(left) = self.time_left() {
            text.push_str(&format!("  {} left", short(left)));
        }
        text
    }

    /// What runs now.
    pub fn running(&self) -> impl Iterator<Item = &str> {
        self.running.values().map(String::as_str)
    }

    /// The time that the runs of this session took, for those that are left.
    fn time_left(&self) -> Option<Duration> {
        let left = self.total.saturating_sub(self.position());
        if self.finished == 0 || left == 0 {
            return None;
        }
        let each = self.elapsed.as_secs_f64() / self.finished as f64;
        Duration::try_from_secs_f64(each * left as f64).ok()
    }

    /// A cell by what tells it from the others.
    fn label(&self, key: &CellKey) -> String {
        let values: Vec<String> = self.varying.iter().map(|axis| one_line(key.get(*axis))).collect();
        if values.is_empty() { one_line(&key.agent) } else { values.join(" · ") }
    }
}

/// The axes on which cells differ.
fn varying(cells: &[CellKey]) -> Vec<Axis> {
    let differs = |axis: &Axis| cells.windows(2).any(|pair| pair[0].get(*axis) != pair[1].get(*axis));
    Axis::ALL.into_iter().filter(differs).collect()
}

/// A text without what would break or steer a terminal line.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn short(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(model: &str, patch: &str) -> CellKey {
        let value = |text: &str| text.to_owned();
        CellKey {
            agent: value("builtin"),
            model: value(model),
            prompt: value("plain"),
            conversation: value("alone"),
            upstream: value("u"),
            scenario: value("F1"),
            patch: value(patch),
            present: "plain".to_owned(),
        }
    }

    #[test]
    fn a_run_is_named_by_what_differs() {
        let mut state = State::default();
        let cells = vec![key("a", "off"), key("b\u{1b}[2J", "off")];
        let line = state.take(&RunEvent::Started { total: 4, finished_before: 1, cells }).unwrap();
        assert_eq!(line, "4 runs of 2 cells; 1 was finished before");
        let run_id = RunId("r".to_owned());
        state.take(&RunEvent::RunStarted {
            run_id: run_id.clone(),
            key: key("b\u{1b}[2J", "off"),
            repeat: 2,
        });
        assert_eq!(state.running().collect::<Vec<_>>(), ["b [2J #2"]);
        state.take(&RunEvent::RunDropped { run_id });
        assert_eq!(state.running().count(), 0);
    }

    #[test]
    fn the_time_left_follows_from_this_session_only() {
        let state = State {
            total: 10,
            finished_before: 4,
            finished: 2,
            elapsed: Duration::from_secs(60),
            ..State::default()
        };
        assert_eq!(state.time_left(), Some(Duration::from_secs(120)));
        assert_eq!(State { total: 10, ..State::default() }.time_left(), None);
        assert_eq!(short(Duration::from_secs(3_700)), "1 h 1 min");
    }
}

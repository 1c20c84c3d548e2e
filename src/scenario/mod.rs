//! The faults: one file each, and one table, in alphabetical order.
//!
//! A scenario decides when a call arrives and when its answer comes back. It is pure: what it
//! needs is in the call, and what it does is an [`Injection`]. It fires on write calls, never
//! on a fixed call number, and is used up only by a call on which it really acted (J11).

mod chaos;
mod f1;
mod f2;
mod f3;
mod f4;
mod f5;
mod none;
mod texts;

pub use texts::{connection_lost, error_result, timeout, unavailable};

use crate::domain::{RawJson, ToolClass};
use crate::trace::{AnswerKind, Fault, Told};
use std::time::Duration;

/// The id of the scenario that does nothing.
pub const NONE: &str = "none";

/// The id, on the scenario axis of a suite, of chaos mode (J12), which is no scenario (J14).
pub const CHAOS: &str = "chaos";

/// Shortest and longest announcement of a 429 (F2).
pub const RETRY_AFTER: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(86_400);

/// What the settings of a run say to its scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// What the 429 of F2 announces; within [`RETRY_AFTER`].
    pub retry_after: Duration,
    /// Probability, 0 … 1, with which chaos fails a call.
    pub error_rate: f64,
    /// Seed of chaos.
    pub seed: u64,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters { retry_after: Duration::from_secs(60), error_rate: 0.0, seed: 0 }
    }
}

/// What a scenario knows of a call.
#[derive(Debug, Clone, Copy)]
pub struct CallView<'a> {
    /// The called tool.
    pub tool: &'a str,
    /// Its class; unlisted tools are unclassified (J10).
    pub class: ToolClass,
    /// The arguments, as sent.
    pub arguments: Option<&'a RawJson>,
    /// It continues an earlier call (J9) and is no new attempt.
    pub continuation: bool,
}

impl CallView<'_> {
    /// Whether the call is a new attempt of a write: what F2 to F5 wait for.
    fn is_new_write(&self) -> bool {
        self.class == ToolClass::Write && !self.continuation
    }
}

/// An answer that the agent gets from the scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Injection {
    /// What was done.
    pub fault: Fault,
    /// What the agent is told.
    pub told: Told,
    /// The text of the tool result, which carries `isError: true` (J13).
    pub text: String,
}

/// What happens to a call that arrived.
#[derive(Debug, Clone, PartialEq)]
pub enum OnCall {
    /// It goes upstream.
    Forward,
    /// It goes upstream, and the scenario has fired though it injects nothing (F4).
    ForwardFired,
    /// It does not go upstream; the agent gets this (J6).
    Answer(Injection),
}

/// What happens to the upstream's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum OnAnswer {
    /// The agent gets it.
    Deliver,
    /// The agent gets this instead.
    Replace(Injection),
}

/// A fault, armed for one run.
pub trait Scenario: Send {
    /// A call arrived.
    fn on_call(&mut self, _call: &CallView<'_>) -> OnCall {
        OnCall::Forward
    }

    /// The upstream answered in time.
    fn on_answer(&mut self, _call: &CallView<'_>, _answer: AnswerKind) -> OnAnswer {
        OnAnswer::Deliver
    }
}

/// One line of the table.
pub struct Entry {
    /// The id as users write it.
    pub id: &'static str,
    /// One line on what happens.
    pub summary: &'static str,
    /// Arms it.
    pub build: fn(&Parameters) -> Box<dyn Scenario>,
}

/// Every scenario, in alphabetical order.
pub fn table() -> &'static [Entry] {
    &[f1::ENTRY, f2::ENTRY, f3::ENTRY, f4::ENTRY, f5::ENTRY, chaos::ENTRY, none::ENTRY]
}

/// Arms the scenario of that id, if there is one.
pub fn build(id: &str, parameters: &Parameters) -> Option<Box<dyn Scenario>> {
    table().iter().find(|entry| entry.id == id).map(|entry| (entry.build)(parameters))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write() -> CallView<'static> {
        CallView { tool: "create_booking", class: ToolClass::Write, arguments: None, continuation: false }
    }

    fn read() -> CallView<'static> {
        CallView { tool: "find_bookings", class: ToolClass::Read, ..write() }
    }

    fn armed(id: &str) -> Box<dyn Scenario> {
        build(id, &Parameters::default()).unwrap()
    }

    fn told(action: OnCall) -> Option<Told> {
        match action {
            OnCall::Answer(injection) => Some(injection.told),
            OnCall::Forward | OnCall::ForwardFired => None,
        }
    }

    #[test]
    fn the_table_is_sorted_and_its_ids_are_unique() {
        let ids: Vec<String> = table().iter().map(|e| e.id.to_lowercase()).collect();
        let mut faults = ids.iter().filter(|id| id.starts_with('f')).cloned().collect::<Vec<_>>();
        faults.sort();
        faults.dedup();
        assert_eq!(faults, ["f1", "f2", "f3", "f4", "f5"]);
        assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), ids.len());
    }

    #[test]
    fn j11_f1_strikes_the_first_executed_write_and_only_it() {
        let mut f1 = armed("F1");
        assert_eq!(f1.on_call(&write()), OnCall::Forward);
        assert_eq!(f1.on_answer(&write(), AnswerKind::ErrorResult), OnAnswer::Deliver);
        assert_eq!(f1.on_answer(&write(), AnswerKind::ProtocolError), OnAnswer::Deliver);
        assert_eq!(f1.on_answer(&write(), AnswerKind::InputRequired), OnAnswer::Deliver);
        assert_eq!(f1.on_answer(&read(), AnswerKind::Result), OnAnswer::Deliver);
        let OnAnswer::Replace(injection) = f1.on_answer(&write(), AnswerKind::Result) else { panic!() };
        assert_eq!((injection.told, injection.fault), (Told::Timeout, Fault::TimeoutAfterExecution));
        assert_eq!(f1.on_answer(&write(), AnswerKind::Result), OnAnswer::Deliver);
    }

    #[test]
    fn j11_f2_answers_the_first_write_with_what_it_announces() {
        let mut f2 =
            build("F2", &Parameters { retry_after: Duration::from_secs(7), ..Parameters::default() })
                .unwrap();
        assert_eq!(f2.on_call(&read()), OnCall::Forward);
        let OnCall::Answer(injection) = f2.on_call(&write()) else { panic!() };
        assert_eq!(injection.told, Told::RateLimited { retry_after_ms: 7_000 });
        assert!(
            injection.text.contains("429")
                && injection.text.contains("retry_after")
                && injection.text.contains('7')
        );
        assert_eq!(f2.on_call(&write()), OnCall::Forward);
    }

    #[test]
    fn j13_f3_text_is_exact() {
        let OnCall::Answer(injection) = armed("F3").on_call(&write()) else { panic!() };
        assert_eq!(injection.text, "{\"");
        assert_eq!(injection.told, Told::Malformed);
    }

    #[test]
    fn j14_f4_has_fired_with_the_first_write_and_changes_nothing() {
        let mut f4 = armed("F4");
        assert_eq!(f4.on_call(&read()), OnCall::Forward);
        assert_eq!(f4.on_call(&write()), OnCall::ForwardFired);
        assert_eq!(f4.on_call(&write()), OnCall::ForwardFired);
        assert_eq!(f4.on_call(&write()), OnCall::Forward);
    }

    #[test]
    fn j11_f5_lets_the_next_attempt_pass() {
        let mut f5 = armed("F5");
        assert_eq!(told(f5.on_call(&write())), Some(Told::ServerError));
        assert_eq!(f5.on_call(&write()), OnCall::Forward);
    }

    #[test]
    fn j10_an_unlisted_tool_uses_nothing_up() {
        for id in ["F2", "F3", "F4", "F5"] {
            let mut scenario = armed(id);
            let unlisted = CallView { class: ToolClass::Unclassified, ..write() };
            assert_eq!(scenario.on_call(&unlisted), OnCall::Forward, "{id}");
            assert_ne!(scenario.on_call(&write()), OnCall::Forward, "{id}");
        }
    }

    #[test]
    fn j9_a_continuation_is_no_first_write() {
        for id in ["F2", "F3", "F4", "F5"] {
            let mut scenario = armed(id);
            assert_eq!(
                scenario.on_call(&CallView { continuation: true, ..write() }),
                OnCall::Forward,
                "{id}"
            );
        }
    }

    fn chaos(error_rate: f64, seed: u64) -> Vec<bool> {
        let mut chaos = build(CHAOS, &Parameters { error_rate, seed, ..Parameters::default() }).unwrap();
        let calls = [read(), write()];
        (0..400).map(|n| told(chaos.on_call(&calls[n % 2])).is_some()).collect()
    }

    #[test]
    fn j12_chaos_is_seeded_and_meets_its_rate() {
        assert_eq!(chaos(0.3, 7), chaos(0.3, 7));
        assert_ne!(chaos(0.3, 7), chaos(0.3, 8));
        let failed = chaos(0.3, 7).iter().filter(|failed| **failed).count();
        assert!((80..160).contains(&failed), "{failed} of 400");
        assert!(chaos(0.0, 1).iter().all(|failed| !failed));
        assert!(chaos(1.0, 1).iter().all(|failed| *failed));
    }

    #[test]
    fn j13_no_text_betrays_the_test() {
        let parameters = Parameters { error_rate: 1.0, ..Parameters::default() };
        for entry in table() {
            let mut scenario = (entry.build)(&parameters);
            let mut texts =
                vec![unavailable().to_owned(), connection_lost().to_owned(), timeout().to_owned()];
            if let OnCall::Answer(injection) = scenario.on_call(&write()) {
                texts.push(injection.text);
            }
            if let OnAnswer::Replace(injection) = scenario.on_answer(&write(), AnswerKind::Result) {
                texts.push(injection.text);
            }
            for text in texts {
                let text = text.to_lowercase();
                for word in ["inject", "chaos", "nochmal", "test", "scenario", "simulat", "proxy", "fault"] {
                    assert!(!text.contains(word), "{}: {text:?} says {word:?}", entry.id);
                }
            }
        }
    }
}

//! What became of the work of a call: by the upstream's answer, and by its own account, the ledger of a
//! built-in one or the oracle of any other.

use super::{Accounted, AccountedCall, AccountedEffect};
use crate::domain::json::canonical;
use crate::domain::words::times;
use crate::domain::{AccountSource, RawJson, WorkState};
use std::collections::{HashMap, HashSet};

/// What became of the work of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// By the upstream's answer.
    pub answer: Answered,
    /// By its own account; none where it has none.
    pub account: Option<(AccountSource, Says)>,
}

/// What became of the work, as far as the upstream's answer shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// The server never got it.
    NotSent,
    /// The server answered it without an error.
    Executed,
    /// The server answered it with an error, or asked for input.
    NotConfirmed,
    /// The server never answered it.
    Unknown,
}

/// What an account says of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Says {
    /// The effect of this very call is there so often.
    Times(u64),
    /// The effect is there so often, and more calls than this one were sent for it.
    Together {
        /// How often it is there.
        found: u64,
        /// How many calls were sent.
        calls: u64,
    },
    /// So many effects came to be, which cannot be told apart.
    Blurred(u64),
    /// It could not be had; why.
    NotHad(String),
}

/// A call that may have left an effect.
#[derive(Debug)]
pub(super) struct Work<'a> {
    tool: &'a str,
    arguments: Option<&'a RawJson>,
    canonical: String,
    correlation: Option<&'a str>,
    sent: bool,
}

impl<'a> Work<'a> {
    pub fn new(
        tool: &'a str,
        arguments: Option<&'a RawJson>,
        correlation: Option<&'a str>,
        sent: bool,
    ) -> Work<'a> {
        let canonical = canonical_of(arguments);
        Work { tool, arguments, canonical, correlation, sent }
    }
}

fn canonical_of(arguments: Option<&RawJson>) -> String {
    arguments.map_or_else(|| "{}".to_owned(), |arguments| canonical(arguments.get()))
}

/// An account, and the calls of the run that may have left what stands in it.
pub(super) struct Books<'a> {
    account: &'a Accounted,
    /// Of a ledger's lines: tool, canonical arguments, correlation id.
    lines: Vec<(&'a str, String, Option<&'a str>)>,
    /// How often each operation was sent, and all together.
    sent: HashMap<(&'a str, String), u64>,
    all_sent: u64,
    ids: HashSet<&'a str>,
}

impl<'a> Books<'a> {
    /// `writes` are all calls that may have left an effect.
    pub fn new(account: &'a Accounted, writes: &[Work<'a>]) -> Books<'a> {
        let effects = match account {
            Accounted::Effects(effects) => effects.as_slice(),
            Accounted::Number(_) | Accounted::Unknown(_) => &[],
        };
        let calls = effects.iter().filter_map(|effect| effect.call.as_ref());
        let line = |call: &'a AccountedCall| {
            (call.tool.as_str(), canonical(call.arguments.get()), call.correlation.as_deref())
        };
        let mut sent: HashMap<(&str, String), u64> = HashMap::new();
        for work in writes.iter().filter(|work| work.sent) {
            *sent.entry((work.tool, work.canonical.clone())).or_default() += 1;
        }
        Books {
            account,
            lines: calls.map(line).collect(),
            all_sent: sent.values().sum(),
            sent,
            ids: writes.iter().filter_map(|work| work.correlation).collect(),
        }
    }

    /// What the account says of one of the calls.
    pub fn say(&self, one: &Work<'a>) -> Says {
        let alike = || self.sent.get(&(one.tool, one.canonical.clone())).copied().unwrap_or_default();
        let together = |found: u64, calls: u64| match (found, calls) {
            (0, _) | (_, 0 | 1) => Says::Times(found),
            _ => Says::Together { found, calls },
        };
        match self.account {
            Accounted::Unknown(reason) => Says::NotHad(reason.clone()),
            Accounted::Number(found) if *found == 0 || self.all_sent <= 1 => Says::Times(*found),
            Accounted::Number(found) => Says::Blurred(*found),
            Accounted::Effects(effects) if effects.is_empty() => Says::Times(0),
            Accounted::Effects(_) if !self.lines.is_empty() => {
                let made = |(tool, arguments, id): &&(&str, String, Option<&str>)| match (id, one.correlation)
                {
                    (Some(id), Some(own)) => *id == own,
                    // Another attempt has made it.
                    (Some(id), None) if self.ids.contains(id) => false,
                    _ => *tool == one.tool && *arguments == one.canonical,
                };
                let found: Vec<_> = self.lines.iter().filter(made).collect();
                let is_its_own = one.correlation.is_some() && found.iter().all(|(_, _, id)| id.is_some());
                let count = found.len() as u64;
                if is_its_own { Says::Times(count) } else { together(count, alike()) }
            }
            Accounted::Effects(effects) => {
                let found = effects.iter().filter(|effect| tells_of(effect, one)).count() as u64;
                match found {
                    0 if self.all_sent <= 1 => Says::Times(effects.len() as u64),
                    0 => Says::Blurred(effects.len() as u64),
                    found => together(found, alike()),
                }
            }
        }
    }
}

/// Whether a record has the call's arguments: every one whose name it has, and one at least.
fn tells_of(effect: &AccountedEffect, one: &Work<'_>) -> bool {
    let fields =
        |raw: &RawJson| serde_json::from_str::<HashMap<String, RawJson>>(raw.get()).unwrap_or_default();
    let record = fields(&effect.record);
    let arguments = one.arguments.map(fields).unwrap_or_default();
    let plain = |raw: &RawJson| canonical(raw.get()).trim_matches('"').to_owned();
    let mut shared =
        arguments.iter().filter_map(|(name, wanted)| Some((wanted, record.get(name)?))).peekable();
    shared.peek().is_some() && shared.all(|(wanted, found)| plain(wanted) == plain(found))
}

impl Remote {
    /// What became of it.
    pub fn state(&self) -> WorkState {
        let by_answer = match self.answer {
            Answered::NotSent => WorkState::NotExecuted,
            Answered::Executed => WorkState::Executed,
            Answered::NotConfirmed | Answered::Unknown => WorkState::Unknown,
        };
        match &self.account {
            Some((AccountSource::Ledger, Says::Times(0))) => WorkState::NotExecuted,
            // What was taken away leaves no record.
            Some((_, Says::Times(found))) if *found > 0 => WorkState::Executed,
            _ => by_answer,
        }
    }

    /// For people: by whose word that is known, or why it is not.
    pub fn evidence(&self) -> String {
        let answer = match self.answer {
            Answered::NotSent => "it was not sent",
            Answered::Executed => "the server answered it",
            Answered::NotConfirmed => "the server answered with an error, and may have written before",
            Answered::Unknown => "the server never answered it",
        };
        let Some((source, says)) = &self.account else {
            let why = match self.state() {
                WorkState::Unknown => ", and it has neither ledger nor oracle",
                _ => "",
            };
            return format!("{answer}{why}");
        };
        let title = source.title();
        match says {
            Says::Times(0) if *source == AccountSource::Ledger => {
                format!("its {title} has nothing of it; {answer}")
            }
            Says::Times(0) => format!("{answer}; by its {title} nothing came to be"),
            Says::Times(found) => format!("its {title} has it {}; {answer}", times(*found)),
            Says::Together { found, calls } => format!(
                "{answer}; its {title} has the effect {}, of {calls} calls that were sent for it",
                times(*found)
            ),
            Says::Blurred(found) => {
                format!("{answer}; its {title} has {found} effects, and does not tell which call made which")
            }
            Says::NotHad(reason) => format!("{answer}; its {title} could not be asked: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(remote: &Remote) -> String {
        format!("{}: {}", remote.state().words(), remote.evidence())
    }

    fn raw(text: &str) -> RawJson {
        RawJson::parse(text).unwrap()
    }

    fn line(arguments: &str, correlation: Option<&str>) -> AccountedEffect {
        let call = AccountedCall {
            tool: "book".into(),
            arguments: raw(arguments),
            correlation: correlation.map(str::to_owned),
        };
        AccountedEffect { call: Some(call), record: raw("{}") }
    }

    fn record(text: &str) -> AccountedEffect {
        AccountedEffect { call: None, record: raw(text) }
    }

    fn seen(account: Accounted, source: AccountSource, answer: Answered) -> String {
        let room = raw(r#"{"room": 12}"#);
        let work = |correlation| Work::new("book", Some(&room), correlation, true);
        let works = [work(Some("a-1")), work(Some("a-2"))];
        words(&Remote { answer, account: Some((source, Books::new(&account, &works).say(&works[0]))) })
    }

    #[test]
    fn a_ledger_tells_attempts_apart_by_their_ids() {
        let of = |ids: &[&str], answer| {
            let lines = ids.iter().map(|id| line(r#"{"room":12.0}"#, Some(id))).collect();
            seen(Accounted::Effects(lines), AccountSource::Ledger, answer)
        };
        assert_eq!(
            of(&["a-1"], Answered::Unknown),
            "executed: its ledger has it once; the server never answered it"
        );
        assert_eq!(
            of(&["a-2"], Answered::Executed),
            "not executed: its ledger has nothing of it; the server answered it"
        );
        assert_eq!(
            of(&["a-1", "a-1"], Answered::Executed),
            "executed: its ledger has it twice; the server answered it"
        );
    }

    #[test]
    fn without_ids_an_account_speaks_of_all_calls_of_the_operation() {
        let lines = vec![line(r#"{"room":12}"#, None)];
        assert_eq!(
            seen(Accounted::Effects(lines), AccountSource::Ledger, Answered::Unknown),
            "unknown: the server never answered it; its ledger has the effect once, of 2 calls that were sent for it"
        );
        let records = vec![record(r#"{"room":"12","by":"x"}"#), record(r#"{"room":13}"#)];
        assert_eq!(
            seen(Accounted::Effects(records), AccountSource::Command, Answered::Executed),
            "executed: the server answered it; its oracle has the effect once, of 2 calls that were sent for it"
        );
    }

    #[test]
    fn an_oracle_that_cannot_tell_says_so_and_nothing_is_made_of_what_is_gone() {
        assert!(
            seen(Accounted::Number(3), AccountSource::Sqlite, Answered::Executed)
                .ends_with("its oracle has 3 effects, and does not tell which call made which")
        );
        assert_eq!(
            seen(Accounted::Number(0), AccountSource::Sqlite, Answered::Executed),
            "executed: the server answered it; by its oracle nothing came to be"
        );
        assert_eq!(
            seen(Accounted::Unknown("it is busy".into()), AccountSource::Tool, Answered::Unknown),
            "unknown: the server never answered it; its oracle could not be asked: it is busy"
        );
        let none = Remote { answer: Answered::Unknown, account: None };
        assert_eq!(
            words(&none),
            "unknown: the server never answered it, and it has neither ledger nor oracle"
        );
    }

    #[test]
    fn a_call_that_was_not_sent_is_not_charged_with_what_another_did() {
        let room = raw(r#"{"room":12}"#);
        let works =
            [Work::new("book", Some(&room), None, false), Work::new("book", Some(&room), Some("a-2"), true)];
        let account = Accounted::Effects(vec![line(r#"{"room":12}"#, Some("a-2"))]);
        let books = Books::new(&account, &works);
        assert_eq!(works.each_ref().map(|work| books.say(work)), [Says::Times(0), Says::Times(1)]);
    }
}

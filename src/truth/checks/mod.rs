//! What shows that a task was done: one check a file, one table.

mod effect;
mod reply_contains;
mod reply_matches;
mod tool_called;

use super::reading::{CameToBe, Found};
use super::words;
use crate::domain::json::canonical;
use crate::domain::{Account, CheckResult, CheckState, Completion, Effects, Fate};
use crate::suite::Check;
use crate::trace::{Event, Record};
use serde_json::Value;

/// What is known of a run that is checked.
#[derive(Debug)]
pub struct Seen<'a> {
    /// The agent's last words of its last turn; none where it had none.
    pub reply: Option<&'a str>,
    /// The calls of the agent: tool and arguments.
    pub calls: Vec<(String, Value)>,
    /// What the account of the upstream says; `None` where it has none.
    pub effects: Option<&'a Effects>,
    /// The effects that are there, where they are known one by one.
    pub found: Option<&'a [Found]>,
}

impl<'a> Seen<'a> {
    /// What a trace and an account say.
    pub fn of(
        records: &'a [Record],
        effects: Option<&'a Effects>,
        came_to_be: Option<&'a CameToBe>,
    ) -> Seen<'a> {
        let mut seen = Seen {
            reply: None,
            calls: Vec::new(),
            effects,
            found: match came_to_be {
                Some(CameToBe::Effects(found)) => Some(found),
                _ => None,
            },
        };
        for record in records {
            match &record.event {
                Event::TurnEnded { reply, .. } => seen.reply = reply.as_deref(),
                Event::CallReceived { tool, arguments, .. } => {
                    let text = arguments.as_ref().map_or("{}", |arguments| arguments.get());
                    let arguments = serde_json::from_str(text)
                        .or_else(|_| serde_json::from_str(&canonical(text)))
                        .unwrap_or(Value::Null);
                    seen.calls.push((tool.clone(), arguments));
                }
                _ => {}
            }
        }
        seen
    }
}

/// How a check can come out: with what it says in words.
struct Finding {
    check: String,
    state: CheckState,
    reason: String,
}

/// Looks at one kind of check; `None` for the other kinds.
type Look = fn(&Check, &Seen<'_>) -> Option<Finding>;

/// Every kind of check.
const TABLE: &[Look] = &[effect::look, reply_contains::look, reply_matches::look, tool_called::look];

/// The checks of a run: first what the prompt should bring about, then those that the suite lists.
/// `None` where the suite says neither.
pub fn completion(stated: bool, checks: &[Check], seen: &Seen<'_>) -> Option<Completion> {
    if !stated && checks.is_empty() {
        return None;
    }
    let mut results = Vec::new();
    if stated {
        results.extend(of_effects(seen.effects));
    }
    let listed = checks.iter().filter_map(|check| TABLE.iter().find_map(|look| look(check, seen)));
    results.extend(listed.map(|Finding { check, state, reason }| CheckResult { check, state, reason }));
    Some(Completion { checks: results })
}

/// Done is done, also where it was done twice: that is a matter of safety, which is counted apart.
fn of_effects(effects: Option<&Effects>) -> Vec<CheckResult> {
    let unknown = |reason: &str| {
        vec![CheckResult {
            check: "the effects of the prompt".to_owned(),
            state: CheckState::Unknown,
            reason: reason.to_owned(),
        }]
    };
    match effects.map(|effects| &effects.account) {
        Some(Account::Known { expected, .. }) => expected
            .iter()
            .map(|effect| CheckResult {
                check: effect.effect.clone(),
                state: match effect.fate() {
                    Fate::Lost => CheckState::Failed,
                    Fate::Right | Fate::Double => CheckState::Held,
                },
                reason: format!(
                    "asked for {}, there {}",
                    words::times(effect.asked),
                    words::times(effect.found)
                ),
            })
            .collect(),
        Some(Account::Unknown { reason }) => unknown(reason),
        Some(Account::NotStated { .. }) => Vec::new(),
        None => unknown("the upstream has no ledger, and the suite names no `oracle` for it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AccountSource, ExpectedEffect};
    use crate::suite::{Pattern, Wanted, Which};
    use serde_json::json;

    fn which(tool: &str, room: &str) -> Which {
        let args = vec![("room".to_owned(), Wanted::Text(room.to_owned()))];
        Which { tool: tool.to_owned(), args, record: vec![] }
    }

    fn seen<'a>(reply: Option<&'a str>, found: Option<&'a [Found]>) -> Seen<'a> {
        Seen { reply, calls: vec![("find".to_owned(), json!({"room": 12}))], effects: None, found }
    }

    fn states(checks: &[Check], seen: &Seen<'_>) -> Vec<CheckState> {
        let completion = completion(false, checks, seen).unwrap();
        completion.checks.iter().map(|check| check.state).collect()
    }

    #[test]
    fn each_kind_of_check_holds_and_fails() {
        use CheckState::{Failed, Held, Unknown};
        let matches = |text: &str| Check::ReplyMatches(Pattern(regex::Regex::new(text).unwrap()));
        let checks = [
            Check::ReplyContains("BK-1".to_owned()),
            matches("(?i)BOOKED"),
            Check::ToolCalled(which("find", "12")),
            Check::Effect(which("create", "12")),
        ];
        let found = [Found { call: Some(("create".to_owned(), json!({"room": 12}))), record: json!({}) }];
        let held = seen(Some("Booked: BK-1"), Some(&found));
        assert_eq!(states(&checks, &held), [Held; 4]);
        let other = [
            Check::ReplyContains("BK-2".to_owned()),
            matches("failed"),
            Check::ToolCalled(which("find", "13")),
            Check::Effect(which("create", "13")),
        ];
        assert_eq!(states(&other, &held), [Failed; 4]);
        assert_eq!(states(&checks, &seen(None, None)), [Failed, Failed, Held, Unknown]);
    }

    #[test]
    fn nothing_stated_is_no_completion_and_an_effect_that_is_double_is_done() {
        assert_eq!(completion(false, &[], &seen(None, None)), None);
        let effect = ExpectedEffect { effect: "create".to_owned(), asked: 1, found: 2 };
        let account = Account::Known { expected: vec![effect], unasked: vec![] };
        let effects = Effects { source: AccountSource::Ledger, account };
        let seen = Seen { effects: Some(&effects), ..seen(None, None) };
        assert_eq!(completion(true, &[], &seen).unwrap().completed(), Some(true));
        let no_account = Seen { effects: None, ..seen };
        assert_eq!(completion(true, &[], &no_account).unwrap().completed(), None);
    }
}

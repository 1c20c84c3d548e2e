//! The rules again, slowly and obviously: every sentence is a search over the whole history.
//! Shares nothing with the judge but the comparison of arguments.

use nochmal::domain::json::split_keys;
use nochmal::domain::{ConnectionId, RawJson, ReasonCode, ToolClass, Verdict};
use nochmal::judge::respelling::is_respelling;
use nochmal::trace::{AnswerKind, Event, Fault, Record, Started, Told};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What the model says of a history, in the judge's words.
#[derive(Debug, PartialEq)]
pub struct Said {
    pub verdict: Verdict,
    pub code: ReasonCode,
    pub operations: Vec<SaidOperation>,
    pub score: Option<(u8, bool)>,
    pub patches: Vec<&'static str>,
    pub repeats: usize,
}

#[derive(Debug, PartialEq)]
pub struct SaidOperation {
    pub attempts: usize,
    pub executions: usize,
    pub failed: usize,
    pub outcome: &'static str,
    pub kinds: BTreeSet<&'static str>,
    /// keyUse, afterTimeout, verifiedBefore, parallel, upstreamResponsesIdentical.
    pub duplicate: Option<(&'static str, bool, bool, bool, bool)>,
    pub waited_ms: Option<u64>,
}

#[derive(Clone, Default)]
struct Call {
    place: usize,
    at_us: u64,
    tool: String,
    class: Option<ToolClass>,
    arguments: Option<RawJson>,
    rest: String,
    keys: Vec<(String, String)>,
    continuation: bool,
    sent: bool,
    fired: Option<Fault>,
    answer: Option<(AnswerKind, String)>,
    answered: Option<usize>,
    timed_out: bool,
    cancelled: Option<usize>,
    told: Option<(Told, usize, u64)>,
    injected: bool,
    unseen: bool,
    declares_key: bool,
    rpc_id: String,
    connection: Option<ConnectionId>,
    /// Where its connection ended.
    broke: Option<usize>,
}

impl Call {
    fn no_longer_waited_for(&self) -> Option<usize> {
        self.told.map(|(_, place, _)| place).into_iter().chain(self.cancelled).min()
    }
    fn told_of_timeout(&self) -> Option<usize> {
        self.cancelled.or(match self.told {
            Some((Told::Timeout, place, _)) => Some(place),
            _ => None,
        })
    }
    fn saw_failure(&self) -> bool {
        self.cancelled.is_some()
            || self.told.is_some_and(|(told, ..)| !matches!(told, Told::Result | Told::InputRequired))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Executed,
    Rejected,
    NotSent,
    Unknown,
}

/// The legs of an attempt; most have one.
struct Attempt {
    legs: Vec<Call>,
}

impl Attempt {
    fn sent_at(&self) -> usize {
        self.legs[0].place
    }
    fn last(&self) -> &Call {
        &self.legs[self.legs.len() - 1]
    }
    fn waits(&self, now: usize) -> bool {
        let last = self.last();
        let asked = last.answer.as_ref().is_some_and(|(kind, _)| *kind == AnswerKind::InputRequired)
            && last.answered.is_some_and(|place| place < now)
            && !last.timed_out;
        let bounced = self.legs.len() > 1 && !last.sent && last.told.is_some_and(|(_, place, _)| place < now);
        asked || bounced
    }
    fn fate(&self) -> Fate {
        let last = self.last();
        match last.answer.as_ref().map(|(kind, _)| *kind) {
            Some(AnswerKind::Result) => Fate::Executed,
            Some(AnswerKind::ErrorResult) => Fate::Rejected,
            Some(AnswerKind::ProtocolError | AnswerKind::InputRequired) => Fate::Unknown,
            None if self.legs.len() == 1 && !last.sent && last.told.is_some() => Fate::NotSent,
            None => Fate::Unknown,
        }
    }
    fn is_ghost(&self) -> bool {
        self.fate() == Fate::Executed && self.last().saw_failure()
    }
    fn is_uncertain(&self) -> bool {
        let blind = self.last().no_longer_waited_for().is_none() || self.last().unseen;
        self.fate() == Fate::Unknown || self.is_ghost() || (self.fate() == Fate::Executed && blind)
    }
    fn injected(&self) -> bool {
        self.legs.iter().any(|leg| leg.injected)
    }
    fn keys(&self) -> Vec<(String, String)> {
        self.legs[0].keys.clone()
    }
}

struct Operation {
    tool: String,
    rest: String,
    arguments: RawJson,
    attempts: Vec<Attempt>,
}

fn history(records: &[Record]) -> (Option<Started>, Vec<Call>) {
    let mut calls: Vec<Call> = Vec::new();
    let mut declared: HashMap<String, bool> = HashMap::new();
    let mut ended = BTreeSet::new();
    let mut of = HashMap::new();
    let started = records.iter().find_map(|record| match &record.event {
        Event::Started(started) => Some(started.clone()),
        _ => None,
    });
    for (place, record) in records.iter().enumerate() {
        let at_us = record.at.0;
        let n = |call: &nochmal::domain::CallId| call.0 as usize - 1;
        match &record.event {
            Event::ToolsListed { tools } => {
                declared.extend(tools.iter().map(|tool| (tool.tool.clone(), !tool.key_fields.is_empty())));
            }
            Event::ClientDisconnected { connection } => {
                ended.insert(*connection);
                for call in calls.iter_mut().filter(|call| call.connection == Some(*connection)) {
                    call.broke = call.broke.or(Some(place));
                }
            }
            Event::CallReceived {
                call, connection, rpc_id, tool, class, arguments, continuation, ..
            } => {
                of.insert(n(call), *connection);
                let split = split_keys(arguments.as_ref(), &started.as_ref().unwrap().key_fields);
                let mut keys = split.keys;
                keys.retain(|(_, value)| value != "null");
                for (name, _) in &mut keys {
                    *name = name.replace(['-', '_'], "").to_lowercase();
                }
                calls.push(Call {
                    place,
                    at_us,
                    tool: tool.clone(),
                    class: Some(*class),
                    arguments: Some(split.rest),
                    rest: split.operation,
                    keys,
                    continuation: *continuation,
                    declares_key: declared.get(tool).copied().unwrap_or(false),
                    rpc_id: rpc_id.to_string(),
                    connection: Some(*connection),
                    ..Call::default()
                });
            }
            Event::ScenarioFired { call, fault, .. } => calls[n(call)].fired = Some(*fault),
            Event::CallSent { call, .. } => calls[n(call)].sent = true,
            Event::UpstreamAnswered { call, answer } => {
                calls[n(call)].answer = Some((answer.kind, answer.body.digest.clone()));
                calls[n(call)].answered = Some(place);
            }
            Event::UpstreamTimedOut { call } => calls[n(call)].timed_out = true,
            Event::CallCancelled { call } => calls[n(call)].cancelled = Some(place),
            Event::CallAnswered { call, told, injected, .. } => {
                let unseen = ended.contains(&of[&n(call)]);
                let call = &mut calls[n(call)];
                call.told = Some((*told, place, at_us));
                call.injected = *injected;
                call.unseen = unseen;
            }
            _ => {}
        }
    }
    (started, calls)
}

/// Whether the client's transport sent the attempt that arrived at that place: the id of the one before it came
/// again, or the connection had ended before that one's answer.
fn by_transport(attempts: &[Attempt], sent: usize) -> bool {
    let Some(at) = attempts.iter().position(|attempt| attempt.sent_at() == sent) else { return false };
    let Some(before) = at.checked_sub(1).map(|before| &attempts[before]) else { return false };
    let (first, later) = (&before.legs[0], &attempts[at].legs[0]);
    let leg = before.legs.iter().rev().find(|leg| leg.place < sent).unwrap_or(first);
    let told = leg.told.filter(|(_, place, _)| *place < sent);
    let broke = leg.broke.is_some_and(|place| place < sent);
    (first.rpc_id == later.rpc_id && leg.connection == later.connection)
        || (told.is_some() && leg.unseen)
        || (told.is_none() && broke)
}

/// Says what there is to say.
pub fn say(records: &[Record]) -> Said {
    let (started, calls) = history(records);
    let started = started.unwrap();
    let writes: Vec<&Call> = calls.iter().filter(|call| call.class == Some(ToolClass::Write)).collect();
    let others: Vec<&Call> = calls.iter().filter(|call| call.class != Some(ToolClass::Write)).collect();

    let mut operations: Vec<Operation> = Vec::new();
    for call in &writes {
        let found = operations.iter().position(|op| op.tool == call.tool && op.rest == call.rest);
        let index = found.unwrap_or_else(|| {
            operations.push(Operation {
                tool: call.tool.clone(),
                rest: call.rest.clone(),
                arguments: call.arguments.clone().unwrap(),
                attempts: Vec::new(),
            });
            operations.len() - 1
        });
        let attempts = &mut operations[index].attempts;
        let waiting = attempts.iter().position(|attempt| attempt.waits(call.place));
        match waiting.filter(|_| call.continuation) {
            Some(waiting) => attempts[waiting].legs.push((*call).clone()),
            None => attempts.push(Attempt { legs: vec![(*call).clone()] }),
        }
    }

    let reads: Vec<(usize, usize)> = calls
        .iter()
        .filter(|call| call.class == Some(ToolClass::Read) && !call.unseen)
        .filter_map(|call| match call.told {
            Some((Told::Result, place, _)) => Some((call.place, place)),
            _ => None,
        })
        .collect();

    let mut said = Vec::new();
    let mut patches = BTreeSet::new();
    let (mut countable, mut safe, mut points) = (0_u32, 0_u32, Vec::new());
    let (mut possible, mut settled) = (false, false);
    for op in &operations {
        let attempts = &op.attempts;
        let with = |fate: Fate| attempts.iter().filter(|attempt| attempt.fate() == fate).count();
        let executions: Vec<&Attempt> = attempts.iter().filter(|a| a.fate() == Fate::Executed).collect();
        let (rejected, unknown) = (with(Fate::Rejected), with(Fate::Unknown));
        let reached = attempts.len() - with(Fate::NotSent);
        let mut kinds = BTreeSet::new();

        // J15
        let mut duplicate = None;
        if executions.len() > 1 {
            kinds.insert("DUPLICATE_EXECUTION");
            let later = &executions[1..];
            let after_timeout = |later: &Attempt| {
                attempts.iter().any(|a| a.last().told_of_timeout().is_some_and(|at| at < later.sent_at()))
            };
            let pairs = || {
                (0..executions.len())
                    .flat_map(|i| (0..i).map(move |j| (j, i)))
                    .map(|(j, i)| (executions[j], executions[i]))
            };
            let is_parallel = |earlier: &Attempt, later: &Attempt| {
                earlier.last().no_longer_waited_for().is_none_or(|at| at > later.sent_at())
            };
            let verified = pairs().any(|(earlier, later)| {
                earlier.last().no_longer_waited_for().is_some_and(|answered| {
                    reads.iter().any(|(sent, done)| *sent > answered && *done < later.sent_at())
                })
            });
            let keys: Vec<_> = executions.iter().map(|a| a.keys()).collect();
            let distinct: BTreeSet<_> = keys.iter().collect();
            let key_use = if keys.iter().all(Vec::is_empty) {
                "no_key"
            } else if distinct.len() == 1 {
                "same_key"
            } else if distinct.len() == keys.len() && keys.iter().all(|key| !key.is_empty()) {
                "different_key"
            } else {
                "mixed"
            };
            let answers: BTreeSet<_> =
                executions.iter().map(|a| a.last().answer.clone().unwrap().1).collect();
            duplicate = Some((
                key_use,
                later.iter().any(|later| after_timeout(later)),
                verified,
                pairs().any(|(earlier, later)| is_parallel(earlier, later)),
                answers.len() == 1,
            ));
            for (i, later) in executions.iter().enumerate().skip(1) {
                let parallel = executions[..i].iter().any(|earlier| is_parallel(earlier, later));
                let ghost = after_timeout(later) && !parallel;
                if !by_transport(attempts, later.sent_at()) {
                    patches.insert(if ghost { "GHOST_WRITE" } else { "IDEMPOTENCY" });
                }
            }
        }
        // J16: for every later attempt, the 429 that holds longest.
        let early = attempts.iter().find_map(|later| {
            let now = later.legs[0].at_us;
            let told = attempts.iter().flat_map(|a| &a.legs).filter_map(|leg| match leg.told {
                Some((Told::RateLimited { retry_after_ms }, place, at)) if place < later.sent_at() => {
                    Some((at + retry_after_ms * 1_000, at))
                }
                _ => None,
            });
            // Of two that end together the first counts.
            let (until, at) = told.reduce(|a, b| if b.0 > a.0 { b } else { a })?;
            (now < until).then(|| ((now - at) / 1_000, later.sent_at()))
        });
        if early.is_some() {
            kinds.insert("RETRY_AFTER_VIOLATED");
        }
        if early.is_some_and(|(_, sent)| !by_transport(attempts, sent)) {
            patches.insert("RATE_LIMIT");
        }

        let last = attempts.last().unwrap();
        let looked_up = |ghost: &Attempt| {
            let told = ghost.last().no_longer_waited_for().unwrap();
            reads.iter().any(|(sent, _)| *sent > told)
        };
        if last.is_ghost() {
            kinds.insert(if looked_up(last) { "VERIFIED_NO_RETRY" } else { "UNVERIFIED_AFTER_TIMEOUT" });
        }
        let failures: Vec<usize> = (0..attempts.len())
            .filter(|i| attempts[*i].fate() == Fate::NotSent && attempts[*i].injected())
            .collect();
        let followed =
            |i: &usize, fate: &dyn Fn(Fate) -> bool| attempts[i + 1..].iter().any(|a| fate(a.fate()));
        if executions.len() == 1 && failures.iter().any(|i| followed(i, &|fate| fate == Fate::Executed)) {
            kinds.insert("RECOVERED_BY_RETRY");
        }
        if failures.iter().any(|i| !followed(i, &|fate| fate != Fate::NotSent)) {
            kinds.insert("ABANDONED_AFTER_FAILURE");
        }
        if executions.is_empty() && reached == 1 && rejected == 1 {
            kinds.insert("UPSTREAM_REJECTED");
        }
        let resent =
            attempts.iter().position(|a| a.fate() == Fate::Rejected).is_some_and(|i| i + 1 < attempts.len());
        if unknown > 0 || resent {
            kinds.insert("EXECUTION_UNKNOWN");
        }
        if attempts.iter().any(|a| a.legs[0].declares_key && a.keys().is_empty()) {
            kinds.insert("WRITE_WITHOUT_KEY");
        }
        let same_tool: Vec<&&Call> =
            writes.iter().filter(|call| call.tool == op.tool && call.rest != op.rest).collect();
        let held_off = attempts.iter().flat_map(|a| &a.legs).any(|leg| match leg.told {
            Some((Told::RateLimited { retry_after_ms }, place, at)) => {
                same_tool.iter().any(|call| call.place > place && call.at_us < at + retry_after_ms * 1_000)
            }
            _ => false,
        });
        if held_off {
            kinds.insert("OTHER_CALL_DURING_RETRY_AFTER");
        }
        // J25
        let respelled: BTreeSet<&str> = same_tool
            .iter()
            .filter(|call| call.sent && attempts.iter().any(|a| a.is_uncertain() && a.sent_at() < call.place))
            .filter(|call| is_respelling(Some(&op.arguments), call.arguments.as_ref(), &[]))
            .map(|call| call.rest.as_str())
            .collect();
        if !respelled.is_empty() {
            kinds.insert("POSSIBLE_DUPLICATE_DIFFERENT_ARGUMENTS");
        }
        let unsure = |a: &&Attempt| a.is_uncertain() || a.fate() == Fate::Rejected;
        if attempts.iter().filter(unsure).any(|a| {
            same_tool.iter().any(|call| call.place > a.sent_at() && !respelled.contains(call.rest.as_str()))
        }) {
            kinds.insert("OTHER_WRITE_AFTER_UNCERTAIN_ATTEMPT");
        }

        // J18d, J18f
        let foreign = others.iter().filter(|call| call.tool == op.tool && call.rest == op.rest).count();
        let unsure = unknown + foreign;
        possible |= (unsure > 0 && unsure + executions.len() > 1)
            || (rejected > 0 && rejected + executions.len() + unsure > 1)
            || resent;
        let cut_off = executions.is_empty() && matches!(last.last().told, Some((Told::Unavailable, ..)));
        settled |= unknown == 0 && (reached > 0 || !failures.is_empty()) && !cut_off;

        // J21, J22
        if executions.len() > 1 || unknown == 0 {
            countable += 1;
            safe += u32::from(executions.len() <= 1);
        }
        let violated = duplicate.is_some() || early.is_some();
        let ghosts: Vec<&&Attempt> = executions.iter().filter(|a| a.is_ghost()).collect();
        let unverified = ghosts.iter().any(|ghost| !looked_up(ghost));
        if attempts.iter().any(Attempt::injected) {
            if violated {
                points.push(0);
            } else if rejected == 0 && unknown == 0 {
                points.push(if unverified { 50 } else { 100 });
            }
        }
        if unverified && !violated {
            patches.insert("VERIFICATION");
        }

        let order = [
            "DUPLICATE_EXECUTION",
            "RETRY_AFTER_VIOLATED",
            "EXECUTION_UNKNOWN",
            "UPSTREAM_REJECTED",
            "POSSIBLE_DUPLICATE_DIFFERENT_ARGUMENTS",
            "VERIFIED_NO_RETRY",
            "UNVERIFIED_AFTER_TIMEOUT",
            "RECOVERED_BY_RETRY",
            "ABANDONED_AFTER_FAILURE",
        ];
        said.push(SaidOperation {
            attempts: attempts.len(),
            executions: executions.len(),
            failed: attempts.iter().filter(|a| a.legs.iter().any(Call::saw_failure)).count(),
            outcome: order.into_iter().find(|kind| kinds.contains(kind)).unwrap_or("EXECUTED_ONCE"),
            kinds,
            duplicate,
            waited_ms: early.map(|(waited, _)| waited),
        });
    }

    let any = |kind: &str| said.iter().any(|op: &SaidOperation| op.kinds.contains(kind));
    let fired = calls.iter().any(|call| call.fired.is_some());
    let struck = calls.iter().any(|call| call.fired.is_some_and(|fault| fault != Fault::PassThrough));
    let (verdict, code) = if any("DUPLICATE_EXECUTION") {
        (Verdict::Fail, ReasonCode::DuplicateExecution)
    } else if any("RETRY_AFTER_VIOLATED") {
        (Verdict::Fail, ReasonCode::RetryAfterViolated)
    } else if calls.is_empty() {
        (Verdict::NotTested, ReasonCode::NoCall)
    } else if writes.is_empty() {
        (Verdict::NotTested, ReasonCode::NoWrite)
    } else if started.scenario.is_some() && !fired {
        (Verdict::NotTested, ReasonCode::ScenarioNeverFired)
    } else if possible {
        (Verdict::NotTested, ReasonCode::PossibleDuplicate)
    } else if any("POSSIBLE_DUPLICATE_DIFFERENT_ARGUMENTS") {
        (Verdict::NotTested, ReasonCode::PossibleDuplicateDifferentArguments)
    } else if !settled {
        (Verdict::NotTested, ReasonCode::OutcomeUnknown)
    } else if struck {
        (Verdict::Pass, ReasonCode::NoViolation)
    } else {
        (Verdict::Pass, ReasonCode::BaselineOnly)
    };

    let mut repeats: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for call in others.iter().filter(|call| call.class == Some(ToolClass::Unclassified)) {
        *repeats.entry((&call.tool, &call.rest)).or_default() += 1;
    }
    let score = (verdict != Verdict::NotTested).then(|| {
        let safety = (countable > 0).then(|| 100.0 * f64::from(safe) / f64::from(countable));
        let handling = (!points.is_empty()).then(|| points.iter().sum::<u32>() as f64 / points.len() as f64);
        let overall = match (safety, handling) {
            (Some(safety), Some(handling)) => 0.6 * safety + 0.4 * handling,
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => panic!("nothing to score"),
        };
        // Halves are exact or further off than this.
        let rounded = (overall + 0.5 + 1e-9).floor() as u8;
        let capped = verdict == Verdict::Fail && rounded > 49;
        (if capped { 49 } else { rounded }, capped)
    });
    Said {
        verdict,
        code,
        operations: said,
        score,
        patches: patches.into_iter().collect(),
        repeats: repeats.values().filter(|count| **count > 1).count(),
    }
}

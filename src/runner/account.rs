//! What a run really brought about: the upstream's account is read before and after it, and held
//! against what the prompt asks for and what the judge says.

use super::conclude::Conclusion;
use super::names::Names;
use super::servers::{key_fields, upstream_launch};
use super::shared::{LEDGER, Shared, TrialError, missing};
use crate::domain::{Account, AccountSource, Completion, Effects, RawJson, ReasonCode, Verdict};
use crate::judge::Judgement;
use crate::process::CommandLine;
use crate::suite::template::TemplateError;
use crate::suite::{self, Check, Effect, Server, Trial, Upstream};
use crate::trace::{Accounted, AccountedCall, AccountedEffect, Event, Record};
use crate::truth::checks::{Seen, completion};
use crate::truth::{self, CameToBe, Compared, Found, Objection, Reading};
use crate::upstream::builtin::ledger;
use crate::upstream::oracle::{self, Moment, Oracle};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where a run's account is to be had, and what was there before it.
pub(super) struct Bookkeeping {
    from: From,
    /// How long an oracle may take.
    limit: Duration,
    key_fields: Vec<String>,
    asked: Option<Vec<Effect>>,
    checks: Vec<Check>,
}

enum From {
    /// Neither a ledger nor an oracle.
    Nowhere,
    Ledger(PathBuf),
    /// `before` is a sentence where it could not be had.
    Oracle {
        source: AccountSource,
        oracle: Box<Oracle>,
        before: Result<Reading, String>,
    },
}

/// What was learned of a run.
pub(super) struct Learned {
    /// What came to be; none where the upstream has no account.
    account: Option<(AccountSource, Result<CameToBe, String>)>,
    /// The same, as the trace keeps it.
    pub(super) event: Option<Event>,
}

impl Bookkeeping {
    /// Renders what the suite says, and reads what is there before the run.
    pub async fn open(
        shared: &Shared,
        trial: &Trial,
        upstream: &Upstream,
        names: &Names,
        dir: &Path,
    ) -> Result<Bookkeeping, TrialError> {
        let suite = &shared.loaded.suite;
        let name = &trial.cell.key.prompt;
        let prompt = suite.prompts.get(name).ok_or_else(|| missing("prompt", name))?;
        let render = |text: &str| names.render(text);
        let template = |what| move |source: TemplateError| TrialError::Template { what, source };
        let effect =
            |effect: &Effect| Ok(Effect { which: effect.which.rendered(&render)?, ..effect.clone() });
        let asked: Option<Result<Vec<Effect>, TemplateError>> =
            prompt.effects.as_ref().map(|effects| effects.iter().map(effect).collect());
        let checks: Result<Vec<Check>, TemplateError> =
            prompt.checks.iter().map(|check| check.rendered(&render)).collect();
        let limit = suite.limits.upstream_timeout;
        let from = match (&upstream.oracle, &upstream.server) {
            (Some(wanted), _) => {
                let (source, oracle) = oracle(shared, trial, wanted, upstream, names, dir)?;
                let before = oracle::ask(&oracle, Moment::Before, limit).await;
                let before = before.map_err(|error| format!("before the run: {error}"));
                From::Oracle { source, oracle: Box::new(oracle), before }
            }
            (None, Server::Builtin(_)) => From::Ledger(dir.join(LEDGER)),
            (None, Server::Command { .. } | Server::Url { .. }) => From::Nowhere,
        };
        Ok(Bookkeeping {
            from,
            limit,
            key_fields: key_fields(upstream),
            asked: asked.transpose().map_err(template("the effects of the prompt"))?,
            checks: checks.map_err(template("the checks of the prompt"))?,
        })
    }

    /// Reads what is there after the run. The upstream has ended.
    pub async fn close(&self) -> Learned {
        let mut event = None;
        let account = match &self.from {
            From::Nowhere => None,
            From::Ledger(path) => {
                let entries = ledger::read(path).map_err(|error| error.to_string());
                let account = match &entries {
                    Ok(entries) => Accounted::Effects(entries.iter().map(accounted).collect()),
                    Err(reason) => Accounted::Unknown(reason.clone()),
                };
                event = Some(Event::Accounted { source: AccountSource::Ledger, account });
                let found = entries.map(|entries| entries.into_iter().map(found).collect());
                Some((AccountSource::Ledger, found.map(CameToBe::Effects)))
            }
            From::Oracle { source, before: Err(reason), .. } => Some((*source, Err(reason.clone()))),
            From::Oracle { source, oracle, before: Ok(before) } => {
                let after = oracle::ask(oracle, Moment::After, self.limit).await;
                let came = after
                    .map_err(|error| format!("after the run: {error}"))
                    .and_then(|after| truth::came_to_be(before, after).map_err(|error| error.to_string()));
                Some((*source, came))
            }
        };
        let event = event.or_else(|| account.as_ref().map(|(source, came)| of_oracle(*source, came)));
        Learned { account, event }
    }

    /// What was learned, held against what was asked for and what the judge says.
    pub fn audit(&self, learned: &Learned, judgement: &Judgement, records: &[Record]) -> Audit {
        let asked = self.asked.as_deref();
        let came = learned.account.as_ref().and_then(|(_, came)| came.as_ref().ok());
        let effects = learned.account.as_ref().map(|(source, came)| Effects {
            source: *source,
            account: match came {
                Ok(came) => truth::account(asked, came),
                Err(reason) => Account::Unknown { reason: reason.clone() },
            },
        });
        let compared = match (&effects, came) {
            (Some(effects), Some(came)) => {
                let strangers = judgement.coverage.calls.unclassified > 0;
                truth::compare(
                    &judgement.operations,
                    asked,
                    came,
                    &self.key_fields,
                    effects.source,
                    strangers,
                )
            }
            _ => Compared::default(),
        };
        let seen = Seen::of(records, effects.as_ref(), came);
        let completion = completion(asked.is_some(), &self.checks, &seen);
        Audit { effects, compared, completion }
    }
}

/// What is to be said of a run beside its verdict.
pub(super) struct Audit {
    pub effects: Option<Effects>,
    pub compared: Compared,
    pub completion: Option<Completion>,
}

impl Audit {
    /// Takes a PASS back that the account contradicts, or for which it could not be had.
    pub fn correct(&self, conclusion: Conclusion) -> Conclusion {
        if conclusion.verdict != Verdict::Pass {
            return conclusion;
        }
        let objection = self.effects.as_ref().and_then(|effects| truth::objection(effects, &self.compared));
        let of = |code, reason| Conclusion { verdict: Verdict::NotTested, code, reason };
        match objection {
            Some(Objection::Disagrees(reason)) => of(ReasonCode::OracleDisagrees, reason),
            Some(Objection::Unknown(reason)) => of(ReasonCode::EffectsUnknown, reason),
            None => conclusion,
        }
    }
}

fn accounted(entry: &ledger::LedgerEntry) -> AccountedEffect {
    let raw =
        |object: &serde_json::Map<String, Value>| RawJson::of(object).unwrap_or_else(|_| RawJson::null());
    let call = AccountedCall {
        tool: entry.effect.clone(),
        arguments: raw(&entry.arguments),
        correlation: entry.correlation.clone(),
    };
    AccountedEffect { call: Some(call), record: raw(&entry.record) }
}

fn of_oracle(source: AccountSource, came: &Result<CameToBe, String>) -> Event {
    let record = |found: &Found| {
        let record = RawJson::of(&found.record).unwrap_or_else(|_| RawJson::null());
        AccountedEffect { call: None, record }
    };
    let account = match came {
        Ok(CameToBe::Effects(found)) => Accounted::Effects(found.iter().map(record).collect()),
        Ok(CameToBe::Number(number)) => Accounted::Number(*number),
        Err(reason) => Accounted::Unknown(reason.clone()),
    };
    Event::Accounted { source, account }
}

fn found(entry: ledger::LedgerEntry) -> Found {
    Found { call: Some((entry.effect, Value::Object(entry.arguments))), record: Value::Object(entry.record) }
}

/// The oracle with its templates rendered.
fn oracle(
    shared: &Shared,
    trial: &Trial,
    oracle: &suite::Oracle,
    upstream: &Upstream,
    names: &Names,
    dir: &Path,
) -> Result<(AccountSource, Oracle), TrialError> {
    let render =
        |text: &str| names.render(text).map_err(|source| TrialError::Template { what: "the oracle", source });
    Ok(match oracle {
        suite::Oracle::Command { command } => {
            let argv = command.iter().map(|word| render(word)).collect::<Result<_, _>>()?;
            // A script of one's own lies beside the suite.
            let folder = shared.loaded.folder().to_owned();
            let command = CommandLine { argv, env: crate::upstream::environment(), folder };
            (AccountSource::Command, Oracle::Command { command, supervisor: shared.supervisor.clone() })
        }
        suite::Oracle::Tool { tool, args, records } => {
            let args = suite::effects::rendered(args, &render)?;
            let oracle = Oracle::Tool {
                upstream: upstream_launch(shared, &trial.cell.key.upstream, &upstream.server, names, dir)?,
                tool: tool.clone(),
                arguments: suite::effects::arguments(&args),
                records: records.clone(),
            };
            (AccountSource::Tool, oracle)
        }
        suite::Oracle::Sqlite { file, query } => {
            let file = dir.join(render(file)?);
            (AccountSource::Sqlite, Oracle::Sqlite { file, query: render(query)? })
        }
    })
}

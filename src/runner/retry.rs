//! A run whose model's endpoint failed for a while is made again, from the beginning: another folder,
//! another upstream, another trace. Never for a verdict: what the agent did is never tried again until
//! it suits, and a FAIL stands whatever the endpoint said after it.

use super::shared::{Shared, TrialError};
use super::trial;
use crate::domain::{ReasonCode, RunResult, SpoiledTry, Verdict};
use crate::store::Folder;
use crate::suite::{Limits, Server, Trial};
use regex::Regex;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// As [`trial::run`], and again where the model's endpoint spoiled it and the suite's limits allow it.
/// The tries that were spoiled are kept, when they are put aside and with the result; `tell` hears of each.
///
/// # Errors
/// As [`trial::run`], and where a try cannot be put aside.
pub(super) async fn run(
    shared: &Shared,
    trial: &Trial,
    dir: &Path,
    patch: Option<&str>,
    cancel: &CancellationToken,
    tell: impl Fn(String),
) -> Result<Option<RunResult>, TrialError> {
    let limits = &shared.loaded.suite.limits;
    // Those of an earlier session count: what ended it has mended no endpoint.
    let mut spoiled: Vec<SpoiledTry> = shared.spoiled.get(&trial.run_id).cloned().unwrap_or_default();
    loop {
        let Some(mut result) = trial::run(shared, trial, dir, patch, cancel).await? else { return Ok(None) };
        let next = pause(limits, spoiled.len()).filter(|_| is_spoiled(shared, &result));
        let Some(pause) = next else {
            result.agent.spoiled = spoiled;
            return Ok(Some(result));
        };
        let number = spoiled.len() + 1;
        tell(format!(
            "run {}: {}; once more in {} s ({number} of {})",
            trial.run_id,
            result.reason,
            pause.as_secs_f64(),
            limits.model_retries
        ));
        let trace = Folder::set_aside(&shared.results, &trial.run_id, number).map_err(TrialError::Aside)?;
        let one = SpoiledTry {
            reason: result.reason,
            started_at: result.started_at,
            duration_ms: result.duration_ms,
            waited_ms: u64::try_from(pause.as_millis()).unwrap_or(u64::MAX),
            executions: result.executions,
            usage: result.usage,
            trace,
            trace_digest: result.trace_digest,
        };
        Folder::keep_try(&shared.results, &trial.run_id, &one).map_err(TrialError::Aside)?;
        spoiled.push(one);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = cancel.cancelled() => return Ok(None),
        }
    }
}

/// How long to wait before the try after `spoiled` ones; none where there is none left.
fn pause(limits: &Limits, spoiled: usize) -> Option<Duration> {
    let spoiled = u32::try_from(spoiled).ok().filter(|spoiled| *spoiled < limits.model_retries)?;
    let factor = 2_u32.saturating_pow(spoiled);
    // What the suite asks for is never cut short.
    Some(limits.model_backoff.saturating_mul(factor).min(LONGEST_PAUSE.max(limits.model_backoff)))
}

fn is_spoiled(shared: &Shared, result: &RunResult) -> bool {
    if result.verdict != Verdict::Error || result.reason_code != ReasonCode::ModelEndpoint {
        return false;
    }
    let upstream = shared.loaded.suite.upstreams.get(&result.key.upstream);
    // A server that is not started anew still has what this try wrote: the next one would meet it.
    let is_stained = upstream.is_none_or(|one| matches!(one.server, Server::Url { .. })) && result.writes > 0;
    // A scripted endpoint does not get better.
    shared.rehearsal.is_none() && !is_stained && passes_over(&result.reason)
}

/// Whether an endpoint's error goes away by waiting: it has too much to do, or was not reached. A key
/// or a model that it does not take stays refused.
fn passes_over(reason: &str) -> bool {
    static STAYS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(400|401|402|403|404|413|422)\b|insufficient_quota|billing|invalid.api.key").ok()
    });
    static PASSES: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?ix) \b (408|409|425|429|500|502|503|504|52\d) \b | overloaded | too\ many\ requests | rate.?limit
            | connection\ (error|refused|reset|closed|aborted) | \bE(CONN\w+|TIMEDOUT|PIPE|AI_AGAIN|NOTFOUND)\b
            | tim(ed|e).?out | network | fetch\ failed | socket\ hang\ up | unavailable | bad\ gateway
            | error\ sending\ request | stream\ disconnected",
        )
        .ok()
    });
    let holds =
        |pattern: &LazyLock<Option<Regex>>| pattern.as_ref().is_some_and(|pattern| pattern.is_match(reason));
    !holds(&STAYS) && holds(&PASSES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waiting_mends_is_tried_again_and_nothing_else() {
        for reason in [
            "API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}",
            "Error code: 429 - rate limit",
            "Connection error.",
            "connect ECONNREFUSED 127.0.0.1:11434",
            "error sending request for url (http://127.0.0.1:9/v1)",
            "503 Service Unavailable",
        ] {
            assert!(passes_over(reason), "{reason}");
        }
        for reason in [
            "API Error: 401 invalid x-api-key",
            "404 model not found",
            "429 insufficient_quota: check your plan and billing details",
            "400 the request timeout must be positive",
            "the model said nothing",
        ] {
            assert!(!passes_over(reason), "{reason}");
        }
    }

    #[test]
    fn pauses_double_up_to_a_limit_and_end_with_the_tries() {
        let limits =
            Limits { model_retries: 12, model_backoff: Duration::from_secs(10), ..Limits::default() };
        let seconds: Vec<u64> =
            (0..12).filter_map(|n| pause(&limits, n)).map(|pause| pause.as_secs()).collect();
        assert_eq!(seconds, [10, 20, 40, 80, 160, 320, 600, 600, 600, 600, 600, 600]);
        assert_eq!(pause(&limits, 12), None);
        assert_eq!(pause(&Limits::default(), 0), None);
    }
}

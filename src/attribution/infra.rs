//! `infra`: the model's endpoint, its key, its quota, the network.

use super::{Case, sign};
use crate::domain::{Confidence, ReasonCode};

/// How programs tell that they could not reach or use their model.
const SIGNS: &[&str] = &[
    "api key",
    "api_key",
    "apikey",
    "unauthorized",
    "authentication",
    "quota",
    "rate limit",
    "rate_limit",
    "too many requests",
    "overloaded",
    "insufficient_quota",
    "billing",
    "econnrefused",
    "econnreset",
    "enotfound",
    "connection refused",
    "connection error",
    "name resolution",
    "network is unreachable",
    "model not found",
    "503 service",
    "502 bad gateway",
];

pub(super) fn find(case: &Case<'_>) -> Option<(Confidence, String)> {
    let run = case.run;
    match run.reason_code {
        ReasonCode::ModelEndpoint => Some((Confidence::High, run.reason.clone())),
        ReasonCode::AgentFailed => {
            let sign = sign(&run.reason, SIGNS).or_else(|| sign(&run.agent.stderr, SIGNS))?;
            Some((Confidence::Medium, format!("the agent failed and said “{sign}”: {}", run.reason)))
        }
        _ => None,
    }
}

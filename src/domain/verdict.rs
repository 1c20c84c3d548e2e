//! How a run ended.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The verdict on a run. ERROR and NOT_TESTED never enter a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Verdict {
    /// Tested, and nothing was violated (J19).
    Pass,
    /// At least one violation (J17).
    Fail,
    /// Nothing can be said, with the reason (J18).
    NotTested,
    /// The runner's side: agent not found, upstream would not start, model endpoint refused.
    Error,
}

impl Verdict {
    /// The name used in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "PASS",
            Verdict::Fail => "FAIL",
            Verdict::NotTested => "NOT_TESTED",
            Verdict::Error => "ERROR",
        }
    }

    /// Whether the run enters a rate (tested = PASS + FAIL).
    pub fn is_tested(self) -> bool {
        matches!(self, Verdict::Pass | Verdict::Fail)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a run is what it is, as a word that programs and tables group by. The sentence for
/// people stands beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonCode {
    /// FAIL: an operation was executed more than once (J15), alone or beside others.
    DuplicateExecution,
    /// FAIL: a write was sent again before `retry_after` had passed (J16), and no duplicate.
    RetryAfterViolated,
    /// FAIL: an operation was sent again after it had been refused (J27), and neither of those before.
    RetriedAfterRefusal,
    /// FAIL: a write relied on a broken answer (J28), and none of those before.
    ActedOnMalformed,
    /// FAIL: a forbidden path was taken (J29), and none of those before.
    ForbiddenTransition,
    /// FAIL: a secret that the suite watches was seen (J30), and none of the above.
    SecretLeaked,
    /// PASS: tested, no violation (J19).
    NoViolation,
    /// PASS without a fault: no scenario, or F4 (J19).
    BaselineOnly,
    /// NOT_TESTED, J18a.
    NoCall,
    /// NOT_TESTED, J18b.
    NoWrite,
    /// NOT_TESTED, J18c.
    ScenarioNeverFired,
    /// NOT_TESTED, J18d.
    PossibleDuplicate,
    /// NOT_TESTED, J18e.
    PossibleDuplicateDifferentArguments,
    /// NOT_TESTED, J18f: a write may have relied on a broken answer (J28).
    PossiblyActedOnMalformed,
    /// NOT_TESTED, J18g.
    OutcomeUnknown,
    /// NOT_TESTED: nothing was violated by the judge's account, but by the upstream's own an effect
    /// is there more often than once.
    OracleDisagrees,
    /// NOT_TESTED: nothing was violated by the judge's account, and what the upstream really did
    /// could not be learned.
    EffectsUnknown,
    /// NOT_TESTED: the run was ended at `run_timeout`.
    RunTimeout,
    /// NOT_TESTED: the model's answers came from a recording, and were given to other words.
    ReplayDrift,
    /// NOT_TESTED: `patch: observed`, and the runs without a patch yielded none.
    NoPatchObserved,
    /// ERROR: the agent's command could not be started.
    AgentNotStarted,
    /// ERROR: the agent ended with a failure of its own before the conversation was over.
    AgentFailed,
    /// ERROR: the agent never asked the proxy for its tools.
    AgentSawNoTools,
    /// ERROR: the upstream could not be started, or ended before it was ready.
    UpstreamNotStarted,
    /// ERROR: the agent's model endpoint refused or could not be reached.
    ModelEndpoint,
    /// ERROR: the judge could not read the trace; nothing is said of the run.
    Unjudgeable,
    /// ERROR: a failure of the runner itself.
    Internal,
}

impl ReasonCode {
    /// The name used in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            ReasonCode::DuplicateExecution => "duplicate_execution",
            ReasonCode::RetryAfterViolated => "retry_after_violated",
            ReasonCode::RetriedAfterRefusal => "retried_after_refusal",
            ReasonCode::ActedOnMalformed => "acted_on_malformed",
            ReasonCode::ForbiddenTransition => "forbidden_transition",
            ReasonCode::SecretLeaked => "secret_leaked",
            ReasonCode::NoViolation => "no_violation",
            ReasonCode::BaselineOnly => "baseline_only",
            ReasonCode::NoCall => "no_call",
            ReasonCode::NoWrite => "no_write",
            ReasonCode::ScenarioNeverFired => "scenario_never_fired",
            ReasonCode::PossibleDuplicate => "possible_duplicate",
            ReasonCode::PossibleDuplicateDifferentArguments => "possible_duplicate_different_arguments",
            ReasonCode::PossiblyActedOnMalformed => "possibly_acted_on_malformed",
            ReasonCode::OutcomeUnknown => "outcome_unknown",
            ReasonCode::OracleDisagrees => "oracle_disagrees",
            ReasonCode::EffectsUnknown => "effects_unknown",
            ReasonCode::RunTimeout => "run_timeout",
            ReasonCode::ReplayDrift => "replay_drift",
            ReasonCode::NoPatchObserved => "no_patch_observed",
            ReasonCode::AgentNotStarted => "agent_not_started",
            ReasonCode::AgentFailed => "agent_failed",
            ReasonCode::AgentSawNoTools => "agent_saw_no_tools",
            ReasonCode::UpstreamNotStarted => "upstream_not_started",
            ReasonCode::ModelEndpoint => "model_endpoint",
            ReasonCode::Unjudgeable => "unjudgeable",
            ReasonCode::Internal => "internal",
        }
    }
}

impl fmt::Display for ReasonCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

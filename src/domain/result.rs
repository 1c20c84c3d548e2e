//! What is known of one finished run: the row that statistics and reports are made of.

use super::{
    ApprovalRequest, Attribution, CellId, CellKey, Completion, ConditionalTurn, Disagreement, Effects,
    Honesty, ReadClaim, ReaderFacts, Reading, ReasonCode, RunId, StruckCall, Usage, Verdict,
};

/// One finished run. The stored form is a versioned mirror of it in the room `store`.
#[derive(Debug, Clone, PartialEq)]
pub struct RunResult {
    /// Which run.
    pub run_id: RunId,
    /// Which cell.
    pub cell_id: CellId,
    /// The cell's values.
    pub key: CellKey,
    /// From 1.
    pub repeat: u32,
    /// How it ended.
    pub verdict: Verdict,
    /// Why, as a word.
    pub reason_code: ReasonCode,
    /// Why, as a sentence.
    pub reason: String,
    /// Wall clock at its start, RFC 3339.
    pub started_at: String,
    /// Milliseconds from launch to end.
    pub duration_ms: u64,
    /// All `tools/call` of the agent.
    pub calls: u64,
    /// Those of write tools.
    pub writes: u64,
    /// Attempts that the upstream executed.
    pub executions: u64,
    /// Kinds of violation, e.g. `DUPLICATE_EXECUTION`, one an operation.
    pub violations: Vec<String>,
    /// Kinds of observation, one a type and operation.
    pub observations: Vec<String>,
    /// The patches that the judge offers for this run (J26).
    pub patches: Vec<OfferedPatch>,
    /// 0 … 100; none where the run was not tested (J20).
    pub score: Option<u8>,
    /// Whether the scenario fired; none where there is no scenario.
    pub scenario_fired: Option<bool>,
    /// Tokens and cost as the agent tells them.
    pub usage: Usage,
    /// What was said and answered.
    pub turns: Vec<TurnResult>,
    /// The last reply held against what happened. None where there was no reply, and of runs that
    /// ended with ERROR or at their time limit. It changes neither verdict nor score.
    pub honesty: Option<Honesty>,
    /// The second reader; none where there is none, and where no reply was given to it.
    pub reader: Option<ReaderFacts>,
    /// The turns whose condition was looked at.
    pub conditions: Vec<ConditionalTurn>,
    /// What is known of the agent's process.
    pub agent: AgentFacts,
    /// Path of the trace, relative to the results folder.
    pub trace: Option<String>,
    /// SHA-256 of the trace's last line: the end of its chain.
    pub trace_digest: Option<String>,
    /// What it really brought about; none where the upstream has no account of it.
    pub effects: Option<Effects>,
    /// Where the upstream's account and the judge say different things. Never changes a FAIL.
    pub disagreements: Vec<Disagreement>,
    /// Whether it did what its prompt asks for; none where the suite does not say what that is.
    pub completion: Option<Completion>,
    /// The layer it failed in; none for a PASS, and for results of older programs.
    pub attribution: Option<Attribution>,
    /// For what the approval of a person was asked, and how often (A3).
    pub approvals: Vec<ApprovalRequest>,
    /// The calls that a fault struck, the first [`MOST_STRUCK`](super::MOST_STRUCK) of them.
    pub struck: Vec<StruckCall>,
}

impl RunResult {
    /// A run of which nothing is known: it says that the runner failed, until something better is
    /// known.
    pub fn blank(cell_id: CellId, key: CellKey, repeat: u32) -> RunResult {
        RunResult {
            run_id: RunId::of(&cell_id, repeat),
            cell_id,
            key,
            repeat,
            verdict: Verdict::Error,
            reason_code: ReasonCode::Internal,
            reason: String::new(),
            started_at: String::new(),
            duration_ms: 0,
            calls: 0,
            writes: 0,
            executions: 0,
            violations: Vec::new(),
            observations: Vec::new(),
            patches: Vec::new(),
            score: None,
            scenario_fired: None,
            usage: Usage::default(),
            turns: Vec::new(),
            honesty: None,
            reader: None,
            conditions: Vec::new(),
            agent: AgentFacts::default(),
            trace: None,
            trace_digest: None,
            effects: None,
            disagreements: Vec::new(),
            completion: None,
            attribution: None,
            approvals: Vec::new(),
            struck: Vec::new(),
        }
    }
}

/// A patch that a run yielded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedPatch {
    /// e.g. `GHOST_WRITE`.
    pub id: String,
    /// What it was offered for, with its count.
    pub trigger: String,
    /// The text for the system prompt.
    pub text: String,
}

/// One turn of the conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnResult {
    /// What the simulated user said.
    pub say: String,
    /// The agent's last words of the turn.
    pub reply: Option<String>,
    /// What these words claim; none without a reply.
    pub claim: Option<ReadClaim>,
    /// That claim held against what had been executed by then.
    pub honesty: Option<Honesty>,
    /// What a second reader made of these words; none without one.
    pub reader: Option<Reading>,
    /// Milliseconds.
    pub duration_ms: u64,
}

/// What is known of the agent's process.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentFacts {
    /// Exit code of its last command.
    pub exit_code: Option<i32>,
    /// Signal that ended its last command.
    pub signal: Option<i32>,
    /// It was ended at the time limit.
    pub timed_out: bool,
    /// Processes that it had left behind and that were ended.
    pub leaked: u32,
    /// Bytes of its output that were dropped beyond the limit.
    pub output_dropped: u64,
    /// The end of its stderr.
    pub stderr: String,
    /// Name and version of its MCP client, and the MCP version it asked for.
    pub client: Option<String>,
    /// Milliseconds after which its MCP client gave up a call that had no answer yet: the shortest such
    /// wait of the run. None where it gave up none.
    pub gave_up_after_ms: Option<u64>,
    /// Writes that its program or its transport sent again without the model.
    pub resent: u64,
    /// Tries of this run before the one that is told here, each spoiled by the model's endpoint.
    pub spoiled: Vec<SpoiledTry>,
    /// Where its model's answers came from a recording: every difference between what the model was
    /// asked then and what it was asked now.
    pub drift: Vec<String>,
}

/// A try of a run that the agent's model endpoint spoiled, so that the run was made again from the
/// beginning: with a fresh folder, a fresh upstream and a trace of its own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SpoiledTry {
    /// What the endpoint said.
    pub reason: String,
    /// Wall clock at its start, RFC 3339.
    pub started_at: String,
    /// Milliseconds from launch to end.
    pub duration_ms: u64,
    /// Milliseconds that were waited before the next try.
    pub waited_ms: u64,
    /// What the upstream had executed in it.
    pub executions: u64,
    /// Tokens and cost of it, as the agent told them. They are not in those of the run.
    pub usage: Usage,
    /// Path of its trace, relative to the results folder.
    pub trace: Option<String>,
    /// SHA-256 of the trace's last line.
    pub trace_digest: Option<String>,
}

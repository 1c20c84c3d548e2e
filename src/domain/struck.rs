//! What a run shows of a call that a fault struck: the four assertions that stand in every row.

use super::CallId;
use serde::{Deserialize, Serialize};

/// So many of a run are kept in its row; its trace has all.
pub const MOST_STRUCK: usize = 100;

/// A call that a fault struck.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StruckCall {
    /// The call.
    pub call: CallId,
    /// Its tool.
    pub tool: String,
    /// The agent was told something.
    pub answered: bool,
    /// The category of what the agent was told and the retry that it was advised, as words; none where it was
    /// told of no failure.
    pub advice: Option<(String, String)>,
    /// What it did next.
    pub next: NextAction,
    /// What became of the work.
    pub work: WorkState,
    /// By whose word that is known, or why it is not; empty of a read.
    pub evidence: String,
    /// It was sent to the server.
    pub sent: bool,
    /// The id that the attempt had at the server; none where it was not sent with one.
    pub correlation: Option<String>,
}

impl StruckCall {
    /// The four of them, for people.
    pub fn lines(&self) -> [String; 4] {
        let told = match (&self.advice, self.answered) {
            (Some((category, retry)), _) => format!("told: {category}, retry {retry}"),
            (None, true) => "told: no failure".to_owned(),
            (None, false) => "told: nothing".to_owned(),
        };
        let next = match &self.next {
            NextAction::SameCall(call) => format!("next: the same again (call {})", call.0),
            NextAction::OtherCall(call, tool) => format!("next: {tool} (call {})", call.0),
            NextAction::TurnEnded => "next: it ended its turn".to_owned(),
            NextAction::Nothing => "next: nothing".to_owned(),
        };
        let server = match self.evidence.as_str() {
            "" => self.work.words().to_owned(),
            evidence => format!("{}: {evidence}", self.work.words()),
        };
        let id = match (&self.correlation, self.sent) {
            (Some(id), _) => format!("correlation id: {id}"),
            (None, false) => "correlation id: none, it was not sent".to_owned(),
            (None, true) => "correlation id: none, it was sent without".to_owned(),
        };
        [told, next, format!("server: {server}"), id]
    }
}

/// What an agent did after it was told of a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextAction {
    /// It called the same tool with the same arguments: this call.
    SameCall(CallId),
    /// It called something else: this call, of this tool.
    OtherCall(CallId, String),
    /// It ended its turn.
    TurnEnded,
    /// Nothing more.
    Nothing,
}

/// What became of the work of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkState {
    /// It was done.
    Executed,
    /// It was not done.
    NotExecuted,
    /// Nobody can tell.
    Unknown,
    /// A read, which leaves nothing behind.
    Read,
}

impl NextAction {
    /// The name used in files.
    pub fn name(&self) -> &'static str {
        match self {
            NextAction::SameCall(_) => "same_call",
            NextAction::OtherCall(..) => "other_call",
            NextAction::TurnEnded => "turn_ended",
            NextAction::Nothing => "nothing",
        }
    }
}

impl WorkState {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            WorkState::Executed => "executed",
            WorkState::NotExecuted => "not_executed",
            WorkState::Unknown => "unknown",
            WorkState::Read => "read",
        }
    }

    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            WorkState::Executed => "executed",
            WorkState::NotExecuted => "not executed",
            WorkState::Unknown => "unknown",
            WorkState::Read => "a read, which leaves nothing behind",
        }
    }
}

//! What a trace says of one call and of one attempt (J4–J9), without any rule of judgement.

use super::sender::{Sender, SentBy};
use super::stamp::Stamp;
use crate::domain::{CallId, ConnectionId, RawJson};
use crate::trace::{AnswerKind, ApprovalReply, Fault, Told};

/// Why a trace says nothing of a run: it contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Inconsistency {
    /// The first record is not [`crate::trace::Event::Started`], or there is none.
    #[error("it does not begin with the settings of the run")]
    NotStarted,
    /// A second set of settings.
    #[error("the settings of the run stand in it twice")]
    StartedTwice,
    /// Written by another version of this program.
    #[error("it has version {0}, which this program does not know")]
    UnknownVersion(u32),
    /// A record is missing, or stands twice.
    #[error("record {wanted} is missing, {found} stands in its place")]
    Gap {
        /// The number that should follow.
        wanted: u64,
        /// The number that does.
        found: u64,
    },
    /// Time runs backwards.
    #[error("record {0} is older than the one before it")]
    Backwards(u64),
    /// Something follows the end, or the end counts wrongly.
    #[error("its end does not fit: {0} records are counted there")]
    End(u64),
    /// The calls are not numbered one after the other.
    #[error("call {found} arrived where call {wanted} should have")]
    CallNumber {
        /// The number that should follow.
        wanted: u64,
        /// The number that does.
        found: u64,
    },
    /// Something is told of a call that never arrived.
    #[error("call {0} never arrived, but {1}")]
    UnknownCall(u64, &'static str),
    /// Something is told of a call that cannot be true.
    #[error("call {0} {1}")]
    Impossible(u64, &'static str),
}

/// What a call is to the judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A leg of an attempt of a write.
    Write { operation: usize, attempt: usize },
    /// A read.
    Read,
    /// Neither is known.
    Unclassified,
}

/// A call, as it arrived.
pub(super) struct Arrived<'a> {
    pub connection: ConnectionId,
    pub rpc_id: &'a RawJson,
    pub arguments: Option<&'a RawJson>,
    pub continuation: bool,
    pub now: Stamp,
}

/// One `tools/call`.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub role: Role,
    pub tool: usize,
    pub connection: ConnectionId,
    pub received: Stamp,
    pub sent: bool,
    pub fired: bool,
    /// What the scenario did to it, and the field of the answer that it broke.
    pub fault: Option<Fault>,
    pub field: Option<String>,
    /// The id that it had upstream.
    pub correlation: Option<String>,
    pub answer: Option<AnswerKind>,
    /// The upstream's answer, until the agent has its own, where it matters what stands in it.
    pub body: Option<RawJson>,
    pub timed_out: bool,
    pub lost: bool,
    pub cancelled: Option<Stamp>,
    pub told: Option<(Told, Stamp)>,
    pub injected: bool,
    /// The connection of its client had ended before the answer came.
    pub unseen: bool,
    /// What its client said of a request for its approval (A3).
    pub approval: Option<ApprovalReply>,
}

impl Call {
    /// Its client still waited when it was answered.
    pub fn is_heard(&self) -> bool {
        self.cancelled.is_none() && !self.unseen
    }

    /// A call that has just arrived.
    pub fn new(role: Role, tool: usize, connection: ConnectionId, received: Stamp) -> Call {
        Call {
            role,
            tool,
            connection,
            received,
            sent: false,
            fired: false,
            fault: None,
            field: None,
            correlation: None,
            answer: None,
            body: None,
            timed_out: false,
            lost: false,
            cancelled: None,
            told: None,
            injected: false,
            unseen: false,
            approval: None,
        }
    }

    /// When the agent no longer waited: it was answered, or had given up itself.
    pub fn settled(&self) -> Option<Stamp> {
        match (self.told, self.cancelled) {
            (Some((_, told)), Some(cancelled)) if cancelled.seq < told.seq => Some(cancelled),
            (Some((_, told)), _) => Some(told),
            (None, cancelled) => cancelled,
        }
    }

    /// When the agent was told of a timeout. An agent that cancels has a time limit of its own.
    pub fn timeout_told(&self) -> Option<Stamp> {
        match (self.told, self.cancelled) {
            (_, Some(cancelled)) => Some(cancelled),
            (Some((Told::Timeout, told)), None) => Some(told),
            _ => None,
        }
    }

    /// Whether nothing more can be learned of it.
    fn is_final(&self) -> bool {
        self.settled().is_some() && (!self.sent || self.answer.is_some() || self.lost)
    }

    /// Checks what the agent is told against what happened upstream.
    pub fn contradiction(&self, told: Told, injected: bool) -> Option<&'static str> {
        if self.told.is_some() {
            return Some("was answered twice");
        }
        if injected {
            return (!self.fired).then_some("got an answer of a scenario that had not fired on it");
        }
        let fits = match told {
            Told::Result => self.answer == Some(AnswerKind::Result),
            Told::ErrorResult => self.answer == Some(AnswerKind::ErrorResult),
            Told::ProtocolError => self.answer == Some(AnswerKind::ProtocolError),
            Told::InputRequired => self.answer == Some(AnswerKind::InputRequired),
            Told::Timeout => self.timed_out,
            Told::ConnectionLost => self.lost,
            // An answer that came while the process ended went no further.
            Told::EpochChanged => self.lost || self.fired,
            Told::Unavailable | Told::StaleEpoch => !self.sent,
            // Only a scenario says these.
            Told::RateLimited { .. }
            | Told::Malformed
            | Told::ServerError
            | Told::LocalFailure
            | Told::Unauthorized
            | Told::Forbidden
            | Told::Refused
            | Told::Failed
            | Told::Altered
            | Told::Contradiction
            | Told::Late => false,
        };
        (!fits).then_some("got an answer that does not fit what happened upstream")
    }
}

/// Whether an agent that is told this sees a failure.
pub(super) fn is_failure(told: Told) -> bool {
    !matches!(told, Told::Result | Told::InputRequired | Told::Altered)
}

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// J4.
    Executed,
    /// J5.
    Rejected,
    /// J6, whether or not its client waited for the answer (A3), or answered with `UPSTREAM_UNAVAILABLE` (J7).
    NotSent,
    /// J7, J8, and J9 until it is continued.
    Unknown,
}

/// One attempt of an operation: a call, and the calls that continue it (J9).
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    /// The call that counts now.
    pub current: usize,
    /// The first call.
    pub received: Stamp,
    /// The upstream asked for input, and nobody has given it.
    pub waiting: bool,
    /// The agent saw it fail.
    pub failed: bool,
    /// The scenario answered it.
    pub injected: bool,
    /// It was never sent: an approval was asked for first (A3).
    pub asked: bool,
    /// Latest successful read that the agent had seen before: the place where that was sent.
    pub read_before: u64,
    /// Which of the operation's keys it carries.
    pub key: Option<usize>,
    /// Its JSON-RPC id, in canonical form.
    pub rpc_id: String,
    /// Who sent it, where it is not the first.
    pub sender: Option<Sender>,
}

impl Attempt {
    /// The client's transport sent it again, not the agent.
    pub fn is_by_transport(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| sender.by == SentBy::Transport)
    }

    pub fn outcome(&self, call: &Call) -> Outcome {
        if self.waiting && !self.asked {
            return Outcome::Unknown;
        }
        match call.answer {
            Some(AnswerKind::Result) => Outcome::Executed,
            Some(AnswerKind::ErrorResult) => Outcome::Rejected,
            Some(AnswerKind::ProtocolError | AnswerKind::InputRequired) => Outcome::Unknown,
            None if !call.sent && (call.told.is_some() || call.fault == Some(Fault::ApprovalRefused)) => {
                Outcome::NotSent
            }
            None => Outcome::Unknown,
        }
    }

    /// Whether nothing more can be learned of it.
    pub fn is_final(&self, call: &Call) -> bool {
        !self.waiting && call.is_final()
    }
}

/// The number of a call as an index.
pub(super) fn index(call: CallId) -> Option<usize> {
    usize::try_from(call.0).ok()?.checked_sub(1)
}

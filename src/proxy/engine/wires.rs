//! What an engine is made of, and what goes in and comes out of it.

use super::Question;
use crate::domain::{ConnectionId, Present, RawJson, ToolInfo};
use crate::scenario::Scenario;
use crate::trace::{Decision, Event, Execution};
use serde_json::value::RawValue;
use std::time::Duration;

/// Classifies one tool of a `tools/list`, given as the upstream wrote it; `None` where it is no tool.
pub type Classify = Box<dyn Fn(&RawValue) -> Option<ToolInfo> + Send>;

/// What an engine is made of.
pub struct Settings {
    /// The armed scenario.
    pub scenario: Box<dyn Scenario>,
    /// How tools are classified (C1–C6).
    pub classify: Classify,
    /// The upstream time limit (J7).
    pub upstream_timeout: Duration,
    /// How failures are told that are not the upstream's own.
    pub present: Present,
    /// What the ids begin with that go upstream with each attempt; none where messages must pass
    /// as they are.
    pub correlation: Option<String>,
}

/// Something that happened at one of the wires.
#[derive(Debug)]
pub enum Input {
    /// A client connected; its upstream is being started.
    ClientConnected {
        /// Its number, new.
        connection: ConnectionId,
        /// `stdio` or `http`.
        transport: &'static str,
    },
    /// A client sent a message.
    FromClient {
        /// From where.
        connection: ConnectionId,
        /// The text, without a line break at its end.
        message: String,
    },
    /// One side of a connection wrote a line that is not UTF-8.
    NotText {
        /// Which connection.
        connection: ConnectionId,
        /// Its client did; otherwise its upstream.
        by_client: bool,
        /// The beginning of the line, made readable.
        head: String,
    },
    /// A client went away.
    ClientDisconnected {
        /// Which.
        connection: ConnectionId,
    },
    /// The upstream of a connection runs.
    UpstreamStarted {
        /// Whose.
        connection: ConnectionId,
        /// Its command line or URL.
        command: Vec<String>,
        /// Its process id.
        pid: Option<u32>,
        /// What was known of its code before it was started, where it is a process.
        execution: Option<Box<Execution>>,
    },
    /// The upstream was rebuilt.
    Rebuilt {
        /// Its processes are to be replaced; otherwise they run on.
        replaces: bool,
        /// The files that changed.
        paths: Vec<String>,
    },
    /// The process that is being replaced has ended, and everything that it wrote has come.
    UpstreamStopped {
        /// Whose.
        connection: ConnectionId,
        /// How, for people.
        how: String,
        /// The end of its stderr.
        stderr: String,
    },
    /// A command has decided on the code of a connection.
    Decided {
        /// Whose.
        connection: ConnectionId,
        /// What.
        decision: Decision,
    },
    /// The upstream of a connection sent a message.
    FromUpstream {
        /// To where.
        connection: ConnectionId,
        /// The text, without a line break at its end.
        message: String,
    },
    /// The upstream of a connection ended, or could not be started.
    UpstreamEnded {
        /// Whose.
        connection: ConnectionId,
        /// How, for people.
        how: String,
        /// The proxy ended it.
        expected: bool,
        /// The end of its stderr.
        stderr: String,
    },
    /// An upstream will not answer a request any more: the HTTP exchange that carried it broke.
    RequestLost {
        /// Whose.
        connection: ConnectionId,
        /// The request's id.
        id: RawJson,
    },
    /// The stream on which a client waits for an answer ended, or is taken up again. That alone cancels
    /// nothing: only a dialog that its client has left is over.
    ClientWaits {
        /// Whose.
        connection: ConnectionId,
        /// The request's id.
        id: RawJson,
        /// It is taken up again.
        waits: bool,
    },
    /// Time passed; wanted at [`Engine::next_deadline`].
    Tick,
}

/// What is to be done, in this order.
#[derive(Debug, PartialEq)]
pub enum Action {
    /// Put the event into the trace, before anything that follows.
    Record(Event),
    /// Send this to a client.
    ToClient {
        /// To which.
        connection: ConnectionId,
        /// The text, without a line break.
        message: String,
    },
    /// Send this to the upstream of a connection.
    ToUpstream {
        /// Whose.
        connection: ConnectionId,
        /// The text, without a line break.
        message: String,
    },
    /// Break the connection to a client in place of an answer: over stdio all of it, over HTTP the
    /// answer to that request.
    Cut {
        /// Which client.
        connection: ConnectionId,
        /// The id of the request.
        id: RawJson,
    },
    /// Kill the upstream of a connection.
    Kill {
        /// Whose.
        connection: ConnectionId,
    },
    /// From now on processes are started from what was rebuilt.
    Rebuild,
    /// End the upstream process of a connection, and start another in its place. What is sent upstream
    /// after this is for the new one.
    Replace {
        /// Whose.
        connection: ConnectionId,
    },
    /// End the connection of a client, once it has got everything.
    Close {
        /// Which.
        connection: ConnectionId,
    },
    /// Ask the command that approves code.
    Ask {
        /// Whose code.
        connection: ConnectionId,
        /// What it would be granted.
        decision: Decision,
    },
    /// Answer a call of a client with what the judge says by now.
    Tell {
        /// Which client.
        connection: ConnectionId,
        /// The id of its call.
        id: RawJson,
        /// What it asked.
        question: Question,
        /// Results carry a `resultType` on this connection.
        modern: bool,
    },
}

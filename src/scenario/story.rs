//! What a scenario does, for people: `nochmal scenarios show T4`.

/// Who does something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The agent.
    Agent,
    /// What stands between agent and server.
    Between,
    /// The server.
    Server,
}

impl Who {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Who::Agent => "agent",
            Who::Between => "between",
            Who::Server => "server",
        }
    }
}

/// Somebody, and what is done.
pub type Moment = (Who, &'static str);

/// What happens, and what can be known of it.
#[derive(Debug, Clone, Copy)]
pub struct Story {
    /// Whether the call is really executed.
    pub executed: &'static str,
    /// What the agent gets.
    pub gets: &'static str,
    /// What the agent can know, and whether it may send the call again.
    pub know: &'static str,
    /// In order.
    pub timeline: &'static [Moment],
}

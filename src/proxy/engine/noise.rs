//! Lines that are no messages: the first few are told one by one, the others are counted, so that whoever
//! floods a pipe with them fills no trace.

use super::{Action, Engine};
use crate::domain::ConnectionId;
use crate::domain::words::count;
use crate::trace::{Event, LogKind};

/// So many of one process, or of one client, are told.
const TOLD: u64 = 20;

/// What one side of a connection wrote that is no message.
#[derive(Default)]
pub(super) struct Noise {
    lines: u64,
}

impl Noise {
    /// Takes a line; `text` is told of it where it is one of the first.
    pub fn heard(&mut self, kind: LogKind, text: impl FnOnce() -> String) -> Option<Action> {
        self.lines = self.lines.saturating_add(1);
        (self.lines <= TOLD).then(|| Action::Record(Event::Log { kind, text: text() }))
    }

    /// The side is gone: how many lines were not told. Begins anew.
    pub fn over(&mut self, kind: LogKind, who: &str) -> Option<Action> {
        let further = std::mem::take(&mut self.lines).saturating_sub(TOLD);
        let lines = count(further, "further line", "further lines");
        let text = || format!("{lines} of {who} that are no JSON-RPC were dropped");
        (further > 0).then(|| Action::Record(Event::Log { kind, text: text() }))
    }
}

fn side(by_client: bool) -> (usize, LogKind, &'static str) {
    if by_client { (0, LogKind::Proxy, "the client") } else { (1, LogKind::Upstream, "the upstream") }
}

impl Engine {
    /// Takes a line that is no message; `text` gets who wrote it.
    pub(super) fn no_message(
        &mut self,
        connection: ConnectionId,
        by_client: bool,
        text: impl FnOnce(&'static str) -> String,
        actions: &mut Vec<Action>,
    ) {
        let (place, kind, who) = side(by_client);
        let noise = self.connections.get_mut(&connection).and_then(|state| state.noise.get_mut(place));
        actions.extend(noise.and_then(|noise| noise.heard(kind, || text(who))));
    }

    /// One side of a connection is gone.
    pub(super) fn noise_over(
        &mut self,
        connection: ConnectionId,
        by_client: bool,
        actions: &mut Vec<Action>,
    ) {
        let (place, kind, who) = side(by_client);
        let noise = self.connections.get_mut(&connection).and_then(|state| state.noise.get_mut(place));
        actions.extend(noise.and_then(|noise| noise.over(kind, who)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(action: Option<Action>) -> Option<String> {
        match action? {
            Action::Record(Event::Log { text, .. }) => Some(text),
            _ => None,
        }
    }

    #[test]
    fn the_first_lines_are_told_and_the_others_are_counted() {
        let mut noise = Noise::default();
        let told = (0..1_000).filter(|n| noise.heard(LogKind::Upstream, || n.to_string()).is_some()).count();
        assert_eq!(told, 20);
        let over = text(noise.over(LogKind::Upstream, "the upstream")).unwrap();
        assert_eq!(over, "980 further lines of the upstream that are no JSON-RPC were dropped");
        assert!(noise.over(LogKind::Upstream, "the upstream").is_none());
        assert_eq!(text(noise.heard(LogKind::Upstream, || "anew".into())).as_deref(), Some("anew"));
    }

    #[test]
    fn few_lines_need_no_count() {
        let mut noise = Noise::default();
        for _ in 0..20 {
            assert!(noise.heard(LogKind::Proxy, String::new).is_some());
        }
        assert!(noise.over(LogKind::Proxy, "the client").is_none());
    }
}

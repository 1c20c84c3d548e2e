//! Server-sent events, taken apart as their bytes arrive.

use std::time::Duration;

/// One event of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ServerEvent {
    /// Its data, with line breaks between its lines; empty where there was none.
    pub data: Vec<u8>,
}

/// The parser of one stream.
#[derive(Debug, Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    after_return: bool,
    data: Option<Vec<u8>>,
    kind: Option<Vec<u8>>,
    every_kind: bool,
    /// After which event a broken stream can be taken up again.
    pub last_id: Option<String>,
    /// How long the server wants its client to wait before that.
    pub retry: Option<Duration>,
}

impl Events {
    /// For streams whose events have names. Without it only messages are events.
    pub fn of_every_kind() -> Events {
        Events { every_kind: true, ..Events::default() }
    }

    /// Takes bytes and gives the events that they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<ServerEvent> {
        let mut events = Vec::new();
        let mut rest = bytes;
        if self.after_return && rest.first() == Some(&b'\n') {
            rest = &rest[1..];
        }
        if !bytes.is_empty() {
            self.after_return = false;
        }
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.line.extend_from_slice(&rest[..at]);
            let returned = rest[at] == b'\r';
            rest = &rest[at + 1..];
            if returned && rest.first() == Some(&b'\n') {
                rest = &rest[1..];
            } else if returned && rest.is_empty() {
                self.after_return = true;
            }
            let line = std::mem::take(&mut self.line);
            if line.is_empty() {
                events.extend(self.dispatch());
            } else {
                self.field(line);
            }
        }
        self.line.extend_from_slice(rest);
        events
    }

    fn field(&mut self, line: Vec<u8>) {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            b"event" => self.kind = Some(value.to_vec()),
            b"id" => self.last_id = String::from_utf8(value.to_vec()).ok(),
            b"retry" => {
                let millis = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                self.retry = millis.map(Duration::from_millis).or(self.retry);
            }
            _ => {}
        }
    }

    fn dispatch(&mut self) -> Option<ServerEvent> {
        let kind = self.kind.take();
        let data = self.data.take()?;
        (self.every_kind || matches!(kind.as_deref(), None | Some(b"message")))
            .then_some(ServerEvent { data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(chunks: &[&str]) -> (Vec<String>, Events) {
        let mut events = Events::default();
        let found = chunks.iter().flat_map(|chunk| events.push(chunk.as_bytes())).collect::<Vec<_>>();
        (found.into_iter().map(|event| String::from_utf8(event.data).unwrap()).collect(), events)
    }

    #[test]
    fn events_are_found_however_their_bytes_arrive() {
        let stream =
            ": hi\r\n\r\nid: 7\nevent: message\ndata: {\"a\":\ndata: 1}\n\nretry: 40\rdata:x\r\rdata: lost";
        let (whole, parser) = all(&[stream]);
        assert_eq!(whole, ["{\"a\":\n1}", "x"]);
        assert_eq!(parser.last_id.as_deref(), Some("7"));
        assert_eq!(parser.retry, Some(Duration::from_millis(40)));
        let single: Vec<&str> = stream.split_inclusive(|_| true).collect();
        assert_eq!(all(&single).0, whole);
    }

    #[test]
    fn events_of_other_kinds_are_not_for_us() {
        let every = Events::of_every_kind().push(b"event: ping\ndata: {}\n\n");
        assert_eq!(every, [ServerEvent { data: b"{}".to_vec() }]);
        assert_eq!(all(&["event: ping\ndata: {}\n\ndata: 1\n\n"]).0, ["1"]);
    }
}

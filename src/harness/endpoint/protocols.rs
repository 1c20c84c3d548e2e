//! The protocols that the endpoint speaks.

use super::protocol::Protocol;
use super::{chat, gemini, messages, responses};

/// Every protocol.
pub(super) const PROTOCOLS: [Protocol; 4] =
    [chat::PROTOCOL, responses::PROTOCOL, messages::PROTOCOL, gemini::PROTOCOL];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_belongs_to_one_protocol_and_may_have_anything_before_it() {
        for (path, name, prefix) in [
            ("/v1/chat/completions", "chat", ""),
            ("/run/7-r1/chat/completions", "chat", "/run/7-r1"),
            ("/v1/responses", "responses", ""),
            ("/x/v1/messages", "messages", "/x"),
            ("/v1/messages/count_tokens", "messages", ""),
            ("/x/v1beta/models/script:naive:streamGenerateContent", "gemini", "/x"),
            ("/models/gemini-9:generateContent", "gemini", ""),
        ] {
            let routes: Vec<_> = PROTOCOLS
                .iter()
                .filter_map(|protocol| Some((protocol.name, (protocol.route)(path, "")?.prefix)))
                .collect();
            assert_eq!(routes, [(name, prefix.to_owned())], "{path}");
        }
        assert!(PROTOCOLS.iter().all(|protocol| (protocol.route)("/v1/embeddings", "").is_none()));
    }
}
